"""The same bytes, handed to minikafka and to Kafka: both build, read and refuse them alike."""

import random
import re

import pytest

from minikafka.record.compression import Compression, CompressionType, decompress
from minikafka.record.log_input_stream import batch_at
from minikafka.record.record_batch import RECORD_BATCH_OVERHEAD, RecordBatch
from minikafka.witness.kafka_errors import kafka_errors

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
def test_compressed_batches_differ_from_kafkas_in_the_compressed_bytes_at_most(kafka_records, batches, codec):
    rng = random.Random(codec.id)
    for _ in range(15):
        batch = batches.random(rng, 2, Compression(codec))
        ours, theirs = batches.build(*batch).first_batch(), RecordBatch(bytearray(kafka_records.build(*batch)))
        assert _payload(ours) == _payload(theirs)
        assert _header_but_size_and_crc(ours) == _header_but_size_and_crc(theirs)
        assert list(ours) == list(theirs)
        assert kafka_records.records_text(ours.buffer) == batches.text(theirs)
        kafka_records.first_batch(ours.buffer).ensureValid()
        theirs.ensure_valid()


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_compressed_wrappers_of_old_magic_are_read_in_both_directions(kafka_records, batches, magic, codec):
    rng = random.Random(10 * magic + codec.id)
    for _ in range(10):
        batch = batches.random(rng, magic, Compression(codec))
        ours, theirs = batch_at(batches.build(*batch).buffer), batch_at(kafka_records.build(*batch))
        assert batches.text(ours) == batches.text(theirs) == kafka_records.records_text(ours.buffer)
        assert ours.base_offset == theirs.base_offset == kafka_records.first_batch(theirs.buffer).baseOffset()
        ours.ensure_valid()
        kafka_records.first_batch(ours.buffer).ensureValid()


@pytest.mark.parametrize(
    "compression",
    [
        *(Compression(CompressionType.GZIP, level) for level in (-1, 1, 9)),
        *(Compression(CompressionType.LZ4, level) for level in (1, 9, 12, 17)),
        *(Compression(CompressionType.ZSTD, level) for level in (-131072, -5, 1, 3, 22)),
        Compression(CompressionType.SNAPPY),
    ],
    ids=str,
)
def test_large_batches_of_each_level_are_read_in_both_directions(kafka_records, batches, compression):
    rng = random.Random(1)
    words = [rng.randbytes(9) for _ in range(50)]
    records = [(i, 1000, None, b"".join(rng.choices(words, k=300)), ()) for i in range(80)]
    settings = batches.random(rng, 2, compression)[0] | {"base_offset": 0}
    ours, theirs = batches.build(settings, records, None).first_batch(), kafka_records.build(settings, records, None)
    assert kafka_records.records_text(ours.buffer) == batches.text(ours)
    assert list(RecordBatch(theirs)) == list(ours)


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
        batch = batch_at(data)
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
        batch = batch_at(data)
        if batch is None:
            return "NoSuchElementException"
        batch.ensure_valid()
        return "valid"

    assert _outcome(ours) == _outcome(theirs), bytes(data).hex()


def _payload(batch) -> bytes:
    data, error = decompress(batch.compression_type, batch.buffer[RECORD_BATCH_OVERHEAD:], 2)
    assert error is None
    return bytes(data)


def _header_but_size_and_crc(batch) -> bytes:
    header = bytes(batch.buffer[:RECORD_BATCH_OVERHEAD])
    return header[:8] + header[12:17] + header[21:]


def _with_payload(batch, codec, payload) -> bytearray:
    data = bytearray(batch.buffer[:RECORD_BATCH_OVERHEAD]) + Compression(codec).compress(payload, 2)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[22] |= codec.id
    return data
