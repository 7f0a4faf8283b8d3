"""Kafka's wire types, written one after another."""

from minikafka.common.bytes_like import BytesLike

_SMALL = 512
"""Bytes below this are cheaper to copy than to pass on."""


class MessageSink:
    """What a message is written into: pieces that go out one after another, long ones uncopied. Kafka: `SendBuilder`.

    `pieces` are for a socket that takes several at once; `bytes(sink)` joins them.
    """

    def __init__(self) -> None:
        self._pieces: list[BytesLike] = []
        self._last = bytearray()

    def write(self, data: BytesLike) -> None:
        """Copy a few bytes."""
        self._last += data

    def write_view(self, data: BytesLike) -> None:
        """Pass on `data`, which must not change until it is sent."""
        if len(data) < _SMALL:
            self._last += data
            return
        if self._last:
            self._pieces.append(self._last)
        self._pieces.append(data)
        self._last = bytearray()

    def write_unsigned_varint(self, value: int) -> None:
        """A number from 0 to 2³² − 1, in groups of 7 bits. Kafka: `ByteUtils.writeUnsignedVarint`."""
        while value >= 0x80:
            self._last.append(value & 0x7F | 0x80)
            value >>= 7
        self._last.append(value)

    @property
    def pieces(self) -> list[BytesLike]:
        """What was written, in order."""
        return [*self._pieces, self._last] if self._last else list(self._pieces)

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces)
