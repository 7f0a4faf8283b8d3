"""Kafka's framings of the codecs, and what becomes of damaged streams."""

import gzip
import random
import zlib

import cramjam
import pytest

from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.record.codecs.compression import Compression, CompressionType, decompress
from minikafka.record.kernels import record_columns

DATA = bytes(range(256)) * 1000
CODECS = [t for t in CompressionType if t is not CompressionType.NONE]


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("data", [b"", b"x", DATA, bytes(10**6)], ids=["empty", "one", "mixed", "zeros"])
def test_streams_are_read_back(codec, data):
    assert decompress(codec, Compression(codec).compress(data, 2), 2) == (data, None)


def test_framings_are_kafkas():
    compress = {codec: Compression(codec).compress(DATA, 2) for codec in CODECS}
    assert compress[CompressionType.GZIP].startswith(bytes.fromhex("1f8b08000000000000ff"))
    assert compress[CompressionType.SNAPPY].startswith(bytes.fromhex("82534e415050590000000001 00000001"))
    assert compress[CompressionType.LZ4].startswith(bytes.fromhex("04224d18604082"))
    assert compress[CompressionType.LZ4].endswith(bytes(4))
    assert compress[CompressionType.ZSTD].startswith(bytes.fromhex("28b52ffd"))
    # Magic 0 computes the header's checksum over the frame's magic too.
    assert Compression(CompressionType.LZ4).compress(DATA, 0).startswith(bytes.fromhex("04224d1860401a"))
    assert decompress(CompressionType.LZ4, Compression(CompressionType.LZ4).compress(DATA, 0), 0) == (DATA, None)


@pytest.mark.parametrize(
    ("codec", "level", "size", "crc"),
    [
        (CompressionType.SNAPPY, None, 83533, 0x0EA54607),
        (CompressionType.LZ4, None, 84281, 0xF49FF72E),
        (CompressionType.LZ4, 1, 83008, 0x1DF300D5),
        (CompressionType.LZ4, 3, 80883, 0x05DDA016),
        (CompressionType.LZ4, 17, 80424, 0x00AE170F),
        (CompressionType.ZSTD, None, 64042, 0xAB26ABE3),
        (CompressionType.ZSTD, -131072, 192055, 0x6340C0BD),
        (CompressionType.ZSTD, 1, 80620, 0x60D910E8),
        (CompressionType.ZSTD, 22, 56513, 0x2695C72F),
    ],
)
def test_the_libraries_write_what_kafkas_libraries_wrote(codec, level, size, crc):
    """Noted from Kafka 4.3.0. Another release of a library may write other bytes; gzip is the machine's zlib."""
    rng = random.Random(3)
    words = [rng.randbytes(rng.randint(1, 12)) for _ in range(300)]
    stream = Compression(codec, level).compress(b"".join(rng.choices(words, k=30_000)), 2)
    assert (len(stream), zlib.crc32(stream)) == (size, crc)


def test_both_kernels_write_the_same_snappy():
    rng = random.Random(4)
    data = b"".join(rng.choices([bytes(70), b"abc" * 30, rng.randbytes(300), b"0123456789"], k=700))
    streams = []
    with record_columns.plain_kernel():
        streams.append(Compression(CompressionType.SNAPPY).compress(data, 2))
        assert record_columns.use_compiled_kernel()
        streams.append(Compression(CompressionType.SNAPPY).compress(data, 2))
    assert streams[0] == streams[1]
    assert decompress(CompressionType.SNAPPY, streams[0], 2) == (data, None)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_stream_cut_short_gives_what_came_before_and_an_error(codec):
    data = bytes(b % 251 for b in range(200_000))
    stream = Compression(codec).compress(data, 2)
    for cut in (1, len(stream) // 2, len(stream) - 20):
        try:
            out, error = decompress(codec, stream[:-cut], 2)
        except KafkaException:
            continue
        assert data.startswith(out)

        assert isinstance(error, KafkaException)


def test_gzip_members_and_zstd_frames_may_follow_each_other():
    for codec in (CompressionType.GZIP, CompressionType.ZSTD, CompressionType.SNAPPY):
        stream = Compression(codec).compress(b"one", 2) + Compression(codec).compress(b"two", 2)
        assert decompress(codec, stream, 2) == (b"onetwo", None)
    stream = gzip.compress(b"with a name", mtime=1) + b"something else"
    assert decompress(CompressionType.GZIP, stream, 2) == (b"with a name", None)


@pytest.mark.parametrize("flags", [0x04, 0x08, 0x10, 0x02], ids=["extra field", "name", "comment", "header CRC"])
def test_gzip_notices_a_header_that_is_cut(flags):
    stream = bytes([0x1F, 0x8B, 8, flags]) + bytes(6) + (b"\1" if flags != 0x04 else b"\5\0abc")
    with pytest.raises(KafkaException, match="Unexpected end of gzip header"):
        decompress(CompressionType.GZIP, stream, 2)


def test_gzip_notices_a_wrong_checksum():
    stream = bytearray(Compression(CompressionType.GZIP).compress(DATA, 2))
    stream[-5] ^= 1
    out, error = decompress(CompressionType.GZIP, stream, 2)
    assert out == DATA and "Corrupt GZIP trailer" in str(error)


def test_a_raw_snappy_block_is_read_but_not_believed():
    assert decompress(CompressionType.SNAPPY, bytes(cramjam.snappy.compress_raw(DATA)), 2) == (DATA, None)
    with pytest.raises(KafkaException, match="cannot hold as much as it declares"):
        decompress(CompressionType.SNAPPY, b"\xff\xff\xff\xff\x0f\x00\x00", 2)


def test_lz4_block_checksums_are_verified():
    compressor = cramjam.lz4.Compressor(content_checksum=True, block_linked=False)  # blocks have checksums, too
    compressor.compress(DATA)
    stream = bytearray(compressor.finish())
    assert decompress(CompressionType.LZ4, stream, 2) == (DATA, None)
    stream[-9] ^= 1
    out, error = decompress(CompressionType.LZ4, stream, 2)
    assert "Block checksum mismatch" in str(error) and DATA.startswith(out)


def test_levels_outside_a_codecs_range_are_refused():
    for codec, levels in (
        (CompressionType.GZIP, (-2, 0, 10)),
        (CompressionType.LZ4, (0, 18)),
        (CompressionType.ZSTD, (23,)),
    ):
        for level in levels:
            with pytest.raises(
                IllegalArgumentException, match=f"{codec} doesn't support given compression level: {level}"
            ):
                Compression(codec, level)
    assert Compression(CompressionType.GZIP, -1).level == -1


def test_codecs_have_kafkas_numbers_and_names():
    assert [CompressionType.for_id(i).type_name for i in range(5)] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert CompressionType.for_name("zstd") is CompressionType.ZSTD and str(CompressionType.LZ4) == "lz4"
    for wrong in (lambda: CompressionType.for_id(5), lambda: CompressionType.for_name("brotli")):
        with pytest.raises(IllegalArgumentException):
            wrong()
