"""minikafka and Kafka open what a real broker wrote: same offsets, same records, no byte changed that need not be."""

import shutil
from pathlib import Path

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_log import KafkaLog
from minikafka.witness.kafka.kafka_tools import dump_log_segments
from minikafka.witness.log.batch import Batch
from tests.golden.places import MIXED

HERE = Path(__file__).parent
DIRECTORIES = {
    "mixed": MIXED,
    "orders": HERE.parent.parent / "notebooks" / "data" / "orders-0",
}
CONFIG = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
NOW = 1_900_000_000_000
ALL = 1 << 20

CHANGED_BY_A_LOAD = {}
"""Files that a load and a clean close change, and why: none, since the broker's last close left everything in order."""


def open_log(kafka, directory, opener):
    time = ManualTime(NOW)
    scheduler = ManualScheduler(time)
    if opener == "minikafka":
        return Log.create(directory, LogConfig(CONFIG), scheduler=scheduler, time=time, last_shutdown_clean=True)
    return KafkaLog.create(kafka, directory, CONFIG, scheduler=scheduler, time=time, last_shutdown_clean=True)


@pytest.fixture(params=DIRECTORIES)
def golden(request):
    return DIRECTORIES[request.param]


@pytest.fixture
def opened(kafka, golden, tmp_path):
    """The directory opened by both, each on a copy of its own: name -> (log, directory)."""
    logs = {}
    for opener in ("minikafka", "kafka"):
        copy = tmp_path / opener / golden.name
        shutil.copytree(golden, copy)
        logs[opener] = open_log(kafka, copy, opener), copy
    return logs


def test_same_offsets_segments_epochs_and_producers(opened):
    ours, theirs = (log.fetch_state_snapshot() for log, _ in opened.values())
    assert [list(map(tuple, part)) if isinstance(part, list) else part for part in ours] == [
        list(map(tuple, part)) if isinstance(part, list) else part for part in theirs
    ]
    assert ours[4] > 50 and len(ours[5]) >= 4


def test_loading_and_closing_changes_no_byte(opened, golden):
    for name, (log, directory) in opened.items():
        log.close()
        directory_diff(golden, directory, ("the broker", name), excluded=CHANGED_BY_A_LOAD).require()


def test_same_records(opened, golden):
    for isolation in FetchIsolation:
        offset, end = 0, None
        while offset != end:
            batches = []
            for log, _ in opened.values():
                log.update_high_watermark(log.log_end_offset)
                data = log.read(offset, ALL, isolation)
                batches.append((data.fetch_offset_metadata, data.aborted_transactions, _records(data.records)))
            assert batches[0] == batches[1]
            end, offset = offset, (batches[0][2] or [(offset - 1,)])[-1][0] + 1
        assert offset == opened["kafka"][0].log_end_offset


def _records(records):
    return [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for batch in records.batches() for r in batch]


def test_an_append_continues_the_directory_alike(opened):
    for n in range(8):
        batch = Batch.parse(f"[2x60 data={n}]").encode(NOW)
        results = [
            str(log.append_as_leader(MemoryRecords.readable_records(bytearray(batch)), 1).last_offset)
            for log, _ in opened.values()
        ]
        assert results[0] == results[1]
    for log, _ in opened.values():
        log.close()
    directory_diff(*(directory for _, directory in opened.values())).require()


def test_kafkas_tool_finds_every_batch_valid(kafka, golden):
    logs = ",".join(map(str, sorted(golden.glob("*.log"))))
    dumped = dump_log_segments("--files", logs)
    assert dumped.exit_code == 0 and dumped.stderr == ""
    assert dumped.stdout.count("isvalid: true") >= 20 and "isvalid: false" not in dumped.stdout


def test_the_mixed_log_has_all_that_a_log_can_hold():
    data = b"".join(path.read_bytes() for path in sorted(DIRECTORIES["mixed"].glob("*.log")))
    batches = list(MemoryRecords.readable_records(data).batches())
    assert {b.compression_type.name for b in batches} == {"NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD"}
    assert sum(b.is_control_batch for b in batches) == 3
    assert any(b.is_transactional and not b.is_control_batch for b in batches)
    assert any(not b.has_producer_id for b in batches) and any(b.base_sequence > 0 for b in batches)
    records = [record for batch in batches if not batch.is_control_batch for record in batch]
    assert (
        any(r.key is None for r in records)
        and any(r.value is None for r in records)
        and any(r.headers for r in records)
    )
