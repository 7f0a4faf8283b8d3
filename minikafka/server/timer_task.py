"""What a timer runs when its time has come."""

from abc import ABC, abstractmethod
from typing import Protocol


class TimerTaskEntry(Protocol):
    """The place of a task in the timer that holds it. Kafka: `TimerTaskEntry`."""

    def remove(self) -> None:
        """Take the task out of the timer. Kafka: `TimerTaskEntry.remove`."""


class TimerTask(ABC):
    """Something to be done once, `delay_ms` (ms) after it was handed to a timer, unless it is cancelled before.

    Kafka: `org.apache.kafka.server.util.timer.TimerTask`.
    """

    __slots__ = ("delay_ms", "_timer_task_entry")

    def __init__(self, delay_ms: int):
        self.delay_ms = delay_ms
        self._timer_task_entry: TimerTaskEntry | None = None  # None: in no timer, or cancelled

    @abstractmethod
    def run(self) -> None:
        """What is done when the time has come. Kafka: `TimerTask.run`."""

    def cancel(self) -> None:
        """Leave the timer, so that `run` is not called by it any more. Kafka: `TimerTask.cancel`."""
        entry, self._timer_task_entry = self._timer_task_entry, None
        if entry is not None:
            entry.remove()

    @property
    def is_cancelled(self) -> bool:
        """True while no timer holds the task for later. Kafka: `TimerTask.isCancelled`."""
        return self._timer_task_entry is None

    def set_timer_task_entry(self, entry: TimerTaskEntry) -> None:
        """Belong to `entry` from now on, and to no other one. Kafka: `TimerTask.setTimerTaskEntry`."""
        self.cancel()
        self._timer_task_entry = entry
