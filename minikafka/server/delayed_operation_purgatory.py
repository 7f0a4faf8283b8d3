"""Where delayed operations wait."""

import logging
import threading
from collections.abc import Sequence
from typing import Generic, TypeVar, cast

from minikafka.common.errors import IllegalArgumentException
from minikafka.server.delayed_operation import DelayedOperation
from minikafka.server.timer import Timer
from minikafka.server.topic_partition_operation_key import DelayedOperationKey

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=DelayedOperation)


class DelayedOperationPurgatory(Generic[T]):
    """Watches operations under keys, and gives each one up to the timer when nobody completes it in time.

    - An operation that could not be completed is in the list of each of its keys, in the order of arrival, and in the
      timer. Whoever changes what a key stands for calls `check_and_complete(key)`, which asks the operations of that
      list alone; what waits under other keys costs nothing.
    - An operation that was completed under one key stays in the lists of its others until those are checked, or until
      the lists are cleared: after a look of the timer at the clock, when the operations that were ever watched since
      the last time exceed those that still wait by more than `purge_interval`.
    - The timer is the purgatory's own: nothing else waits in it.
    - `check_and_complete` is called without any lock that an operation takes when it is asked.

    Simpler than Kafka: one lock guards all lists (512 in Kafka), there are no metrics, and the scheduler wakes
    the timer, not a thread of the purgatory.

    Kafka: `org.apache.kafka.server.purgatory.DelayedOperationPurgatory`.
    """

    def __init__(self, purgatory_name: str, timer: Timer, purge_interval: int = 1000):
        self._name = purgatory_name
        self._timer = timer
        self._purge_interval = purge_interval
        self._lock = threading.Lock()  # guards the two fields below, and which operations a list has
        # The operations under each key, in the order of their arrival. Kafka: `DelayedOperationPurgatory.Watchers`.
        self._watchers_by_key: dict[DelayedOperationKey, list[T]] = {}
        self._estimated_total_operations = 0
        timer.add_listener(self._maybe_purge)

    def try_complete_else_watch(self, operation: T, watch_keys: Sequence[DelayedOperationKey]) -> bool:
        """Complete `operation` if that is possible now, else watch it under `watch_keys`.

        Returns True if the caller completed it. Raises IllegalArgumentException without a key.
        Kafka: `DelayedOperationPurgatory.tryCompleteElseWatch`.
        """
        if not watch_keys:
            raise IllegalArgumentException("The watch key list can't be empty")

        def watch() -> None:
            for key in watch_keys:
                if not operation.is_completed:
                    self._watch_for_operation(key, operation)
            with self._lock:
                self._estimated_total_operations += 1

        # 1. Is it complete? If not, watch it, and look once more: from now on no change can be missed. The lock of the
        #    operation is held all the while, so that nobody who checks a key waits for it and holds what it needs.
        if operation.safe_try_complete_or_else(watch):
            return True
        # 2. Nobody has completed it yet: it waits for its time, too.
        if not operation.is_completed:
            self._timer.add(operation)
            # 3. Somebody may have completed it before it was in the timer, and has cancelled nothing then.
            if operation.is_completed:
                operation.cancel()
        return False

    def check_and_complete(self, key: DelayedOperationKey) -> int:
        """Complete the operations under `key` that can be; returns how many the caller completed.

        Kafka: `DelayedOperationPurgatory.checkAndComplete`.
        """
        watchers = self._watchers_by_key.get(key)
        if watchers is None:
            return 0
        completed = 0
        for operation in watchers.copy():  # completing one may bring another
            completed += operation.safe_try_complete()
        self._purge_completed(key, watchers)
        if completed:
            logger.debug("Request key %s unblocked %d %s operations", key.key_label, completed, self._name)
        return completed

    @property
    def watched(self) -> int:
        """How many places in lists are taken: an operation counts once under each of its keys, and also after it was
        completed until the list is cleared. Kafka: `DelayedOperationPurgatory.watched`.
        """
        with self._lock:
            return sum(len(watchers) for watchers in self._watchers_by_key.values())

    @property
    def num_delayed(self) -> int:
        """How many operations wait in the timer. Kafka: `DelayedOperationPurgatory.numDelayed`."""
        return self._timer.size

    @property
    def delayed(self) -> list[T]:
        """The operations that wait in the timer, the one that expires first in front."""
        return cast(list[T], self._timer.pending)

    def cancel_for_key(self, key: DelayedOperationKey) -> list[T]:
        """Watch the operations under `key` no longer, neither there nor in the timer; they are not completed.

        Returns them. Kafka: `DelayedOperationPurgatory.cancelForKey`.
        """
        with self._lock:
            cancelled = self._watchers_by_key.pop(key, [])
        for operation in cancelled:
            operation.cancel()
        return cancelled

    def shutdown(self) -> None:
        """Let no operation expire any more; those that wait are not answered. Kafka: `.shutdown`."""
        self._timer.close()

    def _watch_for_operation(self, key: DelayedOperationKey, operation: T) -> None:
        with self._lock:
            self._watchers_by_key.setdefault(key, []).append(operation)

    def _maybe_purge(self) -> None:
        """Clear the lists of completed operations if there may be too many. Kafka: `.advanceClock`."""
        with self._lock:
            if self._estimated_total_operations - self.num_delayed <= self._purge_interval:
                return
            self._estimated_total_operations = self.num_delayed
            all_watchers = list(self._watchers_by_key.items())
        logger.debug("Begin purging watch lists")
        purged = sum(self._purge_completed(key, watchers) for key, watchers in all_watchers)
        logger.debug("Purged %d elements from watch lists.", purged)

    def _purge_completed(self, key: DelayedOperationKey, watchers: list[T]) -> int:
        """Take completed operations out of the list of `key`, and the list away if it is empty; returns how many.

        Kafka: `Watchers.purgeCompleted`, `DelayedOperationPurgatory.removeKeyIfEmpty`.
        """
        with self._lock:
            before = len(watchers)
            watchers[:] = [operation for operation in watchers if not operation.is_completed]
            if not watchers and self._watchers_by_key.get(key) is watchers:
                del self._watchers_by_key[key]
            return before - len(watchers)
