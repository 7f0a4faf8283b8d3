"""A batch's header, its setters, and Kafka's golden bytes."""

import array
import re
import struct

import numpy as np
import pytest

from minikafka.common.errors import (
    CorruptRecordException,
    IllegalArgumentException,
    IndexOutOfBoundsException,
    UnsupportedOperationException,
)
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.batch_header import HEADER
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.log_input_stream import batches
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.format.record_batch import RecordBatch, decrement_sequence, increment_sequence
from minikafka.record.format.timestamp_type import TimestampType

# Bytes that Kafka 4.3.0 made.
THREE_RECORDS = (
    "000000000000000000000055ffffffff0220457a0300000000000200000000000003e800000000000003edffffffffffffffffffffffffffff"
    "0000000314000000046b31047631001e000a02010476320402680278026e0110000604046b310100"
)
IDEMPOTENT = (
    "00000000000000000000003affffffff0223c8ee7d00000000000000000000000003e800000000000003e80000000000000007000100000000"
    "0000000110000000026b027600"
)
COMMIT = (
    "0000000000000000000000420000000502410cebf300300000000000000000000007d000000000000007d000000000000000070001ffffffff"
    "000000012000000008000000010c00000000000300"
)
ABORT = (
    "0000000000000000000000420000000502b5323dbb00300000000000000000000007d000000000000007d000000000000000070001ffffffff"
    "000000012000000008000000000c00000000000300"
)
LEADER_APPEND = (
    "00000000000000640000005000000004025c05a06d00080000000200000000000003e8000000000000270fffffffffffffffffffffffffffff"
    "0000000314000000046b310476310014000a02046b320476320010000604046b310100"
)
COMPACTED = (
    "00000000000000000000004bffffffff024e91f2600040000000020000000005266f8800000000000003edffffffffffffffffffffffffffff"
    "000000021a00b5aeb35202046b32047632001600b9aeb35204046b310100"
)
COMPACTED_TO_NOTHING = (
    "000000000000000000000031ffffffff0268280458000000000002ffffffffffffffff00000000000003edffffffffffffffffffffffffffff"
    "00000000"
)
MAGIC_1 = "00000000000000000000001ab1a6ec76010000000000000003e8000000026b31000000027631"
MAGIC_0 = "00000000000000000000001257e7496e0000000000026b31000000027631"


def _hex(records: MemoryRecords) -> str:
    return bytes(records.buffer).hex()


def _three(second=SimpleRecord(1005, b"k2", b"v2")) -> MemoryRecords:
    return MemoryRecords.with_records(
        Compression.NONE, SimpleRecord(1000, b"k1", b"v1"), second, SimpleRecord(1003, b"k1", None)
    )


def test_the_builder_writes_kafkas_golden_bytes():
    with_headers = SimpleRecord(1005, None, b"v2", (Header("h", b"x"), Header("n", None)))
    assert _hex(_three(with_headers)) == THREE_RECORDS
    record = SimpleRecord(1000, b"k", b"v")
    assert _hex(MemoryRecords.with_idempotent_records(CompressionType.NONE, 7, 1, 0, record)) == IDEMPOTENT
    for control_type, golden in ((ControlRecordType.COMMIT, COMMIT), (ControlRecordType.ABORT, ABORT)):
        marker = EndTransactionMarker(control_type, 3)
        records = MemoryRecords.with_end_transaction_marker(2000, 7, 1, marker, partition_leader_epoch=5)
        assert _hex(records) == golden
        assert EndTransactionMarker.deserialize(next(records.records())) == marker
    record = SimpleRecord(1000, b"k1", b"v1")
    assert _hex(MemoryRecords.with_records(Compression.NONE, record, magic=1)) == MAGIC_1
    assert _hex(MemoryRecords.with_records(Compression.NONE, record, magic=0)) == MAGIC_0


def test_the_setters_turn_a_producers_batch_into_the_leaders():
    records = _three()
    batch = records.first_batch()
    batch.set_last_offset(102)
    batch.set_partition_leader_epoch(4)
    batch.set_max_timestamp(TimestampType.LOG_APPEND_TIME, 9999)
    assert _hex(records) == LEADER_APPEND
    assert (batch.base_offset, batch.last_offset, batch.next_offset) == (100, 102, 103)
    assert [(r.offset, r.timestamp) for r in batch] == [(100, 9999), (101, 9999), (102, 9999)]
    batch.ensure_valid()


def test_compacted_batches_keep_their_offsets_and_count_timestamps_from_the_delete_horizon():
    batch = RecordBatch(bytes.fromhex(COMPACTED))
    batch.ensure_valid()
    assert (batch.base_offset, batch.last_offset, batch.count) == (0, 2, 2)
    assert batch.delete_horizon_ms == 86_405_000
    assert [(r.offset, r.timestamp, r.value) for r in batch] == [(1, 1005, b"v2"), (2, 1003, None)]
    empty = RecordBatch(bytes.fromhex(COMPACTED_TO_NOTHING))
    empty.ensure_valid()
    assert (empty.last_offset, empty.count, list(empty), empty.delete_horizon_ms) == (2, 0, [], None)
    assert len(empty.columns()) == empty.summary().count == 0


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_arrays_are_written_as_the_bytes_that_they_hold(magic):
    numbers = array.array("I", [1, 2, 3])
    square = memoryview(bytes(range(12))).cast("B", (3, 4))
    for data in (numbers, memoryview(numbers), square, bytearray(b"abc"), np.arange(4)):
        headers = (Header("h", data),) if magic == 2 else ()
        built = MemoryRecords.with_records(Compression.NONE, SimpleRecord(1, data, data, headers), magic=magic)
        [record] = built.records()
        assert [record.key, record.value, *(header.value for header in record.headers)] == [
            memoryview(data).tobytes()
        ] * (2 + len(headers))
    for wrong in ("text", 5, [1]):
        with pytest.raises(TypeError, match="bytes-like"):
            MemoryRecords.with_records(Compression.NONE, SimpleRecord(1, wrong), magic=magic)


@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.uint32, np.uint8])
def test_timestamps_may_be_numbers_of_numpys(kind):
    timestamps = [200, 5, 255]
    built = MemoryRecords.with_records(Compression.NONE, *(SimpleRecord(kind(each)) for each in timestamps))
    assert [record.timestamp for record in built.records()] == timestamps
    with pytest.raises(TypeError):
        MemoryRecords.with_records(Compression.NONE, SimpleRecord(1.5))


def test_sizes_of_keys_and_values_tell_null_from_empty():
    """Kafka: `Record.keySize`, `Record.hasKey`, of records of each magic."""
    for magic in range(3):
        for key in (None, b"", b"key"):
            one = MemoryRecords.with_records(Compression.NONE, SimpleRecord(5, key, b"v"), magic=magic)
            [record] = one.records()
            assert (record.key_size, record.has_key) == (-1 if key is None else len(key), key is not None)
            assert (record.value_size, record.has_value) == (1, True)


def test_every_header_field_is_read():
    batch = RecordBatch(bytes.fromhex(COMMIT))
    assert batch.is_transactional and batch.is_control_batch and batch.has_producer_id
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (7, 1, -1, -1)
    assert (batch.partition_leader_epoch, batch.base_timestamp, batch.max_timestamp) == (5, 2000, 2000)
    assert (batch.size_in_bytes, batch.magic, batch.attributes) == (78, 2, 0x30)
    assert batch.timestamp_type is TimestampType.CREATE_TIME and batch.compression_type is CompressionType.NONE
    assert batch.checksum == 0x410CEBF3 == batch.compute_checksum()


@pytest.mark.parametrize("position", [21, 22, 60, 61, 77])
def test_a_flipped_bit_in_the_range_of_the_crc_is_noticed(position):
    data = bytearray.fromhex(COMMIT)
    data[position] ^= 1
    assert not RecordBatch(data).is_valid()
    with pytest.raises(CorruptRecordException, match="stored crc = 1091365875"):
        RecordBatch(data).ensure_valid()


def test_offset_and_leader_epoch_lie_outside_the_crc():
    data = bytearray.fromhex(COMMIT)
    data[0:8] = b"\1" * 8
    data[12:16] = b"\1" * 4
    RecordBatch(data).ensure_valid()


def test_a_batch_too_short_for_a_header_is_corrupt_and_its_missing_fields_raise():
    data = bytearray.fromhex(COMMIT)[:30]
    data[8:12] = (18).to_bytes(4, "big")
    batch = next(batches(data))
    assert (batch.last_offset, batch.magic) == (0, 2)
    with pytest.raises(IndexOutOfBoundsException):
        batch.max_timestamp  # noqa: B018
    with pytest.raises(CorruptRecordException, match=r"the size 30 is smaller than the minimum allowed overhead 61"):
        batch.ensure_valid()


def test_an_unknown_codec_is_an_illegal_argument():
    data = bytearray.fromhex(COMMIT)
    data[22] |= 5
    with pytest.raises(IllegalArgumentException, match="Unknown compression type id: 5"):
        list(RecordBatch(data))


def test_batches_in_memory_end_with_an_incomplete_one():
    data = bytes.fromhex(COMMIT + MAGIC_0 + MAGIC_1 + COMMIT)
    assert [batch.magic for batch in batches(data)] == [2, 0, 1, 2]
    for cut in range(1, 78):
        assert [batch.magic for batch in batches(data[:-cut])] == [2, 0, 1]
    assert MemoryRecords(data[:-1]).valid_bytes() == len(data) - 78


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (16, 3, "Invalid magic found in record: 3"),
        (16, 0x80, "magic.*-128"),
        (11, 13, "size 13 is less than"),
        (8, 255, "size -"),
    ],
)
def test_impossible_sizes_and_magics_are_corrupt(position, value, message):
    data = bytearray.fromhex(COMMIT)
    data[position] = value
    with pytest.raises(CorruptRecordException, match=message):
        next(batches(data))


def test_memory_of_larger_items_is_read_as_bytes():
    batch = MemoryRecords.with_records(Compression.NONE, SimpleRecord(1, b"k", b"v")).buffer
    records = MemoryRecords(array.array("H", bytes(batch)))
    assert records.size_in_bytes == len(batch) and [record.value for record in records.records()] == [b"v"]


def test_read_only_bytes_are_copied_and_writable_ones_shared():
    data = bytearray.fromhex(COMMIT)
    MemoryRecords.readable_records(data).first_batch().set_last_offset(9)
    assert RecordBatch(data).base_offset == 9
    frozen = bytes.fromhex(COMMIT)
    MemoryRecords.readable_records(frozen).first_batch().set_last_offset(9)
    assert RecordBatch(frozen).base_offset == 0


def test_old_batches_are_set_in_place_as_far_as_they_can():
    one = MemoryRecords.readable_records(bytes.fromhex(MAGIC_1)).first_batch()
    one.set_last_offset(5)
    one.set_max_timestamp(TimestampType.LOG_APPEND_TIME, 7)
    one.ensure_valid()
    assert (one.base_offset, one.max_timestamp, one.timestamp_type) == (5, 7, TimestampType.LOG_APPEND_TIME)
    zero = MemoryRecords.readable_records(bytes.fromhex(MAGIC_0)).first_batch()
    for change in (
        lambda: zero.set_max_timestamp(TimestampType.CREATE_TIME, 7),
        lambda: one.set_partition_leader_epoch(1),
    ):
        with pytest.raises(UnsupportedOperationException):
            change()


def test_sequences_wrap_to_zero():
    largest = 2**31 - 1
    assert increment_sequence(largest, 1) == 0
    assert increment_sequence(largest - 3, 10) == 6
    assert decrement_sequence(0, 1) == largest
    assert decrement_sequence(6, 10) == largest - 3
    assert decrement_sequence(17, -largest) == 17 + largest - 2**32  # a damaged delta: Java's int goes around


def test_the_table_of_the_header_is_that_of_the_struct():
    rows = re.findall(r"^ +(\d+) +(\d+) +(u?int\d+) ", RecordBatch.__doc__, re.MULTILINE)
    codes = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint32": "I"}
    assert ">" + "".join(codes[kind] for _, _, kind in rows) == HEADER.format
    position = 0
    for start, size, kind in rows:
        assert (int(start), int(size)) == (position, struct.calcsize(">" + codes[kind]))
        position += int(size)
    assert position == HEADER.size
