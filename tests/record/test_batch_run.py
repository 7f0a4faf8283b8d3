"""Runs of batches: the same batches and records as one by one."""

import random

import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.log_input_stream import batches
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import SimpleRecord
from minikafka.record.kernels.batch_run import BatchRun, batch_runs


def batch(kind: str, offset: int) -> bytes:
    records = [SimpleRecord(offset, b"%d" % i, b"value") for i in range(1 + offset % 4)]
    if kind == "marker":
        marker = EndTransactionMarker(ControlRecordType.ABORT, 0)
        return bytes(MemoryRecords.with_end_transaction_marker(1, 5, 0, marker, initial_offset=offset).buffer)
    if kind == "empty":
        data = bytearray(MemoryRecords.with_records(Compression.NONE, *records, initial_offset=offset).buffer[:61])
        data[8:12], data[57:61] = (49).to_bytes(4, "big"), bytes(4)
        return bytes(data)
    if kind == "horizon":
        builder = MemoryRecordsBuilder(Compression.NONE, base_offset=offset, delete_horizon_ms=99)
        builder.append_with_offset(offset, 5, b"k", None)
        return bytes(builder.build().buffer)
    settings = {
        "plain": {},
        "gzip": {"compression": Compression.of("gzip")},
        "old": {"magic": 1},
        "txn": {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True},
        "idempotent": {"producer_id": 6, "producer_epoch": 0, "base_sequence": 0},
    }[kind]
    compression = settings.pop("compression", Compression.NONE)
    return bytes(MemoryRecords.with_records(compression, *records, initial_offset=offset, **settings).buffer)


IN_RUNS = "plain", "idempotent", "empty"
KINDS = (*IN_RUNS, *IN_RUNS, "gzip", "old", "txn", "marker", "horizon")


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_the_batches(seed):
    draw = random.Random(seed)
    kinds = draw.choices(KINDS, k=draw.randrange(12))
    data = b"".join(batch(kind, 10 * i) for i, kind in enumerate(kinds))
    data += batch("plain", 1000)[: draw.randrange(60)]
    expected = list(batches(data))
    parts = list(batch_runs(data))
    seen, records, size = [], [], 0
    for part in parts:
        size += part.size_in_bytes
        if not isinstance(part, BatchRun):
            seen.append(bytes(part.buffer))
            records += [record.offset for record in part]
            continue
        records += list(part.columns.offsets)
        for number in range(len(part)):
            one = part.batch(number)
            seen.append(bytes(one.buffer))
            assert bytes(part.data(number, number + 1)) == bytes(one.buffer)
            assert part.last_offset_of(number) == one.last_offset
            assert part.max_timestamp(number) == one.max_timestamp
            assert part.has_producer_id(number) == one.has_producer_id
            columns = part.columns.part(part.firsts[number], part.firsts[number + 1])
            assert list(columns.offsets) == [record.offset for record in one]
            assert [columns.value(i) for i in range(columns.count)] == [record.value for record in one]
            for place in range(part.firsts[number], part.firsts[number + 1]):
                assert part.last_offset_before(place) == (part.last_offset_of(number - 1) if number else None)
        assert part.last_offset == one.last_offset
    assert seen == [bytes(one.buffer) for one in expected]
    assert records == [record.offset for one in expected for record in one]
    assert size == sum(one.size_in_bytes for one in expected)
    for one in parts:
        assert isinstance(one, BatchRun) or (one.magic, one.attributes & 0x77) != (2, 0)


def test_damage_ends_a_run_and_is_told_after_it():
    data = bytearray(batch("plain", 0) + batch("plain", 1) + batch("plain", 2))
    sizes = [one.size_in_bytes for one in batches(data)]
    data[sizes[0] + sizes[1] + 16] = 7
    parts = batch_runs(data)
    assert len(next(parts)) == 2
    with pytest.raises(CorruptRecordException):
        next(parts)
    data = bytearray(batch("plain", 0) + batch("plain", 1) + batch("plain", 2))
    data[sizes[0] + 61] = 77  # the size of a record
    run, alone, rest = batch_runs(data)
    assert (len(run), len(rest)) == (1, 1)
    assert alone.streaming_columns().error is not None
