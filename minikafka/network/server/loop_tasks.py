"""Tasks that the loop of the sockets runs between two looks at them."""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable

from minikafka.common.scheduler import ScheduledTask
from minikafka.common.time import Time

logger = logging.getLogger(__name__)


class LoopTasks:
    """A `Scheduler` without threads: the loop asks `wait_ms` before it waits, and calls `run_due` after it.

    For short work that belongs to requests, such as those that have waited long enough: its answers go out by the same
    thread. Tasks run in the order of their times, equal ones as they were scheduled; one that raises is logged. Any
    thread may schedule. Kafka has a thread for each timer of a purgatory: `ExpiredOperationReaper`.
    """

    def __init__(self, time: Time, wake_up: Callable[[], object]):
        """`wake_up()` lets the loop go round once more; it is called when the first task in time is a new one."""
        self._now_ms = time.hi_res_clock_ms
        self._wake_up = wake_up
        self._lock = threading.Lock()  # guards the heap; no task runs under it
        self._heap: list[tuple[int, int, ScheduledTask]] = []  # due (ms), number in the order of scheduling, task
        self._order = itertools.count()

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1) -> ScheduledTask:
        """Run `task` after `delay_ms`, then every `period_ms` (< 0: once). Kafka: `Scheduler.schedule`."""
        scheduled = ScheduledTask(name, task, self._now_ms() + delay_ms, period_ms)
        if self._push(scheduled):
            self._wake_up()
        return scheduled

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int = 0) -> ScheduledTask:
        """Run `task` once after `delay_ms`. Kafka: `Scheduler.scheduleOnce`."""
        return self.schedule(name, task, delay_ms)

    def shutdown(self) -> None:
        """Forget all tasks. Kafka: `Scheduler.shutdown`."""
        with self._lock:
            self._heap.clear()

    def wait_ms(self, most_ms: int) -> int:
        """How long the loop may wait until the next task is due, at most `most_ms`; 0 where one is due."""
        with self._lock:
            if not self._heap:
                return most_ms
            return max(0, min(most_ms, self._heap[0][0] - self._now_ms()))

    def run_due(self) -> None:
        """Run the tasks whose time has come, but none that such a task schedules: the sockets are looked at before."""
        if not self._heap:
            return
        now_ms, due = self._now_ms(), []
        with self._lock:
            while self._heap and self._heap[0][0] <= now_ms:
                due.append(heapq.heappop(self._heap)[2])
        for scheduled in due:
            if scheduled.cancelled:
                continue
            try:
                scheduled.task()
            except Exception:
                logger.exception("Uncaught exception in scheduled task '%s'", scheduled.name)
            if scheduled.periodic and not scheduled.cancelled:
                scheduled.due_ms = self._now_ms() + scheduled.period_ms
                self._push(scheduled)

    def _push(self, scheduled: ScheduledTask) -> bool:
        """Whether it is the first one now."""
        with self._lock:
            heapq.heappush(self._heap, (scheduled.due_ms, next(self._order), scheduled))
            return self._heap[0][2] is scheduled
