"""The tables beside the records say what the files say, read here by the log's own classes."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.index.offset_index import OffsetIndex
from minikafka.log.index.time_index import TimeIndex
from minikafka.log.index.transaction_index import TransactionIndex
from minikafka.log.log_file_utils import offset_from_file
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.record.files.file_records import FileRecords
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import draw_log
from tests.spark.rows import rows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module", params=["golden", "drawn"])
def directory(request, tmp_path_factory) -> Path:
    """A broker's directory, and one with old formats; the latter has no checkpoints beside it."""
    return GOLDEN / "mixed-0" if request.param == "golden" else draw_log(tmp_path_factory.mktemp("drawn"), 3).directory


def told(path, table, *names, **options) -> list[tuple]:
    return [tuple(row[name] for name in names) for row in rows(path, table=table, **options)]


def when(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


def files(directory: Path, suffix: str) -> list[Path]:
    return sorted(directory.glob(f"*{suffix}"))


def entries(index) -> list:
    return [index.entry(number) for number in range(index.entries)]


def test_batches(directory):
    expected = [
        (
            str(log), batch.position, batch.size_in_bytes, batch.magic, batch.last_offset, batch.partition_leader_epoch,
            batch.producer_id, batch.producer_epoch, batch.base_sequence, when(batch.max_timestamp),
            batch.timestamp_type.id, batch.is_transactional, batch.is_control_batch, batch.compression_type.type_name,
            batch.count_or_none,
        )
        for log in files(directory, ".log")
        for batch in FileRecords.open(log, mutable=False).batches()
    ]  # fmt: skip
    names = (
        "segment position size magic lastOffset leaderEpoch producerId producerEpoch baseSequence maxTimestamp "
        "timestampType transactional control codec records"
    )
    assert told(directory, "batches", *names.split()) == expected


def test_base_offsets_of_batches_and_their_bounds(directory):
    bases = told(directory, "batches", "baseOffset", "lastOffset", "magic", "codec")
    assert all((base is None) == (magic < 2 and codec != "none") for base, _, magic, codec in bases)
    topic, _, partition = directory.name.partition("-")
    some = told(directory, "batches", "lastOffset", startingOffsets=json.dumps({topic: {partition: 50}}))
    assert some == [(last,) for _, last, _, _ in bases if last >= 50]


def test_segments(directory):
    logs = files(directory, ".log")
    bases = [offset_from_file(log) for log in logs]
    expected = list(zip(map(str, logs), bases, [*bases[1:], None], (log.stat().st_size for log in logs), strict=True))
    assert told(directory, "segments", "segment", "baseOffset", "endOffset", "size") == expected
    largest = [
        when(max((batch.max_timestamp for batch in FileRecords.open(log, mutable=False).batches()), default=-1))
        for log in logs
    ]
    assert [row[0] for row in told(directory, "segments", "largestTimestamp")] == largest


def test_indexes(directory):
    expected = [
        (str(file.with_suffix(".log")), *entry)
        for file in files(directory, ".index")
        for entry in entries(OffsetIndex(file, offset_from_file(file), writable=False))
    ]
    assert expected and told(directory, "index", "segment", "offset", "position") == expected
    expected = [
        (when(entry.timestamp), entry.offset)
        for file in files(directory, ".timeindex")
        for entry in entries(TimeIndex(file, offset_from_file(file), writable=False))
    ]
    assert expected and told(directory, "timeindex", "timestamp", "offset") == expected


def test_transactions_and_producers(directory):
    expected = [
        entry[:4]
        for file in files(directory, ".txnindex")
        for entry in TransactionIndex(offset_from_file(file), file, writable=False).all_aborted_txns()
    ]
    names = ("producerId", "firstOffset", "lastOffset", "lastStableOffset")
    assert expected and told(directory, "transactions", *names) == [tuple(entry) for entry in expected]
    expected = [
        (offset_from_file(file), entry.producer_id, entry.producer_epoch, when(entry.last_timestamp), entry.last_seq,
         entry.last_data_offset, entry.current_txn_first_offset)
        for file in files(directory, ".snapshot")
        for entry in read_snapshot(file)
    ]  # fmt: skip
    names = "snapshotOffset producerId producerEpoch lastTimestamp lastSequence lastOffset openTransactionFirstOffset"
    assert expected and told(directory, "producers", *names.split()) == expected


def test_epochs_and_checkpoints(directory):
    epochs = LeaderEpochCheckpointFile(directory / "leader-epoch-checkpoint").read()
    assert told(directory, "epochs", "epoch", "startOffset") == list(map(tuple, epochs))
    expected = [
        (str(file), offset)
        for file in map(directory.parent.joinpath, _CHECKPOINTS)
        if file.exists()
        for partition, offset in OffsetCheckpointFile(file).read().items()
        if partition == TopicPartition("mixed", 0)
    ]
    assert told(directory, "checkpoints", "file", "offset") == expected


_CHECKPOINTS = (
    "replication-offset-checkpoint", "log-start-offset-checkpoint", "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint",
)  # fmt: skip


def test_a_damaged_file_is_told_by_its_name(tmp_path):
    copy = Path(shutil.copytree(GOLDEN / "mixed-0", tmp_path / "mixed-0"))
    snapshot = files(copy, ".snapshot")[-1]
    snapshot.write_bytes(snapshot.read_bytes()[:-3] + b"abc")
    with pytest.raises(CorruptRecordException, match=f"{snapshot}, position 0: CorruptSnapshotException"):
        rows(copy, table="producers")
    damages = [row["_corrupt"]["file"] for row in rows(copy, table="producers", mode="PERMISSIVE") if row["_corrupt"]]
    assert damages == [str(snapshot)]
    assert len(rows(copy, table="producers", mode="DROPMALFORMED")) > 3


def test_a_table_that_there_is_not():
    with pytest.raises(IllegalArgumentException, match="table=consumers is none of records, batches, segments"):
        rows(GOLDEN, table="consumers")
