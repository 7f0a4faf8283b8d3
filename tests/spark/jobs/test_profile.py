"""The job `profile` against the rows of the table `records`, counted in Python."""

import shutil
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.jobs.byte_ranges import ranges
from minikafka.spark.jobs.profile import PERIODS, profile
from tests.spark.drawn_log import NOW, draw_log
from tests.spark.rows import rows


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two topics; one has two partitions."""
    home = tmp_path_factory.mktemp("logs")
    for seed, name in enumerate(("orders-0", "orders-1", "users-0")):
        shutil.move(draw_log(tmp_path_factory.mktemp("drawn"), seed).directory, home / name)
    return home


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def expected(home, group_of) -> dict:
    """By topic, partition and period, as `group_of` (record or batch, timestamp in ms) says."""
    groups = {}
    for row in rows(home, bounds="log_end", includeHeaders=True):
        groups.setdefault(group_of(row, milliseconds(row["timestamp"])), []).append(row)
    batches = {}
    for row in rows(home, table="batches", bounds="log_end"):
        batches.setdefault(group_of(row, milliseconds(row["maxTimestamp"])), []).append(row)
    return {group: (groups.get(group, []), batches.get(group, [])) for group in groups.keys() | batches.keys()}


def assert_told(told: dict, records: list[dict], batches: list[dict]) -> None:
    assert told["records"] == len(records)
    assert told["batches"] == sum(not batch["control"] for batch in batches)
    assert told["controlBatches"] == sum(batch["control"] for batch in batches)
    assert told["bytes"] == sum(batch["size"] for batch in batches)
    codecs = Counter()
    for batch in batches:
        codecs[batch["codec"]] += batch["size"]
    assert dict(told["codecs"]) == codecs
    assert told["keys"] == len({row["key"] for row in records} - {None})
    assert told["withoutKey"] == sum(row["key"] is None for row in records)
    assert told["tombstones"] == sum(row["key"] is not None and row["value"] is None for row in records)
    assert told["withHeaders"] == sum(bool(row["headers"]) for row in records)
    times = [milliseconds(row["timestamp"]) for row in records if milliseconds(row["timestamp"]) >= 0]
    first, last = (
        each and milliseconds(each.astimezone(UTC)) for each in (told["firstTimestamp"], told["lastTimestamp"])
    )
    assert (first, last) == (min(times, default=None), max(times, default=None))
    if records:
        sizes = [len(row["key"] or b"") + len(row["value"] or b"") for row in records]
        assert told["sizes"]["largest"] > max(sizes) and sum(sizes) < told["recordBytes"]
        assert told["sizes"]["smallest"] <= told["sizes"]["median"] <= told["sizes"]["p90"] <= told["sizes"]["p99"]
    assert told["damages"] == 0


@pytest.mark.parametrize("by_partition", [False, True])
@pytest.mark.parametrize("every", [None, "hour"])
def test_the_records_of_the_table(spark, home, by_partition, every):
    def group_of(row, timestamp):
        since = None if every is None or timestamp < 0 else timestamp // PERIODS[every] * PERIODS[every]
        return row["topic"], row["partition"] if by_partition else None, since

    found = ranges(spark, [home], bounds="log_end", maxBytesPerTask=2000)
    answer = profile(found, by_partition=by_partition, every=every).toArrow().to_pylist()
    wanted = expected(home, group_of)
    groups = [(row["topic"], row.get("partition"), row.get("since") and milliseconds(row["since"])) for row in answer]
    assert len(groups) == len(set(groups)) and set(groups) == wanted.keys()
    for group, row in zip(groups, answer, strict=True):
        assert_told(row, *wanted[group])
        if not by_partition:
            here = {each["partition"] for part in wanted[group] for each in part}
            assert row["partitions"] == len(here)


def test_late_records(spark, home):
    lateness = []
    for partition in ("orders-0", "orders-1"):
        largest = -1
        for row in rows(home / partition, bounds="log_end"):
            timestamp = milliseconds(row["timestamp"])
            lateness += [largest - timestamp] if 0 <= timestamp < largest else []
            largest = max(largest, timestamp)
    found = ranges(spark, [home], bounds="log_end", subscribe="orders", maxBytesPerTask=2000)
    [row] = profile(found).toArrow().to_pylist()
    assert row["late"] == len(lateness) > 20
    assert row["lateness"]["largest"] == max(lateness)
    quantiles = np.percentile(lateness, [50, 90, 99])
    assert [row["lateness"][name] for name in ("median", "p90", "p99")] == pytest.approx(quantiles, rel=1 / 2048)


def test_records_are_read_once(spark, home):
    plan = profile(ranges(spark, [home]), every="day")._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("MapInArrow") == 1


def test_many_keys_are_estimated(spark):
    from minikafka.spark.jobs.profile import _different_keys

    draw = np.random.default_rng(3)
    smallest = np.sort(draw.integers(-(1 << 63), (1 << 63) - 1, 1_000_000))[:4096]
    table = spark.createDataFrame([("key", int(each)) for each in smallest], "measure string, at bigint")
    [[estimate]] = table.agg(_different_keys()).collect()
    assert estimate == pytest.approx(1_000_000, rel=0.05)


def test_damage_is_counted(spark, home, tmp_path):
    copy = shutil.copytree(home, tmp_path / "copy")
    log = sorted((copy / "users-0").glob("*.log"))[0]
    data = bytearray(log.read_bytes())
    data[40] ^= 1
    log.write_bytes(data)
    sound = len(rows(copy, bounds="log_end", mode="DROPMALFORMED", subscribe="users"))
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        [row] = profile(ranges(spark, [copy], bounds="log_end", mode=mode, subscribe="users"), mode=mode).collect()
        assert row.damages == 1 and row.records == sound
    with pytest.raises(Exception, match=r"CorruptRecordException.*position 0"):
        profile(ranges(spark, [copy], bounds="log_end", subscribe="users")).collect()


def test_a_period_that_there_is_not(spark, home):
    assert NOW % PERIODS["hour"]
    with pytest.raises(IllegalArgumentException, match="every=week is none of hour, day"):
        profile(ranges(spark, [home]), every="week")
