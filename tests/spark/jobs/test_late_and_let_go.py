"""Two brokers of which one lags, a record from the year 55840, and an export that would go into a log directory."""

import json
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minikafka.cli import main
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from tests.spark.rows import rows

NOW = 1_700_000_000_000


def put(log: Log, key: bytes, value: bytes | None, timestamp: int = NOW) -> None:
    log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(timestamp, key, value)), 0)


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def commit_key(group: str) -> bytes:
    return struct.pack(">h", 1) + text(group) + text("a") + struct.pack(">i", 0)


def commit_value(offset: int) -> bytes:
    return struct.pack(">hqih", 3, offset, -1, 0) + struct.pack(">q", NOW)


@pytest.fixture
def brokers(tmp_path) -> list[Path]:
    """The second one lags: it has not seen that a group was let go of, and that another one went on."""
    log_dirs = [tmp_path / "broker-1", tmp_path / "broker-2"]
    for log_dir in log_dirs:
        with Log.open(log_dir / "a-0") as log:
            for number in range(20):
                put(log, b"k", b"%d" % number)
        with Log.open(log_dir / "__consumer_offsets-0") as log:
            put(log, commit_key("gone"), commit_value(5))
            put(log, commit_key("stays"), commit_value(7))
            if log_dir is log_dirs[0]:
                put(log, commit_key("gone"), None)
                put(log, commit_key("stays"), commit_value(9))
    return log_dirs


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_copies_the_furthest(brokers, order):
    paths = json.dumps([str(log_dir) for log_dir in brokers][::order])
    told = rows(brokers[0], paths=paths, table="groups", copies="furthest")
    assert [(row["group"], row["offset"]) for row in told] == [("stays", 9)]
    assert len(rows(brokers[0], paths=paths, table="groups")) == 3


@pytest.mark.slow
def test_lag_does_not_know_groups_that_the_coordinator_has_let_go(brokers, on_the_session):
    answer = on_the_session("lag", *brokers, "--now", NOW + 1000, "--json")
    assert answer.exit_code == 0, answer.output
    assert [(row["group"], row["committed"]) for row in map(json.loads, answer.stdout.splitlines())] == [("stays", 9)]


@pytest.mark.slow
def test_a_record_in_microseconds(tmp_path, on_the_session):
    with Log.open(tmp_path / "logs" / "a-0", {"message.timestamp.after.max.ms": 2**63 - 1}) as log:
        put(log, b"k", b"v", NOW)
        put(log, b"k", b"v", NOW * 1000)
    profile = on_the_session("profile", tmp_path / "logs", "--json")
    assert profile.exit_code == 0 and "55840-11-08T22:13:20.000+00:00" in profile.stdout, profile.output
    for form in ([], ["--json"]):
        retention = on_the_session("retention", tmp_path / "logs", *form)
        assert retention.exit_code == 0 and "55840-11-08T22:13:20.000+00:00" in retention.stdout, retention.output
    export = on_the_session("export", tmp_path / "logs", "--to", tmp_path / "out", "--by-date")
    assert export.exit_code == 0, export.output
    found = {path.parent.name for path in (tmp_path / "out").rglob("*.parquet")}
    assert found == {"date=2023-11-14", "date=__HIVE_DEFAULT_PARTITION__"}


@pytest.mark.parametrize("to", [".", "deep/er", "a-0", "../link"])
def test_an_export_into_a_log_directory_is_refused_before_anything_is_written(brokers, tmp_path, to):
    (tmp_path / "link").symlink_to(brokers[0])
    before = sorted(brokers[0].rglob("*"))
    refused = export(brokers[0], brokers[0] / to)
    assert refused.exit_code == 1
    [line] = refused.stderr.splitlines()
    assert line.startswith("IllegalArgumentException: ") and "in which nothing else may lie" in line
    assert sorted(brokers[0].rglob("*")) == before


@pytest.mark.parametrize("known_by", ["meta.properties", "recovery-point-offset-checkpoint", "a-0"])
def test_an_export_into_a_log_directory_that_it_does_not_read_is_refused(brokers, tmp_path, known_by):
    another = tmp_path / "another"
    if known_by == "a-0":
        with Log.open(another / known_by) as log:
            put(log, b"k", b"v", NOW)
    else:
        another.mkdir()
        (another / known_by).touch()
    before = sorted(another.rglob("*"))
    refused = export(brokers[0], another / "deep" / "er")
    assert refused.exit_code == 1 and f"the log directory {another}" in refused.stderr, refused.output
    assert sorted(another.rglob("*")) == before


def export(log_dir: Path, to: Path) -> Result:
    return CliRunner().invoke(main, ["spark", "export", str(log_dir), "--to", str(to)])
