"""Throttling, by a clock that moves when it is told to; beside Kafka's in tests/log/cleaner."""

from minikafka.common.throttler import Throttler
from minikafka.common.time import ManualTime


def test_who_is_too_fast_sleeps_until_the_rate_is_right():
    time = ManualTime(1000)
    throttler = Throttler(10_000, 300, time)
    throttler.maybe_throttle(5000)  # the interval is not over
    assert time.milliseconds() == 1000
    time.sleep(300)
    throttler.maybe_throttle(0)  # not more than the interval
    assert time.milliseconds() == 1300
    time.sleep(1)
    throttler.maybe_throttle(1000)
    assert time.milliseconds() == 1600  # 6000 units take 600 ms


def test_who_is_slow_does_not_sleep_and_gains_nothing_for_later():
    time = ManualTime()
    throttler = Throttler(1000, 300, time)
    time.sleep(10_000)
    throttler.maybe_throttle(5000)
    assert time.milliseconds() == 10_000
    time.sleep(400)
    throttler.maybe_throttle(1000)
    assert time.milliseconds() == 11_000


def test_the_rate_can_be_changed():
    time = ManualTime()
    throttler = Throttler(1000, 300, time)
    throttler.update_desired_rate_per_sec(2000)
    time.sleep(400)
    throttler.maybe_throttle(1000)
    assert (time.milliseconds(), throttler.desired_rate_per_sec) == (500, 2000)


def test_nothing_observed_is_no_reason_to_begin_anew():
    time = ManualTime()
    throttler = Throttler(1000, 300, time)
    time.sleep(400)
    throttler.maybe_throttle(0)
    throttler.maybe_throttle(1000)
    assert time.milliseconds() == 1000
