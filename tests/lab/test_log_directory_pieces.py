"""The pieces of the lesson *A log directory at scale*: a night of two brokers, the source by hand, charts, tables."""

import datetime
import xml.dom.minidom
from pathlib import Path

import pytest

from minikafka.lab.course.answers import Answer
from minikafka.lab.course.charts import bars_by_name, bars_over_time, spans_of_time
from minikafka.lab.course.places import COURSE
from minikafka.lab.stage import shop_night
from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.source_by_hand import Query
from minikafka.lab.stepper.path_walk import query_walk
from minikafka.lab.stepper.stepper import step_through
from minikafka.lab.widgets.plan_map import PLAN, READ, plan_frames, render_plan_map
from minikafka.lessons.log_directory.payments import every_record
from minikafka.lessons.log_directory.source_witnesses import by_data_source, three_witnesses
from minikafka.witness import agree
from minikafka.witness.log.workload import START_MS, Workload
from tests.lab.pictures import unreadable

pytestmark = pytest.mark.slow

EIGHT = datetime.datetime(2023, 11, 14, 20)
LATE = "the last timestamp of a segment is taken for its largest"


@pytest.fixture(autouse=True)
def in_the_course(monkeypatch):
    monkeypatch.chdir(COURSE)


def test_the_bank_has_booked_what_was_committed():
    """From the files alone: without what was aborted, and without what `till-2` left open."""
    rows = Query("data/night/broker-1/payments-0", includeBatches="true").rows()
    transactions = Query("data/night/broker-1/payments-0", table="transactions").rows()
    [still_open] = [
        row for row in Query("data/night/broker-1/payments-0", table="producers").rows()
        if row["openTransactionFirstOffset"] is not None and row["snapshotOffset"] == 119
    ]  # fmt: skip

    def counts(row):
        aborted = any(
            each["producerId"] == row["producerId"] and each["firstOffset"] <= row["offset"] <= each["lastOffset"]
            for each in transactions
        )
        is_open = row["producerId"] == still_open["producerId"] and row["offset"] >= 68
        return not aborted and not is_open

    assert still_open["openTransactionFirstOffset"] == 68
    assert sum(map(counts, rows)) == shop_night.noted("bank")["payments"]
    assert len(every_record("payments")) == len(rows)


def test_what_kafkas_tools_said_is_there():
    assert "till-2" in shop_night.told("transactions") and "Ongoing" in shop_night.told("transactions")
    assert {line.split()[0] for line in shop_night.told("consumer-groups").splitlines() if "payments" in line} == {
        "billing"
    }
    for name in ("consumer-groups", "transactions", "describe-producers", "get-offsets", "log-dirs"):
        assert "/tmp" not in shop_night.told(name) and "127.0.0.1" not in shop_night.told(name)
    seen = shop_night.noted("console-consumer")
    assert seen == {topic: len(Query(f"data/night/broker-1/{topic}-0").rows()) for topic in seen}


def test_a_query_by_hand_prunes_by_offsets_and_times():
    [task] = Query("data/night/broker-1", "topic = 'payments' AND offset >= 100").plan()
    assert [(str(each.topic_partition), Path(each.segment.path).name) for each in task.ranges] == [
        ("payments-0", "00000000000000000059.log"), ("payments-0", "00000000000000000114.log"),
    ]  # fmt: skip
    seven = 1_699_992_000_000 + 11 * 3_600_000
    [task] = Query("data/night/broker-1", f"topic = 'orders' AND timestamp >= {seven}").plan()
    assert len(task.ranges) == 1


def test_a_walk_of_a_query_marks_where_it_is():
    query = Query("data/night/broker-1", "topic = 'clicks' AND offset >= 950")
    walk = query_walk(step_through(query.plan, into={"KafkaLogReader.partitions", "byte_ranges", "tasks_of"}))
    assert {place.here for place in walk.places} == {"find_partitions", "byte_ranges", "tasks_of"}
    assert walk.play().frames
    for name in (*PLAN, *READ):
        [frame] = plan_frames([name])
        assert f"[{name}]" in str(frame)
        assert unreadable(render_plan_map(frame)) == []


def test_charts_are_the_same_each_time_and_have_a_text():
    rows = [("clicks", "20", 5), ("clicks", "21", 10), ("orders", "21", 3)]
    picture = bars_over_time(rows, "bytes")
    assert picture.svg == bars_over_time(rows, "bytes").svg and "var(--mk-a)" in picture.svg
    assert str(picture) == "bytes\nclicks: 20 5, 21 10\norders: 20 0, 21 3"
    spans = spans_of_time([("mail", EIGHT, EIGHT + datetime.timedelta(hours=2), "7 records")], "lag")
    assert str(spans) == "lag\nmail: from 20:00 to 22:00, 7 records"
    pairs = bars_by_name([("mail", "LAG", 51), ("mail", "records", 39), ("web", "LAG", 0)], "behind")
    assert str(pairs) == "behind\nmail: LAG 51, records 39\nweb: LAG 0"
    for each in (picture, spans, pairs):
        xml.dom.minidom.parseString(each.svg)
        assert "<style" not in each.svg and "<text" not in each.svg and "fe" not in each.svg.split("color")[0]


def test_an_answer_reads_as_text_and_as_a_table():
    shown = Answer(["name", "n", "at"], [("mail", 7, EIGHT), (b"web", None, None)])
    assert str(shown) == "name  n  at\nmail  7  20:00:00\nweb   –  –"
    assert 'left">mail<' in shown._repr_html_() and 'text-align:right">7<' in shown._repr_html_()
    assert str(Answer(["a", "b"], [])) == "a  b\n(no rows)" and "no rows" in Answer(["a"], [])._repr_html_()


WORKLOAD = """
append_as_leader [2x20 ts=now,now+9000]
append_as_leader [1x20 pid=7 epoch=0 seq=0 txn ts=now+1000]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
roll
append_as_leader [1x20 ts=now+12000]
update_high_watermark leo
"""


@pytest.mark.spark
@pytest.mark.kafka
def test_three_witnesses_of_a_query_and_the_planted_bug():
    workload = Workload.parse(WORKLOAD)
    ours, spark, kafka = three_witnesses(workload, START_MS + 8000)
    agree(ours, spark, kafka).check()
    assert ours.value(2, "since_then") == (1,) and ours.value(6, "read_committed") == (0, 1, 2, 4)
    with planted(LATE):
        sick = by_data_source(workload, START_MS + 8000)
    found = agree(sick, spark, kafka)
    assert found.first_difference.operation == 2 and found.first_difference.quantity == "since_then"
