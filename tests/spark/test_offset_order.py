"""A base offset is under no checksum: one that has changed on the disk is told, and gives no record a wrong offset."""

import json
import random
import shutil
from pathlib import Path

import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.source import batch_runs_on_disk
from tests.spark.ascending_log import NOW, RECORDS_A_BATCH, ascending_log, batches
from tests.spark.rows import rows

TOLD = "The batch is out of place: it "


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    return ascending_log(tmp_path_factory.mktemp("sound") / "t-0")


@pytest.fixture
def copy(sound, tmp_path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / sound.name))


def rebase(log: Path, position: int, base_offset: int) -> None:
    data = bytearray(log.read_bytes())
    data[position : position + 8] = base_offset.to_bytes(8, "big", signed=True)
    log.write_bytes(data)


def flips(directory: Path) -> list[tuple[Path, int, int, int]]:
    """One flipped bit of each base offset: the file, the position, the offset that was, and that which becomes of it.

    The last batch is left out: a larger offset of it may be right, as far as a log tells.
    """
    draw = random.Random(1)
    found = []
    for log, position, base_offset in batches(directory)[:-1]:
        flipped = int.from_bytes((base_offset ^ 1 << draw.randrange(64)).to_bytes(8, "big"), "big", signed=False)
        found.append((log, position, base_offset, flipped - (1 << 64) if flipped >> 63 else flipped))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("piece_size", [300, 1000, 4 << 20])
@pytest.mark.parametrize("options", [{}, {"maxBytesPerTask": 900, "checkCrcs": "false"}])
def test_a_flipped_bit_of_any_base_offset_is_told(copy, monkeypatch, piece_size, options):
    monkeypatch.setattr(batch_runs_on_disk, "PIECE_SIZE", piece_size)
    sound_rows = {row["offset"]: row["value"] for row in rows(copy)}
    with_neighbours = 0
    for log, position, was, becomes in flips(copy):
        rebase(log, position, becomes)
        with pytest.raises(CorruptRecordException, match=f"{log.name}, position [0-9]+: .*{TOLD}"):
            rows(copy, **options)
        read = rows(copy, mode="PERMISSIVE", **options)
        damages = [row["_corrupt"]["position"] for row in read if row["_corrupt"]]
        kept = {row["offset"]: row["value"] for row in read if not row["_corrupt"]}
        assert position in damages and len(damages) <= 2
        assert len(kept) == len(read) - len(damages) and kept.items() <= sound_rows.items()
        assert len(kept) == 300 - RECORDS_A_BATCH * len(damages) and was not in kept
        assert len(rows(copy, mode="DROPMALFORMED", **options)) == len(kept)
        with_neighbours += len(damages) - 1
        rebase(log, position, was)
    assert rows(copy, **options) == rows(copy)
    assert with_neighbours < 15  # of 59: where pieces are small, often nobody can tell which of two batches is wrong


@pytest.mark.slow
@pytest.mark.parametrize("table", ["batches", "records"])
@pytest.mark.parametrize("option", [{}, {"isolation.level": "read_committed"}, {"startingTimestamp": NOW + 1}])
def test_tables_and_bounds_tell_it_too(copy, table, option):
    for log, position, was, becomes in flips(copy)[::7]:
        if was == 0 and option:  # before what is asked for
            continue
        rebase(log, position, becomes)
        with pytest.raises(CorruptRecordException, match=TOLD):
            rows(copy, table=table, **option)
        rebase(log, position, was)


@pytest.mark.slow
def test_headers_alone_tell_it_too(tmp_path):
    directory = tmp_path / "t-0"
    directory.mkdir()
    log = directory / f"{0:020}.log"
    record = SimpleRecord(NOW, b"k", bytes(200_000))
    log.write_bytes(
        b"".join(
            bytes(MemoryRecords.with_records(CompressionType.NONE, record, initial_offset=each).buffer)
            for each in range(100)
        )
    )
    assert len(rows(directory, table="batches", checkCrcs="false")) == 100
    for log, position, _ in batches(directory)[5::31]:
        before = log.read_bytes()
        rebase(log, position, 3)
        with pytest.raises(CorruptRecordException, match=rf"position {position}: .*{TOLD}"):
            rows(directory, table="batches", checkCrcs="false")
        alone, whole = (
            rows(directory, table="batches", mode="PERMISSIVE", checkCrcs=each) for each in ("false", "true")
        )
        assert alone == whole and sum(row["_corrupt"] is not None for row in alone) == 1
        log.write_bytes(before)


def merged(directory: Path) -> tuple[Path, Path]:
    """The second segment has the third one's records, too, as a compaction makes it."""
    _, second, third, *_ = sorted(directory.glob("*.log"))
    second.write_bytes(second.read_bytes() + third.read_bytes())
    return second, third


def test_in_the_middle_of_a_compaction_a_segment_may_have_the_records_of_the_next_one(copy):
    everything = rows(copy)
    second, third = merged(copy)
    second.rename(second.with_name(f"{second.name}.swap"))  # where a broker was killed
    assert rows(copy) == everything
    second.with_name(f"{second.name}.swap").rename(second)
    with pytest.raises(CorruptRecordException, match=f"{TOLD}ends at offset [0-9]+, and the next segment begins at"):
        rows(copy)
    assert rows(copy, mode="DROPMALFORMED") == everything
    third.rename(third.with_name(f"{third.name}.deleted"))
    assert rows(copy) == everything


def test_a_compaction_that_ends_between_planning_and_reading_is_no_damage(copy):
    from minikafka.spark.source.data_source import KafkaLogDataSource

    everything = len(rows(copy))
    second, third = merged(copy)
    second.rename(second.with_name(f"{second.name}.swap"))
    source = KafkaLogDataSource({"path": str(copy)})
    reader = source.reader(source.schema())
    (task,) = reader.partitions()
    third.rename(third.with_name(f"{third.name}.deleted"))
    second.with_name(f"{second.name}.swap").rename(second)
    assert sum(batch.num_rows for batch in reader.read(task)) == everything


def test_gaps_as_compaction_leaves_them_are_no_damage(copy):
    for log, position, base_offset in reversed(batches(copy)):
        if base_offset % 4:
            data = log.read_bytes()
            size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
            log.write_bytes(data[:position] + data[position + size :])
    for index in copy.glob("*.*index"):
        index.unlink()
    assert [row["offset"] for row in rows(copy, endingOffsets=json.dumps({"t": {"0": -1}}))] == [
        offset for base in range(0, 300, 20) for offset in range(base, base + RECORDS_A_BATCH)
    ]


def test_a_batch_that_is_there_twice_is_told_and_not_given(copy):
    log, position, base_offset = batches(copy)[17]
    data = log.read_bytes()
    size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    log.write_bytes(data[: position + size] + data[position:])
    for size in range(300, 2000, 100):
        with pytest.raises(CorruptRecordException, match=f"has the offsets {base_offset} to {base_offset + 4}, which"):
            rows(copy, maxBytesPerTask=size)
    kept = [row["offset"] for row in rows(copy, mode="DROPMALFORMED")]
    assert kept == [each for each in range(300) if not base_offset <= each < base_offset + RECORDS_A_BATCH]
