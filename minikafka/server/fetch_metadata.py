"""Which fetch session a request belongs to, and its place in it."""

from typing import NamedTuple

from minikafka.common.java.java_numbers import INT_MAX

INVALID_SESSION_ID = 0
"""The id of no session. Kafka: `FetchMetadata.INVALID_SESSION_ID`."""

INITIAL_EPOCH = 0
"""A reader wants to begin a session, or to begin it again. Kafka: `FetchMetadata.INITIAL_EPOCH`."""

FINAL_EPOCH = -1
"""A reader ends its session and wants no other one. Kafka: `FetchMetadata.FINAL_EPOCH`."""


class FetchMetadata(NamedTuple):
    """The id of a session, and the number that the request has in it. Kafka: `FetchMetadata`."""

    session_id: int
    epoch: int

    @property
    def is_full(self) -> bool:
        """Whether the request names all partitions that it wants to read. Kafka: `FetchMetadata.isFull`."""
        return self.epoch in (INITIAL_EPOCH, FINAL_EPOCH)


def next_epoch(epoch: int) -> int:
    """The number of the request behind the one with `epoch`; 1 comes behind the largest one.

    Kafka: `FetchMetadata.nextEpoch`.
    """
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == INT_MAX else epoch + 1
