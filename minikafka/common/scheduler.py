"""Background work, for which a log is given a `Scheduler`: it starts no thread of its own.

The tasks of a log are flushing after a roll ("flush-log"), deleting renamed files ("delete-file"), expiring producers
("PeriodicProducerExpirationCheck") and writing the leader epoch checkpoint. With the manual pair (`ManualTime`,
`ManualScheduler`) nothing runs until the clock moves or `run_due_tasks` is called.

Kafka: `org.apache.kafka.server.util.Scheduler`, `KafkaScheduler`, `MockScheduler`.
"""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from typing import Protocol, TypeAlias

from minikafka.common.time import ManualTime, SystemTime, Time

logger = logging.getLogger(__name__)


class ScheduledTask:
    """A task that waits for its time. Kafka: `java.util.concurrent.ScheduledFuture`."""

    def __init__(self, name: str, task: Callable[[], object], due_ms: int, period_ms: int):
        self.name = name
        self.task = task
        self.due_ms = due_ms  # by the scheduler's clock; moves on each time a periodic task has run
        self.period_ms = period_ms  # < 0: the task runs once
        self.cancelled = False

    def cancel(self) -> None:
        """Do not run the task, or not again. Kafka: `Future.cancel`."""
        self.cancelled = True

    @property
    def periodic(self) -> bool:
        """True when the task runs again and again. Kafka: `MockScheduler.MockTask.periodic`."""
        return self.period_ms >= 0


_Entry: TypeAlias = tuple[int, int, ScheduledTask]
"""When the task is due (ms); its number in the order of scheduling, which decides between equal times; the task."""


class Scheduler(Protocol):
    """What a log needs from a scheduler. Kafka: `org.apache.kafka.server.util.Scheduler`."""

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1) -> ScheduledTask:
        """Run `task` after `delay_ms`, then every `period_ms` (< 0: once). Kafka: `Scheduler.schedule`."""

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int = 0) -> ScheduledTask:
        """Run `task` once after `delay_ms`. Kafka: `Scheduler.scheduleOnce`."""

    def shutdown(self) -> None:
        """Run nothing any more. Kafka: `Scheduler.shutdown`."""


class ManualScheduler:
    """Runs due tasks in the caller's thread when the clock moves: the earliest first, equal ones as scheduled.

    A task with delay 0 waits, too: for the next move of the clock, or for `run_due_tasks`. So a log that schedules work
    while it holds its lock never sees the work done there, as with threads. With `runs_at_once` what is due is run
    before `schedule` returns, as Kafka's does it, and nothing has to move the clock. Kafka: `MockScheduler`.
    """

    def __init__(self, time: ManualTime, *, runs_at_once: bool = False):
        self._time = time
        self._runs_at_once = runs_at_once
        self._queue: list[_Entry] = []  # a heap
        self._order = itertools.count()
        time.add_listener(self.run_due_tasks)

    def startup(self) -> None:
        """Do nothing: there are no threads to start. Kafka: `MockScheduler.startup`."""

    def shutdown(self) -> None:
        """Forget all tasks, so that none runs any more. Kafka: `MockScheduler.shutdown`."""
        self._queue.clear()

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1) -> ScheduledTask:
        """Run `task` after `delay_ms`, then every `period_ms` (< 0: once). Kafka: `Scheduler.schedule`."""
        scheduled = ScheduledTask(name, task, self._time.milliseconds() + delay_ms, period_ms)
        self._push(scheduled)
        if self._runs_at_once:
            self.run_due_tasks()
        return scheduled

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int = 0) -> ScheduledTask:
        """Run `task` once after `delay_ms`. Kafka: `Scheduler.scheduleOnce`."""
        return self.schedule(name, task, delay_ms, -1)

    def run_due_tasks(self) -> None:
        """Run each task whose time has come, including those that such a task adds. Kafka: `MockScheduler.tick`."""
        while self._queue and self._queue[0][0] <= self._time.milliseconds():
            _, _, scheduled = heapq.heappop(self._queue)
            if scheduled.cancelled:
                continue
            scheduled.task()
            if scheduled.periodic and not scheduled.cancelled:
                scheduled.due_ms += max(scheduled.period_ms, 1)
                self._push(scheduled)

    @property
    def next_due_ms(self) -> int | None:
        """When the first of the waiting tasks is due, by the clock; None when none waits."""
        return min((entry[0] for entry in self._queue if not entry[2].cancelled), default=None)

    @property
    def pending(self) -> list[str]:
        """The names of the waiting tasks, in the order in which they would run."""
        return [entry[2].name for entry in sorted(self._queue, key=lambda e: e[:2]) if not entry[2].cancelled]

    def _push(self, scheduled: ScheduledTask) -> None:
        heapq.heappush(self._queue, (scheduled.due_ms, next(self._order), scheduled))


class KafkaScheduler:
    """Runs tasks on `threads` daemon threads by the clock that never goes back. Kafka: `KafkaScheduler`.

    A task that raises is logged and, if periodic, runs again at its next time. `time`: the machine's unless another one
    is given. One that is moved is looked at when the next task is scheduled.
    """

    def __init__(self, threads: int = 1, thread_name_prefix: str = "minikafka-scheduler-", *, time: Time | None = None):
        self._now_ms = (time or SystemTime()).hi_res_clock_ms
        self._threads = [
            threading.Thread(target=self._run, name=f"{thread_name_prefix}{i}", daemon=True) for i in range(threads)
        ]
        self._queue: list[_Entry] = []  # a heap, guarded by `_lock`
        self._order = itertools.count()
        # Entered by itself: an exception of a signal handler cannot come between its release and the end of the block,
        # as in a Condition's own method.
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)  # notified when a task is added and at shutdown
        self._running = False
        self._at_work = 0  # how many threads run a task, guarded by `_lock`

    def startup(self) -> None:
        """Start the threads. Kafka: `KafkaScheduler.startup`."""
        self._running = True
        for thread in self._threads:
            thread.start()

    def shutdown(self) -> None:
        """Drop waiting tasks, let running ones end, and join the threads. Kafka: `KafkaScheduler.shutdown`."""
        with self._lock:
            self._running = False
            self._queue.clear()
            self._wake.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread() and thread.is_alive():
                thread.join()

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1) -> ScheduledTask:
        """Run `task` after `delay_ms`, then every `period_ms` (< 0: once). Kafka: `Scheduler.schedule`."""
        scheduled = ScheduledTask(name, task, self._now_ms() + delay_ms, period_ms)
        with self._lock:
            self._push(scheduled)
        return scheduled

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int = 0) -> ScheduledTask:
        """Run `task` once after `delay_ms`. Kafka: `Scheduler.scheduleOnce`."""
        return self.schedule(name, task, delay_ms, -1)

    @property
    def is_at_work(self) -> bool:
        """Whether a task is running, or the time of one that waits has come."""
        with self._lock:
            return self._at_work > 0 or bool(self._queue) and self._queue[0][0] <= self._now_ms()

    def _run(self) -> None:
        while (scheduled := self._next_due()) is not None:
            try:
                scheduled.task()
            except Exception:
                logger.exception("Uncaught exception in scheduled task '%s'", scheduled.name)
            with self._lock:
                self._at_work -= 1
                if scheduled.periodic and not scheduled.cancelled and self._running:
                    scheduled.due_ms = self._now_ms() + scheduled.period_ms
                    self._push(scheduled)

    def _next_due(self) -> ScheduledTask | None:
        """Wait for the next task that is due; None after shutdown."""
        with self._lock:
            while self._running:
                if not self._queue:
                    self._wake.wait()
                    continue
                wait_ms = self._queue[0][0] - self._now_ms()
                if wait_ms > 0:
                    self._wake.wait(min(wait_ms / 1000, threading.TIMEOUT_MAX))
                    continue
                scheduled = heapq.heappop(self._queue)[2]
                if not scheduled.cancelled:
                    self._at_work += 1
                    return scheduled
            return None

    def _push(self, scheduled: ScheduledTask) -> None:
        heapq.heappush(self._queue, (scheduled.due_ms, next(self._order), scheduled))
        self._wake.notify()
