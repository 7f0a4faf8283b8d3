"""The kernel that hashes keys: Austin Appleby's MurmurHash3 for 32 bits, twice with different seeds.

Like `record.kernels.kernel`, it is plain Python over integers and flat buffers, and numba compiles the very same
functions.
"""

from collections.abc import MutableSequence, Sequence

from minikafka.common.bytes_like import BytesLike

_MASK = 0xFFFFFFFF
_SEEDS = (1, 2)


def murmur3(data: BytesLike, start: int, end: int, seed: int) -> int:
    """The hash of the bytes `start` … `end` (exclusive) of `data`, 0 to 2³² - 1."""
    state = seed
    whole = end - ((end - start) & 3)
    for at in range(start, whole, 4):
        word = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
        word = word * 0xCC9E2D51 & _MASK
        word = (word << 15 | word >> 17) & _MASK
        state ^= word * 0x1B873593 & _MASK
        state = (state << 13 | state >> 19) & _MASK
        state = (state * 5 + 0xE6546B64) & _MASK
    word = 0
    for at in range(end - 1, whole - 1, -1):
        word = word << 8 | data[at]
    word = word * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) & _MASK
    state ^= word * 0x1B873593 & _MASK
    state ^= end - start
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    return state ^ state >> 16


def hash_keys(data: BytesLike, key_start: Sequence[int], key_end: Sequence[int], hashes: MutableSequence[int]) -> None:
    """Write the hash of each key to `hashes`, 64 bits with a sign, but nothing for a record without a key."""
    for i in range(len(key_start)):
        if key_end[i] >= 0:
            high = murmur3(data, key_start[i], key_end[i], _SEEDS[0])
            low = murmur3(data, key_start[i], key_end[i], _SEEDS[1])
            hashes[i] = (high - 0x100000000 if high >= 0x80000000 else high) * 0x100000000 + low
