"""Kafka's wire types, read one after another."""

import struct
from typing import Any

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import (
    BufferUnderflowException,
    IllegalArgumentException,
    NegativeArraySizeException,
    RuntimeException,
)
from minikafka.common.java.java_numbers import to_int
from minikafka.common.uuid import uuid_from_bytes

MAX_MESSAGE_BYTES = 8 << 20
"""No broker writes a longer message: a batch of the metadata log has 8 MiB at most, those of coordinators less."""


class MessageBytes:
    """A reader of Kafka's wire types, from the front of `data` on. Kafka: `ByteBufferAccessor`.

    More than `limit` bytes raise RuntimeException: a few kilobytes of compressed zeros may claim to be a list with
    as many elements as memory holds. Views into `data` are handed out, so it must not change afterwards. `position` is
    that of the next byte.
    """

    def __init__(self, data: BytesLike, limit: int = MAX_MESSAGE_BYTES):
        if len(data) > limit:
            raise RuntimeException(f"a message of {len(data)} bytes is not read: the limit is {limit}")
        self.data = memoryview(data)
        self.position = 0

    @property
    def remaining(self) -> int:
        """Bytes not read yet."""
        return len(self.data) - self.position

    def read_int(self, size: int, *, signed: bool = True) -> int:
        """A big-endian number of `size` bytes. Raises BufferUnderflowException."""
        return int.from_bytes(self._take(size), "big", signed=signed)

    def read_struct(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Fields of fixed sizes that follow each other. Raises BufferUnderflowException."""
        start, end = self.position, self.position + layout.size
        if end > len(self.data):
            raise BufferUnderflowException(f"{layout.size} bytes wanted, {self.remaining} are left")
        self.position = end
        return layout.unpack_from(self.data, start)

    def read_uuid(self) -> str:
        """16 bytes, as Kafka's text. Raises BufferUnderflowException."""
        return uuid_from_bytes(self._take(16))

    def read_unsigned_varint(self) -> int:
        """A 32-bit number in groups of 7 bits, as Java's int: the fifth byte may make it negative.

        Raises BufferUnderflowException, and IllegalArgumentException when a fifth byte says that more follow.
        Kafka: `ByteUtils.readUnsignedVarint`.
        """
        data, position = self.data, self.position
        if position < len(data) and (only := data[position]) < 0x80:
            self.position = position + 1
            return only
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return to_int(value)
        raise IllegalArgumentException(
            "Varint is too long, the most significant bit in the 5th byte is set, "
            f"converted value: {value & 0xFFFF_FFFF:x}"
        )

    def read_array(self, size: int) -> bytes:
        """So many bytes, copied. Raises RuntimeException when there are fewer, NegativeArraySizeException below 0."""
        return bytes(self.read_view(size))

    def read_view(self, size: int) -> memoryview:
        """So many bytes, as they lie in `data`. Raises as `read_array` does."""
        start = self.position
        if size > len(self.data) - start:
            raise RuntimeException(
                f"Error reading byte array of {size} byte(s): only {self.remaining} byte(s) available"
            )
        if size < 0:
            raise NegativeArraySizeException(str(size))
        self.position = start + size
        return self.data[start : start + size]

    def _take(self, size: int) -> memoryview:
        start = self.position
        if size > len(self.data) - start:
            raise BufferUnderflowException(f"{size} bytes wanted, {self.remaining} are left")
        self.position = start + size
        return self.data[start : start + size]
