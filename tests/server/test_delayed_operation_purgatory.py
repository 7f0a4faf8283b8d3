"""Operations that wait: completed once, by whoever comes first."""

import random
import threading
import time as clock

import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.timer import SystemTimer
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey
from tests.server.delayed_futures import DelayedFuture, Event


def key(partition):
    return TopicPartitionOperationKey("topic", partition)


@pytest.fixture
def time():
    return ManualTime(1000)


@pytest.fixture
def purgatory(time):
    return purgatory_of(time)


def purgatory_of(time, purge_interval=1000):
    return DelayedOperationPurgatory("Test", SystemTimer("Test", time, ManualScheduler(time)), purge_interval)


def test_an_operation_that_can_be_completed_does_not_wait(purgatory):
    operation = DelayedFuture(1000)
    assert purgatory.try_complete_else_watch(operation, [key(0)])
    assert operation.story == ["complete"] and operation.is_completed
    assert purgatory.watched == purgatory.num_delayed == 0


def test_an_operation_needs_a_key(purgatory):
    with pytest.raises(IllegalArgumentException):
        purgatory.try_complete_else_watch(DelayedFuture(1000), [])


def test_an_operation_that_waits_was_asked_before_and_after_it_was_watched(purgatory):
    operation = DelayedFuture(1000, Event())
    assert not purgatory.try_complete_else_watch(operation, [key(0), key(1)])
    assert operation.tried == 2 and operation.story == []
    assert purgatory.watched == 2 and purgatory.num_delayed == 1


def test_what_happens_between_the_two_questions_is_not_missed(purgatory):
    event = Event()

    class Late(DelayedFuture):
        def try_complete(self):
            done = super().try_complete()
            event.happen()
            return done

    operation = Late(1000, event)
    assert purgatory.try_complete_else_watch(operation, [key(0)])
    assert operation.story == ["complete"] and purgatory.num_delayed == 0


def test_operations_are_completed_under_their_key_in_the_order_of_arrival(purgatory):
    first, second = Event(), Event()
    answers = []

    class Named(DelayedFuture):
        def on_complete(self):
            answers.append(self.name)

    for name, events in (("a", [first]), ("b", [second]), ("c", [first]), ("d", [first, second])):
        operation = Named(1000, *events)
        operation.name = name
        purgatory.try_complete_else_watch(operation, [key(0)])
    assert purgatory.check_and_complete(key(0)) == 0
    first.happen()
    assert purgatory.check_and_complete(key(1)) == 0 and answers == []
    assert purgatory.check_and_complete(key(0)) == 2 and answers == ["a", "c"]
    assert purgatory.watched == purgatory.num_delayed == 2
    second.happen()
    assert purgatory.check_and_complete(key(0)) == 2 and answers == ["a", "c", "b", "d"]
    assert purgatory.watched == purgatory.num_delayed == 0


def test_an_operation_stays_in_the_lists_of_its_other_keys_until_these_are_checked(purgatory):
    event = Event()
    purgatory.try_complete_else_watch(DelayedFuture(1000, event), [key(0), key(1), key(2)])
    event.happen()
    assert purgatory.check_and_complete(key(1)) == 1
    assert purgatory.watched == 2 and purgatory.num_delayed == 0
    assert purgatory.check_and_complete(key(0)) == 0
    assert purgatory.watched == 1


def test_the_answer_of_an_expired_operation_comes_before_its_expiration(time, purgatory):
    operation = DelayedFuture(500, Event())
    purgatory.try_complete_else_watch(operation, [key(0)])
    time.sleep(499)
    assert operation.story == []
    time.sleep(1)
    assert operation.story == ["complete", "expire"]
    assert purgatory.num_delayed == 0 and purgatory.watched == 1
    assert purgatory.check_and_complete(key(0)) == 0 and purgatory.watched == 0


def test_a_completed_operation_does_not_expire(time, purgatory):
    event = Event()
    operation = DelayedFuture(500, event)
    purgatory.try_complete_else_watch(operation, [key(0)])
    event.happen()
    purgatory.check_and_complete(key(0))
    time.sleep(1000)
    operation.run()
    assert operation.story == ["complete"] and not operation.force_complete()


def test_an_operation_whose_time_is_over_at_once_is_answered_at_once(purgatory):
    operation = DelayedFuture(0, Event())
    assert not purgatory.try_complete_else_watch(operation, [key(0)])
    assert operation.story == ["complete", "expire"]


def test_an_operation_completed_under_its_first_key_is_not_watched_under_the_others(purgatory):
    """As when another thread completes it while it is being watched."""
    operation = DelayedFuture(1000, Event())
    keys = [key(0), key(1), key(2)]

    class Completing(list):
        def __iter__(self):
            yield keys[0]
            operation.force_complete()
            yield from keys[1:]

    assert not purgatory.try_complete_else_watch(operation, Completing(keys))
    assert purgatory.watched == 1 and purgatory.num_delayed == 0


def test_the_lists_are_cleared_when_too_many_operations_in_them_are_completed(time):
    purgatory = purgatory_of(time, purge_interval=10)
    event = Event()
    for _ in range(11):
        purgatory.try_complete_else_watch(DelayedFuture(30_000, event), [key(0), key(1)])
    kept = DelayedFuture(30_000, Event())
    purgatory.try_complete_else_watch(kept, [key(0), key(1)])
    event.happen()
    assert purgatory.check_and_complete(key(0)) == 11
    assert purgatory.watched == 13
    time.sleep(199)
    assert purgatory.watched == 13
    time.sleep(1)
    assert purgatory.watched == 2 and not kept.is_completed


def test_the_lists_are_left_alone_while_few_operations_in_them_are_completed(time):
    purgatory = purgatory_of(time, purge_interval=10)
    event = Event()
    for _ in range(10):
        purgatory.try_complete_else_watch(DelayedFuture(30_000, event), [key(0), key(1)])
    purgatory.try_complete_else_watch(DelayedFuture(30_000, Event()), [key(0), key(1)])
    event.happen()
    purgatory.check_and_complete(key(0))
    time.sleep(1000)
    assert purgatory.watched == 12


def test_operations_can_be_given_up_by_key(time, purgatory):
    operations = [DelayedFuture(500, Event()) for _ in range(3)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, [key(0)])
    other = DelayedFuture(500, Event())
    purgatory.try_complete_else_watch(other, [key(1)])
    assert purgatory.cancel_for_key(key(0)) == operations
    assert purgatory.cancel_for_key(key(0)) == []
    assert purgatory.watched == purgatory.num_delayed == 1
    time.sleep(500)
    assert [operation.story for operation in operations] == [[], [], []] and other.is_completed


def test_a_purgatory_that_was_shut_down_answers_nothing(time, purgatory):
    operation = DelayedFuture(500, Event())
    purgatory.try_complete_else_watch(operation, [key(0)])
    purgatory.shutdown()
    time.sleep(1000)
    assert operation.story == [] and purgatory.num_delayed == 0


def test_an_answer_may_bring_the_next_operation_under_the_same_key(purgatory):
    event = Event()
    follower = DelayedFuture(1000, Event())

    class Again(DelayedFuture):
        def on_complete(self):
            super().on_complete()
            purgatory.try_complete_else_watch(follower, [key(0)])

    purgatory.try_complete_else_watch(Again(1000, event), [key(0)])
    event.happen()
    assert purgatory.check_and_complete(key(0)) == 1
    assert purgatory.watched == purgatory.num_delayed == 1 and follower.tried == 2


@pytest.mark.slow
def test_what_many_operations_wait_for_is_not_asked_when_something_else_happens(time):
    """The cost of completing an operation, counted in questions, is the same among ten and among 100,000."""
    questions = {}
    for waiting in (10, 100_000):
        purgatory = purgatory_of(time)
        operations = [DelayedFuture(30_000, Event()) for _ in range(waiting)]
        for number, operation in enumerate(operations):
            purgatory.try_complete_else_watch(operation, [key(number)])
        before = sum(operation.tried for operation in operations)
        chosen = operations[waiting // 2]
        chosen.events[0].happen()
        assert purgatory.check_and_complete(key(waiting // 2)) == 1
        questions[waiting] = sum(operation.tried for operation in operations) - before
        assert chosen.story == ["complete"]
    assert questions[100_000] == questions[10] == 1


@pytest.mark.slow
def test_threads_that_race_complete_each_operation_once(time):
    """Threads check, complete by force, and watch, all at once; nothing is completed twice, nothing is left."""
    purgatory = purgatory_of(time, purge_interval=20)
    events = [Event() for _ in range(2000)]
    operations = [DelayedFuture(60_000, event) for event in events]
    wins = []

    def watch(part):
        for number, operation in part:
            wins.append(purgatory.try_complete_else_watch(operation, [key(number % 7), key(number % 5)]))

    def change(part):
        for number, event in part:
            event.happen()
            purgatory.check_and_complete(key(number % 7))

    def force(part):
        for operation in part:
            wins.append(operation.force_complete())

    numbered = list(enumerate(operations))
    threads = [threading.Thread(target=watch, args=(numbered[n::2],)) for n in range(2)]
    threads += [threading.Thread(target=change, args=(list(enumerate(events))[n::2],)) for n in range(2)]
    threads += [threading.Thread(target=force, args=(operations[::3],))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(7):
        purgatory.check_and_complete(key(number))
    assert all(operation.story == ["complete"] for operation in operations)
    assert purgatory.num_delayed == 0


# Kafka


class KafkaPurgatory:
    """Kafka's own purgatory with its own `DelayedFuture`s; its reaper thread is off, its clock the system's."""

    def __init__(self, kafka, purge_interval):
        self.kafka = kafka
        package = "org.apache.kafka.server."
        self.timer = kafka.find_class(package + "util.timer.SystemTimer")("Test")
        purgatory = kafka.find_class(package + "purgatory.DelayedOperationPurgatory")
        self.purgatory = purgatory("Test", self.timer, 0, purge_interval, False, True)
        types = kafka.gateway.new_array(kafka.jvm.java.lang.Class, 1)
        types[0] = kafka.jvm.java.lang.Long.TYPE
        self.advance = self.purgatory.getClass().getDeclaredMethod("advanceClock", types)
        self.advance.setAccessible(True)
        self.future = kafka.find_class("java.util.concurrent.CompletableFuture")
        self.operation = kafka.find_class(package + "purgatory.DelayedFuture")
        self.key = kafka.find_class(package + "purgatory.TopicPartitionOperationKey")
        self.answered = kafka.find_class("java.util.concurrent.FutureTask")
        self.nothing = kafka.find_class("java.lang.Thread")()
        self.events, self.operations, self.answers = [], [], []

    def add_event(self):
        self.events.append(self.future())

    def happen(self, event):
        self.events[event].complete(None)

    def watch(self, delay_ms, events, partitions):
        answer = self.answered(self.nothing, None)
        operation = self.operation(delay_ms, [self.events[event] for event in events], answer)
        self.answers.append(answer)
        self.operations.append(operation)
        keys = self.kafka.find_class("java.util.ArrayList")()
        for partition in partitions:
            keys.add(self.key("topic", partition))
        return self.purgatory.tryCompleteElseWatch(operation, keys)

    def check(self, partition):
        return self.purgatory.checkAndComplete(self.key("topic", partition))

    def cancel(self, partition):
        return [self.operations.index(found) for found in self.purgatory.cancelForKey(self.key("topic", partition))]

    def force(self, number):
        return self.operations[number].forceComplete()

    def tick(self, expiring):
        """Let `expiring` be answered, which the timer hands to a thread of its own, and clear the lists."""
        wait = self.kafka.gateway.new_array(self.kafka.jvm.java.lang.Object, 1)
        wait[0] = self.kafka.jvm.java.lang.Long.valueOf(1)
        deadline = clock.monotonic() + 30
        while True:
            self.advance.invoke(self.purgatory, wait)
            if all(self.answers[number].isDone() for number in expiring):
                break
            assert clock.monotonic() < deadline
        self.advance.invoke(self.purgatory, wait)

    def seen(self):
        states = [
            (operation.isCompleted(), answer.isDone())
            for operation, answer in zip(self.operations, self.answers, strict=True)
        ]
        return self.purgatory.watched(), self.purgatory.numDelayed(), states


class OurPurgatory:
    """Ours, with the same methods."""

    def __init__(self, purge_interval):
        self.time = ManualTime(0)
        self.purgatory = purgatory_of(self.time, purge_interval)
        self.events, self.operations = [], []

    def add_event(self):
        self.events.append(Event())

    def happen(self, event):
        self.events[event].happen()

    def watch(self, delay_ms, events, partitions):
        operation = DelayedFuture(delay_ms, *(self.events[event] for event in events))
        self.operations.append(operation)
        return self.purgatory.try_complete_else_watch(operation, [key(partition) for partition in partitions])

    def check(self, partition):
        return self.purgatory.check_and_complete(key(partition))

    def cancel(self, partition):
        return [self.operations.index(found) for found in self.purgatory.cancel_for_key(key(partition))]

    def force(self, number):
        return self.operations[number].force_complete()

    def tick(self, expiring):
        self.time.sleep(200)
        assert all(self.operations[number].is_completed for number in expiring)
        self.purgatory._timer.advance_clock()

    def seen(self):
        states = [(operation.is_completed, "complete" in operation.story) for operation in self.operations]
        return self.purgatory.watched, self.purgatory.num_delayed, states


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_kafkas_purgatory_does_the_same(kafka, seed):
    """Drawn steps: watch, let something happen, check a key, complete by force, give a key up, let time pass."""
    draw = random.Random(seed)
    purge_interval = [0, 3, 1000][seed % 3]
    both = [KafkaPurgatory(kafka, purge_interval), OurPurgatory(purge_interval)]

    def do(step, *arguments):
        results = [getattr(one, step)(*arguments) for one in both]
        assert results[0] == results[1], (step, arguments, results)
        seen = [one.seen() for one in both]
        assert seen[0] == seen[1], (step, arguments)

    for _ in range(60):
        step = draw.choice(["watch"] * 4 + ["happen", "happen", "check", "check", "check", "cancel", "force", "tick"])
        if step == "watch":
            do("add_event")
            events = draw.sample(range(len(both[1].events)), draw.randint(1, min(2, len(both[1].events))))
            partitions = draw.sample(range(4), draw.randint(1, 3))
            do("watch", 600_000, events, partitions)
        elif step == "happen" and both[1].events:
            do("happen", draw.randrange(len(both[1].events)))
        elif step == "check":
            do("check", draw.randrange(4))
        elif step == "cancel" and draw.random() < 0.3:
            do("cancel", draw.randrange(4))
        elif step == "force" and both[1].operations:
            do("force", draw.randrange(len(both[1].operations)))
        elif step == "tick" and purge_interval < 1000:
            do("tick", [])
        elif step == "tick":
            # Kafka's timer completes what expires in a thread of its own, beside the clearing of the lists: so one test
            # sees only the one, and one only the other.
            do("add_event")
            for one in both:
                one.watch(1, [len(both[1].events) - 1], [0])
            do("tick", [len(both[1].operations) - 1])
    assert both[1].operations
