"""zstd frames; several, one after another, are read as well.

Kafka: `ZstdCompression`, with `com.github.luben.zstd.ZstdInputStreamNoFinalizer`.
"""

from collections.abc import Iterator

import zstandard

from minikafka.common.errors import IOException

# A damaged block takes with it what was decompressed in the same step, so the steps are small.
_INPUT_SIZE = 16 * 1024


def compress(data, level: int, magic: int) -> bytes:
    """`data` as one frame, without its size and checksum: Kafka's writer does not know the size in advance."""
    compressor = zstandard.ZstdCompressor(level=level).compressobj()
    return compressor.compress(data) + compressor.flush()


def open_stream(data, magic: int) -> Iterator[bytes]:
    """The uncompressed pieces of `data`. Raises IOException for damage, in the iterator."""
    return _frames(data)


def _frames(data) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if position >= len(data):
                raise IOException("Truncated source")
            piece = data[position : position + _INPUT_SIZE]
            position += len(piece)
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise IOException(str(error)) from None
        position -= len(frame.unused_data)
