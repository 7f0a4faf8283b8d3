"""The clock of a broker in a test."""

import time

from minikafka.common.time import Time


class MovedClock:
    """The machine's clock, or one that stands still, and as much further as a test has moved it.

    `hi_res_clock_ms` always goes on with the machine: by it a broker measures how long a request waits, and a client
    wants its answer in its own time, also while the broker's clock stands still. It is a `minikafka.common.time.Time`.
    """

    def __init__(self, stands_at_ms: int | None = None):
        """`stands_at_ms`: ms since 1970; None for the machine's clock."""
        self._stands_at_ms = stands_at_ms
        self._moved_ms = 0

    def milliseconds(self) -> int:
        now_ms = time.time_ns() // 1_000_000 if self._stands_at_ms is None else self._stands_at_ms
        return now_ms + self._moved_ms

    def hi_res_clock_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000 + self._moved_ms

    @property
    def of_the_logs(self) -> Time:
        """The clock by which logs are kept: where this one stands, it stands in both ways of asking it."""
        return self if self._stands_at_ms is None else _InBothWays(self)

    def sleep(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def move(self, ms: int) -> None:
        """Let both clocks show `ms` milliseconds more. Raises ValueError for a negative number."""
        if ms < 0:
            raise ValueError(f"A clock cannot be moved back, by {ms} ms")
        self._moved_ms += ms


class _InBothWays:
    """A clock whose `hi_res_clock_ms` is its `milliseconds`."""

    def __init__(self, clock: MovedClock):
        self.milliseconds = self.hi_res_clock_ms = clock.milliseconds
        self.sleep = clock.sleep
