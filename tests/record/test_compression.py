"""Kafka's framings of the codecs, and what becomes of damaged streams."""

import gzip

import cramjam
import lz4.frame
import pytest

from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.record.compression import Compression, CompressionType, decompress

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
    stream = bytearray(lz4.frame.compress(DATA, block_checksum=True, content_checksum=True, block_linked=False))
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
