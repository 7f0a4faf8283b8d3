"""Headers of large batches are read alone, and say what reading all of the file says."""

import os

import pytest

from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_channel import FileChannel
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.spark.rows import rows

LARGE, SMALL = 200_000, 100


def batch(offset: int, size: int, magic: int = 2) -> bytes:
    """A batch of one record with a value of `size` bytes; its base offset is no part of its checksum."""
    record = SimpleRecord(1_700_000_000_000 + offset, b"k", bytes(size))
    return bytes(MemoryRecords.with_records(CompressionType.NONE, record, initial_offset=offset, magic=magic).buffer)


def segment(tmp_path, *batches: bytes):
    directory = tmp_path / "t-0"
    directory.mkdir()
    log = directory / f"{0:020}.log"
    log.write_bytes(b"".join(batches))
    return log


def both_ways(log) -> list:
    """The rows of the headers alone, which must be those of the whole file."""
    alone, whole = (rows(log.parent, table="batches", mode="PERMISSIVE", checkCrcs=each) for each in ("false", "true"))
    assert alone == whole
    return alone


@pytest.fixture
def bytes_read(monkeypatch) -> list[int]:
    """How many bytes each read of a file has given."""
    sizes = []
    read, read_into = FileChannel.read, FileChannel.read_into

    def noted(channel: FileChannel, position: int, size: int) -> bytes:
        data = read(channel, position, size)
        sizes.append(len(data))
        return data

    def noted_into(channel: FileChannel, buffer: memoryview, position: int) -> int:
        sizes.append(read_into(channel, buffer, position))
        return sizes[-1]

    monkeypatch.setattr(FileChannel, "read", noted)
    monkeypatch.setattr(FileChannel, "read_into", noted_into)
    return sizes


@pytest.mark.slow
def test_large_batches_are_not_read(tmp_path, bytes_read):
    log = segment(tmp_path, *(batch(offset, LARGE) for offset in range(100)))
    found = rows(log.parent, table="batches", checkCrcs="false")
    assert [row["baseOffset"] for row in found] == list(range(100))
    assert sum(bytes_read) < 20_000 < log.stat().st_size
    assert both_ways(log) == [row | {"_corrupt": None} for row in found]
    assert sum(bytes_read) > log.stat().st_size  # a checksum covers the whole batch


@pytest.mark.parametrize("magic", [0, 2])
def test_small_and_old_batches_between_large_ones(tmp_path, magic):
    sizes = [LARGE] * 40 + [SMALL] * 100 + [LARGE] * 40
    log = segment(tmp_path, *(batch(at, size, magic if size == SMALL else 2) for at, size in enumerate(sizes)))
    assert [row["lastOffset"] for row in both_ways(log)] == list(range(180))


@pytest.mark.parametrize("damaged", [0, 5, 35, 69])
@pytest.mark.parametrize("place, value", [(8, 0xFF), (8, 0x7F), (16, 9)])
def test_damage_between_large_batches(tmp_path, damaged, place, value):
    """A size that is negative, one that is too large, and a magic that there is not."""
    batches = [bytearray(batch(offset, LARGE)) for offset in range(70)]
    batches[damaged][place] = value
    log = segment(tmp_path, *batches)
    assert [row["baseOffset"] for row in both_ways(log) if row["_corrupt"] is None] == list(range(damaged))


@pytest.mark.parametrize("kept", [30, LARGE])
def test_a_file_that_is_cut_after_planning(tmp_path, kept):
    """The last header is whole, or not even that; its batch is no row in either case."""
    log = segment(tmp_path, *(batch(offset, LARGE) for offset in range(40)))
    options = {"path": str(log.parent), "table": "batches", "checkCrcs": "false"}
    reader = KafkaLogDataSource(options).reader(KafkaLogDataSource(options).schema())
    tasks = reader.partitions()
    os.truncate(log, 36 * len(batch(0, LARGE)) + kept)
    found = [row["baseOffset"] for task in tasks for part in reader.read(task) for row in part.to_pylist()]
    assert found == list(range(36))
