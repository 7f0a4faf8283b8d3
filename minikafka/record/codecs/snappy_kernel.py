"""The kernel that compresses a block as Google's snappy 1.1.10 does, which Kafka 4.3.0 bundles: the same bytes.

Other libraries, and snappy from 1.2 on, have a hash table of another size, so they find other matches.

A block is its size before compression (varint), and then elements. The first byte of an element is its tag:

    literal   tag 00: bytes as they are; how many, less one, stands in the tag (up to 59) or in 1 or 2 bytes after it
    copy      tag 01: 4 … 11 bytes from 1 … 2047 bytes before; 3 bits of length, 11 of distance
    copy      tag 10: 1 … 64 bytes from 1 … 65535 bytes before; 6 bits of length, 16 of distance

Like `kernel`, it is plain Python over integers and flat buffers, and numba compiles the very same functions.

Kafka: `org.xerial.snappy.SnappyOutputStream`, which calls `CompressFragment` of snappy.cc.
"""

from minikafka.common.bytes_like import BytesLike
from minikafka.record.kernels.column import Column

TABLE_SIZE = 1 << 14  # entries, of 16 bits; small blocks use a part of the table

_SMALLEST_TABLE = 1 << 8
_MARGIN = 15  # bytes at the end of a block in which no match is looked for
_LOOKS_BEFORE_SKIPPING = 32


def largest_size(size: int) -> int:
    """The most bytes that a block of `size` bytes can become. That is `MaxCompressedLength` of snappy.cc."""
    return 32 + size + size // 6


def compress(data: BytesLike, out: bytearray, table: Column) -> int:
    """Compress `data`, at most 64 KiB, into `out`, which has room for `largest_size`; returns the end in `out`.

    `table` holds TABLE_SIZE zeros; it is to say, for the hash of four bytes, where they stood last.
    """
    size = len(data)
    position = write_size(size, out)
    mask = _SMALLEST_TABLE - 1
    while mask + 1 < size and mask + 1 < TABLE_SIZE:
        mask = mask * 2 + 1
    limit = size - _MARGIN
    literal = 0  # from here on nothing has been written
    here = 1
    while here <= limit:
        here, candidate = find_match(data, here, limit, table, mask)
        if candidate < 0:
            break
        position = write_literal(data, literal, here, out, position)
        while candidate >= 0:
            length = 4
            while here + length < size and data[candidate + length] == data[here + length]:
                length += 1
            position = write_copy(here - candidate, length, out, position)
            here += length
            literal = here
            candidate = -1
            if here < limit:  # do the next four bytes match as well?
                replace(data, here - 1, table, mask)
                candidate = replace(data, here, table, mask)
        here += 1
    return write_literal(data, literal, size, out, position)


def find_match(data: BytesLike, here: int, limit: int, table: Column, mask: int) -> tuple[int, int]:
    """The next place before `limit` whose four bytes came before, and where they did; -1 instead if there is none.

    After 32 looks in vain every second place is looked at, later every third, and so on.
    """
    looks = _LOOKS_BEFORE_SKIPPING
    while True:
        step = looks // _LOOKS_BEFORE_SKIPPING
        looks += step
        if here + step > limit:
            return here, -1
        candidate = replace(data, here, table, mask)
        if candidate >= 0:
            return here, candidate
        here += step


def replace(data: BytesLike, here: int, table: Column, mask: int) -> int:
    """Note where the four bytes at `here` stand. Returns where the table knows them to have stood before, or -1."""
    four = read_four(data, here)
    slot = (four * 0x1E35A7BD & 0xFFFFFFFF) >> 18 & mask
    before = int(table[slot])
    table[slot] = here
    return before if read_four(data, before) == four else -1


def read_four(data: BytesLike, position: int) -> int:
    """Four bytes as a little-endian integer without sign."""
    return data[position] | data[position + 1] << 8 | data[position + 2] << 16 | data[position + 3] << 24


def write_size(size: int, out: bytearray) -> int:
    """Write the varint (not zig-zag) with which a block begins. Returns the position after it."""
    position = 0
    while size >= 0x80:
        out[position] = size & 0x7F | 0x80
        size >>= 7
        position += 1
    out[position] = size
    return position + 1


def write_literal(data: BytesLike, start: int, end: int, out: bytearray, position: int) -> int:
    """Write the bytes `start` … `end` (exclusive) of `data`, if any, as they are. Returns the position after them."""
    if start == end:
        return position
    count = end - start - 1
    if count < 60:
        out[position] = count << 2
    elif count < 0x100:
        out[position] = 60 << 2
        out[position + 1] = count
        position += 1
    else:
        out[position] = 61 << 2
        out[position + 1] = count & 0xFF
        out[position + 2] = count >> 8
        position += 2
    out[position + 1 : position + 1 + end - start] = data[start:end]
    return position + 1 + end - start


def write_copy(distance: int, length: int, out: bytearray, position: int) -> int:
    """Write that `length` bytes, 4 at least, are those from `distance` bytes before. Returns the position after it."""
    while length >= 68:
        position = write_one_copy(distance, 64, out, position)
        length -= 64
    if length > 64:  # four bytes at least remain for the last one
        position = write_one_copy(distance, 60, out, position)
        length -= 60
    return write_one_copy(distance, length, out, position)


def write_one_copy(distance: int, length: int, out: bytearray, position: int) -> int:
    """Write a copy of 4 … 64 bytes. Returns the position after it."""
    if length < 12 and distance < 0x800:
        out[position] = distance >> 8 << 5 | length - 4 << 2 | 1
        out[position + 1] = distance & 0xFF
        return position + 2
    out[position] = length - 1 << 2 | 2
    out[position + 1] = distance & 0xFF
    out[position + 2] = distance >> 8
    return position + 3
