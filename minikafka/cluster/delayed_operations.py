"""The requests that wait for something to happen to one partition."""

import logging
from typing import Any, Protocol

logger = logging.getLogger(__name__)


class Purgatory(Protocol):
    """Where requests wait, each under the keys of its partitions. Kafka: `DelayedOperationPurgatory`."""

    def check_and_complete(self, key: Any) -> int:
        """Answer those that wait under this key and can be answered now; returns how many.

        Kafka: `DelayedOperationPurgatory.checkAndComplete`.
        """

    @property
    def num_delayed(self) -> int:
        """How many requests wait, under any key. Kafka: `DelayedOperationPurgatory.numDelayed`."""


class DelayedOperations:
    """The requests of all kinds that wait for one partition, so that a change of the partition can wake them.

    Kafka: `kafka.cluster.DelayedOperations`.
    """

    def __init__(self, key: object, produce: Purgatory, fetch: Purgatory, delete_records: Purgatory):
        """`key`: the partition, in the form in which the purgatories know it."""
        self._key = key
        self._fetch = fetch
        self._produce = produce
        self._delete_records = delete_records

    def check_and_complete_all(self) -> None:
        """Answer what can be answered now: fetches first, then produce requests, then deletions of records.

        One kind failing does not keep the others waiting. Kafka: `DelayedOperations.checkAndCompleteAll`.
        """
        for purgatory in (self._fetch, self._produce, self._delete_records):
            try:
                purgatory.check_and_complete(self._key)
            except Exception:
                logger.exception("Requests that wait for %s could not be checked", self._key)

    @property
    def num_delayed_delete(self) -> int:
        """How many deletions of records wait, for any partition. Kafka: `DelayedOperations.numDelayedDelete`."""
        return self._delete_records.num_delayed
