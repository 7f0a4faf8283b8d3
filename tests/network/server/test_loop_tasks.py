"""What the loop of the sockets does between requests."""

import threading

from minikafka.common.time import ManualTime
from minikafka.network.server.loop_tasks import LoopTasks
from tests.network.server.test_socket_server import PATIENCE_S, Served


class Loop:
    """Tasks without sockets; `woken` counts how often a loop would have been woken."""

    def __init__(self):
        self.time, self.woken, self.done = ManualTime(), 0, []
        self.tasks = LoopTasks(self.time, self.wake_up)

    def wake_up(self):
        self.woken += 1

    def schedule(self, name, delay_ms, period_ms=-1):
        return self.tasks.schedule(name, lambda: self.done.append(name), delay_ms, period_ms)


def test_tasks_run_in_the_order_of_their_times_and_the_loop_waits_until_the_first():
    loop = Loop()
    assert loop.tasks.wait_ms(300) == 300
    for name, delay_ms in (("c", 20), ("a", 10), ("b", 10), ("later", 500)):
        loop.schedule(name, delay_ms)
    assert loop.woken == 2, "for c, and for a, which comes before it"
    assert loop.tasks.wait_ms(300) == 10 and loop.tasks.wait_ms(5) == 5
    loop.tasks.run_due()
    assert loop.done == []
    loop.time.sleep(20)
    assert loop.tasks.wait_ms(300) == 0
    loop.tasks.run_due()
    assert loop.done == ["a", "b", "c"] and loop.tasks.wait_ms(300) == 300 and loop.tasks.wait_ms(900) == 480
    loop.tasks.shutdown()
    assert loop.tasks.wait_ms(900) == 900


def test_what_is_cancelled_or_raises_stops_no_other_task(caplog):
    loop = Loop()
    loop.schedule("cancelled", 0).cancel()
    loop.tasks.schedule_once("wrong", lambda: 1 / 0)
    loop.schedule("right", 0)
    loop.tasks.run_due()
    assert loop.done == ["right"]
    assert [record.getMessage() for record in caplog.records] == ["Uncaught exception in scheduled task 'wrong'"]


def test_a_task_that_a_task_schedules_runs_in_the_next_round_and_a_periodic_one_again():
    loop = Loop()
    loop.tasks.schedule_once("first", lambda: loop.schedule("second", 0))
    periodic = loop.schedule("periodic", 0, 10)
    loop.tasks.run_due()
    assert loop.done == ["periodic"]
    loop.tasks.run_due()
    assert loop.done == ["periodic", "second"]
    loop.time.sleep(10)
    periodic.cancel()
    loop.tasks.run_due()
    assert loop.done == ["periodic", "second"]


def test_a_task_of_another_thread_wakes_the_loop_which_runs_it():
    with Served() as served:
        where, done = [], threading.Event()
        served.server.tasks.schedule_once("whose", lambda: (where.append(threading.current_thread().name), done.set()))
        assert done.wait(PATIENCE_S) and where == ["kafka-network-thread"]
