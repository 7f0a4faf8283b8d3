"""The pieces of *Damaged and missing files*: witnesses of damage that Spark is not told, and a planted bug."""

import pytest

from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.workbench import scratch
from minikafka.lessons.damaged_files.damaged_witnesses import three_witnesses
from minikafka.witness import Workload, agree, minikafka_log, run

LOST_INDEX = Workload.parse(
    "config internal.segment.bytes=300 index.interval.bytes=60 segment.index.bytes=1200\n"
    + "append_as_leader [2x10]\n" * 4
    + "reopen damage=remove:0.index\nread 4\n"
)


def test_an_index_that_nobody_misses_stays_empty():
    entries = run(LOST_INDEX, minikafka_log, scratch()).value(4, "index_entries")
    with planted("a missing offset index is not noticed"):
        sick = run(LOST_INDEX, minikafka_log, scratch())
    assert entries and not sick.value(4, "index_entries")
    assert not sick.value(5, "error") and sick.value(5, "result").startswith("4 ")


@pytest.mark.slow
def test_spark_says_what_a_start_must_restore(spark):
    ours, expected, kafka = three_witnesses(LOST_INDEX)
    assert expected.workload == LOST_INDEX and expected.value(4, "index_entries") == ours.value(4, "index_entries")
    assert agree(ours, expected, kafka)
