"""zstd frames; several, one after another, are read as well.

pyzstd brings the same release of libzstd as Kafka, 1.5.6, so that frames have the bytes of Kafka's at every level.
zstandard, whose libzstd is a later one, reads frames block by block. Where they are missing, Python's own zstd serves.

Kafka: `ZstdCompression`, with `com.github.luben.zstd.ZstdInputStreamNoFinalizer`.
"""

import threading
from collections.abc import Iterator

from minikafka.common.at_hand import zstd_reader, zstd_writer
from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IOException

# What is read at once where no block is known to begin.
_INPUT_SIZE = 16 * 1024
_SHORTEST_HEADER = 5
_LARGEST_BLOCK = 128 * 1024
_BLOCK_HEADER_SIZE = 3
_BLOCK_OF_ONE_BYTE = 1  # the type of a block that repeats its one byte


class _Reader(threading.local):
    """One for each thread: to make it takes as long as to decompress 16 KB."""

    def __init__(self) -> None:
        self.new_frame, self.error = zstd_reader()


_reader = _Reader()
_zstd = zstd_writer()


def compress(data: BytesLike, level: int, magic: int) -> bytes:
    """`data` as one frame, without its size and checksum: Kafka's writer does not know the size in advance.

    It flushes what it was given before it ends the frame, so the last block is an empty one.
    """
    compressor = _zstd.ZstdCompressor(level)
    flushed: bytes = compressor.compress(data, compressor.FLUSH_BLOCK) if len(data) else b""
    return flushed + bytes(compressor.flush())


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
    frame = _reader.new_frame()
    try:
        decompressed = frame.decompress(data)
    except _reader.error:
        return None
    return decompressed if frame.eof and not frame.unused_data else None


def _frames(data: BytesLike) -> Iterator[BytesLike]:
    position = 0
    while position < len(data):
        frame = zstd_reader()[0]()
        size = _header_size(data, position)
        size += _block_size(data, position + size)
        while not frame.eof:
            if position >= len(data):
                raise IOException("Truncated source")
            piece = data[position : position + size]
            position += len(piece)
            try:
                yield frame.decompress(piece)
            except _reader.error as error:
                if "not enough memory" in str(error):
                    raise MemoryError(str(error)) from None
                raise IOException(str(error)) from None
            size = _block_size(data, position)
        position -= len(frame.unused_data)


def _header_size(data: BytesLike, position: int) -> int:
    """Bytes of the header of a frame; what is none is left for the decompressor to refuse.

    Behind the magic a byte tells which fields follow: the window, unless the frame is a single segment; a dictionary's
    id; the size of the content.
    """
    if len(data) - position < _SHORTEST_HEADER:
        return _INPUT_SIZE
    descriptor = data[position + 4]
    is_single_segment, size_flag = descriptor >> 5 & 1, descriptor >> 6
    size_of_size = 1 if is_single_segment and size_flag == 0 else (0, 2, 4, 8)[size_flag]
    return _SHORTEST_HEADER + (1 - is_single_segment) + (0, 1, 2, 4)[descriptor & 3] + size_of_size


def _block_size(data: BytesLike, position: int) -> int:
    """Bytes of the block at `position`: given one at a time, a decompressor has no more to hand out than a block."""
    header = int.from_bytes(data[position : position + _BLOCK_HEADER_SIZE], "little")
    repeats = header >> 1 & 3 == _BLOCK_OF_ONE_BYTE
    return _BLOCK_HEADER_SIZE + (1 if repeats else header >> 3)
