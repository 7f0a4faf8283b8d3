"""The pieces of the lesson *An audit of a log directory*: groups that are behind, forged, damaged and grown copies, and
three witnesses of a lag.
"""

from pathlib import Path

import pytest

from minikafka.lab.course.places import COURSE
from minikafka.lab.stage import shop_night
from minikafka.lab.stage.planted_bugs import planted
from minikafka.lab.stage.source_by_hand import Query
from minikafka.lessons.log_audit import copies
from minikafka.lessons.log_audit.groups import lags_said, latest_group
from minikafka.lessons.log_audit.lag_witnesses import by_lag_job, three_witnesses
from minikafka.lessons.log_audit.quiz import orders_that_must_be_equal
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.witness import agree
from minikafka.witness.log.workload import Workload

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def in_the_course(monkeypatch):
    monkeypatch.chdir(COURSE)


def test_what_was_said_of_the_groups_is_read():
    assert lags_said() == {"billing": 51, "dashboard": 560, "mail": 67, "warehouse": 0}


@pytest.mark.spark
def test_the_largest_lag_is_not_the_longest_delay(monkeypatch):
    # The Python processes of a Spark session that is there already stay in the directory in which it was started.
    monkeypatch.setattr(shop_night, "NIGHT", COURSE / "data" / "night")
    assert latest_group() == "mail"


def test_the_orders_of_both_brokers_end_at_the_smaller_mark():
    ends = [
        Query(f"data/night/{broker}/orders-0", bounds="log_end").rows()[-1]["offset"] + 1
        for broker in ("broker-1", "broker-2")
    ]
    assert ends == [84, 66] and orders_that_must_be_equal() == 64


def test_a_forged_batch_has_a_true_checksum():
    copy = shop_night.copied_night(2)
    copies.forge(copy, "orders", 20, b"till-1", b"till-2")
    before, after = (
        {row["offset"]: row["value"] for row in Query(path).rows()} for path in ("data/night/broker-2", copy)
    )
    assert [offset for offset in before if before[offset] != after[offset]] == [20]
    with pytest.raises(ValueError):
        copies.forge(copy, "orders", 20, b"till-9", b"till-2")


def test_damage_is_met_and_named():
    copy = shop_night.copied_night(1)
    copies.damage(copy)
    rows = Query(copy, mode="PERMISSIVE").rows()
    told = {Path(row["_corrupt"]["file"]).parent.name: row["_corrupt"]["exception"] for row in rows if row["_corrupt"]}
    assert set(told) == {"clicks-0", "payments-0"} and all("CorruptRecordException" in words for words in told.values())
    assert sum(row["topic"] == "clicks" and not row["_corrupt"] for row in rows) == 950


@pytest.mark.kafka
def test_what_a_damage_that_no_start_finds_hides_from_a_consumer():
    """Kafka gives the next segment instead, as the lesson says: a wrong index entry, and a batch that is cut off."""
    copy = shop_night.copied_night(1)
    copies.damage(copy)
    for topic, asked, given in (("orders", range(55, 69), 78), ("payments", range(111, 114), 114)):
        with copies.opened_by_kafka(copy / f"{topic}-0") as log:
            instead = {}
            for offset in range(log.log_end_offset):
                batches = list(log.read(offset, 1_048_576, FetchIsolation.HIGH_WATERMARK).records.batches())
                first = min(record.offset for batch in batches for record in batch if record.offset >= offset)
                if first != offset:
                    instead[offset] = first
        assert instead == dict.fromkeys(asked, given)


def test_a_night_grows_as_far_as_it_is_told():
    copy = shop_night.copied_night(1)
    assert copies.grow(copy, 0) == 0
    added = copies.grow(copy, 0.0002)
    offsets = [row["offset"] for row in Query(copy / "clicks-0", bounds="log_end").rows()]
    assert added == 3 * 960 and offsets == list(range(960 + added))


WORKLOAD = """
append_as_leader [1x20 ts=now]
append_as_leader [1x20 pid=7 epoch=0 seq=0 txn ts=now+3000]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
update_high_watermark leo
append_as_leader [1x20 pid=9 epoch=0 seq=0 txn ts=now+9000]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [abort pid=9 epoch=0]
append_as_leader [1x20 ts=now+12000]
update_high_watermark leo
"""


@pytest.mark.spark
@pytest.mark.kafka
def test_three_witnesses_of_a_lag_and_the_planted_bug():
    workload = Workload.parse(WORKLOAD)
    ours, spark, kafka = three_witnesses(workload, committed=2)
    agree(ours, spark, kafka).check()
    assert [tuple(ours[operation].values()) for operation in (2, 4, 6, 9)] == [
        (0, None, None), (1, None, None), (2, 9, None), (4, 9, 12),
    ]  # fmt: skip
    with planted("a marker is taken for a record"):
        sick = by_lag_job(workload, committed=2)
    found = agree(sick, spark, kafka)
    assert found.first_difference.operation == 4 and found.first_difference.quantity == "oldest_unread"
    assert sick.column("lag") == kafka.column("lag")
