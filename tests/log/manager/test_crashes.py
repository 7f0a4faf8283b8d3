"""The manager stops after each single effect of what it does; both managers start on what is left, and agree.

Two ways to stop: the process is killed (all that was written is there), or the power fails (bytes and names that were
never forced down to the device are gone).
"""

import pytest

from minikafka.common import file_ops
from minikafka.common.topic_partition import TopicPartition
from tests.slow.crash.disk_states import look, put
from tests.slow.crash.simulated_disk import SimulatedDisk

P = [TopicPartition("topic", number) for number in range(3)]
SEGMENTS = ["[4x100 pid=7 epoch=0 seq=0]", *["[4x100]"] * 3]


def two_log_dirs(one):
    """Two log directories with three logs, flushed and checkpointed in part."""
    one.start()
    for partition in P:
        one.manager.get_or_create_log(partition, is_new=True, topic_id="PpIMd8oaSBmIYZ7G-q3OmQ")
        one.append(partition, *SEGMENTS)
    one.time.sleep(60_000)
    for partition in P:
        one.append(partition, "[4x100]", "[4x100]")


def move(one):
    """A future log of the second partition, which lies in the second log directory."""
    one.manager.abort_and_pause_cleaning(P[1])
    one.manager.maybe_update_preferred_log_dir(P[1], one.log_dirs[0])
    one.manager.get_or_create_log(P[1], is_future=True, topic_id="PpIMd8oaSBmIYZ7G-q3OmQ")
    one.append(P[1], *SEGMENTS, is_future=True)


def delete_and_wait(one):
    one.manager.async_delete(P[0])
    one.time.sleep(60_000)


def truncate(one):
    one.manager.truncate_to({P[0]: 9})
    one.manager.truncate_fully_and_start_at(P[1], 5)


CASES = {
    "shutdown": (lambda one: None, lambda one: one.stop()),
    "a start after a clean stop": (lambda one: one.stop(), lambda one: one.start()),
    "a start after a kill": (lambda one: one.kill(), lambda one: one.start()),
    "the first start": (None, lambda one: one.start()),
    "a new log": (lambda one: None, lambda one: one.manager.get_or_create_log(TopicPartition("new", 0), is_new=True)),
    "checkpoints": (lambda one: None, lambda one: one.time.sleep(60_000)),
    "a deletion": (lambda one: None, delete_and_wait),
    "a future log": (lambda one: None, move),
    "a replacement": (move, lambda one: one.manager.replace_current_with_future_log(P[1])),
    "truncations": (lambda one: None, truncate),
}


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("case", CASES)
def test_both_start_on_what_is_left_when_one_stops(two_live_managers, case):
    before, step = CASES[case]
    stopped = two_live_managers("a", "b").minikafka
    if before is None:
        stopped.directory.mkdir(parents=True)
    else:
        two_log_dirs(stopped)
        before(stopped)
    disk_states = disk_states_of(stopped, step)
    stopped.kill()
    assert len(disk_states) > 3
    managers = two_live_managers("a", "b")
    for when, disk_state in disk_states:
        managers.change(lambda directory: put(disk_state, directory))
        for one in managers.both:
            one.time.set_current_time_ms(max(stopped.time.milliseconds(), one.time.milliseconds()))
        try:
            start_wait_and_stop(managers)
        except AssertionError as difference:
            raise AssertionError(f"stopped {when}: {difference}") from None
        managers.kill()


def start_wait_and_stop(managers):
    refused = [refusal(one) for one in managers.both]
    assert refused[0] == refused[1]
    if refused[0] is None:
        managers.compare()
        managers.tick(70_000)
        managers.stop()


def refusal(one):
    """The name of the exception that a start ends with. Which of two directories of one partition comes first is not
    determined in Kafka, and so neither is the message, nor what else was loaded."""
    try:
        one.start()
    except RuntimeError as error:
        return type(error).__name__
    return None


def disk_states_of(one, step):
    """(when, files of the log directories) after each effect of `step`, and as a power cut there would leave them."""
    disk_states, seen = [], set()
    disk = SimulatedDisk(one.directory)

    def note(when, disk_state):
        key = hash(tuple(sorted(disk_state.items())))
        if key not in seen:
            seen.add(key)
            disk_states.append((when, disk_state))

    def after(operation, path):
        if one.directory in path.parents:
            disk.effect(operation, path)
            name = path.relative_to(one.directory)
            note(f"after {operation} of {name}", look(one.directory))
            note(f"by a power cut after {operation} of {name}", disk.synced())

    with file_ops.observe(after):
        step(one)
    return disk_states
