"""The same bytes, handed to minikafka and to Kafka: both build, read and refuse them alike."""

import random
import re
import struct

import pytest

from minikafka.record.codecs.compression import Compression, CompressionType, decompress
from minikafka.record.format.log_input_stream import batches as batches_in
from minikafka.record.format.record_batch import RECORD_BATCH_OVERHEAD, RecordBatch
from minikafka.record.legacy.legacy_record import message_bytes
from minikafka.witness.kafka.kafka_errors import kafka_errors

# Java's codecs let these escape from damaged streams; minikafka tells them as any other damage of a stream.
ERRORS_OF_LIBRARIES = {"SnappyError", "NegativeArraySizeException"}

CODECS = [t for t in CompressionType if t is not CompressionType.NONE]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_uncompressed_batches_are_built_byte_by_byte_as_kafka_builds_them(kafka_records, batches, magic):
    rng = random.Random(magic)
    for _ in range(40):
        batch = batches.random(rng, magic, Compression.NONE)
        assert bytes(batches.build(*batch).buffer).hex() == kafka_records.build(*batch).hex()


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_batches_are_built_byte_by_byte_as_kafka_builds_them(kafka_records, batches, codec):
    rng = random.Random(codec.id)
    for _ in range(15):
        batch = batches.random(rng, 2, Compression(codec))
        ours, theirs = batches.build(*batch).first_batch(), RecordBatch(bytearray(kafka_records.build(*batch)))
        assert bytes(ours.buffer).hex() == bytes(theirs.buffer).hex()
        assert kafka_records.records_text(ours.buffer) == batches.text(theirs)


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_compressed_wrappers_of_old_magic_are_built_byte_by_byte_as_kafka_builds_them(
    kafka_records, batches, magic, codec
):
    rng = random.Random(10 * magic + codec.id)
    for _ in range(10):
        batch = batches.random(rng, magic, Compression(codec))
        ours, theirs = (
            next(batches_in(built)) for built in (batches.build(*batch).buffer, kafka_records.build(*batch))
        )
        assert bytes(ours.buffer).hex() == bytes(theirs.buffer).hex()
        assert batches.text(theirs) == kafka_records.records_text(ours.buffer)
        assert ours.base_offset == kafka_records.first_batch(theirs.buffer).baseOffset()


LEVELS = (
    *(Compression(CompressionType.GZIP, level) for level in (-1, 1, 9)),
    *(Compression(CompressionType.LZ4, level) for level in (1, 2, 3, 9, 12, 17)),
    *(Compression(CompressionType.ZSTD, level) for level in (-131072, -5, 1, 3, 22)),
    Compression(CompressionType.SNAPPY),
)
# Bytes: the smallest, and what lies around the sizes of blocks (snappy 32 KiB, lz4 64, zstd 128) and of hash tables.
SIZES = (1, 2, 14, 15, 16, 17, 255, 300, 1025, 5000, 2**14 + 1, 2**15 - 1, 2**15, 2**16 + 11, 2**17, 2**17 + 1, 300_000)
LARGE_SIZES = (2**20, 3_000_003)


def data_of(kind: str, size: int) -> bytes:
    """`size` bytes that are easy, middling or impossible to compress."""
    rng = random.Random(f"{kind} {size}")
    words = [rng.randbytes(rng.randint(1, 12)) for _ in range(200)]
    match kind:
        case "words":
            return b"".join(rng.choices(words, k=size))[:size]
        case "zeros":
            return bytes(size)
        case "noise":
            return rng.randbytes(size)
    pieces = [bytes(500), words[0] * 100, rng.randbytes(2000), b"".join(rng.choices(words, k=900))]
    return b"".join(rng.choices(pieces, k=size // 500 + 1))[:size].ljust(size, b"x")


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("compression", LEVELS, ids=str)
@pytest.mark.parametrize("kind", ["words", "zeros", "noise", "mixture"])
def test_streams_of_each_level_and_size_have_the_bytes_of_kafkas(kafka_records, tmp_path, compression, kind):
    slow = compression.type is CompressionType.ZSTD and compression.level == 22  # it takes 800 MB each time
    for size in SIZES[::6] if slow else SIZES:
        data = data_of(kind, size)
        theirs = kafka_records.compress(compression, data, tmp_path)
        assert compression.compress(data, 2) == theirs, size
        assert decompress(compression.type, theirs, 2) == (data, None)


@pytest.mark.slow
@pytest.mark.parametrize("compression", LEVELS, ids=str)
def test_streams_of_megabytes_have_the_bytes_of_kafkas(kafka_records, tmp_path, compression):
    for size in LARGE_SIZES:
        data = data_of("mixture", size)
        assert compression.compress(data, 2) == kafka_records.compress(compression, data, tmp_path), size


WAYS = {
    "iterator": lambda batch: list(batch),
    "streamingIterator": lambda batch: list(batch.streaming_iterator()),
    "skipKeyValueIterator": lambda batch: batch.summary(skip_key_value=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4], ids=str)
def test_a_damaged_payload_is_refused_with_the_same_exception(kafka_records, batches, codec, way):
    """Bits flip in the records before they are compressed, so the codec notices nothing."""
    rng = random.Random(f"{codec}{way}")
    for _ in range(120):
        batch = batches.build(*batches.random(rng, 2, Compression.NONE)).first_batch()
        payload = bytearray(batch.buffer[RECORD_BATCH_OVERHEAD:])
        _damage(rng, payload)
        data = _with_payload(batch, codec, payload)
        _assert_same_outcome(kafka_records, batches, data, way)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_damaged_compressed_stream_is_refused_with_the_same_exception(kafka_records, batches, codec):
    rng = random.Random(codec.type_name)
    for _ in range(80):
        batch = batches.build(*batches.random(rng, 2, Compression(codec))).first_batch()
        payload = bytearray(batch.buffer[RECORD_BATCH_OVERHEAD:])
        _damage(rng, payload)
        data = bytearray(batch.buffer[:RECORD_BATCH_OVERHEAD]) + payload
        data[8:12] = (len(data) - 12).to_bytes(4, "big")
        _assert_same_outcome(kafka_records, batches, data, rng.choice(list(WAYS)), same_class=False)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_damaged_batches_are_refused_with_the_same_exception(kafka_records, batches, magic):
    rng = random.Random(f"damage {magic}")
    for _ in range(120):
        data = bytearray(batches.build(*batches.random(rng, magic)).first_batch().buffer)
        _damage(rng, data)
        _assert_same_outcome(kafka_records, batches, data, "iterator", same_class=False)
        _assert_same_validity(kafka_records, data)


@pytest.mark.parametrize("wrapper_offset", [2**63 - 1, 0, 5, -(2**63)])
def test_offsets_in_an_old_wrapper_are_those_that_kafka_counts_also_beyond_a_long(
    kafka_records, batches, wrapper_offset
):
    entry = struct.Struct(">qi")
    message = message_bytes(1, 1_000, None, b"v")
    inner = b"".join(entry.pack(offset, len(message)) + message for offset in (7, 2**63 - 1, -9, 3))
    wrapped = message_bytes(1, 1_000, None, Compression(CompressionType.GZIP).compress(inner, 1), CompressionType.GZIP)
    _assert_same_outcome(kafka_records, batches, entry.pack(wrapper_offset, len(wrapped)) + wrapped, "iterator")


def _damage(rng, data: bytearray) -> None:
    """One to three bits flip; sometimes bytes are lost, added or set."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
    if rng.random() < 0.2:
        data += rng.randbytes(rng.choice([1, 5, 30]))
    if rng.random() < 0.2 and data:
        data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])


def _outcome(read) -> str:
    try:
        return read()
    except Exception as error:
        return type(error).__name__


def _assert_same_outcome(kafka_records, batches, data, way, same_class=True) -> None:
    theirs = _outcome(lambda: kafka_records.records_text(data, way))

    def read():
        batch = next(batches_in(data), None)
        if batch is None:
            return "NoSuchElementException"
        if way == "skipKeyValueIterator":
            return f"{batch.summary(skip_key_value=True).count} records"
        return batches.text(WAYS[way](batch))

    ours = _outcome(read)
    if theirs == "OutOfMemoryError":
        return  # Java reserves what a damaged size declares; how much it has is a matter of its heap
    if theirs in ERRORS_OF_LIBRARIES:
        theirs = "KafkaException"
    if way == "skipKeyValueIterator" and theirs.startswith("["):
        theirs = f"{len(re.findall('offset=', theirs))} records"
    if not same_class and {ours, theirs} == {"KafkaException", "InvalidRecordException"}:
        return
    assert ours == theirs, bytes(data).hex()


def _assert_same_validity(kafka_records, data) -> None:
    def theirs():
        with kafka_errors():
            kafka_records.first_batch(data).ensureValid()
        return "valid"

    def ours():
        batch = next(batches_in(data), None)
        if batch is None:
            return "NoSuchElementException"
        batch.ensure_valid()
        return "valid"

    assert _outcome(ours) == _outcome(theirs), bytes(data).hex()


def _with_payload(batch, codec, payload) -> bytearray:
    data = bytearray(batch.buffer[:RECORD_BATCH_OVERHEAD]) + Compression(codec).compress(payload, 2)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[22] |= codec.id
    return data
