"""gzip: one member (RFC 1952) per batch; several members, one after another, are read as well.

Kafka: `GzipCompression`, with the JDK's `GZIPInputStream` and `GZIPOutputStream`.
"""

import struct
import zlib
from collections.abc import Iterator

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IOException

# Magic, method "deflate", no flags, no time, no extra flags, operating system unknown: what JDK 17 writes.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_TRAILER = struct.Struct("<II")  # CRC-32 and size of the uncompressed bytes
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16

# The JDK hands out at most 16 KiB at a time, made of at most 8 KiB: an error loses the piece in which it lies.
_INPUT_SIZE = 8 * 1024
_OUTPUT_SIZE = 16 * 1024


def compress(data: BytesLike, level: int, magic: int) -> bytes:
    """`data` as one gzip member. How much is written at once changes nothing, since nothing is flushed in between."""
    deflater = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflater.compress(data) + deflater.flush()
    return _HEADER + body + _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)


def open_stream(data: BytesLike, magic: int) -> Iterator[BytesLike]:
    """The uncompressed pieces of `data`. Raises IOException for a bad header here, for other damage in the iterator."""
    return _members(data, _skip_header(data, 0))


def _members(data: BytesLike, position: int) -> Iterator[BytesLike]:
    while True:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        crc = size = 0
        piece: BytesLike = b""
        while not inflater.eof:
            if not piece:
                if position >= len(data):
                    raise IOException("Unexpected end of ZLIB input stream")
                piece = data[position : position + _INPUT_SIZE]
                position += len(piece)
            try:
                out = inflater.decompress(piece, _OUTPUT_SIZE)
            except zlib.error as error:
                raise IOException(str(error)) from None
            piece = inflater.unconsumed_tail
            crc = zlib.crc32(out, crc)
            size += len(out)
            yield out
        position -= len(inflater.unused_data)
        if len(data) - position < _TRAILER.size:
            raise IOException("Unexpected end of gzip trailer")
        if _TRAILER.unpack_from(data, position) != (crc, size & 0xFFFFFFFF):
            raise IOException("Corrupt GZIP trailer")
        position += _TRAILER.size
        # What follows is another member or, if it does not look like one, ignored.
        try:
            position = _skip_header(data, position)
        except IOException:
            return


def _skip_header(data: BytesLike, position: int) -> int:
    """The position after the member header at `position`."""
    header = bytes(data[position : position + 10])
    if len(header) < 2:
        raise IOException("Unexpected end of gzip header")
    if header[:2] != _HEADER[:2]:
        raise IOException("Not in GZIP format")
    if len(header) < 3 or header[2] != 8:
        raise IOException("Unsupported compression method")
    if len(header) < 10:
        raise IOException("Unexpected end of gzip header")
    start = position
    flags = header[3]
    position += 10
    if flags & _FEXTRA:
        position += 2 + int.from_bytes(data[position : position + 2], "little")
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            position = _after_zero(data, position)
    if flags & _FHCRC:
        stored = int.from_bytes(data[position : position + 2], "little")
        if position + 2 <= len(data) and stored != zlib.crc32(data[start:position]) & 0xFFFF:
            raise IOException("Corrupt GZIP header")
        position += 2
    if position > len(data):
        raise IOException("Unexpected end of gzip header")
    return position


def _after_zero(data: BytesLike, position: int) -> int:
    """The position after the next zero byte; one beyond the end if there is none."""
    while position < len(data):
        found = bytes(data[position : position + _INPUT_SIZE]).find(0)
        if found >= 0:
            return position + found + 1
        position += _INPUT_SIZE
    return len(data) + 1
