"""minikafka's loop of sockets, moved by hand, on connections that do not leave the process."""

import socket
from collections.abc import Callable

from minikafka.common.time import ManualTime
from minikafka.messages.message_sink import MessageSink
from minikafka.network.request import Answer, NoBytes, Request
from minikafka.network.server.kafka_channel import KafkaChannel
from minikafka.network.server.socket_server import SocketServer
from minikafka.network.server.socket_server_config import SocketServerConfig

_LISTENER, _HOST = "PLAINTEXT", "127.0.0.1"
_IDLE_TURNS = 2
_MOST_TURNS = 200  # a learner's function may never let it rest
_ROOM = 1 << 16


class MinikafkaServer:
    """A `SocketServer` and its clients. Requests are parsed, and then wait until somebody answers them.

    `arrived`: the headers of the requests that came since the last call of `take_arrived`, in words.
    """

    def __init__(self) -> None:
        self._server = SocketServer(SocketServerConfig({}), ManualTime(), self._handle)
        self._clients: dict[str, socket.socket] = {}
        self._waiting: dict[int, Callable[[Answer], None]] = {}
        self._arrived: list[tuple[str, int, str]] = []

    def send(self, connection: str, data: bytes) -> None:
        """Let bytes arrive on a connection; it is opened if there is none of that name."""
        if connection not in self._clients:
            client, here = socket.socketpair()
            for end in (client, here):
                end.setblocking(False)
            self._server.connection_quotas.inc(_LISTENER, _HOST)
            self._server.take(here, connection, _LISTENER, _HOST)
            self._clients[connection] = client
        try:
            self._clients[connection].sendall(data)
        except OSError:  # it has been closed
            pass
        self._settle()

    def answer(self, number: int, kind: str) -> None:
        """Answer a request that waits: with its correlation id, without any bytes, or by closing the connection."""
        tell = self._waiting.pop(number, None)
        if tell is None:
            return
        sink = MessageSink()
        sink.write(number.to_bytes(4))
        tell({"no_response": NoBytes.NO_RESPONSE, "close": NoBytes.CLOSE}.get(kind, sink))
        self._settle()

    def take_arrived(self) -> list[tuple[str, int, str]]:
        """The requests that came since the last call: connection, correlation id, header in words."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def received(self, connection: str) -> tuple[bytes, bool]:
        """What the client of a connection can read now, and whether the connection is open."""
        found = b""
        while True:
            try:
                piece = self._clients[connection].recv(_ROOM)
            except BlockingIOError:
                return found, True
            except ConnectionResetError:
                return found, False
            if not piece:
                return found, False
            found += piece

    def let_go(self) -> None:
        """Close everything."""
        self._server.shutdown()
        for client in self._clients.values():
            client.close()

    def _handle(self, data: bytearray, channel: KafkaChannel, answer: Callable[[Answer], None]) -> None:
        request = Request.parse(data, answer)
        header = request.header
        words = f"{header.api_key.name} v{header.api_version} of {header.client_id!r}"
        self._arrived.append((channel.id, header.correlation_id, words))
        self._waiting[header.correlation_id] = answer

    def _settle(self) -> None:
        """Go round until nothing happens any more."""
        idle = 0
        for _ in range(_MOST_TURNS):
            before = len(self._arrived), len(self._server.channels)
            self._server.turn()
            idle = idle + 1 if before == (len(self._arrived), len(self._server.channels)) else 0
            if idle == _IDLE_TURNS:
                break
