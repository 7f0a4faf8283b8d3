"""The part of a decompressed stream that is at hand."""

from collections.abc import Iterator

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import BufferUnderflowException, KafkaException, RecordTooLargeException

WINDOW_SIZE = 4 * 1024 * 1024
"""How many decompressed bytes are at hand at a time; more only when a single record to be handed out is longer."""

MAX_DECOMPRESSED_BYTES = 512 * 1024 * 1024
"""The records of a batch that decompresses to more bytes are checked, but handed out only if a caller allows it."""


_NO_PIECES: Iterator[BytesLike] = iter(())


class StreamWindow:
    """A stretch of a stream: `data` from `position` on. What lies before is used up, what comes after is not read yet.

    - `ended`: there is nothing after `data`. `error` is then what the stream ends with, None if it is sound.
    - With `max_bytes`, a longer stream raises RecordTooLargeException.
    """

    __slots__ = ("data", "position", "ended", "error", "_pieces", "_read", "_max_bytes")

    def __init__(
        self,
        pieces: Iterator[BytesLike] | None,
        max_bytes: int | None = None,
        data: BytesLike = b"",
        position: int = 0,
    ):
        """Without `pieces`, `data` from `position` on is all there is."""
        self.data = data
        self.position = position
        self.ended = pieces is None
        self.error: Exception | None = None
        self._pieces = pieces or _NO_PIECES
        self._read = 0
        self._max_bytes = max_bytes

    @property
    def available(self) -> int:
        """Bytes from `position` to the end of `data`."""
        return len(self.data) - self.position

    def fill(self, size: int) -> None:
        """Make at least `size` bytes available, or all that there are. Bytes before `position` are dropped."""
        if self.ended:
            return
        available = self.available
        if available >= size:
            return
        parts = [self.data[self.position :]]
        while available < size and not self.ended:
            piece = self._next_piece()
            parts.append(piece)
            available += len(piece)
        self.data = b"".join(parts)
        self.position = 0

    def skip(self, size: int) -> int:
        """Move past `size` bytes without keeping them; returns how many there were."""
        skipped = min(size, self.available)
        self.position += skipped
        while skipped < size and not self.ended:
            self.data = self._next_piece()
            self.position = min(size - skipped, len(self.data))
            skipped += self.position
        return skipped

    def _next_piece(self) -> BytesLike:
        try:
            piece = next(self._pieces)
        except StopIteration:
            self.ended = True
            return b""
        except (KafkaException, BufferUnderflowException) as error:
            self.ended, self.error = True, error
            return b""
        self._read += len(piece)
        if self._max_bytes is not None and self._read > self._max_bytes:
            raise RecordTooLargeException(
                f"The records decompress to more than {self._max_bytes} bytes, which is the most that is handed out"
            )
        return piece
