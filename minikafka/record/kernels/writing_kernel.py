"""The kernel that writes: it turns columns into records of magic 2.

`encode` writes records that stand in a batch into another one; `write_rows` writes records that are in no batch yet.

Like `kernel`, which reads and describes the form of a record, it is plain Python over integers and flat buffers, and
numba compiles the very same functions.

Kafka: `DefaultRecord.writeTo`; `ByteUtils.writeVarint`, `writeVarlong`, `sizeOfVarint`, `sizeOfVarlong`.
"""

from collections.abc import Sequence

from minikafka.common.bytes_like import BytesLike
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.record.kernels.column import Column
from minikafka.record.kernels.kernel import SUMMARY_SIZE, read_varint
from minikafka.record.kernels.unbatched_records import UnbatchedHeaders, UnbatchedRecords

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


def size_of_nullable(start: int, end: int) -> int:
    """Bytes of a key or value with its size; an `end` of -1 stands for null."""
    return 1 if end < 0 else size_of_varint(end - start) + end - start


def size_of_body(
    timestamp_delta: int,
    offset_delta: int,
    key_start: int,
    key_end: int,
    value_start: int,
    value_end: int,
    header_count: int,
    headers_size: int,
) -> int:
    """Bytes of a record after its size. Kafka: `DefaultRecord.sizeOfBodyInBytes`."""
    size = 1 + size_of_varint(timestamp_delta) + size_of_varint(offset_delta)
    size += size_of_nullable(key_start, key_end) + size_of_nullable(value_start, value_end)
    return size + size_of_varint(header_count) + headers_size


def write_head(size: int, timestamp_delta: int, offset_delta: int, out: bytearray, position: int) -> int:
    """Write what comes before the key: the body's size, attributes, and deltas. Returns the position after it."""
    position = write_varint(size, out, position)
    out[position] = 0  # attributes
    position = write_varint(timestamp_delta, out, position + 1)
    return write_varint(offset_delta, out, position)


def write_headers(data: BytesLike, start: int, end: int, count: int, out: bytearray, position: int) -> int:
    """Write the number of headers and the headers, which stand at `start` … `end` (exclusive) of `data`."""
    position = write_varint(count, out, position)
    if end > start:
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

        headers_end = record_end if header_count > 0 else headers_start
        size = size_of_body(
            timestamp - base_timestamp, offset - base_offset, key_start, key_end, value_start, value_end,
            header_count, headers_end - headers_start,
        )  # fmt: skip
        position = write_head(size, timestamp - base_timestamp, offset - base_offset, out, position)
        position = write_nullable(data, key_start, key_end, out, position)
        position = write_nullable(data, value_start, value_end, out, position)
        position = write_headers(data, headers_start, headers_end, header_count, out, position)
        last_offset = offset
    return position


def write_rows(
    rows: UnbatchedRecords,
    first: int,
    stop: int,
    base_offset: int,
    base_timestamp: int,
    same_timestamp: int,
    room: int,
    out: bytearray,
    position: int,
) -> tuple[int, int]:
    """Write the rows `first` … `stop` (exclusive) to `out` as records of one batch, as far as they fit.

    Deltas count from `base_offset` and `base_timestamp` (ms). The batch is full before the row that would end beyond
    `room`, a position in `out`, that is too far from the base offset, or, if `same_timestamp` is 1, that has another
    timestamp. Returns the row after the last one written, and the position after that. Kafka:
    `MemoryRecordsBuilder.hasRoomFor`, `DefaultRecord.writeTo`.
    """
    for row in range(first, stop):
        offset_delta = rows.offsets[row] - base_offset
        timestamp_delta = rows.timestamps[row] - base_timestamp
        if offset_delta > INT_MAX or (same_timestamp and timestamp_delta != 0):
            return row, position
        key_start, value_start = rows.key_edges[row], rows.value_edges[row]
        key_end = -1 if rows.key_nulls[row] else rows.key_edges[row + 1]
        value_end = -1 if rows.value_nulls[row] else rows.value_edges[row + 1]
        headers_start, headers_end = rows.headers_edges[row], rows.headers_edges[row + 1]
        size = size_of_body(
            timestamp_delta, offset_delta, key_start, key_end, value_start, value_end,
            rows.headers_counts[row], headers_end - headers_start,
        )  # fmt: skip
        if position + size_of_varint(size) + size > room:
            return row, position
        position = write_head(size, timestamp_delta, offset_delta, out, position)
        position = write_nullable(rows.key_data, key_start, key_end, out, position)
        position = write_nullable(rows.value_data, value_start, value_end, out, position)
        position = write_headers(rows.headers_data, headers_start, headers_end, rows.headers_counts[row], out, position)
    return stop, position


def write_headers_of_rows(headers: UnbatchedHeaders, out: bytearray, edges: Column) -> None:
    """Write the headers of each row, in the form in which they stand in a record, to `out`, one row after another.

    `edges` gets where the headers of each row begin, and where the last ones end.
    """
    position = 0
    for row in range(len(headers.edges) - 1):
        edges[row] = position
        for at in range(headers.edges[row], headers.edges[row + 1]):
            position = write_nullable(headers.key_data, headers.key_edges[at], headers.key_edges[at + 1], out, position)
            value_end = -1 if headers.value_nulls[at] else headers.value_edges[at + 1]
            position = write_nullable(headers.value_data, headers.value_edges[at], value_end, out, position)
    edges[len(headers.edges) - 1] = position
