"""Batches as bytes that may be wrong: cut out of a segment, taken apart, put together again, their CRC made right."""

import zlib

from crc32c import crc32c

from minikafka.record.codecs.compression import Compression, CompressionType, decompress
from minikafka.record.format.varint import write_varint

V2_HEADER = 61
LOG_OVERHEAD = 12
SMALLEST = 14
"""The least that a batch's size field may say."""

V2_FIELDS = {
    "base offset": (0, 8),
    "length": (8, 4),
    "leader epoch": (12, 4),
    "magic": (16, 1),
    "CRC": (17, 4),
    "attributes": (21, 2),
    "last offset delta": (23, 4),
    "base timestamp": (27, 8),
    "max timestamp": (35, 8),
    "producer id": (43, 8),
    "producer epoch": (51, 2),
    "base sequence": (53, 4),
    "count": (57, 4),
}
OLD_FIELDS = {"offset": (0, 8), "size": (8, 4), "CRC": (12, 4), "magic": (16, 1), "attributes": (17, 1)}
V0_FIELDS = {**OLD_FIELDS, "key size": (18, 4)}
V1_FIELDS = {**OLD_FIELDS, "timestamp": (18, 8), "key size": (26, 4)}


def split(data: bytes) -> tuple[list[bytes], bytes]:
    """The batches of a segment, and what follows the last whole one."""
    found, position = [], 0
    while position + LOG_OVERHEAD <= len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        end = position + LOG_OVERHEAD + size
        if size < SMALLEST or end > len(data):
            break
        found.append(data[position:end])
        position = end
    return found, data[position:]


def magic_of(batch: bytes) -> int:
    """The batch's magic; 2 for what is too short to have one."""
    return batch[16] if len(batch) > 16 else 2


def fields_of(batch: bytes) -> dict[str, tuple[int, int]]:
    """Name of each field → position and size, by the batch's magic."""
    return {0: V0_FIELDS, 1: V1_FIELDS}.get(magic_of(batch), V2_FIELDS)


def sized(batch: bytes) -> bytes:
    """The batch with the size that it has."""
    return batch[:8] + (len(batch) - LOG_OVERHEAD).to_bytes(4, "big") + batch[12:]


def sealed(batch: bytes) -> bytes:
    """The batch with the CRC that belongs to its bytes."""
    if magic_of(batch) < 2:
        return batch[:12] + zlib.crc32(batch[16:]).to_bytes(4, "big") + batch[16:]
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


def with_number(data: bytes, position: int, size: int, number: int) -> bytes:
    """`data` with `number` at `position`, cut to `size` bytes."""
    return data[:position] + (number % (1 << 8 * size)).to_bytes(size, "big") + data[position + size :]


def number_at(data: bytes, position: int, size: int) -> int:
    """The signed number of `size` bytes at `position`."""
    return int.from_bytes(data[position : position + size], "big", signed=True)


def codec_of(batch: bytes) -> CompressionType | None:
    """The codec that the attributes name; None if there is none of that number."""
    number = batch[22 if magic_of(batch) == 2 else 17] & 7
    return CompressionType.for_id(number) if number < len(CompressionType) else None


def payload_of(batch: bytes) -> bytes | None:
    """The records of a sound batch of magic 2, decompressed; None where they cannot be had."""
    codec = codec_of(batch)
    if magic_of(batch) != 2 or len(batch) < V2_HEADER or codec is None:
        return None
    return _decompressed(codec, batch[V2_HEADER:], 2)


def with_payload(batch: bytes, payload: bytes) -> bytes:
    """The batch of magic 2 with these records, compressed by its codec, and the right size."""
    return sized(batch[:V2_HEADER] + Compression(codec_of(batch)).compress(payload, 2))


def inner_messages(batch: bytes) -> bytes | None:
    """The messages inside a sound compressed wrapper of an old format, decompressed; None for other batches."""
    place = _value_of_wrapper(batch)
    if place is None:
        return None
    return _decompressed(codec_of(batch), batch[place:], magic_of(batch))


def with_inner_messages(batch: bytes, messages: bytes) -> bytes:
    """The wrapper around other messages, with the right sizes."""
    place = _value_of_wrapper(batch)
    value = Compression(codec_of(batch)).compress(messages, magic_of(batch))
    return sized(batch[: place - 4] + len(value).to_bytes(4, "big") + value)


def _value_of_wrapper(batch: bytes) -> int | None:
    magic = magic_of(batch)
    if magic > 1 or codec_of(batch) in (None, CompressionType.NONE):
        return None
    key_size_at = 18 if magic == 0 else 26
    value_at = key_size_at + 4 + max(number_at(batch, key_size_at, 4), 0) + 4
    return value_at if value_at <= len(batch) else None


def _decompressed(codec: CompressionType, data: bytes, magic: int) -> bytes | None:
    try:
        payload, failure = decompress(codec, data, magic)
    except RuntimeError:
        return None
    return None if failure else bytes(payload)


Token = tuple[str, int | bytes]
"""("byte", number), ("varint", number) or ("bytes", them): what a record is made of, one after the other."""


def tokens_of(payload: bytes, count: int) -> list[list[Token]]:
    """The records of a sound payload taken apart; the length before each is left out."""
    records, position = [], 0
    for _ in range(count):
        length, position = _read_varint(payload, position)
        end, tokens = position + length, [("byte", payload[position])]
        position += 1
        for _ in ("timestamp delta", "offset delta"):
            position = _take_number(payload, position, tokens)
        for _ in ("key", "value"):
            position = _take_bytes(payload, position, tokens)
        headers_at = len(tokens)
        position = _take_number(payload, position, tokens)
        for _ in range(2 * max(tokens[headers_at][1], 0)):
            position = _take_bytes(payload, position, tokens)
        if position != end:
            raise ValueError("a record is not sound")
        records.append(tokens)
    return records


def encoded(tokens: list[Token], length: int | None = None) -> bytes:
    """One record with its length before it, or with `length` in its place."""
    body = bytearray()
    for kind, value in tokens:
        if kind == "byte":
            body.append(value & 0xFF)
        elif kind == "varint":
            write_varint(value, body)
        else:
            body += value
    out = bytearray()
    write_varint(len(body) if length is None else length, out)
    return bytes(out + body)


def _take_number(data: bytes, position: int, tokens: list[Token]) -> int:
    number, position = _read_varint(data, position)
    tokens.append(("varint", number))
    return position


def _take_bytes(data: bytes, position: int, tokens: list[Token]) -> int:
    position = _take_number(data, position, tokens)
    size = max(tokens[-1][1], 0)
    tokens.append(("bytes", data[position : position + size]))
    return position + size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    raw = shift = 0
    while True:
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position
