"""The metadata log beside partitions is read once for all of them, and again when it has changed."""

import os

import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.tools.recover import cluster_settings
from minikafka.tools.recover.cluster_settings import cluster_settings_in, node_id_in
from minikafka.tools.recover.recover_log_dir import settings_of
from tests.slow.fuzz.origins import snapshot_of
from tests.tools.noted_topics import config, no_topic, note, note_topics, topic


@pytest.fixture
def log_dir(tmp_path):
    note_topics(tmp_path, {"orders": {"cleanup.policy": "compact"}})
    return tmp_path


@pytest.fixture
def reads(monkeypatch) -> list:
    """The metadata logs that were read."""
    really_read, reads = cluster_settings._read, []
    monkeypatch.setattr(cluster_settings, "_read", lambda metadata: reads.append(metadata) or really_read(metadata))
    return reads


def test_a_log_that_has_not_changed_is_read_once(log_dir, reads):
    assert cluster_settings_in(log_dir / "no log dir") is None
    found = cluster_settings_in(log_dir)
    assert found.topics == {"orders": {"cleanup.policy": "compact"}}
    assert cluster_settings_in(log_dir) == found and len(reads) == 1
    [log] = (log_dir / "__cluster_metadata-0").glob("*.log")
    os.utime(log, ns=(0, 0))
    assert cluster_settings_in(log_dir) == found and len(reads) == 2


OLD, NEW = {"cleanup.policy": "compact", "retention.ms": "1000"}, {"flush.ms": "7"}


@pytest.mark.parametrize(
    ("in_a_new_file", "settings"),
    [(False, {**OLD, **NEW}), (True, NEW)],
    ids=["in one file", "in another file"],
)
def test_a_topic_made_again_has_the_settings_that_a_start_gives_it(tmp_path, in_a_new_file, settings):
    """A broker that starts reads a file as one delta, in which Kafka forgets to take away what a topic had."""
    note(tmp_path, *topic(1, "x", OLD))
    note(tmp_path, no_topic(1), *topic(2, "x", NEW), in_a_new_file=in_a_new_file)
    assert cluster_settings_in(tmp_path).topics == {"x": settings}


def test_settings_of_a_deleted_topic_are_nobodys(tmp_path):
    note(tmp_path, *topic(1, "x", OLD), no_topic(1))
    assert cluster_settings_in(tmp_path).topics == {}


def test_a_topic_has_the_settings_of_its_broker_and_of_all(tmp_path):
    brokers = {"": {"log.retention.ms": "1", "log.segment.bytes": "2000000"}, "1": {"log.retention.ms": "2"}}
    note_topics(tmp_path, {"x": NEW}, brokers)
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    found = cluster_settings_in(tmp_path)
    assert found.of_topic("x", node_id_in(tmp_path)) == {"retention.ms": 2, "segment.bytes": "2000000", **NEW}
    assert found.of_topic("x", "3") == {"retention.ms": 1, "segment.bytes": "2000000", **NEW}


def test_of_a_brokers_settings_those_in_the_newest_snapshot_count_for_the_load(tmp_path):
    note_topics(tmp_path, {"x": {}}, {"1": {"log.retention.ms": "7", "log.segment.bytes": "2000000"}})
    records = [config(4, "", "log.index.interval.bytes", "1"), config(4, "1", "log.retention.ms", "2")]
    batch = MemoryRecords.with_records(
        CompressionType.NONE, *(SimpleRecord(0, None, each) for each in records), initial_offset=1
    )
    snapshot = tmp_path / "__cluster_metadata-0" / f"{0:020}-{0:010}.checkpoint"
    snapshot.write_bytes(snapshot_of(bytes(batch.buffer), 3))
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    assert settings_of(tmp_path, None, {}, {}, None).default == {"index.interval.bytes": "1", "retention.ms": 2}
    snapshot.unlink()
    assert settings_of(tmp_path, None, {}, {}, None).default == {}


def test_a_damaged_log_is_read_once(log_dir, reads):
    [log] = (log_dir / "__cluster_metadata-0").glob("*.log")
    log.write_bytes(log.read_bytes()[:-9] + bytes(9))
    for _ in range(3):
        with pytest.raises(CorruptRecordException, match=log.name):
            cluster_settings_in(log_dir)
    assert len(reads) == 1
