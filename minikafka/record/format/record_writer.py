"""Writes one record of magic 2; `kernel` describes its form and reads it."""

from collections.abc import Sequence

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IllegalArgumentException
from minikafka.record.format.record import Header
from minikafka.record.format.varint import NULL_VARINT_SIZE_BYTES, size_of_varint, write_varint


def write_record(
    out: bytearray,
    offset_delta: int,
    timestamp_delta: int,
    key: BytesLike | None,
    value: BytesLike | None,
    headers: Sequence[Header],
) -> int:
    """Append a magic-2 record to `out` and return its size in bytes. Kafka: `DefaultRecord.writeTo`."""
    # 1. A byte of attributes, of which none is in use.
    body = bytearray(1)
    # 2. How far the record is from the batch's base timestamp and base offset.
    write_varint(timestamp_delta, body)
    write_varint(offset_delta, body)
    # 3. Key and value, each after its size; -1 is the size of null.
    _write_nullable(key, body)
    _write_nullable(value, body)
    # 4. How many headers there are, and the headers.
    write_varint(len(headers), body)
    for header_key, header_value in headers:
        if header_key is None:
            raise IllegalArgumentException("Invalid null header key found in headers")
        # A lone surrogate, which a Java string may hold as well, is written as Java writes it: as a question mark.
        _write_nullable(header_key.encode("utf-8", "replace"), body)
        _write_nullable(header_value, body)
    # 5. The size of all that comes before it.
    start = len(out)
    write_varint(len(body), out)
    out += body
    return len(out) - start


def record_size_in_bytes(
    offset_delta: int,
    timestamp_delta: int,
    key: BytesLike | None,
    value: BytesLike | None,
    headers: Sequence[Header],
) -> int:
    """Bytes that `write_record` would append. Kafka: `DefaultRecord.sizeInBytes`."""
    body = 1 + size_of_varint(timestamp_delta) + size_of_varint(offset_delta)
    body += _nullable_size(key) + _nullable_size(value) + size_of_varint(len(headers))
    for header_key, header_value in headers:
        body += _nullable_size(header_key.encode("utf-8", "replace")) + _nullable_size(header_value)
    return size_of_varint(body) + body


def _write_nullable(field: BytesLike | None, out: bytearray) -> None:
    if field is None:
        out.append(1)
    else:
        write_varint(len(field), out)
        out += field


def _nullable_size(field: BytesLike | None) -> int:
    return NULL_VARINT_SIZE_BYTES if field is None else size_of_varint(len(field)) + len(field)
