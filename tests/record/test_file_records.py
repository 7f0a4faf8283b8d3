"""Log files: what is found in them, and what is done to them, is what Kafka's `FileRecords` finds and does."""

import random
import socket

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import (
    ClosedChannelException,
    CorruptRecordException,
    IllegalArgumentException,
    KafkaException,
)
from minikafka.record.codecs.compression import Compression
from minikafka.record.files import file_channel_record_batch
from minikafka.record.files.file_records import FileRecords, LogOffsetPosition, TimestampAndOffset
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.kafka.kafka_errors import kafka_errors


def _batch(base_offset: int, count: int = 3, timestamp: int = 1000, epoch: int = 0) -> MemoryRecords:
    records = [SimpleRecord(timestamp + i, b"key", b"value") for i in range(count)]
    return MemoryRecords.with_records(
        Compression.NONE, *records, initial_offset=base_offset, partition_leader_epoch=epoch
    )


@pytest.fixture
def log(tmp_path):
    """A file of five batches of three records: offsets 0–2, 10–12, … 40–42; timestamps 1000–1002, 1010–1012, …"""
    file_records = FileRecords.open(tmp_path / "00000000000000000000.log")
    for n in range(5):
        file_records.append(_batch(10 * n, timestamp=1000 + 10 * n, epoch=n))
    yield file_records
    file_records.close()


SIZE = _batch(0).size_in_bytes


def test_batches_are_found_by_offset(log):
    search = log.search_for_offset_from_position
    assert search(0, 0) == LogOffsetPosition(0, 0, SIZE)
    assert search(2, 0) == LogOffsetPosition(0, 0, SIZE)
    assert search(3, 0) == search(10, 0) == search(12, SIZE) == LogOffsetPosition(10, SIZE, SIZE)
    assert search(42, 0) == LogOffsetPosition(40, 4 * SIZE, SIZE)
    assert search(43, 0) is None
    assert search(0, 3 * SIZE) == LogOffsetPosition(30, 3 * SIZE, SIZE)


def test_a_batch_in_a_file_tells_when_its_tombstones_may_go(tmp_path):
    file_records = FileRecords.open(tmp_path / "0.log")
    for horizon in (-1, 99):
        builder = MemoryRecordsBuilder(Compression.NONE, base_offset=horizon + 1, delete_horizon_ms=horizon)
        builder.append_with_offset(horizon + 1, 5, b"k", None)
        file_records.append(builder.build())
    assert [batch.delete_horizon_ms for batch in file_records.batches()] == [None, 99]
    file_records.close()


def test_records_are_found_by_timestamp(log):
    assert log.search_for_timestamp(1011, 0, 0) == TimestampAndOffset(1011, 11, 1)
    assert log.search_for_timestamp(1011, 0, 12) == TimestampAndOffset(1012, 12, 1)
    assert log.search_for_timestamp(1043, 0, 0) is None
    assert log.largest_timestamp_after(0) == TimestampAndOffset(1042, 42, 4)
    assert log.largest_timestamp_after(5 * SIZE) == TimestampAndOffset(-1, -1, None)


@pytest.mark.parametrize("window_size", [17, SIZE - 1, SIZE, SIZE + 20, 3 * SIZE, 1 << 16])
def test_batches_read_as_a_whole_are_the_same(tmp_path, monkeypatch, window_size):
    """Wherever the windows end, and wherever the file is cut or flipped."""
    monkeypatch.setattr(file_channel_record_batch, "_WINDOW_SIZE", window_size)
    sound = b"".join(bytes(_batch(10 * n, count=1 + n % 3).buffer) for n in range(6))
    old = bytes(MemoryRecords.with_records(Compression.NONE, SimpleRecord(1, b"k", b"v"), magic=1).buffer)
    draw = random.Random(window_size)
    for _ in range(60):
        data = bytearray(draw.choice([sound, sound + old, old + sound])[: draw.randrange(900)])
        for _ in range(draw.randrange(3) if data else 0):
            data[draw.randrange(len(data))] = draw.choice([0, 1, 2, 255])
        (tmp_path / "0.log").write_bytes(data)
        file_records = FileRecords.open(tmp_path / "0.log", mutable=False)
        walked = [_all(batches()) for batches in (file_records.batches, file_records.whole_batches)]
        file_records.close()
        assert walked[0] == walked[1]


def test_a_file_cut_behind_our_back_is_told_by_position(log, tmp_path):
    log.channel.truncate(4 * SIZE + 30)
    with pytest.raises(KafkaException, match=f"`full record batch` at position {4 * SIZE} .* after reading 30 bytes"):
        list(log.whole_batches())
    log.channel.truncate(4 * SIZE + 3)
    with pytest.raises(CorruptRecordException, match=f"Unexpected EOF .* at position {4 * SIZE} "):
        list(log.whole_batches())


def _all(batches) -> list:
    """Magic and bytes of each batch, then the exception that ended the walk."""
    found = []
    try:
        for batch in batches:
            found.append((batch.magic, bytes(batch.buffer)))
    except Exception as error:
        found.append((type(error), str(error)))
    return found


def test_a_slice_is_a_fixed_view(log):
    view = log.slice(SIZE, 2 * SIZE + 10)
    log.append(_batch(50))
    assert [batch.base_offset for batch in view.batches()] == [10, 20]
    assert [record.offset for record in view.records()] == [10, 11, 12, 20, 21, 22]
    assert view.to_memory_records().valid_bytes() == 2 * SIZE
    assert [batch.base_offset for batch in view.slice(SIZE, 10 * SIZE).batches()] == [20]
    assert log.slice(5 * SIZE, 10**9).size_in_bytes == SIZE


@pytest.mark.parametrize(("position", "size"), [(-1, 1), (0, -1), (5 * SIZE + 1, 0)])
def test_impossible_slices_are_illegal(log, position, size):
    with pytest.raises(IllegalArgumentException):
        log.slice(position, size)


def test_a_file_is_sent_to_a_socket(log):
    near, far = socket.socketpair()
    with near, far:
        assert log.slice(SIZE, 3 * SIZE).write_to(near, 10, 10**6) == 3 * SIZE - 10
        assert far.recv(10**6) == bytes(log.read(SIZE + 10, 3 * SIZE - 10))


def test_a_slice_of_a_file_cut_since_then_is_not_sent(log):
    view = log.slice(0, 5 * SIZE)
    log.truncate_to(SIZE)
    with pytest.raises(KafkaException, match="has been truncated during write: old size"):
        view.write_to(None, 0, 10)
    with pytest.raises(CorruptRecordException, match="Unexpected EOF"):
        list(view.batches())


def test_truncation_goes_down_only(log):
    assert log.truncate_to(2 * SIZE) == 3 * SIZE
    assert (log.size_in_bytes, log.channel.size) == (2 * SIZE, 2 * SIZE)
    for size in (-1, 2 * SIZE + 1):
        with pytest.raises(KafkaException, match="Attempt to truncate log segment"):
            log.truncate_to(size)


def test_a_preallocated_file_is_cut_when_it_is_closed(tmp_path):
    path = tmp_path / "a.log"
    log = FileRecords.open(path, init_file_size=4096, preallocate=True)
    assert (log.size_in_bytes, path.stat().st_size) == (0, 4096)
    log.append(_batch(0))
    assert (log.size_in_bytes, path.stat().st_size) == (SIZE, 4096)
    assert [batch.base_offset for batch in log.batches()] == [0]
    log.close()
    assert path.stat().st_size == SIZE
    log = FileRecords.open(path, file_already_exists=True, init_file_size=4096, preallocate=True)
    assert log.size_in_bytes == SIZE
    log.close_handlers()


def test_a_closed_file_is_neither_read_nor_written(log):
    batch = log.first_batch()
    log.close()
    log.close()
    with pytest.raises(ClosedChannelException):
        log.append(_batch(50))
    with pytest.raises(KafkaException):
        list(log.batches())
    with pytest.raises(KafkaException):
        batch.ensure_valid()


def test_a_file_may_not_outgrow_an_int(log):
    log.size_in_bytes = 2**31 - 100
    with pytest.raises(IllegalArgumentException, match="is too large for segment with current file position at"):
        log.append(_batch(50))
    log.size_in_bytes = 5 * SIZE


def test_a_file_is_renamed_and_deleted_while_open(log):
    deleted = log.file.with_name(log.file.name + ".deleted")
    log.rename_to(deleted)
    assert log.file == deleted and deleted.exists()
    assert log.delete_if_exists() and not log.delete_if_exists()
    assert log.last_modified == 0


def test_every_change_of_the_file_is_seen_by_the_observer(tmp_path):
    seen = []
    with file_ops.observe(lambda operation, path: seen.append(operation)):
        log = FileRecords.open(tmp_path / "a.log", init_file_size=4096, preallocate=True)
        log.append(_batch(0))
        log.close()
        log.rename_to(tmp_path / "b.log")
        log.delete_if_exists()
    assert seen == ["create", "preallocate", "write", "fsync", "truncate", "rename", "delete"]


def test_only_headers_are_read_until_records_are_asked_for(log, monkeypatch):
    batches = list(log.batches())
    monkeypatch.setattr(log.channel.__class__, "read_into", None)
    assert [b.last_offset for b in batches] == [2, 12, 22, 32, 42]
    assert [b.max_timestamp for b in batches] == [1002, 1012, 1022, 1032, 1042]
    assert [b.count_or_none for b in batches] == [3] * 5
    with pytest.raises(TypeError):
        batches[0].ensure_valid()


def test_torn_and_damaged_files_are_walked_as_kafka_walks_them(kafka, tmp_path):
    whole = b"".join(bytes(_batch(10 * n).buffer) for n in range(3))
    old = bytes(MemoryRecords.with_records(Compression.NONE, SimpleRecord(5, b"k", b"v"), magic=1).buffer)
    rng = random.Random(2)
    contents = [whole[:-n] for n in (1, SIZE - 17, SIZE - 18, SIZE - 1)]
    contents += [whole + bytes(n) for n in (1, 17, 18, 30, 61)] + [old + whole + old, whole + old[:-1]]
    for _ in range(40):
        damaged = bytearray(whole + old)
        damaged[rng.choice([8, 9, 10, 11, 16, SIZE + 11, SIZE + 16, SIZE + 10])] = rng.choice([0, 1, 3, 15, 128, 255])
        contents.append(bytes(damaged))
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.log"
        path.write_bytes(content)
        assert _walk(path) == _kafkas_walk(kafka, path), content.hex()


def _walk(path) -> list:
    log = FileRecords.open(path, mutable=False)
    seen = []
    try:
        for batch in log.batches():
            seen.append((batch.position, batch.size_in_bytes))
            seen.append((batch.base_offset, batch.last_offset, batch.max_timestamp, batch.partition_leader_epoch))
    except Exception as error:
        seen.append(type(error).__name__)
    log.close_handlers()
    return seen


def _kafkas_walk(kafka, path) -> list:
    log = kafka.find_class("org.apache.kafka.common.record.internal.FileRecords").open(kafka.file(path), False)
    seen = []
    try:
        with kafka_errors():
            batches = log.batches().iterator()
            while batches.hasNext():
                batch = batches.next()
                seen.append((batch.position(), batch.sizeInBytes()))
                numbers = (batch.baseOffset(), batch.lastOffset(), batch.maxTimestamp(), batch.partitionLeaderEpoch())
                seen.append(numbers)
    except Exception as error:
        seen.append(type(error).__name__)
    log.closeHandlers()
    return seen
