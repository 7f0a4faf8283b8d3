"""One connection of a broker: the request that arrives on it, and the answer that goes back."""

import logging
import socket
import struct
from collections import deque
from collections.abc import Sequence
from enum import Enum, auto
from itertools import islice
from typing import Protocol, TypeAlias

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import KafkaException
from minikafka.network.request import Request
from minikafka.network.server.memory_pool import MemoryPool

logger = logging.getLogger(__name__)

_SIZE = 4
_INT = struct.Struct(">i")
_BYTES = (bytes, bytearray, memoryview)
_MOST_PIECES = 64
"""Pieces that go to the system in one call."""


class InvalidReceiveException(KafkaException):
    """The size in front of a request is none. Kafka: `InvalidReceiveException`."""


class ChannelMuteState(Enum):
    """Whether a connection is read. Kafka: `KafkaChannel.ChannelMuteState`; here nothing is throttled."""

    NOT_MUTED = auto()
    """The next request is awaited."""
    MUTED_AND_RESPONSE_PENDING = auto()
    """A request has come; until its answer is sent, nothing is read."""


# Looked up once: before Python 3.12, `ChannelMuteState.NOT_MUTED` takes longer than a call.
_NOT_MUTED = ChannelMuteState.NOT_MUTED
_MUTED = ChannelMuteState.MUTED_AND_RESPONSE_PENDING


class FileSlice(Protocol):
    """Bytes that the kernel sends from a file; `minikafka.record.files.file_records.FileRecords` is one."""

    @property
    def size_in_bytes(self) -> int:
        """How many there are."""

    def write_to(self, destination: socket.socket, offset: int, length: int) -> int:
        """Send at most `length` bytes from `offset` on; returns how many the system took."""


Piece: TypeAlias = "BytesLike | FileSlice"
"""A part of an answer."""


class KafkaChannel:
    """A connection that is read and written without waiting.

    - `receive` gives one request at a time. While it is worked on the connection is muted: nothing more is read.
    - `send` begins an answer, `write` goes on with it; when it has gone out the connection is read again.
    - Bytes that came behind a request wait in `_ahead`, at most as many as one call reads.

    Kafka: `KafkaChannel` with its `NetworkReceive` and `NetworkSend`.
    """

    def __init__(
        self,
        channel_id: str,
        connection: socket.socket,
        listener_name: str,
        client_address: str,
        max_receive_size: int,
        memory_pool: MemoryPool,
    ):
        """`connection` does not block. `max_receive_size`: of a request, in bytes, without the four in front of it."""
        self.id = channel_id
        self.socket = connection
        self.listener_name = listener_name
        self.client_address = client_address
        """The client's IP address."""
        self.client_id = ""
        """How the client has called itself in its last request."""
        self.waiting_request: Request | None = None
        """The request that has been taken up and has no answer yet, for whoever watches."""
        self.mute_state = _NOT_MUTED
        self.is_open = True
        self.watched_events = 0
        """What the loop's selector waits for on this connection."""
        self.last_active_ms = 0
        """When something was last read or sent, by the clock of the loop."""
        self.waits_for_memory = False
        """Whether a request is announced for which the pool had no memory."""
        self._max_receive_size = max_receive_size
        self._memory_pool = memory_pool
        self._ahead = bytearray()
        self._request: bytearray | None = None
        self._received = 0  # bytes of `_request` that are there
        self._taken = 0  # bytes taken from the pool
        self._sends: deque[Piece] = deque()
        self._sent = 0  # bytes that are gone of the first of `_sends`, if that is a file

    def receive(self, scratch: memoryview) -> bytearray | None:
        """Read once. The result is the next request (without its size) if it is whole now, and the channel is muted
        then; else it is None.

        `scratch` is room to read into. Raises EOFError when the client has ended the connection, OSError when it broke,
        and InvalidReceiveException. Kafka: `KafkaChannel.read`, `NetworkReceive.readFrom`.
        """
        # 1. Begin with what was read ahead, else read: into the request once its size is known.
        if self._request is None and not (self._ahead and self._begin_request()) and not self.waits_for_memory:
            self._ahead += scratch[: self._read_into(scratch)]
            self._begin_request()
        elif self._request is not None and self._received < len(self._request):
            self._received += self._read_into(memoryview(self._request)[self._received :])
        # 2. It is whole when all bytes that its size announced are there.
        if self._request is None or self._received < len(self._request):
            return None
        # 3. Hand it over, and mute the connection.
        request, self._request = self._request, None
        self.mute_state = _MUTED
        return request

    def _begin_request(self) -> bool:
        """Make room for the request that `_ahead` announces; False while it announces none, or there is no memory."""
        ahead = self._ahead
        if len(ahead) < _SIZE:
            return False
        (size,) = _INT.unpack_from(ahead)
        if size < 0:
            raise InvalidReceiveException(f"Invalid receive (size = {size})")
        if size > self._max_receive_size:
            raise InvalidReceiveException(f"Invalid receive (size = {size} larger than {self._max_receive_size})")
        self.waits_for_memory = not self._memory_pool.try_allocate(size)
        if self.waits_for_memory:
            return False
        self._taken = size
        self._request = ahead[_SIZE : _SIZE + size]
        self._received = received = len(self._request)
        del ahead[: _SIZE + received]
        if received < size:
            self._request, begun = bytearray(size), self._request
            self._request[:received] = begun
        return True

    def _read_into(self, room: memoryview) -> int:
        """How many bytes came; 0 when there are none yet."""
        try:
            count = self.socket.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return 0
        if count == 0:
            raise EOFError("the client has closed the connection")
        return count

    def release_memory(self) -> None:
        """The request's bytes are no longer needed. Kafka: `RequestChannel.Request.releaseBuffer`."""
        self._memory_pool.release(self._taken)
        self._taken = 0

    @property
    def has_bytes_ahead(self) -> bool:
        """Whether bytes of the next request have been read already."""
        return bool(self._ahead)

    def send(self, pieces: Sequence[Piece]) -> bool:
        """Begin to send an answer, and say whether it has gone out. Raises OSError. Kafka: `KafkaChannel.setSend`."""
        size = 0
        for piece in pieces:
            size += len(piece) if isinstance(piece, _BYTES) else piece.size_in_bytes
        self._sends.append(size.to_bytes(_SIZE))
        self._sends.extend(pieces)
        return self.write()

    def write(self) -> bool:
        """Send on as far as the system takes it, and say whether the answer has gone out.

        Raises OSError, and KafkaException for a file that was cut meanwhile. Kafka: `KafkaChannel.write`.
        """
        try:
            while self._sends:
                first = self._sends[0]
                if isinstance(first, _BYTES):
                    self._send_bytes()
                else:
                    self._send_from_file(first)
        except (BlockingIOError, InterruptedError):
            return False
        return True

    def _send_from_file(self, records: FileSlice) -> None:
        left = records.size_in_bytes - self._sent
        if left:
            self._sent += records.write_to(self.socket, self._sent, left)
        if self._sent == records.size_in_bytes:
            self._sends.popleft()
            self._sent = 0

    def _send_bytes(self) -> None:
        pieces = []
        for piece in islice(self._sends, _MOST_PIECES):
            if not isinstance(piece, _BYTES):
                break
            pieces.append(piece)
        sent = self.socket.sendmsg(pieces)
        for piece in pieces:
            if sent < len(piece):
                self._sends[0] = memoryview(piece)[sent:]
                return
            sent -= len(piece)
            self._sends.popleft()

    def unmute(self) -> None:
        """The answer is sent, or there is none: go on reading. Kafka: `KafkaChannel.maybeUnmute`."""
        self.mute_state = _NOT_MUTED

    @property
    def is_muted(self) -> bool:
        """Whether a request is in work. Kafka: `KafkaChannel.isMuted`."""
        return self.mute_state is not _NOT_MUTED

    @property
    def is_sending(self) -> bool:
        """Whether a part of an answer has not gone out. Kafka: `KafkaChannel.hasSend`."""
        return bool(self._sends)

    def close(self) -> None:
        """Close the socket, and drop what was not read or sent. Kafka: `KafkaChannel.close`."""
        self.is_open = False
        self.release_memory()
        self._sends.clear()
        self._request = None
        self.socket.close()

    def __str__(self) -> str:
        return self.id
