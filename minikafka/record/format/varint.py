"""Zig-zag varints: small numbers of either sign in few bytes, 7 bits a byte, low group first.

0 → 00, -1 → 01, 1 → 02, -2 → 03, … 63 → 7e, -64 → 7f, 64 → 80 01. Reading is in `kernel`.

Kafka: `ByteUtils.writeVarint`, `writeVarlong`, `sizeOfVarint`, `sizeOfVarlong`.
"""

NULL_VARINT_SIZE_BYTES = 1


def write_varint(value: int, out: bytearray) -> None:
    """Append the varint of a signed 32-bit or 64-bit `value` to `out` (1 … 10 bytes).

    Kafka: `ByteUtils.writeVarint`.
    """
    raw = value << 1 if value >= 0 else (~value << 1) | 1
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def size_of_varint(value: int) -> int:
    """Bytes that `write_varint` appends. Kafka: `ByteUtils.sizeOfVarint`, `sizeOfVarlong`."""
    raw = value << 1 if value >= 0 else (~value << 1) | 1
    return (raw.bit_length() + 6) // 7 or 1
