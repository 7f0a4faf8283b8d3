"""Batches by their bytes: a batch of given values, a bit flipped in it, and the batches of a log as they lie there."""

from typing import Any

from minikafka.lab.stage.workbench import NOON
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.record.format.record_batch import RecordBatch


def batch_of(*values: str | None, keys: tuple[str, ...] = (), codec: str = "none", **headers: str) -> MemoryRecords:
    """One batch of these values, as a producer sends it, a record a ms; `headers` are those of each record."""
    records = [
        SimpleRecord(
            NOON + number,
            keys[number].encode() if keys else None,
            None if value is None else value.encode(),
            tuple(Header(name, words.encode()) for name, words in headers.items()),
        )
        for number, value in enumerate(values)
    ]
    return MemoryRecords.with_records(Compression.of(CompressionType[codec.upper()]), *records)


def flipped(records: MemoryRecords, byte: int, bit: int = 0) -> MemoryRecords:
    """A copy of these bytes with one bit flipped: `bit` 0 … 7 of the byte at position `byte`."""
    data = bytearray(records.buffer)
    data[byte] ^= 1 << bit
    return MemoryRecords.readable_records(data)


def batches_in(log: Any) -> list[RecordBatch]:
    """All batches of the log as they lie in its files."""
    return [batch.load_full_batch() for segment in log.log_segments for batch in segment.log.batches()]
