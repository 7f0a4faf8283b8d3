"""An offset together with the leader epoch that it belongs to."""

from typing import NamedTuple


class OffsetAndEpoch(NamedTuple):
    """An offset, and the epoch of the leader that wrote it. Kafka: `org.apache.kafka.server.common.OffsetAndEpoch`."""

    offset: int
    epoch: int
