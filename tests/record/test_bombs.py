"""A small batch that decompresses to a huge one: checked in bounded memory, handed out up to a limit."""

import random
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import zstandard
from crc32c import crc32c

from minikafka.common.errors import KafkaException, RecordTooLargeException
from minikafka.record.codecs.compression import Compression, CompressionType, decompress, pieces
from minikafka.record.files import stream_window
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.format.varint import write_varint
from minikafka.record.kernels import record_columns, record_walk
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch

CODECS = [t for t in CompressionType if t is not CompressionType.NONE]
MIB = 1 << 20


def varint(number: int) -> bytes:
    out = bytearray()
    write_varint(number, out)
    return bytes(out)


def record(delta: int, key: bytes | None = None, value: bytes | None = None, headers=()) -> bytes:
    body = bytearray(b"\0\0" + varint(delta))
    for field in (key, value):
        body += varint(-1) if field is None else varint(len(field)) + field
    body += varint(len(headers))
    for name, field in headers:
        body += varint(len(name)) + name + (varint(-1) if field is None else varint(len(field)) + field)
    return varint(len(body)) + bytes(body)


def batch_of(stream: bytes, codec: CompressionType, count: int, base_offset: int = 0) -> bytes:
    """A batch with a valid CRC around whatever stream."""
    rest = struct.pack(">hiqqqhii", codec.id, count - 1, 1_000, 1_000, -1, -1, -1, count) + stream
    head = struct.pack(">qiibI", base_offset, 9 + len(rest), 0, 2, crc32c(rest))
    return head + rest


def message_v1(offset: int, value: bytes, attributes: int = 0) -> bytes:
    body = struct.pack(">bbqi", 1, attributes, 1_000, -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def zstd_of_zeros(size: int, before: bytes = b"", after: bytes = b"") -> bytes:
    """`before`, zeros, `after`, made without `size` bytes of memory."""
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    out = bytearray(compressor.compress(before))
    block = bytes(MIB)
    for _ in range(size // MIB):
        out += compressor.compress(block)
    out += compressor.compress(bytes(size % MIB) + after)
    return bytes(out + compressor.flush())


def long_value_bomb(size: int) -> bytes:
    """One record whose value are `size` zeros."""
    before = b"\0\0\0" + varint(-1) + varint(size)
    body_size = len(before) + size + 1
    return batch_of(zstd_of_zeros(size, varint(body_size) + before, b"\0"), CompressionType.ZSTD, 1)


def tiny_records_bomb(count: int) -> bytes:
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    one = record(0)
    block = one * 100_000
    out = bytearray()
    for _ in range(count // 100_000):
        out += compressor.compress(block)
    return batch_of(bytes(out + compressor.flush()), CompressionType.ZSTD, count)


def memory_of(code: str, *files: Path, limit_mb: int = 4000) -> int:
    """Runs `code` in a process of its own; MB that it had at most. It may print nothing."""
    start = "import sys; from pathlib import Path; from minikafka.record.format.record_batch import RecordBatch\n"
    end = "\nprint(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    run = subprocess.run(
        [sys.executable, "-c", start + code + end, *map(str, files)],
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_mb * MIB, limit_mb * MIB)),
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return int(run.stdout) // 1024


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_stream_comes_in_small_pieces(codec):
    data = bytes(40 * MIB)
    sizes = [len(piece) for piece in pieces(codec, Compression(codec).compress(data, 2), 2)]
    assert sum(sizes) == len(data) and max(sizes) <= 4 * MIB


def test_a_block_of_zstd_that_is_a_single_byte_long_is_a_piece_of_its_own():
    # A frame's header with a window of 128 KiB, and blocks that repeat a byte 131072 times: 4 bytes each.
    block = (131072 << 3 | 1 << 1).to_bytes(3, "little") + b"a"
    last = (131072 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"a"
    frame = zstandard.ZstdCompressor().compress(b"")[:4] + b"\x00\x38" + block * 4000 + last
    sizes = [len(piece) for piece in pieces(CompressionType.ZSTD, frame, 2)]
    assert max(sizes) <= 131072 and sum(sizes) == 4001 * 131072


def test_zstd_frames_with_checksums_skippable_frames_and_damage():
    codec = CompressionType.ZSTD
    data = bytes(i * i % 251 for i in range(300_000))
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    skippable = struct.pack("<II", 0x184D2A50, 5) + b"12345"
    assert decompress(codec, checked + checked, 2) == (data + data, None)
    out, error = decompress(codec, checked + skippable, 2)
    assert out == data
    broken = bytearray(checked)
    broken[-1] ^= 1
    out, error = decompress(codec, broken, 2)
    assert isinstance(error, KafkaException) and data.startswith(out)
    for cut in (1, 3, 10, len(checked) // 2):
        out, error = decompress(codec, checked[:-cut], 2)
        assert isinstance(error, KafkaException) and data.startswith(out)


@pytest.mark.slow
def test_the_memory_of_a_check_is_bounded(tmp_path):
    files = []
    for name, data in {
        "value": long_value_bomb(600 * MIB),
        "tiny": tiny_records_bomb(1_000_000),
    }.items():
        assert len(data) < 200_000
        files.append(tmp_path / name)
        files[-1].write_bytes(data)
    code = """
for name in sys.argv[1:]:
    batch = RecordBatch(Path(name).read_bytes())
    batch.ensure_valid()
    batch.check_records()
    assert batch.summary(skip_key_value=True).count == batch.count
"""
    assert memory_of(code, *files) < 200


@pytest.mark.slow
def test_tiny_records_are_handed_out_in_bounded_memory(tmp_path):
    file = tmp_path / "tiny"
    file.write_bytes(tiny_records_bomb(400_000))
    code = "assert sum(1 for _ in RecordBatch(Path(sys.argv[1]).read_bytes())) == 400_000"
    assert memory_of(code, file) < 200


@pytest.mark.slow
def test_what_is_handed_out_has_a_limit():
    size = 20 * MIB
    batch = RecordBatch(long_value_bomb(size))
    assert [len(record.value) for record in batch] == [size]
    for reading in (batch.records, batch.columns):
        with pytest.raises(RecordTooLargeException, match="more than 1048576 bytes"):
            reading(MIB)
    assert len(batch.columns(size + 100).value(0)) == size


@pytest.mark.slow
def test_old_formats_have_the_same_bounds(tmp_path):
    inner = message_v1(0, bytes(10 * MIB)) + message_v1(1, b"x") * 3
    wrapper = message_v1(1, Compression(CompressionType.GZIP).compress(inner, 1), CompressionType.GZIP.id)
    batch = LegacyRecordBatch(wrapper)
    assert [(r.offset, r.value_size) for r in batch] == [(0, 10 * MIB), (1, 1), (1, 1), (1, 1)]
    batch.check_records()
    for reading in (batch.records, batch.columns):
        with pytest.raises(RecordTooLargeException):
            reading(MIB)
    file = tmp_path / "wrapper"
    inner = message_v1(0, bytes(150 * MIB)) + message_v1(1, b"x")
    file.write_bytes(message_v1(2, Compression(CompressionType.GZIP, 1).compress(inner, 1), CompressionType.GZIP.id))
    code = """
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch
batch = LegacyRecordBatch(Path(sys.argv[1]).read_bytes())
batch.check_records()
assert batch.base_offset == 1
"""
    assert memory_of(code, file) < 100


def outcome(reading):
    try:
        result = reading()
        return [getattr(result, name) for name in result.__slots__] if hasattr(result, "__slots__") else result
    except (RuntimeError, ValueError) as error:
        return type(error), str(error)


def told(iterator) -> list:
    """What an iterator gives, and the exception at its end."""
    out = []
    try:
        for record in iterator():
            out.append(record)
    except (RuntimeError, ValueError) as error:
        out.append((type(error), str(error)))
    return out


def small_pieces(monkeypatch):
    """Make every batch one that is larger than the window."""
    monkeypatch.setattr(stream_window, "WINDOW_SIZE", 64)
    monkeypatch.setattr(record_walk, "WINDOW_SIZE", 64)
    monkeypatch.setattr("minikafka.record.format.long_record.WINDOW_SIZE", 64)
    monkeypatch.setattr("minikafka.record.legacy.legacy_record_batch.WINDOW_SIZE", 64)
    monkeypatch.setattr(record_walk, "RECORDS_A_PAGE", 3)

    def pieces_of_seven(compression_type, data, magic):
        source = pieces(compression_type, data, magic)
        return (piece[start : start + 7] for piece in source for start in range(0, len(piece), 7))

    monkeypatch.setattr("minikafka.record.format.record_batch.pieces", pieces_of_seven)
    monkeypatch.setattr("minikafka.record.legacy.legacy_record_batch.pieces", pieces_of_seven)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["plain", "compiled"])
def test_a_narrow_window_sees_what_a_wide_one_sees(monkeypatch, kernel):
    """Sound and damaged batches, with records longer than the window in every field, read in both ways."""
    if kernel == "compiled":
        assert record_columns.use_compiled_kernel()
    else:
        monkeypatch.setattr(record_columns, "_compiled", None)
        monkeypatch.setattr(record_columns, "_plain_records", -(2**60))
    draw = random.Random(11)
    drawn = []
    for _ in range(300):
        count = draw.choice((1, 2, 5, 9))
        stream = bytearray()
        for delta in range(count):
            long = draw.random() < 0.3
            sizes = [draw.choice((0, 3, 200 if long else 9)) for _ in range(4)]
            headers = [(b"h" * sizes[2], b"v" * sizes[3])] * draw.choice((0, 1, 2, 40 if long else 1))
            key = None if draw.random() < 0.2 else draw.randbytes(sizes[0])
            value = None if draw.random() < 0.2 else draw.randbytes(sizes[1])
            stream += record(delta, key, value, headers)
        damage = draw.random()
        for _ in range(draw.choice((0, 1, 1, 2))):
            stream[draw.randrange(len(stream))] ^= 1 << draw.randrange(8)
        if damage < 0.2:
            del stream[draw.randrange(len(stream)) :]
        elif damage < 0.3:
            stream += b"\0" * draw.choice((1, 100))
        compressed = bytearray(Compression(CompressionType.GZIP).compress(stream, 2))
        if draw.random() < 0.2:
            del compressed[-draw.randrange(1, 12) :]
        if draw.random() < 0.1:
            count += 1
        drawn.append(RecordBatch(batch_of(bytes(compressed), CompressionType.GZIP, count)))

    def read(batch):
        return [
            outcome(batch.summary),
            outcome(lambda: batch.summary(skip_key_value=True)),
            outcome(batch.check_records),
            outcome(lambda: list(batch)),
            told(batch.streaming_iterator),
            told(batch.skip_key_value_iterator),
        ]

    wide = [read(batch) for batch in drawn]
    small_pieces(monkeypatch)
    narrow = [read(batch) for batch in drawn]
    for batch_wide, batch_narrow in zip(wide, narrow, strict=True):
        assert batch_narrow == batch_wide
    refused = sum(isinstance(summary[0], type) for summary, *_ in wide)
    assert 70 < refused < 260


@pytest.mark.slow
def test_a_narrow_window_sees_the_same_of_old_formats(monkeypatch):
    draw = random.Random(12)
    drawn = []
    for _ in range(300):
        inner = bytearray()
        count = draw.choice((0, 1, 4))
        for offset in range(count):
            codec = 1 if draw.random() < 0.05 else 0
            inner += message_v1(offset, draw.randbytes(draw.choice((0, 5, 300))), codec)
        if inner and draw.random() < 0.5:
            inner[draw.randrange(len(inner))] ^= 1 << draw.randrange(8)
        if inner and draw.random() < 0.2:
            del inner[draw.randrange(len(inner)) :]
        compressed = bytearray(Compression(CompressionType.GZIP).compress(inner, 1))
        if draw.random() < 0.2:
            del compressed[-draw.randrange(1, 12) :]
        drawn.append(LegacyRecordBatch(message_v1(draw.choice((0, 3, 9)), bytes(compressed), CompressionType.GZIP.id)))

    def read(batch):
        assert outcome(lambda: batch.base_offset) == outcome(lambda: next(iter(batch)).offset)
        rows = [
            outcome(lambda: [(r.offset, r.timestamp, r.key, r.value) for r in batch]),
            outcome(lambda: list(batch.columns().offsets)),
        ]
        checked = outcome(batch.check_records)
        assert (checked is None) == isinstance(outcome(lambda: len(list(batch))), int)
        return [*rows, checked]

    wide = [read(batch) for batch in drawn]
    small_pieces(monkeypatch)
    assert [read(batch) for batch in drawn] == wide
    refused = sum(checked is not None for _, _, checked in wide)
    assert 50 < refused < 250
