"""The kernel of the offset map: it hashes keys, looks them up and inserts them, column by column.

Like `record.kernels.kernel`, it is plain Python over integers and flat buffers, and numba compiles the very same
functions.

An MD5 hash is two numbers here, its first and its last eight bytes, big-endian and signed. The map is one flat table of
64-bit integers, three for each slot: the two numbers of a hash, and an offset. Three zeros are an empty slot.

Kafka: `SkimpyOffsetMap`; `java.security.MessageDigest`.
"""

from collections.abc import MutableSequence, Sequence

from minikafka.common.bytes_like import BytesLike
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.record.kernels.column import Column

INTS_PER_SLOT = 3
HASH_SIZE = 16
NO_SLOT = -1
UNLIMITED = LONG_MAX

_MASK = 0xFFFFFFFF

# MD5 (RFC 1321): its sines, how far each of its steps rotates, and its first state.
SINES = (
    0xD76AA478, 0xE8C7B756, 0x242070DB, 0xC1BDCEEE, 0xF57C0FAF, 0x4787C62A, 0xA8304613, 0xFD469501,
    0x698098D8, 0x8B44F7AF, 0xFFFF5BB1, 0x895CD7BE, 0x6B901122, 0xFD987193, 0xA679438E, 0x49B40821,
    0xF61E2562, 0xC040B340, 0x265E5A51, 0xE9B6C7AA, 0xD62F105D, 0x02441453, 0xD8A1E681, 0xE7D3FBC8,
    0x21E1CDE6, 0xC33707D6, 0xF4D50D87, 0x455A14ED, 0xA9E3E905, 0xFCEFA3F8, 0x676F02D9, 0x8D2A4C8A,
    0xFFFA3942, 0x8771F681, 0x6D9D6122, 0xFDE5380C, 0xA4BEEA44, 0x4BDECFA9, 0xF6BB4B60, 0xBEBFBC70,
    0x289B7EC6, 0xEAA127FA, 0xD4EF3085, 0x04881D05, 0xD9D4D039, 0xE6DB99E5, 0x1FA27CF8, 0xC4AC5665,
    0xF4292244, 0x432AFF97, 0xAB9423A7, 0xFC93A039, 0x655B59C3, 0x8F0CCC92, 0xFFEFF47D, 0x85845DD1,
    0x6FA87E4F, 0xFE2CE6E0, 0xA3014314, 0x4E0811A1, 0xF7537E82, 0xBD3AF235, 0x2AD7D2BB, 0xEB86D391,
)  # fmt: skip
ROTATIONS = (7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21)
_A, _B, _C, _D = 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476


def md5_of_block(block: Sequence[int], a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """The state of MD5 after a block of 16 words."""
    old_a, old_b, old_c, old_d = a, b, c, d
    for step in range(64):
        if step < 16:
            mixed = (b & c) | ((b ^ _MASK) & d)
            word = step
        elif step < 32:
            mixed = (d & b) | ((d ^ _MASK) & c)
            word = (5 * step + 1) & 15
        elif step < 48:
            mixed = b ^ c ^ d
            word = (3 * step + 5) & 15
        else:
            mixed = c ^ (b | (d ^ _MASK))
            word = (7 * step) & 15
        turned = (a + mixed + SINES[step] + block[word]) & _MASK
        places = ROTATIONS[(step >> 4) * 4 + (step & 3)]
        turned = ((turned << places) | (turned >> (32 - places))) & _MASK
        a, d, c, b = d, c, b, (b + turned) & _MASK
    return (a + old_a) & _MASK, (b + old_b) & _MASK, (c + old_c) & _MASK, (d + old_d) & _MASK


def swap_bytes(word: int) -> int:
    """The 32-bit `word` with its bytes reversed."""
    return (word & 0xFF) << 24 | (word & 0xFF00) << 8 | (word >> 8) & 0xFF00 | word >> 24


def signed_long(high: int, low: int) -> int:
    """The signed 64-bit number that two unsigned 32-bit numbers make up."""
    return (high - 0x100000000 if high >= 0x80000000 else high) * 0x100000000 + low


def md5(data: BytesLike, start: int, end: int, block: MutableSequence[int]) -> tuple[int, int]:
    """The MD5 of the bytes `start` … `end` (exclusive) of `data` as two numbers; `block` has room for 16 integers."""
    a, b, c, d = _A, _B, _C, _D
    size = end - start
    padded = (size + 8) // 64 * 64 + 64
    for block_start in range(0, padded, 64):
        for word in range(16):
            at = block_start + 4 * word
            if at + 4 <= size:
                p = start + at
                block[word] = data[p] | data[p + 1] << 8 | data[p + 2] << 16 | data[p + 3] << 24
            else:
                value = 0
                for i in range(at, min(size, at + 4)):
                    value |= data[start + i] << 8 * (i - at)
                if at <= size < at + 4:
                    value |= 0x80 << 8 * (size - at)
                block[word] = value
        if block_start + 64 == padded:
            block[14] = (size << 3) & _MASK
            block[15] = size >> 29
        a, b, c, d = md5_of_block(block, a, b, c, d)
    return signed_long(swap_bytes(a), swap_bytes(b)), signed_long(swap_bytes(c), swap_bytes(d))


def hash_keys(
    data: BytesLike,
    key_start: Sequence[int],
    key_end: Sequence[int],
    highs: MutableSequence[int],
    lows: MutableSequence[int],
    block: MutableSequence[int],
) -> None:
    """Write the hash of each key to `highs` and `lows`, but nothing for a record without a key (its end is -1)."""
    for i in range(len(key_start)):
        if key_end[i] >= 0:
            highs[i], lows[i] = md5(data, key_start[i], key_end[i], block)


def slot_of(high: int, low: int, attempt: int, slots: int) -> int:
    """The slot to try in attempt 0, 1, 2 …: chosen by bytes 0-3, 1-4 … 12-15 of the hash, then the slots that follow.

    Kafka: `SkimpyOffsetMap.positionOf`.
    """
    first_byte = min(attempt, HASH_SIZE - 4)
    if first_byte <= 4:
        probe = (high >> (32 - 8 * first_byte)) & _MASK
    elif first_byte < 8:
        in_low = 8 * first_byte - 32  # so many bits come from the second number
        probe = ((high << in_low) | ((low >> (64 - in_low)) & ((1 << in_low) - 1))) & _MASK
    else:
        probe = (low >> (96 - 8 * first_byte)) & _MASK
    # Java's int has 32 bits with a sign, also after the addition; the smallest has no absolute value and becomes 0.
    probe = (probe + max(0, attempt - HASH_SIZE + 4)) & _MASK
    if probe > 0x80000000:
        probe = 0x100000000 - probe
    elif probe == 0x80000000:
        probe = 0
    return probe % slots


def find(table: memoryview, slots: int, high: int, low: int, max_attempts: int) -> int:
    """Where in `table` the hash is, or the empty slot at which the search ends; NO_SLOT after too many attempts."""
    attempt = 0
    while attempt < max_attempts:
        at = slot_of(high, low, attempt, slots) * INTS_PER_SLOT
        if table[at] == high and table[at + 1] == low:
            return at
        if table[at] == 0 and table[at + 1] == 0 and table[at + 2] == 0:
            return at
        attempt += 1
    return NO_SLOT


def is_empty(table: memoryview, at: int) -> bool:
    """Whether the slot at `at` is empty. Kafka: `SkimpyOffsetMap.isEmpty`."""
    return table[at] == 0 and table[at + 1] == 0 and table[at + 2] == 0


def put_all(
    table: memoryview,
    slots: int,
    entries: int,
    last_offset: int,
    highs: Sequence[int],
    lows: Sequence[int],
    key_end: Column,
    offsets: Column,
    start_offset: int,
    limit: int,
) -> tuple[int, int, int]:
    """Put the offsets from `start_offset` on of the records with keys, in order, as long as there are fewer than
    `limit` entries. Returns how many records were looked at, and the new `entries` and `last_offset`.
    """
    for i in range(len(offsets)):
        if key_end[i] >= 0 and offsets[i] >= start_offset:
            if entries >= limit:
                return i, entries, last_offset
            at = find(table, slots, highs[i], lows[i], UNLIMITED)
            if is_empty(table, at):
                table[at] = highs[i]
                table[at + 1] = lows[i]
                entries += 1
            table[at + 2] = offsets[i]
            last_offset = offsets[i]
    return len(offsets), entries, last_offset


def get_all(
    table: memoryview, slots: int, highs: Sequence[int], lows: Sequence[int], key_end: Column, found: Column
) -> None:
    """Write to `found` the offset of each key, -1 for a key that is not in the map and for a record without a key."""
    for i in range(len(found)):
        found[i] = -1
        if key_end[i] >= 0:
            at = find(table, slots, highs[i], lows[i], slots + HASH_SIZE - 4)
            if at != NO_SLOT and not is_empty(table, at):
                found[i] = table[at + 2]
