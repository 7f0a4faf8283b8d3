"""The timer of the delayed operations."""

import pytest

from minikafka.common.scheduler import KafkaScheduler, ManualScheduler
from minikafka.common.time import ManualTime, SystemTime
from minikafka.server.timer import SystemTimer
from minikafka.server.timer_task import TimerTask


class Note(TimerTask):
    """Writes its name down when it is run."""

    def __init__(self, delay_ms, name, notes):
        super().__init__(delay_ms)
        self.name, self.notes = name, notes

    def run(self):
        self.notes.append(self.name)


@pytest.fixture
def time():
    return ManualTime(1000)


@pytest.fixture
def scheduler(time):
    return ManualScheduler(time)


@pytest.fixture
def timer(time, scheduler):
    return SystemTimer("test", time, scheduler)


def test_a_task_runs_when_the_clock_shows_its_moment_and_not_before(time, timer):
    notes = []
    timer.add(Note(500, "a", notes))
    time.sleep(499)
    assert notes == [] and timer.size == 1
    time.sleep(1)
    assert notes == ["a"] and timer.size == 0
    time.sleep(10_000)
    assert notes == ["a"]


@pytest.mark.parametrize("delay_ms", [0, -1])
def test_a_task_without_delay_runs_at_once(timer, delay_ms):
    notes = []
    timer.add(Note(delay_ms, "a", notes))
    assert notes == ["a"] and timer.size == 0


def test_tasks_run_in_the_order_of_their_moments_and_equal_ones_as_added(time, timer):
    notes = []
    for name, delay_ms in (("c", 30), ("a", 10), ("d", 30), ("b", 20), ("e", 4000)):
        timer.add(Note(delay_ms, name, notes))
    time.sleep(1000)
    assert notes == ["a", "b", "c", "d"] and timer.size == 1


def test_a_cancelled_task_does_not_run(time, timer):
    notes = []
    task = Note(10, "a", notes)
    timer.add(task)
    assert not task.is_cancelled
    task.cancel()
    task.cancel()
    assert task.is_cancelled and timer.size == 0
    time.sleep(100)
    assert notes == []


def test_a_task_that_is_added_again_waits_only_once(time, timer):
    notes = []
    task = Note(10, "a", notes)
    timer.add(task)
    time.sleep(5)
    timer.add(task)
    assert timer.size == 1
    time.sleep(9)
    assert notes == []
    time.sleep(1)
    assert notes == ["a"]


def test_a_task_that_a_task_adds_waits_its_own_time(time, timer):
    notes = []

    class Again(Note):
        def run(self):
            super().run()
            timer.add(Note(10, "b", notes))

    timer.add(Again(10, "a", notes))
    time.sleep(15)
    assert notes == ["a"]
    time.sleep(10)
    assert notes == ["a", "b"]


def test_a_task_that_raises_does_not_keep_the_others_from_running(time, timer, caplog):
    class Broken(TimerTask):
        def run(self):
            raise OSError("broken")

    notes = []
    timer.add(Broken(5))
    timer.add(Note(5, "a", notes))
    time.sleep(5)
    assert notes == ["a"]
    assert "Uncaught exception in a task of timer 'test'" in caplog.text


def test_the_scheduler_has_one_wake_up_while_tasks_wait_and_none_afterwards(time, scheduler, timer):
    notes = []
    assert scheduler.pending == []
    for delay_ms in range(1000, 0, -100):
        timer.add(Note(delay_ms, delay_ms, notes))
    assert scheduler.pending == ["timer-test"]
    for _ in range(100):
        time.sleep(10)
        assert len(scheduler.pending) <= 1
    assert notes == list(range(100, 1001, 100)) and scheduler.pending == []


def test_while_tasks_wait_the_listeners_hear_of_the_clock_at_least_every_200_ms(time, timer):
    looks = []
    timer.add_listener(lambda: looks.append(time.milliseconds()))
    timer.add(Note(500, "a", []))
    for _ in range(100):
        time.sleep(10)
    assert looks == [1200, 1400, 1500]


def test_a_closed_timer_runs_nothing(time, scheduler, timer):
    notes = []
    timer.add(Note(10, "a", notes))
    timer.close()
    timer.add(Note(10, "b", notes))
    time.sleep(100)
    assert notes == [] and timer.size == 0 and scheduler.pending == []


def test_the_tasks_that_wait_are_shown_in_the_order_in_which_they_are_due(timer):
    tasks = [Note(delay_ms, delay_ms, []) for delay_ms in (30, 10, 20, 10)]
    for task in tasks:
        timer.add(task)
    tasks[2].cancel()
    assert timer.pending == [tasks[1], tasks[3], tasks[0]]


def test_cancelled_tasks_do_not_fill_the_heap(timer):
    waiting = [Note(30_000, n, []) for n in range(1000)]
    for task in waiting:
        timer.add(task)
    for round_ in range(20):
        for _ in range(1000):
            task = Note(30_000, "x", [])
            timer.add(task)
            task.cancel()
        assert timer.size == 1000
        assert len(timer._heap) <= 2 * timer.size + 65
    for task in waiting:
        task.cancel()
    assert timer.size == 0 and len(timer._heap) <= 65


@pytest.mark.slow
def test_a_task_runs_by_the_system_clock():
    scheduler = KafkaScheduler()
    scheduler.startup()
    notes = []
    time = SystemTime()
    timer = SystemTimer("test", time, scheduler)

    class Moment(TimerTask):
        def run(self):
            notes.append(time.hi_res_clock_ms() - started)

    started = time.hi_res_clock_ms()
    for delay_ms in (300, 20, 100):
        timer.add(Moment(delay_ms))
    while timer.size or len(notes) < 3:
        time.sleep(5)
    scheduler.shutdown()
    for found, delay_ms in zip(notes, (20, 100, 300), strict=True):
        assert delay_ms <= found < delay_ms + 150


# Kafka


def hidden(kafka, owner, name, *types):
    """A method of a class that is not public."""
    array = kafka.gateway.new_array(kafka.jvm.java.lang.Class, len(types))
    for n, type_ in enumerate(types):
        array[n] = type_
    method = owner.getDeclaredMethod(name, array)
    method.setAccessible(True)
    return method


def test_kafkas_timer_takes_a_task_as_due_when_the_clock_shows_its_moment(kafka):
    """Its timing wheel is asked, whose clock is moved by hand: the real one cannot be stopped at a millisecond."""
    java_class = kafka.find_class("java.lang.Class")
    package = "org.apache.kafka.server.util.timer."
    start_ms = 1000
    timer = kafka.find_class(package + "SystemTimer")("test", 1, 20, start_ms)
    field = java_class.forName(package + "SystemTimer").getDeclaredField("timingWheel")
    field.setAccessible(True)
    wheel = field.get(timer)
    future = kafka.find_class("java.util.concurrent.CompletableFuture")()
    task = kafka.find_class("org.apache.kafka.server.purgatory.DelayedFuture")(500, [future], None)
    entry = kafka.find_class(package + "TimerTaskEntry")
    for now_ms, waits in ((start_ms + 499, True), (start_ms + 500, False), (start_ms + 501, False)):
        wheel.advanceClock(now_ms)
        assert wheel.add(entry(task, start_ms + 500)) is waits
    timer.close()
