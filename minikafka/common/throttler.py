"""Slows work down to a given rate."""

import math
import threading

from minikafka.common.time import Time

_MS_PER_SEC = 1000


class Throttler:
    """Makes a caller that works too fast sleep: after each interval, its rate is compared with the desired one.

    Several threads may share a throttler; while one sleeps, the others wait. Simpler than Kafka: there is no metric,
    and the clock is read in ms, because Kafka rounds its nanoseconds to them anyway.

    Kafka: `storage.internals.utils.Throttler`.
    """

    def __init__(self, desired_rate_per_sec: float, check_interval_ms: int, time: Time):
        """`desired_rate_per_sec` is in units per second, whatever is counted; the rate is checked every
        `check_interval_ms`.
        """
        self.desired_rate_per_sec = desired_rate_per_sec
        self._check_interval_ms = check_interval_ms
        self._time = time
        self._lock = threading.Lock()
        self._period_start_ms = time.hi_res_clock_ms()
        self._observed_so_far = 0.0

    def update_desired_rate_per_sec(self, updated_desired_rate_per_sec: float) -> None:
        """Work at another rate from now on. Kafka: `Throttler.updateDesiredRatePerSec`."""
        self.desired_rate_per_sec = updated_desired_rate_per_sec

    def maybe_throttle(self, observed: float) -> None:
        """Count `observed` more units and sleep if they came too fast. Kafka: `Throttler.maybeThrottle`."""
        desired_rate_per_sec = self.desired_rate_per_sec
        with self._lock:
            self._observed_so_far += observed
            elapsed_ms = self._time.hi_res_clock_ms() - self._period_start_ms
            if elapsed_ms <= self._check_interval_ms or self._observed_so_far <= 0:
                return
            if self._observed_so_far * _MS_PER_SEC / elapsed_ms > desired_rate_per_sec:
                # As long as the work should have taken, less what it took.
                wanted_ms = self._observed_so_far / (desired_rate_per_sec / _MS_PER_SEC)
                sleep_ms = math.floor(wanted_ms - elapsed_ms + 0.5)
                if sleep_ms > 0:
                    self._time.sleep(sleep_ms)
            self._period_start_ms = self._time.hi_res_clock_ms()
            self._observed_so_far = 0.0
