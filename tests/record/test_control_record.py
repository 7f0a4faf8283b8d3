"""Control records, and what the builder refuses."""

import pytest

from minikafka.common.errors import (
    BufferUnderflowException,
    IllegalArgumentException,
    IllegalStateException,
    InvalidRecordException,
)
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header
from minikafka.record.format.timestamp_type import TimestampType


def test_keys_of_control_records_are_read():
    assert ControlRecordType.parse(bytes.fromhex("00000001")) is ControlRecordType.COMMIT
    assert ControlRecordType.parse(bytes.fromhex("0005000000")) is ControlRecordType.ABORT
    assert ControlRecordType.parse(bytes.fromhex("00000009")) is ControlRecordType.UNKNOWN
    for wrong in ("000000", "ffff0001"):
        with pytest.raises(InvalidRecordException):
            ControlRecordType.parse(bytes.fromhex(wrong))
    with pytest.raises(IllegalArgumentException):
        ControlRecordType.UNKNOWN.record_key()


def test_values_of_end_markers_are_read():
    read = EndTransactionMarker.deserialize_value
    assert read(ControlRecordType.ABORT, bytes.fromhex("000700000003ffff")).coordinator_epoch == 3
    with pytest.raises(InvalidRecordException):
        read(ControlRecordType.ABORT, bytes.fromhex("ffff00000003"))
    with pytest.raises(BufferUnderflowException):
        read(ControlRecordType.ABORT, bytes.fromhex("0000000003"))
    with pytest.raises(IllegalArgumentException):
        read(ControlRecordType.LEADER_CHANGE, bytes.fromhex("000000000003"))


def test_offsets_must_grow_and_timestamps_may_not_be_negative():
    builder = MemoryRecordsBuilder(base_offset=5)
    builder.append(-1, None, None)
    for arguments in ((5, 0, None, None), (6, -2, None, None), (5 + 2**31, 0, None, None)):
        with pytest.raises(IllegalArgumentException):
            builder.append_with_offset(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"magic": 1, "is_transactional": True},
        {"magic": 1, "is_control_batch": True},
        {"magic": 0, "compression": Compression(CompressionType.ZSTD)},
        {"magic": 1, "delete_horizon_ms": 5},
        {"magic": 1, "timestamp_type": TimestampType.NO_TIMESTAMP_TYPE},
    ],
    ids=str,
)
def test_what_a_magic_cannot_express_is_refused(arguments):
    with pytest.raises(IllegalArgumentException):
        MemoryRecordsBuilder(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"is_transactional": True},
        {"producer_id": 1, "base_sequence": 0},
        {"producer_id": 1, "producer_epoch": 0},
        {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "magic": 1},
    ],
    ids=str,
)
def test_producer_fields_come_together(arguments):
    builder = MemoryRecordsBuilder(**arguments)
    builder.append(0, None, b"v")
    with pytest.raises(IllegalArgumentException):
        builder.build()


def test_a_built_batch_is_closed():
    builder = MemoryRecordsBuilder()
    assert builder.build() is MemoryRecords.EMPTY
    builder = MemoryRecordsBuilder()
    builder.append(0, None, b"v")
    assert builder.build() is builder.build()
    with pytest.raises(IllegalStateException):
        builder.append(0, None, b"v")
    with pytest.raises(IllegalStateException):
        builder.override_last_offset(9)


def test_old_records_have_no_headers():
    with pytest.raises(IllegalArgumentException, match="Magic v1 does not support record headers"):
        MemoryRecordsBuilder(magic=1).append(0, None, None, (Header("h", b""),))


def test_room_is_counted_as_kafka_counts_it():
    builder = MemoryRecordsBuilder(write_limit=61 + 20)
    assert builder.has_room_for(0, None, bytes(1000))
    builder.append(0, None, b"12345")
    assert builder.estimated_size_in_bytes == 61 + 12
    assert builder.has_room_for(0, None, b"1") and not builder.has_room_for(0, None, b"12")
    builder.append(0, None, b"1")
    assert builder.is_full
    assert builder.build().size_in_bytes == 61 + 20
