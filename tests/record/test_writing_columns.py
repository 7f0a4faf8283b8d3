"""Records that are written from columns are those that a builder writes one by one, whichever kernel is in use."""

import random

import numpy as np
import pytest

from minikafka.common.errors import IllegalArgumentException
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.format.varint import size_of_varint, write_varint
from minikafka.record.kernels import record_columns, writing_kernel


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def kernel(request, monkeypatch):
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", -(2**62))
    if request.param == "compiled":
        assert record_columns.use_compiled_kernel()


def drawn_records(draw: random.Random, count: int) -> list[SimpleRecord]:
    def piece(largest):
        return draw.choice([None, b"", draw.randbytes(draw.randrange(largest))])

    def headers():
        names = ["", "h", "x" * 70, draw.choice(["plain", "\u00e4", "\U0001f600"])]
        return tuple(Header(draw.choice(names), piece(80)) for _ in range(draw.choice([0, 0, 0, 1, 3])))

    times = [draw.choice([-1, 0, 1000, 10**13, 2**62]) + draw.randrange(200) for _ in range(count)]
    return [SimpleRecord(max(time, -1), piece(100), piece(300), headers()) for time in times]


def builder(**fields) -> MemoryRecordsBuilder:
    return MemoryRecordsBuilder(Compression.of(fields.pop("codec", "none")), **fields)


@pytest.mark.parametrize("seed", range(30))
def test_columns_and_single_records_make_the_same_batch(seed):
    draw = random.Random(seed)
    base_offset = draw.choice([0, 5, 2**40])
    source = builder(base_offset=base_offset)
    offset = base_offset
    for record in drawn_records(draw, draw.randrange(1, 20)):
        source.append_with_offset(offset, *record)
        offset += draw.choice([1, 1, 2, 70, 10_000])
    batch = source.build().first_batch()
    places = np.array([i for i in range(batch.count_or_none) if draw.random() < 0.6] or [0])
    settings = {"base_offset": base_offset, "codec": draw.choice(["none", "gzip"])}
    if draw.random() < 0.3:
        settings |= {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 77}
    if draw.random() < 0.5:
        settings |= {"delete_horizon_ms": 10**12}
    together, one_by_one = builder(**settings), builder(**settings)
    together.append_columns(batch.columns(), places)
    for place, record in enumerate(batch):
        if place in places:
            one_by_one.append_record(record)
    assert together.build() == one_by_one.build()
    assert together.info() == one_by_one.info()
    assert together.num_records == len(places)


def test_what_a_writer_refuses_is_refused():
    batch = MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(1, b"k", b"v")] * 3).first_batch()
    later = builder(base_offset=0)
    later.append_with_offset(1, 5, b"a", b"b")
    with pytest.raises(IllegalArgumentException, match="Illegal offset 1 following previous offset 1"):
        later.append_columns(batch.columns(), np.array([1, 2]))
    data = bytearray(batch.buffer)
    data[27:35] = (-9).to_bytes(8, "big", signed=True)  # the base timestamp
    damaged = MemoryRecords.readable_records(data).first_batch()
    with pytest.raises(IllegalArgumentException, match="Invalid negative timestamp -9"):
        builder().append_columns(damaged.columns(), np.array([0]))


def test_nothing_chosen_is_nothing_written():
    batch = MemoryRecords.with_records(Compression.NONE, SimpleRecord(1, b"k", b"v")).first_batch()
    empty = builder()
    empty.append_columns(batch.columns(), np.array([], np.int64))
    assert empty.build() is MemoryRecords.EMPTY


def test_a_size_with_more_bytes_than_it_needs_is_written_short():
    """No writer of Kafka's makes such records, but readers take them."""
    long_key_sizes = bytes([0, 0, 0, 0x82, 0x00, ord("k"), 2, ord("v"), 2, 0x82, 0x00, ord("h"), 1])
    long_header_value_size = bytes([0, 0, 0, 2, ord("k"), 2, ord("v"), 2, 2, ord("h"), 0x81, 0x00])
    for body in (long_key_sizes, long_header_value_size):
        batch = bytearray(MemoryRecords.with_records(Compression.NONE, SimpleRecord(0, b"k", b"v")).buffer[:61])
        batch += bytes([2 * len(body)]) + body
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        parsed = MemoryRecords.readable_records(batch).first_batch()
        together, one_by_one = builder(), builder()
        together.append_columns(parsed.columns(), np.array([0]))
        one_by_one.append_record(next(iter(parsed)))
        assert together.build() == one_by_one.build()
        assert together.build().size_in_bytes < len(batch)


@pytest.mark.parametrize("value", [0, -1, 1, 63, -64, 64, -65, 8191, 8192, 2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_varints_of_the_kernel_are_varints(value):
    expected = bytearray()
    write_varint(value, expected)
    out = bytearray(12)
    assert out[: writing_kernel.write_varint(value, out, 0)] == expected
    assert writing_kernel.size_of_varint(value) == size_of_varint(value) == len(expected)
