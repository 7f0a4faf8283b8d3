"""An offset together with the leader epoch that it belongs to."""

from typing import NamedTuple


class OffsetAndEpoch(NamedTuple):
    """Kafka: `org.apache.kafka.server.common.OffsetAndEpoch`."""

    offset: int
    epoch: int
