"""Kafka's wire types, written one after another."""

from minikafka.common.bytes_like import BytesLike

COPIED_BELOW = 512
"""Bytes below this are cheaper to copy than to pass on."""


class MessageSink:
    """What a message is written into: pieces that go out one after another, long ones uncopied. Kafka: `SendBuilder`.

    `pieces` are for a socket that takes several at once; `bytes(sink)` joins them. `last` is the piece that grows;
    after a `write_view` it may be another one.
    """

    def __init__(self) -> None:
        self._pieces: list[BytesLike] = []
        self.last = bytearray()

    def write(self, data: BytesLike) -> None:
        """Copy a few bytes."""
        self.last += data

    def write_view(self, data: BytesLike) -> None:
        """Pass on `data`, which must not change until it is sent."""
        if len(data) < COPIED_BELOW:
            self.last += data
            return
        if self.last:
            self._pieces.append(self.last)
        self._pieces.append(data)
        self.last = bytearray()

    def write_unsigned_varint(self, value: int) -> None:
        """A number from 0 to 2³² − 1, in groups of 7 bits. Kafka: `ByteUtils.writeUnsignedVarint`."""
        while value >= 0x80:
            self.last.append(value & 0x7F | 0x80)
            value >>= 7
        self.last.append(value)

    def mark(self) -> tuple[int, bytearray, int]:
        """How far has been written, for `rewind`."""
        return len(self._pieces), self.last, len(self.last)

    def rewind(self, mark: tuple[int, bytearray, int]) -> None:
        """Forget what was written since `mark`."""
        pieces, self.last, size = mark
        del self._pieces[pieces:]
        del self.last[size:]

    @property
    def pieces(self) -> list[BytesLike]:
        """What was written, in order."""
        return [*self._pieces, self.last] if self.last else list(self._pieces)

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces)
