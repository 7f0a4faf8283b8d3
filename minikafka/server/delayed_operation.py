"""An operation that is answered later: when what it waits for has happened, or when its time is over."""

import threading
from abc import abstractmethod
from collections.abc import Callable

from minikafka.server.timer_task import TimerTask


class DelayedOperation(TimerTask):
    """A request that waits, for at most `delay_ms` (ms).

    - It is completed once, by whoever comes first: somebody who sees that it can be (`try_complete`), or the timer
      (`run`). Only then is `on_complete` called, once, under the lock of the operation.
    - `on_expiration` is called after `on_complete`, and only if the timer was first.

    A subclass says with `try_complete` when it can be completed (it then calls `force_complete`), and with
    `on_complete` what is answered. Kafka: `org.apache.kafka.server.purgatory.DelayedOperation`.
    """

    __slots__ = ("_completed", "_lock")

    def __init__(self, delay_ms: int):
        super().__init__(delay_ms)
        self._completed = False
        self._lock = threading.RLock()

    @property
    def is_completed(self) -> bool:
        """True once somebody has completed the operation. Kafka: `DelayedOperation.isCompleted`."""
        return self._completed

    def force_complete(self) -> bool:
        """Complete the operation; True for the one caller who did it, False for all who come later.

        Kafka: `DelayedOperation.forceComplete`.
        """
        if self._completed:
            return False
        with self._lock:
            # 1. Another thread may have been faster while this one waited for the lock.
            if self._completed:
                return False
            # 2. From here on nobody else can complete it, the timer included.
            self._completed = True
            self.cancel()
            # 3. The answer.
            self.on_complete()
            return True

    @abstractmethod
    def try_complete(self) -> bool:
        """Complete the operation if it can be now; True for the one caller who did it.

        Called under the lock of the operation. Kafka: `DelayedOperation.tryComplete`.
        """

    @abstractmethod
    def on_complete(self) -> None:
        """What happens when the operation is completed, once: the answer. Kafka: `DelayedOperation.onComplete`."""

    @abstractmethod
    def on_expiration(self) -> None:
        """What else happens when its time was over; the answer is out. Kafka: `DelayedOperation.onExpiration`."""

    def safe_try_complete(self) -> bool:
        """`try_complete` for several threads; False also if it was completed. Kafka: `.safeTryComplete`."""
        with self._lock:
            return not self._completed and self.try_complete()

    def safe_try_complete_or_else(self, action: Callable[[], object]) -> bool:
        """Try to complete; if that fails, call `action()` and try once more, all under the lock of the operation.

        Kafka: `DelayedOperation.safeTryCompleteOrElse`.
        """
        with self._lock:
            if self.try_complete():
                return True
            action()
            return self.try_complete()

    def run(self) -> None:
        """The time is over. Kafka: `DelayedOperation.run`."""
        if self.force_complete():
            self.on_expiration()
