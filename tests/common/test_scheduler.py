"""The scheduler whose clock a test moves."""

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime


def test_a_task_without_delay_waits_for_the_clock_or_for_a_call():
    time, ran = ManualTime(), []
    scheduler = ManualScheduler(time)
    scheduler.schedule_once("now", lambda: ran.append("now"))
    assert not ran and scheduler.pending == ["now"]
    scheduler.run_due_tasks()
    assert ran == ["now"] and not scheduler.pending


def test_a_task_without_delay_runs_before_schedule_returns_if_that_is_asked_for():
    time, ran = ManualTime(), []
    scheduler = ManualScheduler(time, runs_at_once=True)

    def first() -> None:
        ran.append("first")
        scheduler.schedule_once("second", lambda: ran.append("second"))

    scheduler.schedule_once("later", lambda: ran.append("later"), delay_ms=5)
    scheduler.schedule_once("first", first)
    assert ran == ["first", "second"] and scheduler.pending == ["later"]
    scheduler.schedule("often", lambda: ran.append("often"), period_ms=4)
    time.set_current_time_ms(time.milliseconds() + 5)
    assert ran[2:] == ["often", "often", "later"] and scheduler.pending == ["often"]
