"""A transaction that its marker has ended."""

from typing import NamedTuple


class CompletedTxn(NamedTuple):
    """A transaction from its first offset to its marker's offset (both inclusive). Kafka: `CompletedTxn`."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
