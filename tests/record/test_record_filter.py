"""Filtering batches; what the filter of the log cleaner makes of them is compared with Kafka in tests/log/cleaner."""

import numpy as np
import pytest

from minikafka.common.errors import (
    IllegalArgumentException,
    IllegalStateException,
    InvalidRecordException,
    KafkaException,
)
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.record.kernels.record_filter import (
    BatchRetention,
    BatchRetentionResult,
    RecordFilter,
    RetainedRecords,
    filter_to,
)


class KeepsKeys(RecordFilter):
    """Keeps the records with certain keys; of the batches that begin at `empty`, the headers."""

    def __init__(self, keys, empty=(), deleted=(), marker=False):
        super().__init__(current_time=1000, delete_retention_ms=50)
        self.keys, self.empty, self.deleted, self.marker = keys, empty, deleted, marker

    def check_batch_retention(self, batch):
        kind = BatchRetention.RETAIN_EMPTY if batch.base_offset in self.empty else BatchRetention.DELETE_EMPTY
        return BatchRetentionResult(BatchRetention.DELETE if batch.base_offset in self.deleted else kind, self.marker)

    def retained_records(self, batch, columns):
        keys = [columns.key(i) for i in range(columns.count)]
        kept = [i for i, key in enumerate(keys) if key in self.keys]
        return RetainedRecords(np.array(kept, np.int64), np.array([i for i, k in enumerate(keys) if k is None]))


def batch(offset, *keys, codec="none", **settings):
    records = [SimpleRecord(offset + i, key, b"v" * 50) for i, key in enumerate(keys)]
    return bytes(MemoryRecords.with_records(Compression.of(codec), *records, initial_offset=offset, **settings).buffer)


def filtered(data, record_filter, buffer_size=10**6):
    result = filter_to(MemoryRecords.readable_records(bytearray(data)), record_filter, buffer_size)
    return result, list(MemoryRecords.readable_records(result.output).batches())


IDEMPOTENT = {"producer_id": 3, "producer_epoch": 0, "base_sequence": 0}


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_batches_are_copied_thinned_out_and_dropped(codec):
    data = [batch(0, b"a", b"b", codec=codec), batch(2, b"a", b"x", b"c", codec=codec), batch(5, b"x", codec=codec)]
    result, batches = filtered(b"".join(data), KeepsKeys({b"a", b"b", b"c"}))
    assert bytes(batches[0].buffer) == data[0]
    assert [record.offset for one in batches for record in one] == [0, 1, 2, 4]
    assert (batches[1].base_offset, batches[1].last_offset, batches[1].compression_type.type_name) == (2, 4, codec)
    assert batches[1].is_valid()
    numbers = result.messages_read, result.bytes_read, result.messages_retained, result.bytes_retained
    assert numbers == (6, sum(map(len, data)), 4, len(result.output)) and result.max_offset == 4


def test_an_empty_batch_keeps_what_is_known_of_its_producer():
    data = batch(0, b"x", b"x", **IDEMPOTENT) + batch(2, b"x", b"x", **IDEMPOTENT) + batch(4, b"x")
    result, (one, last) = filtered(data, KeepsKeys(set(), empty={2, 4}))
    assert (one.base_offset, one.last_offset, one.count_or_none, one.last_sequence) == (2, 3, 0, 1)
    assert (one.max_timestamp, one.base_timestamp, one.size_in_bytes, one.is_valid()) == (3, -1, 61, True)
    assert (last.base_offset, result.bytes_retained, result.messages_retained, result.max_offset) == (4, 122, 0, 4)


def test_tombstones_set_a_horizon():
    records = [SimpleRecord(7, b"a", None), SimpleRecord(8, b"b", b"")]
    data = MemoryRecords.with_records(Compression.NONE, *records).buffer
    for keys, horizon in (({b"a", b"b"}, 1050), ({b"b"}, None)):
        _, (one,) = filtered(data, KeepsKeys(keys))
        assert one.delete_horizon_ms == horizon
        assert [record.timestamp for record in one] == ([7, 8] if horizon else [8])
        again, (same,) = filtered(one.buffer, KeepsKeys({b"a", b"b"}))
        assert same == one


def test_records_without_key_are_counted():
    result, _ = filtered(batch(0, None, b"a") + batch(2, None) + batch(3, None, codec="gzip"), KeepsKeys({b"a"}))
    assert (result.messages_invalid, result.messages_read) == (3, 4)


def test_a_batch_that_is_deleted_is_not_read():
    data = bytearray(batch(0, b"a", codec="gzip") + batch(1, b"a"))
    data[61] ^= 255  # no gzip any more
    result, (one,) = filtered(data, KeepsKeys({b"a"}, deleted={0}))
    assert (one.base_offset, result.messages_read, result.bytes_read) == (1, 1, len(data))
    with pytest.raises(KafkaException, match="GZIP"):
        filtered(data, KeepsKeys({b"a"}))


def test_filtering_ends_with_the_batch_that_is_too_much():
    data = [batch(0, b"a"), batch(1, b"x"), batch(2, b"a"), batch(3, b"a")]
    size = len(data[0])
    for buffer_size, read, written in ((size - 1, 1, 1), (size, 3, 2), (2 * size, 4, 3), (3 * size, 4, 3)):
        result, batches = filtered(b"".join(data), KeepsKeys({b"a"}), buffer_size)
        assert (result.bytes_read, len(batches)) == (read * size, written)


def test_an_old_batch_becomes_one_of_magic_2_and_cannot_be_kept_empty():
    data = batch(4, b"a", b"b", magic=1)
    _, batches = filtered(data, KeepsKeys({b"b"}))
    assert [(one.magic, one.base_offset, one.last_offset) for one in batches] == [(2, 5, 5)]
    with pytest.raises(IllegalStateException, match="Empty batches"):
        filtered(data, KeepsKeys(set(), empty={4}))


def test_damage_is_told_and_negative_offsets_are_refused():
    data = bytearray(batch(0, b"a", b"b"))
    data[57:61] = (3).to_bytes(4, "big")
    with pytest.raises(InvalidRecordException):
        filtered(data, KeepsKeys({b"a"}))
    data = bytearray(batch(0, b"a"))
    data[0:8] = (-5).to_bytes(8, "big", signed=True)
    with pytest.raises(IllegalArgumentException, match="shallowOffset undefined for maximum timestamp 0"):
        filtered(data, KeepsKeys({b"a"}))
