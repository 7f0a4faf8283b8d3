"""A transaction that a marker has ended."""

from typing import NamedTuple


class CompletedTxn(NamedTuple):
    """A transaction from its first offset to the offset of its marker, both inclusive. Kafka: `CompletedTxn`."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool

    def __str__(self) -> str:
        return (
            f"CompletedTxn[producerId={self.producer_id}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset}, isAborted={str(self.is_aborted).lower()}]"
        )
