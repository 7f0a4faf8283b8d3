"""The kernel that writes: it turns columns back into records of magic 2, which go into other batches.

Like `kernel`, which reads and describes the form of a record, it is plain Python over integers and flat buffers, and
numba compiles the very same functions.

Kafka: `DefaultRecord.writeTo`; `ByteUtils.writeVarint`, `writeVarlong`, `sizeOfVarint`, `sizeOfVarlong`.
"""

from collections.abc import Sequence

from minikafka.common.bytes_like import BytesLike
from minikafka.common.java_numbers import INT_MAX
from minikafka.record.column import Column
from minikafka.record.kernel import SUMMARY_SIZE, read_varint

NOT_WRITTEN = -1  # instead of a position: a record that needs a closer look

# By how many bytes a record can grow at most when it is rewritten, because sizes and deltas may need more bytes.
MOST_GROWTH = 32

_NO_TIMESTAMP = -1


def size_of_varint(value: int) -> int:
    """Bytes of the zig-zag varint of a 64-bit `value`."""
    half = value if value >= 0 else -1 - value
    size = 1
    half >>= 6
    while half > 0:
        half >>= 7
        size += 1
    return size


def write_varint(value: int, out: bytearray, position: int) -> int:
    """Write the zig-zag varint of a 64-bit `value` at `position` of `out`; returns the position after it."""
    half, sign = (value, 0) if value >= 0 else (-1 - value, 1)
    byte = (half & 0x3F) << 1 | sign
    half >>= 6
    while half > 0:
        out[position] = byte | 0x80
        position += 1
        byte = half & 0x7F
        half >>= 7
    out[position] = byte
    return position + 1


def write_nullable(data: BytesLike, start: int, end: int, out: bytearray, position: int) -> int:
    """Write the bytes `start` … `end` (exclusive) of `data` after their size; an `end` of -1 stands for null."""
    if end < 0:
        return write_varint(-1, out, position)
    position = write_varint(end - start, out, position)
    out[position : position + end - start] = data[start:end]
    return position + end - start


def headers_can_be_copied(data: BytesLike, position: int, end: int, count: int) -> bool:
    """True when a reader that rewrites these `count` headers, which end at `end`, would write the same bytes.

    It would not when a size has more bytes than it needs. It might not when a key is not ASCII: bytes that are not
    UTF-8 are changed by being decoded.
    """
    for _ in range(count):
        start = position
        size, position = read_varint(data, position, end)
        if position - start != size_of_varint(size):
            return False
        for i in range(position, position + size):
            if data[i] >= 0x80:
                return False
        position += size
        start = position
        size, position = read_varint(data, position, end)
        if position - start != size_of_varint(size):
            return False
        if size > 0:
            position += size
    return position == end


def encode(
    data: BytesLike,
    columns: Column,
    capacity: int,
    places: Sequence[int],
    base_offset: int,
    base_timestamp: int,
    last_offset: int,
    out: bytearray,
) -> int:
    """Write the records at `places` of `columns`, which `kernel.decode` made from `data`, to `out`.

    Deltas count from `base_offset` and `base_timestamp` (ms). Returns the end in `out`, or NOT_WRITTEN if an ordinary
    writer would refuse or change one of the records; `last_offset` is the offset before the first.
    """
    position = 0
    for place in places:
        at = SUMMARY_SIZE + place
        offset = columns[at]
        timestamp = columns[at + capacity]
        key_start, key_end = columns[at + 2 * capacity], columns[at + 3 * capacity]
        value_start, value_end = columns[at + 4 * capacity], columns[at + 5 * capacity]
        headers_start, header_count = columns[at + 6 * capacity], columns[at + 7 * capacity]
        record_end = columns[at + 9 * capacity]
        if offset <= last_offset or offset - base_offset > INT_MAX or timestamp < _NO_TIMESTAMP:
            return NOT_WRITTEN
        if header_count > 0 and not headers_can_be_copied(data, headers_start, record_end, header_count):
            return NOT_WRITTEN

        # The size of the body comes first.
        headers_size = record_end - headers_start if header_count > 0 else 0
        size = 1 + size_of_varint(timestamp - base_timestamp) + size_of_varint(offset - base_offset)
        size += 1 if key_end < 0 else size_of_varint(key_end - key_start) + key_end - key_start
        size += 1 if value_end < 0 else size_of_varint(value_end - value_start) + value_end - value_start
        size += size_of_varint(header_count) + headers_size

        position = write_varint(size, out, position)
        out[position] = 0  # attributes
        position = write_varint(timestamp - base_timestamp, out, position + 1)
        position = write_varint(offset - base_offset, out, position)
        position = write_nullable(data, key_start, key_end, out, position)
        position = write_nullable(data, value_start, value_end, out, position)
        position = write_varint(header_count, out, position)
        if headers_size > 0:
            out[position : position + headers_size] = data[headers_start:record_end]
            position += headers_size
        last_offset = offset
    return position
