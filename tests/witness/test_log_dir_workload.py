"""Operations on a log directory: minikafka's and Kafka's log managers and Spark tell the same of it."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest import mock

import pytest

from minikafka.log.manager.log_manager import LogManager
from minikafka.witness import WorkloadError, agree
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from minikafka.witness.log_dir.draw import draw_log_dir_workload
from minikafka.witness.log_dir.expect import log_dir_expected
from minikafka.witness.log_dir.run import Impossible, LogDirRunner, run_log_dir
from minikafka.witness.log_dir.workload import ARGUMENTS, LogDirWorkload

WORKLOAD = """\
manager flush_check_ms=60000
default flush.ms=100000
topic audit retention.ms=400000
topic state cleanup.policy=compact retention.ms=1000
start
create orders-0
create orders-1
create audit-0
create state-0
append orders-0 [3x100] [2x50]
append audit-0 [4x10]
append state-0 [2x10 keys=2]
tick 30000
roll audit-0
append audit-0 [1x10]
roll state-0
delete_records orders-0 2
tick 60000
append orders-1 [6x10]
tick 60000
append orders-1 [1x10]
kill
start
tick 300000
append audit-0 [2x10]
roll orders-0
roll orders-1
delete_records orders-0 5
tick 300000
stop
start
tick 90000
kill
start
stop
"""


def test_a_manager_may_have_no_cleaner():
    text = "manager flush_check_ms=60000\ncleaner off\nstart\nstop\n"
    assert str(LogDirWorkload.parse(text)) == text
    with pytest.raises(WorkloadError, match="cleaner takes off"):
        LogDirWorkload.parse("cleaner on\n")


def test_its_text_is_read_and_written():
    workload = LogDirWorkload.parse(WORKLOAD + "  # the end\n\n")
    assert str(workload) == WORKLOAD
    assert workload.partitions == ["audit-0", "orders-0", "orders-1", "state-0"]
    assert workload.topic_setting("audit-0", "retention.ms", "1") == "400000"
    assert "<code>append audit-0 [2x10]</code>" in workload._repr_html_()


@pytest.mark.parametrize(
    "line, words",
    [
        ("manager flush=1", "there is no setting flush"),
        ("default flush.ms", "not of the form"),
        ("forget orders-0", "there is no operation 'forget'"),
        ("append orders-0", "append takes 2 arguments"),
        ("create orders", "invalid literal"),
        ("tick soon", "invalid literal"),
        ("append orders-0 [3y100]", "3y100"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line, words):
    with pytest.raises(WorkloadError, match=f"line 2: .*{words}"):
        LogDirWorkload.parse(f"start\n{line}\n")


def test_a_workload_has_expected_marks(tmp_path):
    rows = run_log_dir(LogDirWorkload.parse(WORKLOAD), LogManager, tmp_path / "a").rows
    assert [row["clean_shutdown"] for row in rows[-6:]] == [True, False, False, False, False, True]
    assert "segments" in rows[0] and "segments" not in rows[-1]
    assert dict(rows[-1]["recovery_point_file"]) == {"audit-0": 7, "orders-0": 5, "orders-1": 7, "state-0": 2}
    assert dict(rows[22]["segments"])["audit-0"] == "0,4" and dict(rows[27]["segments"])["audit-0"] == "4"


def test_what_cannot_be_done_is_told_and_changes_nothing(tmp_path):
    workload = LogDirWorkload.parse("roll orders-0\nstart\nstart\ncreate orders-0\ndelete orders-0\nroll orders-0\n")
    runner, told = LogDirRunner(workload, LogManager, tmp_path / "a"), []
    for operation in workload:
        before = runner.observe()
        try:
            runner.apply(operation)
        except Impossible as impossible:
            told.append(str(impossible))
            assert runner.observe() == before
    runner.let_go()
    assert told == ["the broker is down", "the broker is up", "there is no log of orders-0"]


def test_a_deleted_log_is_gone_after_its_minute(tmp_path):
    lines = "start\ncreate orders-0\ntick 30000\ndelete orders-0\ntick 59000\n"
    for more, left in (("", 1), ("tick 1000\n", 0)):
        directory = tmp_path / f"a{left}"
        rows = run_log_dir(LogDirWorkload.parse(lines + more), LogManager, directory).rows
        assert rows[3]["log_end_offsets"] == rows[3]["recovery_point_file"] == ()
        assert len(list(directory.glob("orders-0.*-delete"))) == left


def test_spark_refuses_a_workload_in_which_a_log_is_deleted():
    with pytest.raises(ValueError, match="does not follow the deletion"):
        log_dir_expected(LogDirWorkload.parse("start\ncreate orders-0\ndelete orders-0\n"))


def test_one_question_is_asked_after_the_other(monkeypatch):
    """A lesson's first cell may still be asking when the next question comes, and the session has one set of views."""
    at_work, together = [], []

    def states(workload, _spark):
        at_work.append(workload)
        time.sleep(0.02)
        together.append(len(at_work))
        at_work.remove(workload)
        return mock.Mock(collect=list)

    monkeypatch.setattr("minikafka.witness.log_dir.expect._states", states)
    with ThreadPoolExecutor() as pool:
        list(pool.map(log_dir_expected, map(LogDirWorkload.parse, ("start\n", "stop\n")), ("a session",) * 2))
    assert together == [1, 1]


def test_drawn_workloads_are_repeated_by_their_seed_and_their_text():
    drawn = [draw_log_dir_workload(seed, 200) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert LogDirWorkload.parse(str(drawn[0])) == drawn[0]
    assert {operation.kind for operation in drawn[0]} == set(ARGUMENTS) - {"stray"}


@pytest.mark.slow
def test_three_witnesses_tell_the_same(kafka, spark, tmp_path):
    workload = LogDirWorkload.parse(WORKLOAD)
    ours = run_log_dir(workload, LogManager, tmp_path / "a")
    theirs = run_log_dir(workload, partial(KafkaLogManager, kafka), tmp_path / "b", "kafka")
    agreement = agree(ours, log_dir_expected(workload, spark), theirs).check()
    assert all(line.witnesses == ("minikafka", "spark", "kafka") for line in agreement.lines)
    assert {line.quantity for line in agreement.lines} == set(ours.quantities)
