"""zstd frames; several, one after another, are read as well.

pyzstd brings the same release of libzstd as Kafka, 1.5.6, so that frames have the bytes of Kafka's at every level.
zstandard, whose libzstd is a later one, reads frames block by block.

Kafka: `ZstdCompression`, with `com.github.luben.zstd.ZstdInputStreamNoFinalizer`.
"""

import threading
from collections.abc import Iterator

import pyzstd
import zstandard

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IOException

# What is read at once where no block is known to begin.
_INPUT_SIZE = 16 * 1024
_LARGEST_HEADER = 18
_LARGEST_BLOCK = 128 * 1024
_BLOCK_HEADER_SIZE = 3
_BLOCK_OF_ONE_BYTE = 1  # the type of a block that repeats its one byte


class _Decompressor(threading.local):
    """One for each thread: to make it takes as long as to decompress 16 KB."""

    def __init__(self) -> None:
        self.of_this_thread = zstandard.ZstdDecompressor()


_decompressor = _Decompressor()


def compress(data: BytesLike, level: int, magic: int) -> bytes:
    """`data` as one frame, without its size and checksum: Kafka's writer does not know the size in advance.

    It flushes what it was given before it ends the frame, so the last block is an empty one.
    """
    compressor = pyzstd.ZstdCompressor(level)
    flushed = compressor.compress(data, compressor.FLUSH_BLOCK) if len(data) else b""
    return flushed + compressor.flush()


def open_stream(data: BytesLike, magic: int) -> Iterator[BytesLike]:
    """The uncompressed blocks of `data`, 128 KiB each at most. Raises IOException for damage, in the iterator."""
    return _frames(data)


def decompress_at_once(data: BytesLike, max_bytes: int) -> bytes | None:
    """All bytes of `data`, if that is one sound frame whose blocks have room for `max_bytes` at most; None otherwise.

    Nothing that a frame says of its size is believed.
    """
    position, room, is_last = _header_size(data, 0), 0, False
    while not is_last:
        room += _LARGEST_BLOCK
        if position >= len(data) or room > max_bytes:
            return None
        is_last = bool(data[position] & 1)
        position += _block_size(data, position)
    frame = _decompressor.of_this_thread.decompressobj()
    try:
        decompressed = frame.decompress(data)
    except zstandard.ZstdError:
        return None
    return decompressed if frame.eof and not frame.unused_data else None


def _frames(data: BytesLike) -> Iterator[BytesLike]:
    position = 0
    while position < len(data):
        frame = zstandard.ZstdDecompressor().decompressobj()
        size = _header_size(data, position)
        size += _block_size(data, position + size)
        while not frame.eof:
            if position >= len(data):
                raise IOException("Truncated source")
            piece = data[position : position + size]
            position += len(piece)
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError as error:
                if "not enough memory" in str(error):
                    raise MemoryError(str(error)) from None
                raise IOException(str(error)) from None
            size = _block_size(data, position)
        position -= len(frame.unused_data)


def _header_size(data: BytesLike, position: int) -> int:
    """Bytes of the header of a frame; what is none is left for the decompressor to refuse."""
    try:
        return zstandard.frame_header_size(bytes(data[position : position + _LARGEST_HEADER]))
    except zstandard.ZstdError:
        return _INPUT_SIZE


def _block_size(data: BytesLike, position: int) -> int:
    """Bytes of the block at `position`: given one at a time, a decompressor has no more to hand out than a block."""
    header = int.from_bytes(data[position : position + _BLOCK_HEADER_SIZE], "little")
    repeats = header >> 1 & 3 == _BLOCK_OF_ONE_BYTE
    return _BLOCK_HEADER_SIZE + (1 if repeats else header >> 3)
