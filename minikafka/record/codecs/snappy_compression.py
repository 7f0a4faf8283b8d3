"""snappy in the stream format of the Java library (xerial): a header, then chunks of a size and a raw snappy block.

A stream without that header is read as one raw block, as the Java library does. Blocks are compressed by
`snappy_kernel`, because no library for Python writes the bytes of Kafka's; cramjam reads them.

Kafka: `SnappyCompression`, with `org.xerial.snappy.SnappyInputStream` and `SnappyOutputStream`.
"""

import struct
from collections.abc import Iterator

import cramjam

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IOException
from minikafka.record.codecs import snappy_kernel
from minikafka.record.kernels import record_columns

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + struct.pack(">ii", 1, 1)  # version, lowest compatible version
_SIZE = struct.Struct(">i")
_BLOCK_SIZE = 32 * 1024
_MAGIC_AS_SIZE: int = _SIZE.unpack_from(_MAGIC)[0]

# A block's best instruction makes 64 bytes of 3, so a block cannot become more than so many times longer.
_LARGEST_RATIO = 22

# The plain kernel compresses so many bytes while it decodes a record.
_BYTES_IN_PLACE_OF_A_RECORD = 8


def compress(data: BytesLike, level: int, magic: int) -> bytes:
    """`data` as a stream of blocks of 32 KiB (before compression)."""
    out = bytearray(_HEADER)
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_SIZE):
        block = _compress_block(view[start : start + _BLOCK_SIZE])
        out += _SIZE.pack(len(block))
        out += block
    return bytes(out)


def _compress_block(block: memoryview) -> BytesLike:
    compiled = record_columns.compiled_kernel_for(len(block) // _BYTES_IN_PLACE_OF_A_RECORD)
    out = bytearray(snappy_kernel.largest_size(len(block)))
    table = bytearray(2 * snappy_kernel.TABLE_SIZE)
    if compiled is None:
        end = snappy_kernel.compress(block, out, memoryview(table).cast("H"))
    else:
        end = compiled.compress_snappy(
            compiled.octets(block), compiled.octets(out), compiled.octets(table).view("uint16")
        )
    return memoryview(out)[:end]


def open_stream(data: BytesLike, magic: int) -> Iterator[BytesLike]:
    """The uncompressed pieces of `data`. Raises IOException for a bad header here, for other damage in the iterator."""
    if not len(data):
        raise IOException("Cannot decompress empty stream")
    if len(data) < len(_HEADER) or bytes(data[: len(_MAGIC)]) != _MAGIC:
        return iter((_decompress_block(data),))
    return _chunks(data, len(_HEADER))


def _chunks(data: BytesLike, position: int) -> Iterator[BytesLike]:
    while len(data) - position >= _SIZE.size:
        size = _SIZE.unpack_from(data, position)[0]
        if size == _MAGIC_AS_SIZE:
            # Another stream follows; anything else that begins so ends the reading.
            if len(data) - position < len(_HEADER):
                raise IOException("Insufficient header size in a concatenated block")
            if bytes(data[position : position + len(_MAGIC)]) != _MAGIC:
                return
            if _SIZE.unpack_from(data, position + len(_MAGIC))[0] < 1:
                return
            position += len(_HEADER)
            continue
        position += _SIZE.size
        if not 0 <= size <= len(data) - position:
            raise IOException("failed to read chunk")
        yield _decompress_block(data[position : position + size])
        position += size


def _decompress_block(block: BytesLike) -> bytearray:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > _LARGEST_RATIO * len(block):
            raise IOException("a block cannot hold as much as it declares")
        out = bytearray(size)  # cramjam's own buffer would end the process where memory is short
        return out[: cramjam.snappy.decompress_raw_into(block, out)]
    except cramjam.DecompressionError as error:
        raise IOException(str(error)) from None
