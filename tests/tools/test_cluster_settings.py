"""The metadata log beside partitions is read once for all of them, and again when it has changed."""

import os

import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.tools.recover import cluster_settings
from minikafka.tools.recover.cluster_settings import cluster_settings_in
from tests.tools.noted_topics import note_topics


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


def test_a_damaged_log_is_read_once(log_dir, reads):
    [log] = (log_dir / "__cluster_metadata-0").glob("*.log")
    log.write_bytes(log.read_bytes()[:-9] + bytes(9))
    for _ in range(3):
        with pytest.raises(CorruptRecordException, match=log.name):
            cluster_settings_in(log_dir)
    assert len(reads) == 1
