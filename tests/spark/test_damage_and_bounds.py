"""Whatever a query asks for, a damage that may have taken some of it is told: in mode FAILFAST it ends the query."""

import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql.datasource import GreaterThanOrEqual, LessThanOrEqual

from minikafka.common.errors import CorruptRecordException
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from tests.spark.ascending_log import NOW, RECORDS, ascending_log, batches
from tests.spark.rows import rows

DAMAGES = {
    "checksum": (60, b"\xff"),
    "size": (8, (3).to_bytes(4, "big")),
    "much": (8, (1 << 30).to_bytes(4, "big")),
    "base offset": (0, (7).to_bytes(8, "big")),
    "magic": (16, b"\x09"),
    "largest timestamp": (35, bytes(8)),
    "zeros": (0, bytes(120)),
}
"""What is written where in a batch."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    return ascending_log(tmp_path_factory.mktemp("sound") / "t-0")


@pytest.fixture
def copy(sound, tmp_path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / sound.name))


def damage(log: Path, position: int, kind: str) -> bytes:
    """Damage the batch there; what the file was before."""
    before = log.read_bytes()
    place, bytes_ = DAMAGES[kind]
    log.write_bytes(before[: position + place] + bytes_ + before[position + place + len(bytes_) :])
    return before


def by_offsets(start: int, end: int) -> dict:
    return {"startingOffsets": f'{{"t":{{"0":{start}}}}}', "endingOffsets": f'{{"t":{{"0":{end}}}}}'}


def offsets(*query, **options) -> list[int]:
    return [row["offset"] for row in rows(*query, **options)]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["records", "batches"])
@pytest.mark.parametrize("kind", [each for each in DAMAGES if each != "much"])
def test_a_damage_is_told_to_those_who_lack_its_records_and_hardly_to_others(copy, kind, table):
    for log, position, first in batches(copy)[3:-1:17]:
        before = damage(log, position, kind)
        lost = set(range(RECORDS)) - set(offsets(copy, mode="DROPMALFORMED"))
        assert first in lost
        told = 0
        for start in range(0, RECORDS, 3):
            bounds = by_offsets(start, start + 3)
            read = rows(copy, mode="PERMISSIVE", table=table, **bounds)
            is_told = any(row["_corrupt"] for row in read)
            told += is_told
            if lost & {start, start + 1, start + 2}:
                assert is_told
                with pytest.raises(CorruptRecordException):
                    rows(copy, table=table, **bounds)
            if kind == "checksum":
                assert is_told == bool(lost & {start, start + 1, start + 2})
        assert told <= 2 + len(lost)
        log.write_bytes(before)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("without", ["", "*.timeindex", "*index"])
def test_bounds_and_filters_by_time_give_all_records_or_tell_of_a_damage(copy, kind, without):
    for file in copy.glob(without) if without else ():
        file.unlink()
    draw = random.Random(kind + without)
    told, last_log = 0, max(copy.glob("*.log"))
    for log, position, _ in batches(copy)[2::7]:
        if log == last_log:  # in which it may be a batch that was being written
            break
        before = damage(log, position, kind)
        for _ in range(6):
            start, end = sorted(draw.sample(range(RECORDS), 2))
            for options, wanted in (
                ({"startingTimestamp": NOW + start}, range(start, RECORDS)),
                ({"endingTimestamp": NOW + end}, range(end)),
                ({"startingTimestamp": NOW + start, "endingTimestamp": NOW + end}, range(start, end)),
                ({"startingTimestamp": NOW + start, "endingTimestamp": NOW + RECORDS}, range(start, RECORDS)),
            ):
                told += _all_or_told(copy, options, (), wanted)
            since = datetime.fromtimestamp((NOW + start) / 1000, UTC)
            told += _all_or_told(copy, {}, (GreaterThanOrEqual(("timestamp",), since),), range(start, RECORDS))
        log.write_bytes(before)
    assert told


def _all_or_told(directory: Path, options: dict, filters: tuple, wanted: range) -> bool:
    """Whether a damage was told; else the offsets are the `wanted` ones."""
    try:
        read = offsets(directory, *filters, **options)
    except CorruptRecordException:
        permissive = rows(directory, *filters, mode="PERMISSIVE", **options)
        assert any(row["_corrupt"] for row in permissive)
        return True
    assert read == list(wanted), (options, filters)
    return False


def test_filters_that_no_offset_passes_give_nothing(copy):
    for least, most in ((267, 163), (266, 229), (101, 89), (299, 0), (150, 149)):
        between = GreaterThanOrEqual(("offset",), least), LessThanOrEqual(("offset",), most)
        assert offsets(copy, *between) == offsets(copy, *between, maxBytesPerTask=1) == []


def test_without_a_time_index_every_batch_is_asked_for_its_time(tmp_path):
    """The last entry of the offset index lies behind the batch with the largest timestamp."""
    directory = tmp_path / "t-0"
    with Log.open(directory, {"index.interval.bytes": "1", "internal.segment.bytes": "300"}) as log:
        for late in (5000, 0, 4000, 3000, 2000, 6000, 1000):
            record = SimpleRecord(NOW - late, b"k", b"v")
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), leader_epoch=0)
    late_ones = GreaterThanOrEqual(("timestamp",), datetime.fromtimestamp((NOW - 1000) / 1000, UTC))
    assert offsets(directory, late_ones) == [1, 6]
    for file in directory.glob("*.timeindex"):
        entries = file.read_bytes()
        file.write_bytes(entries[:12])
    assert offsets(directory, late_ones) == [1, 6]
    for file in directory.glob("*.timeindex"):
        file.unlink()
    assert offsets(directory, late_ones) == [1, 6]
