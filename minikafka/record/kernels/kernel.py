"""The one kernel that reads records: it walks those of a magic-2 batch, checks each as Kafka does, and makes columns.

It is plain Python over integers and flat buffers, and numba compiles the very same functions (`compiled_kernel`). So
nothing here may use what only one of the two understands: no exceptions, no objects, no integers beyond 64 bits. Errors
are returned as a status, which `record_columns` turns into Kafka's exceptions.

A record is the size of its body (varint), then the body:

    attributes        int8, unused
    timestamp delta   varlong, ms after the batch's base timestamp
    offset delta      varint, from the batch's base offset
    key               its size (varint, -1 for null), then its bytes
    value             its size (varint, -1 for null), then its bytes
    headers           how many (varint), then for each a key and a value in the same form; a key is never null

Kafka: `DefaultRecord.readFrom`, `readPartiallyFrom`; `DefaultRecordBatch.RecordIterator.next`.
"""

from collections.abc import Sequence

from minikafka.common.bytes_like import BytesLike
from minikafka.common.java.java_numbers import LONG_MAX, LONG_MIN

# How the records lie in the data. Kafka has a reader for each, and the three report the same damage differently.
BUFFER = 0  # an uncompressed batch: record bodies are read from the batch itself
STREAM = 1  # a decompressed stream: each record's body is cut out first
PARTIAL = 2  # a decompressed stream whose keys and values are skipped: the declared body size is not checked

# What the walk found.
OK = 0
SIZE_MISSING = 1  # the data end within the size of a record
SIZE_TOO_LONG = 2  # the size of a record has more than 5 bytes
SIZE_NEGATIVE = 3
BODY_BEYOND_END = 4  # details: declared size, bytes that remain
MALFORMED = 5  # a field ends beyond the data, or its varint is too long
DATA_END = 6  # PARTIAL only: a field ends beyond the data
HEADER_COUNT_NEGATIVE = 7  # detail: the count
HEADER_COUNT_TOO_LARGE = 8  # detail: the count
HEADER_KEY_NEGATIVE = 9  # detail: the size
BODY_SIZE_WRONG = 10  # details: declared size, bytes read
BYTES_REMAIN = 11  # all records are read and bytes are left over

# Where the results stand in `out`; the columns follow, each `capacity` long.
STATUS = 0
DETAIL = 1
DETAIL_2 = 2
CONSECUTIVE = 3  # 1 when the offset deltas are 0, 1, 2, …
FIRST_NULL_KEY = 4  # index of the first record without a key, -1 when there is none
MIN_TIMESTAMP = 5
MAX_TIMESTAMP = 6
INDEX_OF_MAX_TIMESTAMP = 7  # of the first record that has it
END = 8  # where the last sound record ends
SUMMARY_SIZE = 9
COLUMNS = 10  # offset, timestamp, key start/end, value start/end, headers start/count, record start/end

SMALLEST_RECORD = 7  # bytes: a size and the six fields of a record without key, value and headers

_HEADER_SIZE = 61  # `RECORD_BATCH_OVERHEAD`, whose module cannot be imported here: it stands above this one
CODEC_OR_CONTROL = 0x27  # attribute bits
TRANSACTION_OR_HORIZON = 0x50

_HALF_LONG = 4611686018427387904

# Instead of a position, a read returns one of these.
UNDERFLOW = -1
TOO_LONG = -2


def read_varint(data: BytesLike, position: int, end: int) -> tuple[int, int]:
    """The 32-bit zig-zag varint at `position`, and the position after it, or UNDERFLOW or TOO_LONG instead of that."""
    if position >= end:
        return 0, UNDERFLOW
    byte = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    raw = byte & 0x7F
    for shift in range(7, 35, 7):
        if position >= end:
            return 0, UNDERFLOW
        byte = data[position]
        position += 1
        if byte < 0x80:
            # Java keeps 32 bits: of a fifth byte only the low four count.
            raw |= (byte & (0x0F if shift == 28 else 0x7F)) << shift
            return (raw >> 1) ^ -(raw & 1), position
        raw |= (byte & 0x7F) << shift
    return 0, TOO_LONG


def read_varlong(data: BytesLike, position: int, end: int) -> tuple[int, int]:
    """The 64-bit zig-zag varint at `position`, and the position after it, or UNDERFLOW or TOO_LONG instead of that."""
    if position >= end:
        return 0, UNDERFLOW
    byte = data[position]
    position += 1
    sign = byte & 1
    half = (byte & 0x7F) >> 1  # the number without its sign bit fits 63 bits
    shift = 6
    while byte >= 0x80:
        if position >= end:
            return 0, UNDERFLOW
        byte = data[position]
        position += 1
        half |= (byte & (1 if shift == 62 else 0x7F)) << shift
        if shift == 62 and byte >= 0x80:
            return 0, TOO_LONG
        shift += 7
    return half ^ -sign, position


def wrapping_add(a: int, b: int) -> int:
    """a + b as Java adds 64-bit integers: the smallest follows the largest."""
    if b > 0 and a > LONG_MAX - b:
        return LONG_MIN + (a - (LONG_MAX - b) - 1)
    if b < 0 and a < LONG_MIN - b:
        return LONG_MAX - ((LONG_MIN - b) - a - 1)
    return a + b


def skip_headers(data: BytesLike, position: int, end: int, count: int) -> tuple[int, int, int, int]:
    """Skip `count` headers. Returns how many are sound, the position after these, what is wrong, and a size.

    What is wrong with the next header is UNDERFLOW, TOO_LONG or HEADER_KEY_NEGATIVE, where the size is that of the key;
    it is OK when all are sound.
    """
    for done in range(count):
        header_start = position
        size, position = read_varint(data, position, end)
        if position < 0:
            return done, header_start, position, 0
        if size < 0:
            return done, header_start, HEADER_KEY_NEGATIVE, size
        if size > end - position:
            return done, header_start, UNDERFLOW, 0
        position += size
        size, position = read_varint(data, position, end)
        if position < 0:
            return done, header_start, position, 0
        if size > 0:
            if size > end - position:
                return done, header_start, UNDERFLOW, 0
            position += size
    return count, position, OK, 0


def decode(
    data: BytesLike,
    position: int,
    end: int,
    index: int,
    stop: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: int,
    has_append_time: int,
    mode: int,
    out: list[int],
    capacity: int,
    first: int,
) -> int:
    """Walk the records `index` … `stop` (exclusive) of a batch of `count`; the first of them begins at `position`.

    Returns the index after the last sound record; out[STATUS] says what ended the walk. Nothing of `data` outside
    `position` … `end` (exclusive) is read. When `has_append_time` is 1, every record gets `append_time` (ms) as its
    timestamp. The summary goes to the first places of `out`. When `capacity` > 0, the columns follow: record i goes to
    place `first` + i of each, which must lie in 0 … `capacity` (exclusive).
    """
    consecutive = 1
    first_null_key = -1
    min_timestamp = LONG_MAX
    max_timestamp = LONG_MIN
    index_of_max = -1
    status = OK
    detail = 0
    detail_2 = 0
    base_is_small = -_HALF_LONG < base_timestamp < _HALF_LONG
    sound_end = position
    while index < stop:
        record_start = position

        # The size, and the end of what the body's fields may use.
        size, position = read_varint(data, position, end)
        if position < 0:
            status = SIZE_MISSING if position == UNDERFLOW else SIZE_TOO_LONG
            break
        limit = end
        if mode != PARTIAL:
            if size > end - position:
                status, detail, detail_2 = BODY_BEYOND_END, size, end - position
                break
            if mode == STREAM:
                if size < 0:
                    status = SIZE_NEGATIVE
                    break
                limit = position + size
        body_start = position

        # Attributes (not used), timestamp and offset.
        delta, position = read_varlong(data, position + 1, limit)
        if position < 0:
            status = DATA_END if mode == PARTIAL and position == UNDERFLOW else MALFORMED
            break
        if has_append_time:
            timestamp = append_time
        elif base_is_small and -_HALF_LONG < delta < _HALF_LONG:
            timestamp = base_timestamp + delta
        else:
            timestamp = wrapping_add(base_timestamp, delta)
        offset_delta, position = read_varint(data, position, limit)
        if position < 0:
            status = DATA_END if mode == PARTIAL and position == UNDERFLOW else MALFORMED
            break

        # Key and value: -1 as their end stands for null.
        key_size, position = read_varint(data, position, limit)
        if position < 0 or key_size > limit - position:
            status = DATA_END if mode == PARTIAL and position != TOO_LONG else MALFORMED
            break
        key_start = position
        key_end = -1
        if key_size >= 0:
            position += key_size
            key_end = position
        value_size, position = read_varint(data, position, limit)
        if position < 0 or value_size > limit - position:
            status = DATA_END if mode == PARTIAL and position != TOO_LONG else MALFORMED
            break
        value_start = position
        value_end = -1
        if value_size >= 0:
            position += value_size
            value_end = position

        # Headers.
        header_count, position = read_varint(data, position, limit)
        if position < 0:
            status = DATA_END if mode == PARTIAL and position == UNDERFLOW else MALFORMED
            break
        headers_start = position
        if header_count != 0:
            if header_count < 0:
                status, detail = HEADER_COUNT_NEGATIVE, header_count
                break
            if mode != PARTIAL and header_count > limit - position:
                status, detail = HEADER_COUNT_TOO_LARGE, header_count
                break
            _, position, fault, detail = skip_headers(data, position, limit, header_count)
            if fault != OK:
                if fault == HEADER_KEY_NEGATIVE:
                    status = HEADER_KEY_NEGATIVE
                else:
                    status = DATA_END if mode == PARTIAL and fault == UNDERFLOW else MALFORMED
                break

        # The body must be used up, and by the last record the data too.
        if mode != PARTIAL and position - body_start != size:
            status, detail, detail_2 = BODY_SIZE_WRONG, size, position - body_start
            break
        if index == count - 1 and position != end:
            status = BYTES_REMAIN
            break

        if offset_delta != index:
            consecutive = 0
        if key_end < 0 and first_null_key < 0:
            first_null_key = index
        if timestamp < min_timestamp:
            min_timestamp = timestamp
        if timestamp > max_timestamp:
            max_timestamp = timestamp
            index_of_max = index
        if capacity > 0:
            at = SUMMARY_SIZE + first + index
            out[at] = wrapping_add(base_offset, offset_delta)
            out[at + capacity] = timestamp
            out[at + 2 * capacity] = key_start
            out[at + 3 * capacity] = key_end
            out[at + 4 * capacity] = value_start
            out[at + 5 * capacity] = value_end
            out[at + 6 * capacity] = headers_start
            out[at + 7 * capacity] = header_count
            out[at + 8 * capacity] = record_start
            out[at + 9 * capacity] = position
        sound_end = position
        index += 1

    out[STATUS] = status
    out[DETAIL] = detail
    out[DETAIL_2] = detail_2
    out[CONSECUTIVE] = consecutive
    out[FIRST_NULL_KEY] = first_null_key
    out[MIN_TIMESTAMP] = min_timestamp
    out[MAX_TIMESTAMP] = max_timestamp
    out[INDEX_OF_MAX_TIMESTAMP] = index_of_max
    out[END] = sound_end
    return index


def locate_headers(
    data: BytesLike, end: int, starts: Sequence[int], counts: Sequence[int], out: list[int], capacity: int
) -> int:
    """Where the headers of sound records lie, of which `counts` say how many each has from `starts` on.

    Writes four columns of `capacity` places to `out`: start and end of the keys, start and end of the values, the end
    of a null value as -1. Returns how many headers there are.
    """
    at = 0
    for number in range(len(starts)):
        position = starts[number]
        for _ in range(counts[number]):
            size, position = read_varint(data, position, end)
            out[at] = position
            position += size
            out[at + capacity] = position
            size, position = read_varint(data, position, end)
            out[at + 2 * capacity] = position
            out[at + 3 * capacity] = -1
            if size >= 0:
                position += size
                out[at + 3 * capacity] = position
            at += 1
    return at


def read_int(data: BytesLike, position: int) -> int:
    """The big-endian 32-bit integer at `position`."""
    high = data[position] * 256 + data[position + 1]
    return (high - 65536 if high >= 32768 else high) * 65536 + data[position + 2] * 256 + data[position + 3]


def read_long(data: BytesLike, position: int) -> int:
    """The big-endian 64-bit integer at `position`."""
    low = read_int(data, position + 4)
    return read_int(data, position) * 4294967296 + (low + 4294967296 if low < 0 else low)


def measure_run(data: BytesLike, position: int, end: int, enough: int, apart: int) -> tuple[int, int]:
    """How many records the batches from `position` on hold, and where their run ends.

    A run consists of complete batches of magic 2 that have none of the attribute bits `apart` and whose count is
    possible; it ends when it has `enough` records.
    """
    records = 0
    while end - position >= _HEADER_SIZE and records < enough:
        size = read_int(data, position + 8) + 12
        count = read_int(data, position + 57)
        plain = data[position + 16] == 2 and data[position + 22] & apart == 0
        if not plain or size < _HEADER_SIZE or size > end - position:
            break
        if count < 0 or count > (size - _HEADER_SIZE) // SMALLEST_RECORD:
            break
        records += count
        position += size
    return records, position


def decode_run(data: BytesLike, position: int, end: int, out: list[int], capacity: int) -> tuple[int, int]:
    """Decode the batches of a run that `measure_run` found into columns of `capacity` places.

    Returns how many records were written, and the position of the first batch that is not sound (`end` when all are).
    """
    first = 0
    while position < end:
        batch_end = position + read_int(data, position + 8) + 12
        count = read_int(data, position + 57)
        if count > 0:
            good = decode(
                data, position + _HEADER_SIZE, batch_end, 0, count, count,
                read_long(data, position), read_long(data, position + 27), read_long(data, position + 35),
                1 if data[position + 22] & 8 else 0,
                BUFFER, out, capacity, first,
            )  # fmt: skip
            if out[STATUS] != OK:
                break
            first += good
        position = batch_end
    return first, position
