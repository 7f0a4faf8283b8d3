"""The hash of a record's key by which Kafka's producers choose a partition."""

from minikafka.common.bytes_like import BytesLike

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: BytesLike, start: int, end: int) -> int:
    """The hash of the bytes `start` … `end` (exclusive) of `data`, without its sign bit: from 0 to 2147483647.

    Only integers and flat buffers occur, so numba can compile it; products may then wrap at 64 bits, which does not
    change the low 32 that count. Kafka: `Utils.toPositive(Utils.murmur2(data))`.
    """
    size = end - start
    h = _SEED ^ size
    whole = end - size % 4
    for at in range(start, whole, 4):
        k = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
        k = k * _M & _MASK
        k ^= k >> 24
        k = k * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if size % 4:
        for at in range(whole, end):
            h ^= data[at] << 8 * (at - whole)
        h = h * _M & _MASK
    h ^= h >> 13
    h = h * _M & _MASK
    h ^= h >> 15
    return h & 0x7FFFFFFF
