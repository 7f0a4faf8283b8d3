"""The timer of the delayed operations: what waits in it is run when its time has come."""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from typing import Protocol

from minikafka.common.scheduler import ScheduledTask, Scheduler
from minikafka.common.time import Time
from minikafka.server.timer_task import TimerTask

logger = logging.getLogger(__name__)

_WORK_TIMEOUT_MS = 200
"""While tasks wait, the clock is looked at no later than after this time. Kafka: `ExpiredOperationReaper.doWork`."""
_FEW = 64
"""The heap is not cleared of cancelled entries before it has this many of them."""


class Timer(Protocol):
    """What a purgatory needs of a timer. Kafka: `org.apache.kafka.server.util.timer.Timer`."""

    def add(self, timer_task: TimerTask) -> None:
        """Run `timer_task` when its delay has passed, counted from now; at once if it has none. Kafka: `Timer.add`."""

    def advance_clock(self) -> bool:
        """Run what is due; True when something was. Kafka: `Timer.advanceClock`."""

    def add_listener(self, listener: Callable[[], object]) -> None:
        """Call `listener()` after each look at the clock."""

    @property
    def size(self) -> int:
        """How many tasks wait: neither run nor cancelled. Kafka: `Timer.size`."""

    @property
    def pending(self) -> list[TimerTask]:
        """The tasks that wait, the one that is due first in front."""

    def close(self) -> None:
        """Forget all tasks, without running them. Kafka: `Timer.close`."""


class SystemTimer:
    """A timer that tells the time by its `Time` and is woken by its `Scheduler`.

    - A task runs when `time` has reached the moment at which it was added, plus its delay: 500 ms after 0, not at 499
      and surely at 500. Tasks that are due at one look at the clock run in the order of their moments, equal ones as
      they were added.
    - A task without delay runs inside `add`, as soon as nobody can find it waiting.
    - While tasks wait, one task of the scheduler is underway, which looks at the clock when the first of them is due,
      but no later than 200 ms from now. So nothing runs by itself under a manual clock.
    - Whatever a task raises is logged, and the next one runs.

    Simpler than Kafka: a heap stands for the hierarchy of timing wheels, so that adding costs O(log n) instead of O(1);
    a cancelled task leaves a mark in the heap, and the marks are cleared away together when they are the greater part
    of it, so that cancelling costs O(1) on average. Tasks run in the scheduler's thread, not in one of their own.

    Kafka: `org.apache.kafka.server.util.timer.SystemTimer`, with the thread of `ExpiredOperationReaper`.
    """

    def __init__(self, name: str, time: Time, scheduler: Scheduler):
        self._name = name
        self._time = time
        self._scheduler = scheduler
        self._lock = threading.RLock()  # guards the fields below; no task runs under it
        self._heap: list[tuple[int, int, _Entry]] = []  # due (ms), number in the order of adding, entry
        self._order = itertools.count()
        self._size = 0
        self._wake_up: ScheduledTask | None = None  # the next look at the clock
        self._wake_up_ms = 0  # when that will be
        self._listeners: list[Callable[[], object]] = []
        self._closed = False

    def add(self, timer_task: TimerTask) -> None:
        """Run `timer_task` when its delay has passed, counted from now; at once if it has none.

        Kafka: `SystemTimer.add`.
        """
        if timer_task.delay_ms <= 0:
            self._run(timer_task)
            return
        with self._lock:
            if self._closed:
                return
            entry = _Entry(self, timer_task)
            timer_task.set_timer_task_entry(entry)
            due_ms = self._time.hi_res_clock_ms() + timer_task.delay_ms
            heapq.heappush(self._heap, (due_ms, next(self._order), entry))
            self._size += 1
            self._wake_up_by(due_ms)

    def advance_clock(self) -> bool:
        """Run what is due; True when something was. Kafka: `SystemTimer.advanceClock`."""
        due = self._take_due()
        for timer_task in due:
            self._run(timer_task)
        for listener in self._listeners:
            listener()
        return bool(due)

    def add_listener(self, listener: Callable[[], object]) -> None:
        """Call `listener()` after each look at the clock: a purgatory clears its lists then."""
        self._listeners.append(listener)

    @property
    def size(self) -> int:
        """How many tasks wait: neither run nor cancelled. Kafka: `SystemTimer.size`."""
        return self._size

    @property
    def pending(self) -> list[TimerTask]:
        """The tasks that wait, the one that is due first in front."""
        with self._lock:
            waiting = sorted((due_ms, order, task) for due_ms, order, entry in self._heap if (task := entry.timer_task))
        return [timer_task for _, _, timer_task in waiting]

    def close(self) -> None:
        """Forget all tasks, without running them, and take no more. Kafka: `SystemTimer.close`."""
        with self._lock:
            self._closed = True
            self._heap.clear()
            self._size = 0
            if self._wake_up is not None:
                self._wake_up.cancel()

    def _take_due(self) -> list[TimerTask]:
        """Take the tasks out of the heap whose time has come."""
        now_ms = self._time.hi_res_clock_ms()
        due: list[TimerTask] = []
        with self._lock:
            while self._heap and (self._heap[0][2].timer_task is None or self._heap[0][0] <= now_ms):
                timer_task = heapq.heappop(self._heap)[2].take()
                if timer_task is not None:
                    self._size -= 1
                    due.append(timer_task)
        return due

    def _run(self, timer_task: TimerTask) -> None:
        try:
            timer_task.run()
        except Exception:
            logger.exception("Uncaught exception in a task of timer '%s'", self._name)

    def _wake_up_by(self, due_ms: int) -> None:
        """See to it that the clock is looked at when it shows `due_ms`, or earlier."""
        now_ms = self._time.hi_res_clock_ms()
        wake_up_ms = min(due_ms, now_ms + _WORK_TIMEOUT_MS)
        if self._wake_up is not None:
            if self._wake_up_ms <= wake_up_ms:
                return
            self._wake_up.cancel()
        self._wake_up_ms = wake_up_ms
        self._wake_up = self._scheduler.schedule_once(f"timer-{self._name}", self._look, wake_up_ms - now_ms)

    def _look(self) -> None:
        """Look at the clock, and come again while something waits."""
        with self._lock:
            self._wake_up = None
        self.advance_clock()
        with self._lock:
            if self._heap and not self._closed:
                self._wake_up_by(self._heap[0][0])

    def _removed(self) -> None:
        """An entry was cancelled. Clear the heap of such entries when they are the greater part of it."""
        self._size -= 1
        if len(self._heap) > 2 * self._size + _FEW:
            self._heap = [row for row in self._heap if row[2].timer_task is not None]
            heapq.heapify(self._heap)


class _Entry:
    """A task in the heap of a timer; without a task once that was cancelled or taken. Kafka: `TimerTaskEntry`."""

    __slots__ = ("_timer", "timer_task")

    def __init__(self, timer: SystemTimer, timer_task: TimerTask):
        self._timer = timer
        self.timer_task: TimerTask | None = timer_task

    def take(self) -> TimerTask | None:
        """The task, which is no longer here after this."""
        timer_task, self.timer_task = self.timer_task, None
        return timer_task

    def remove(self) -> None:
        """Leave the timer, unless that happened before. Kafka: `TimerTaskEntry.remove`."""
        with self._timer._lock:
            if self.take() is not None:
                self._timer._removed()
