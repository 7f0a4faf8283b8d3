"""Batches made of columns are those that a builder, filled as a producer fills it, makes of the same records."""

import random

import numpy as np
import pytest

from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.format.record_batch import RECORD_BATCH_OVERHEAD
from minikafka.record.format.record_writer import record_size_in_bytes
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels import record_columns
from minikafka.record.kernels.batch_encoder import BatchEncoder, headers_as_bytes
from minikafka.record.kernels.unbatched_records import UnbatchedHeaders, UnbatchedRecords


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def kernel(request, monkeypatch):
    monkeypatch.setattr(record_columns, "_compiled", None)
    monkeypatch.setattr(record_columns, "_plain_records", -(2**62))
    if request.param == "compiled":
        assert record_columns.use_compiled_kernel()


def drawn(draw: random.Random, count: int) -> list[tuple[int, SimpleRecord]]:
    def piece(largest):
        return draw.choice([None, b"", draw.randbytes(draw.randrange(largest))])

    def headers():
        return tuple(Header(draw.choice(["", "h", "ä" * 40]), piece(90)) for _ in range(draw.choice([0, 0, 1, 3])))

    offset, records = draw.choice([0, 7, 2**40]), []
    timestamp = draw.choice([-1, 0, 10**12, 2**60])
    for _ in range(count):
        timestamp = draw.choice([timestamp, timestamp, max(-1, timestamp + draw.randrange(-90, 90))])
        records.append((offset, SimpleRecord(timestamp, piece(70), piece(draw.choice([60, 900])), headers())))
        offset += draw.choice([1, 1, 1, 2, 100, 2**31 if draw.random() < 0.02 else 1])
    return records


def columns_of(records: list[tuple[int, SimpleRecord]]) -> UnbatchedRecords:
    def bytes_column(pieces):
        edges = np.cumsum([0] + [len(piece or b"") for piece in pieces], dtype=np.int32)
        data = np.frombuffer(b"".join(piece or b"" for piece in pieces), np.uint8)
        return data, edges, np.array([piece is None for piece in pieces], bool)

    headers = [header for _, record in records for header in record.headers]
    counts = np.array([len(record.headers) for _, record in records], np.int32)
    key_data, key_edges, _ = bytes_column([header.key.encode() for header in headers])
    edges = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    headers_data, headers_edges = headers_as_bytes(
        UnbatchedHeaders(edges, key_data, key_edges, *bytes_column([header.value for header in headers]))
    )
    return UnbatchedRecords(
        np.array([offset for offset, _ in records]),
        np.array([record.timestamp for _, record in records]),
        *bytes_column([record.key for _, record in records]),
        *bytes_column([record.value for _, record in records]),
        headers_data,
        headers_edges,
        counts,
    )


def batches_of_a_builder(records, *, batch_size, codec, timestamp_type, epoch) -> list[bytes]:
    """What a producer with this `batch.size` sends, if compression promises nothing, once a leader has numbered it."""
    batches, builder, size, room = [], None, 0, 0
    for offset, record in records:
        if builder is not None:
            growth = record_size_in_bytes(
                offset - builder.base_offset, record.timestamp - builder._base_timestamp, *record[1:]
            )
            another_time = (
                timestamp_type is TimestampType.LOG_APPEND_TIME and record.timestamp != builder._base_timestamp
            )
            if size + growth > room or offset - builder.base_offset > 2**31 - 1 or another_time:
                batches.append(bytes(builder.build().buffer))
                builder = None
        if builder is None:
            builder = MemoryRecordsBuilder(
                codec,
                base_offset=offset,
                timestamp_type=timestamp_type,
                log_append_time=record.timestamp if timestamp_type is TimestampType.LOG_APPEND_TIME else -1,
                partition_leader_epoch=epoch,
            )
            key, value = record.key, record.value
            # The upper bound counts the body as if it stood alone: a size, attributes and two deltas at their longest.
            body = record_size_in_bytes(0, 0, key, value, record.headers)
            size_prefix = next(n for n in range(1, 6) if body - n < 1 << (7 * n - 1))
            room = max(batch_size, RECORD_BATCH_OVERHEAD + 21 + body - size_prefix - 3)
            size = RECORD_BATCH_OVERHEAD
            growth = record_size_in_bytes(0, 0, key, value, record.headers)
        builder.append_with_offset(offset, *record)
        size += growth
    return [*batches, bytes(builder.build().buffer)]


@pytest.mark.parametrize("seed", range(40))
def test_the_bytes_are_those_of_a_builder(seed):
    draw = random.Random(seed)
    records = drawn(draw, draw.randrange(1, 120))
    settings = {
        "batch_size": draw.choice([0, 100, 700, 3000, 16384]),
        "timestamp_type": draw.choice([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]),
    }
    codec, epoch = Compression.of(draw.choice(["none", "none", "gzip", "snappy", "lz4", "zstd"])), draw.randrange(5)
    encoder = BatchEncoder(compression=codec, partition_leader_epoch=epoch, **settings)
    batches, begin = [], 0
    while begin < len(records):  # pieces of any size
        end = begin + draw.choice([1, 5, 50, 1000])
        batches += [bytes(batch.buffer) for batch in encoder.add(columns_of(records[begin:end]))]
        begin = end
    batches += [bytes(batch.buffer) for batch in encoder.finish()]
    assert batches == batches_of_a_builder(records, codec=codec, epoch=epoch, **settings)
    read = [record for batch in batches for record in MemoryRecords(batch).records()]
    assert [(record.offset, record.key, record.value, record.headers) for record in read] == [
        (offset, record.key, record.value, record.headers) for offset, record in records
    ]


def test_an_encoder_without_records_makes_no_batch():
    encoder = BatchEncoder(
        batch_size=100,
        compression=Compression.NONE,
        timestamp_type=TimestampType.CREATE_TIME,
        partition_leader_epoch=0,
    )
    assert list(encoder.add(columns_of([]))) == list(encoder.finish()) == []
