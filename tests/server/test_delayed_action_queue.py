"""What is left to be done when a request has been handled."""

from minikafka.server.delayed_action_queue import DelayedActionQueue


def test_actions_run_once_in_the_order_in_which_they_were_added():
    queue, done = DelayedActionQueue(), []
    for name in "abc":
        queue.add(lambda name=name: done.append(name))
    assert done == []
    queue.try_complete_actions()
    assert done == ["a", "b", "c"]
    queue.try_complete_actions()
    assert done == ["a", "b", "c"]


def test_what_an_action_adds_is_left_for_the_next_time():
    queue, done = DelayedActionQueue(), []
    queue.add(lambda: queue.add(lambda: done.append("later")))
    queue.try_complete_actions()
    assert done == []
    queue.try_complete_actions()
    assert done == ["later"]


def test_an_action_that_raises_does_not_keep_the_next_from_running(caplog):
    queue, done = DelayedActionQueue(), []
    queue.add(lambda: 1 / 0)
    queue.add(lambda: done.append("after"))
    queue.try_complete_actions()
    assert done == ["after"] and "failed to complete delayed actions" in caplog.text
