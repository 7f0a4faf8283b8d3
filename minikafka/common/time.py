"""The clock, which a log is given: it asks its `Time`, and nothing else, what time it is.

Kafka: `org.apache.kafka.common.utils.Time`, `SystemTime`, `MockTime`.
"""

import time
from collections.abc import Callable
from typing import Protocol


class Time(Protocol):
    """What a log needs from a clock. Kafka: `Time`."""

    def milliseconds(self) -> int:
        """The wall clock, in ms since 1970. Kafka: `Time.milliseconds`."""

    def hi_res_clock_ms(self) -> int:
        """A clock that never goes back, in ms since an arbitrary start. Kafka: `Time.hiResClockMs`."""

    def sleep(self, ms: int) -> None:
        """Wait until `ms` milliseconds have passed. Kafka: `Time.sleep`."""


class SystemTime:
    """The machine's clock. Kafka: `SystemTime`."""

    def milliseconds(self) -> int:
        return time.time_ns() // 1_000_000

    def hi_res_clock_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def sleep(self, ms: int) -> None:
        time.sleep(ms / 1000)


class ManualTime:
    """A clock that moves only when it is told to, so that every run writes the same bytes.

    Listeners (`ManualScheduler` adds one) are called after each move. Kafka: `MockTime`.
    """

    def __init__(self, now_ms: int = 0):
        self._now_ms = now_ms  # both clocks show it
        self._listeners: list[Callable[[], object]] = []  # called in this order after each move

    def milliseconds(self) -> int:
        return self._now_ms

    def hi_res_clock_ms(self) -> int:
        return self._now_ms

    def sleep(self, ms: int) -> None:
        self.set_current_time_ms(self._now_ms + ms)

    def set_current_time_ms(self, now_ms: int) -> None:
        """Move the clock to `now_ms`; ValueError for a time in its past. Kafka: `MockTime.setCurrentTimeMs`."""
        if now_ms < self._now_ms:
            raise ValueError(f"the clock stands at {self._now_ms} ms and cannot be moved back to {now_ms} ms")
        self._now_ms = now_ms
        for listener in self._listeners:
            listener()

    def add_listener(self, listener: Callable[[], object]) -> None:
        """Call `listener()` after each move of the clock."""
        self._listeners.append(listener)
