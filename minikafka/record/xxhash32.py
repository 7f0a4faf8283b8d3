"""xxHash32 with seed 0, which lz4 frames use for their checksums."""

_PRIME_1 = 0x9E3779B1
_PRIME_2 = 0x85EBCA77
_PRIME_3 = 0xC2B2AE3D
_PRIME_4 = 0x27D4EB2F
_PRIME_5 = 0x165667B1
_MASK = 0xFFFFFFFF


def xxhash32(data: bytes) -> int:
    """The 32-bit hash of `data`, unsigned. Kafka: `net.jpountz.xxhash.XXHash32.hash`."""
    position = 0
    if len(data) >= 16:
        lanes = [_PRIME_1 + _PRIME_2 & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
        while position <= len(data) - 16:
            for lane in range(4):
                word = int.from_bytes(data[position : position + 4], "little")
                lanes[lane] = _rotate(lanes[lane] + word * _PRIME_2 & _MASK, 13) * _PRIME_1 & _MASK
                position += 4
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        value = _PRIME_5
    value = value + len(data) & _MASK
    while position <= len(data) - 4:
        word = int.from_bytes(data[position : position + 4], "little")
        value = _rotate(value + word * _PRIME_3 & _MASK, 17) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        value = _rotate(value + byte * _PRIME_5 & _MASK, 11) * _PRIME_1 & _MASK
    value = (value ^ value >> 15) * _PRIME_2 & _MASK
    value = (value ^ value >> 13) * _PRIME_3 & _MASK
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
