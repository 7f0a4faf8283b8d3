"""The quick way to decompress gives what the careful one gives, and leaves to it whatever is not sound or too large."""

import random

import pytest
import zstandard

from minikafka.record.codecs.compression import Compression, CompressionType, decompress, decompress_at_once

CODECS = [codec for codec in CompressionType if codec is not CompressionType.NONE]
TEXT = b"".join(b"%d bottles; " % number for number in range(3000))


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_sound_streams(codec):
    for data in (b"x", TEXT, random.Random(7).randbytes(200_000)):
        stream = Compression(codec).compress(data, 2)
        assert decompress_at_once(codec, memoryview(stream), 2, 1 << 20) == data
        assert decompress_at_once(codec, stream, 2, len(data) - 1) is None


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_damaged_streams(codec):
    draw = random.Random(7)
    stream = Compression(codec).compress(TEXT, 2)
    for _ in range(200):
        damaged = bytearray(stream[: draw.randrange(len(stream))] if draw.random() < 0.3 else stream)
        for _ in range(draw.randrange(3)):
            place = draw.randrange(len(damaged) + 1)
            damaged[place : place + 1] = draw.randbytes(draw.randrange(3))
        if draw.random() < 0.3:
            damaged += draw.randbytes(3)
        found = decompress_at_once(codec, bytes(damaged), 2, 1 << 20)
        if found is not None:
            assert decompress(codec, bytes(damaged), 2) == (found, None)


def test_zstd_does_not_believe_a_size_in_a_header():
    huge = zstandard.ZstdCompressor().compress(bytes(100 << 20))
    assert zstandard.frame_content_size(huge) == 100 << 20
    assert decompress_at_once(CompressionType.ZSTD, huge, 2, 1 << 20) is None
    two = zstandard.ZstdCompressor().compress(b"one") + zstandard.ZstdCompressor().compress(b"two")
    assert decompress_at_once(CompressionType.ZSTD, two, 2, 1 << 20) is None
    assert decompress(CompressionType.ZSTD, two, 2) == (b"onetwo", None)
    assert decompress_at_once(CompressionType.ZSTD, b"", 2, 1 << 20) is None
