"""The life of a log directory: minikafka's and Kafka's log managers and Spark tell the same of it."""

from functools import partial

import pytest

from minikafka.log.log_manager import LogManager
from minikafka.witness import WorkloadError, agree
from minikafka.witness.kafka_log_manager import KafkaLogManager
from minikafka.witness.log_dir_expected import log_dir_expected
from minikafka.witness.log_dir_runner import run_log_dir
from minikafka.witness.log_dir_workload import LogDirWorkload

LIFE = """\
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


def test_its_text_is_read_and_written():
    workload = LogDirWorkload.parse(LIFE + "  # the end\n\n")
    assert str(workload) == LIFE
    assert workload.partitions == ["audit-0", "orders-0", "orders-1", "state-0"]
    assert workload.topic_setting("audit-0", "retention.ms", "1") == "400000"
    assert "<code>append audit-0 [2x10]</code>" in workload._repr_html_()


@pytest.mark.parametrize(
    "line, words",
    [
        ("manager flush=1", "there is no setting flush"),
        ("default flush.ms", "not of the form"),
        ("delete orders-0", "there is no operation 'delete'"),
        ("append orders-0", "append takes 2 arguments"),
        ("create orders", "invalid literal"),
        ("tick soon", "invalid literal"),
        ("append orders-0 [3y100]", "3y100"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line, words):
    with pytest.raises(WorkloadError, match=f"line 2: .*{words}"):
        LogDirWorkload.parse(f"start\n{line}\n")


def test_a_life_has_expected_marks(tmp_path):
    rows = run_log_dir(LogDirWorkload.parse(LIFE), LogManager, tmp_path / "a").rows
    assert [row["clean_shutdown"] for row in rows[-6:]] == [True, False, False, False, False, True]
    assert "segments" in rows[0] and "segments" not in rows[-1]
    assert dict(rows[-1]["recovery_point_file"]) == {"audit-0": 7, "orders-0": 5, "orders-1": 7, "state-0": 2}
    assert dict(rows[22]["segments"])["audit-0"] == "0,4" and dict(rows[27]["segments"])["audit-0"] == "4"


@pytest.mark.slow
def test_three_witnesses_tell_the_same(kafka, spark, tmp_path):
    workload = LogDirWorkload.parse(LIFE)
    ours = run_log_dir(workload, LogManager, tmp_path / "a")
    theirs = run_log_dir(workload, partial(KafkaLogManager, kafka), tmp_path / "b", "kafka")
    agreement = agree(ours, log_dir_expected(workload, spark), theirs).check()
    assert all(line.witnesses == ("minikafka", "spark", "kafka") for line in agreement.lines)
    assert {line.quantity for line in agreement.lines} == set(ours.quantities)
