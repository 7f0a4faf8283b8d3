"""What a harness lays down goes again; what is seen of brokers is told in small parts: a difference names one value,
and a part that is missing is seen.
"""

import shutil

import pytest

from minikafka.common import own_directory as own_directory_module
from minikafka.common.own_directory import own_directory
from minikafka.lab.rebuild import trial
from minikafka.lab.rebuild.harnesses import BROKERS, CONNECTIONS, ENGINE, LOG_DIRECTORY, ONE_LOG, SESSIONS, _flat
from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.rebuild.mine import mine
from minikafka.lab.rebuild.performer import Here, Role
from minikafka.log.log_segment import LogSegment
from minikafka.network.messages import RequestHeader
from minikafka.server.fetch_session import CachedPartition
from minikafka.witness.agreement import agree
from minikafka.witness.observation import Observations
from minikafka.witness.replicas.run import ReplicaObservation


def partition(log_start, error=0):
    return {"index": 0, "error_code": error, "log_start_offset": log_start}


def first_difference(answer, other, states=({}, {})):
    rows = [
        _flat(ReplicaObservation(answers={7: each}, states={0: {"waiting": [0], "partitions": state}}))
        for each, state in zip((answer, other), states, strict=True)
    ]
    mine, kafkas = (Observations(name, ["produce"], (row,)) for name, row in zip(("mine", "Kafka"), rows, strict=True))
    found = agree(mine, kafkas).first_difference
    return found and (found.quantity, *found.values.values())


def test_a_difference_names_one_field_of_an_answer():
    answer, other = ({"responses": [partition(0), partition(start)]} for start in (0, -1))
    assert first_difference(answer, answer) is None
    assert first_difference(answer, other) == ("answer 7: responses[1].log_start_offset", "0", "-1")


def test_an_answer_that_lacks_a_part_differs():
    one, two = ({"responses": [partition(0)] * count} for count in (1, 2))
    assert first_difference(one, two) == ("answer 7: responses", ("0",), ("0", "1"))
    assert first_difference("none", one) == ("answer 7", "none", ("responses",))


def test_a_broker_that_lacks_a_partition_or_a_log_differs():
    here, other, none = ({"t-0": {"log": log}} for log in ([0, 1, 1, 3, []], [0, 1, 1, 4, []], None))
    assert first_difference("", "", (here, none))[::2] == ("broker 0, t-0: log", "None")
    assert first_difference("", "", (here, {})) == ("broker 0 knows", ("t-0",), ())
    assert first_difference("", "", (here, other)) == ("broker 0, t-0: log.log_end", "3", "4")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Another directory in the place of this process's own, in which a session of Spark may live."""
    directory = tmp_path / "own"
    directory.mkdir()
    monkeypatch.setattr(own_directory_module, "_directory", directory)
    return directory


@pytest.mark.parametrize("harness", [ONE_LOG, LOG_DIRECTORY, BROKERS], ids=lambda each: type(each).__name__)
def test_of_a_workload_no_file_stays_on_the_disk(own, harness):
    workload = harness.draw(1, 8, {})
    outcome, _ = harness.done(workload, ENGINE)
    assert list(own.iterdir()) == []
    assert outcome.files and outcome.equals(harness.done(workload, ENGINE)[0])


def test_connections_leave_no_files_and_go_the_same_way_each_time():
    workload = CONNECTIONS.draw(1, 20, {"junk": 0.1})
    outcome, _ = CONNECTIONS.done(CONNECTIONS.read(str(workload)), ENGINE)
    assert not outcome.files and outcome.equals(CONNECTIONS.done(workload, ENGINE)[0])
    shorter = workload.with_operations(workload.operations[:-5])
    assert not outcome.equals(CONNECTIONS.done(shorter, ENGINE)[0])


def test_an_error_of_a_learner_on_connections_says_what_was_being_done():
    with pytest.raises(LearnersError) as told, mine(RequestHeader.read, lambda cls, source: 1 / 0):
        CONNECTIONS.done(CONNECTIONS.read("send A 1[:5]\nsend A 1[5:]"), ENGINE)
    assert told.value.doing == "send A 1[5:]"


def test_a_fetch_session_goes_the_same_way_each_time_and_a_learners_error_says_what_was_being_done():
    workload = SESSIONS.draw(1, 20, {"partitions": 3})
    outcome, _ = SESSIONS.done(SESSIONS.read(str(workload)), ENGINE)
    assert not outcome.files and outcome.equals(SESSIONS.done(workload, ENGINE)[0])
    with (
        pytest.raises(LearnersError) as told,
        mine(CachedPartition.maybe_update_response_data, lambda self, told: 1 / 0),
    ):
        SESSIONS.done(SESSIONS.read("fetch 0\nappend 0 1\nfetch"), ENGINE)
    assert told.value.doing == "fetch"


def test_nor_does_one_of_a_workload_that_fails(own):
    with pytest.raises(LearnersError), mine(LogSegment.should_roll, lambda self, params: 1 / 0):
        ONE_LOG.done(ONE_LOG.read("append_as_leader [1x10]"), ENGINE)
    assert list(own.iterdir()) == []


def test_a_right_function_stays_right_when_the_temporary_directory_was_emptied(own, monkeypatch):
    monkeypatch.setattr(trial, "judge_name", lambda: ENGINE)
    workload = ONE_LOG.read("append_as_leader [3x10]")
    for _ in range(2):
        shutil.rmtree(own_directory())
        found = trial.tried(workload, Here(LogSegment.should_roll, Role(LogSegment.should_roll, ONE_LOG)))
        assert found.passed, found
