"""lz4 frames as Kafka writes them: independent blocks of 64 KiB, no content size, no checksum but the header's.

Frame: magic 0x184D2204, FLG, BD, header checksum; blocks of a size (high bit: stored as it is) and bytes; an end mark
of four zero bytes. All little-endian. In magic 0 the header checksum wrongly covers the frame's magic too, so there it
is written that way and not looked at in reading.

cramjam brings the same release of liblz4 as Kafka, 1.10.0, so that blocks have the bytes of Kafka's at every level.

Kafka: `Lz4Compression`, `Lz4BlockInputStream`, `Lz4BlockOutputStream`.
"""

import struct
from collections.abc import Iterator

import cramjam
from xxhash import xxh32_intdigest

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import BufferUnderflowException, IOException

_MAGIC = struct.pack("<I", 0x184D2204)
_SIZE = struct.Struct("<I")
_INCOMPRESSIBLE = 0x80000000
_HEADER_SIZE = 7  # of a frame without the size of its content
_CHECKSUM_SIZE = 4
_DESCRIPTOR = b"\x60\x40"  # version 1, independent blocks; blocks of 64 KiB
_DEFAULT_LEVEL = 9
_PREMATURE_EOS = "Stream ended prematurely"


def compress(data: BytesLike, level: int, magic: int) -> bytes:
    """`data` as one frame; level 9 means the fast compressor, any other the thorough one."""
    checked = _MAGIC + _DESCRIPTOR if magic == 0 else _DESCRIPTOR
    out = bytearray(_MAGIC + _DESCRIPTOR)
    out.append(xxh32_intdigest(checked) >> 8 & 0xFF)
    # In a frame the library takes its level 1 for the fast compressor; the thorough one does at 1 what it does at 2.
    library_level = 0 if level == _DEFAULT_LEVEL else max(level, 2)
    compressor = cramjam.lz4.Compressor(level=library_level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    _copy_blocks(memoryview(compressor.finish()), out)
    return bytes(out)


def _copy_blocks(frame: memoryview, out: bytearray) -> None:
    """Add the blocks of `frame` and its end mark to `out`, without the checksum that the library writes after each."""
    position, size = _HEADER_SIZE, -1
    while size:
        size = _SIZE.unpack_from(frame, position)[0] & ~_INCOMPRESSIBLE
        end = position + _SIZE.size + size
        out += frame[position:end]
        position = end + _CHECKSUM_SIZE


def open_stream(data: BytesLike, magic: int) -> Iterator[BytesLike]:
    """The blocks of `data`, uncompressed. Raises IOException for a bad header here, for other damage in the
    iterator.
    """
    if len(data) < 6:
        raise IOException(_PREMATURE_EOS)
    if bytes(data[:4]) != _MAGIC:
        raise IOException("Stream unsupported (invalid magic bytes)")
    flags, block_descriptor = data[4], data[5]
    max_block_size = _max_block_size(flags, block_descriptor)
    position = 6
    if flags & 0x08:  # the content size is given, and not used
        position += 8
    if position >= len(data):
        raise IOException(_PREMATURE_EOS)
    if magic != 0 and data[position] != xxh32_intdigest(data[4:position]) >> 8 & 0xFF:
        raise IOException("Stream frame descriptor corrupted")
    return _blocks(data, position + 1, flags, max_block_size)


def _max_block_size(flags: int, block_descriptor: int) -> int:
    if flags & 0x03:
        raise IOException("Reserved bits must be 0")
    if not flags & 0x20:
        raise IOException("Dependent block stream is unsupported")
    if flags >> 6 != 1:
        raise IOException(f"Version {flags >> 6} is unsupported")
    if block_descriptor & 0x0F:
        raise IOException("Reserved2 field must be 0")
    size = block_descriptor >> 4 & 7
    if size < 4:
        raise IOException("Block size value must be between 4 and 7")
    if block_descriptor & 0x80:
        raise IOException("Reserved3 field must be 0")
    return 1 << (2 * size + 8)


def _blocks(data: BytesLike, position: int, flags: int, max_block_size: int) -> Iterator[BytesLike]:
    has_block_checksum, has_content_checksum = flags & 0x10, flags & 0x04
    while True:
        if len(data) - position < 4:
            raise IOException(_PREMATURE_EOS)
        size = _SIZE.unpack_from(data, position)[0]
        position += 4
        stored, size = size & _INCOMPRESSIBLE, size & ~_INCOMPRESSIBLE
        if size == 0:
            if has_content_checksum and len(data) - position < 4:
                raise BufferUnderflowException("the frame ends within its checksum")
            return
        if size > max_block_size:
            raise IOException(f"Block size {size} exceeded max: {max_block_size}")
        if len(data) - position < size:
            raise IOException(_PREMATURE_EOS)
        block = data[position : position + size]
        position += size
        out = block if stored else _decompress_block(block, max_block_size)
        if has_block_checksum:
            if len(data) - position < 4:
                raise BufferUnderflowException("the frame ends within a block's checksum")
            if _SIZE.unpack_from(data, position)[0] != xxh32_intdigest(block):
                raise IOException("Block checksum mismatch")
            position += 4
        yield out


def _decompress_block(block: BytesLike, max_block_size: int) -> bytearray:
    out = bytearray(max_block_size)
    try:
        return out[: cramjam.lz4.decompress_block_into(block, out, output_len=max_block_size)]
    except cramjam.DecompressionError as error:
        raise IOException(str(error)) from None
