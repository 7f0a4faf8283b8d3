"""What is left to be done when a request has been handled and its locks are free."""

import logging
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)


class DelayedActionQueue:
    """Actions that would meet locks of their caller if they were run at once, such as completing waiting requests.

    They are put here on the way of a request, and run when it has been handled.

    Kafka: `org.apache.kafka.server.DelayedActionQueue`.
    """

    def __init__(self) -> None:
        self._queue: deque[Callable[[], object]] = deque()

    def add(self, action: Callable[[], object]) -> None:
        """Run `action()` later. Kafka: `DelayedActionQueue.add`."""
        self._queue.append(action)

    def try_complete_actions(self) -> None:
        """Run the actions that are here now; what these add is left for the next time.

        An action that raises is logged, and the next one runs. Kafka: `DelayedActionQueue.tryCompleteActions`.
        """
        for _ in range(len(self._queue)):
            try:
                action = self._queue.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                action()
            except Exception:
                logger.exception("failed to complete delayed actions")
