"""Kafka's own `SocketServer` in a JVM: acceptor, processor, selector and channels; its requests wait for the caller.

It runs in threads of its own. After each step a ping on another connection goes through the same processor, a few times
over, so that whatever the step led to has happened.
"""

import contextlib
import select
import socket
import struct
import threading
import time
from typing import Any

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.witness.kafka.kafka_errors import kafka_errors

_HOST, _LISTENER = "127.0.0.1", "PLAINTEXT"
_SETTINGS = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": f"{_LISTENER}://{_HOST}:0",
    "advertised.listeners": f"{_LISTENER}://{_HOST}:9092",
    "num.network.threads": "1",
}
_PING, _PINGS, _BETWEEN_PINGS_S = -1, 3, 0.001
_PATIENCE_MS, _PATIENCE_S = 10_000, 10.0
_ON_ITS_WAY_S, _ANSWERED_S = 0.005, 1.0
"""How long bytes may take within this machine, and how long an answer that must come is waited for."""
_ROOM = 1 << 16


class KafkaSocketServer:
    """Connections to Kafka's `SocketServer`, of which each JVM has one: whoever makes another one of these waits until
    `let_go`. `minikafka.witness.connections.run` has the methods.
    """

    def __init__(self, kafka: KafkaJvm):
        self._kafka = kafka
        self._in_use = kafka.made_once("socket_server_in_use", threading.Lock)
        self._in_use.acquire()  # what comes to the one server must not be taken for another workload's
        self._server, self._port = kafka.made_once("socket_server", lambda: _started(kafka))
        self._channel = self._server.dataPlaneRequestChannel()
        self._clients: dict[str, socket.socket] = {}
        self._connections: dict[str, str] = {}  # by the id that the broker gives to a connection
        self._waiting: dict[int, tuple[str, Any]] = {}
        self._arrived: list[tuple[str, int, str]] = []
        self._pinging = self._connect()

    def send(self, connection: str, data: bytes) -> None:
        """Let bytes arrive on a connection; it is opened if there is none of that name."""
        if connection not in self._clients:
            self._clients[connection] = self._connect()
            self._ping(self._clients[connection])  # else a thread of its own may still be accepting it
            port = self._clients[connection].getsockname()[1]
            self._connections[f"{_HOST}:{port}"] = connection
        with contextlib.suppress(OSError):  # it has been closed
            self._clients[connection].sendall(data)
        _wait_until_delivered(self._clients[connection])
        self._settle()
        self._wait_for(connection, _ON_ITS_WAY_S / 5)

    def answer(self, number: int, kind: str) -> None:
        """Answer a request that waits: with its correlation id, without any bytes, or by closing the connection."""
        connection, request = self._waiting.pop(number, ("", None))
        if request is None:
            return
        with kafka_errors():
            if kind == "no_response":
                self._channel.sendNoOpResponse(request)
            elif kind == "close":
                self._channel.closeConnection(request, self._kafka.properties({}))
            else:
                self._respond(request)
        self._settle()
        if kind != "no_response":
            self._wait_for(connection, _ANSWERED_S)

    def take_arrived(self) -> list[tuple[str, int, str]]:
        """The requests that came since the last call: connection, correlation id, header in words."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def received(self, connection: str) -> tuple[bytes, bool]:
        """What the client of a connection can read now, and whether the connection is open."""
        client, found = self._clients[connection], b""
        client.setblocking(False)
        try:
            while piece := client.recv(_ROOM):
                found += piece
            return found, False
        except BlockingIOError:
            return found, True
        except ConnectionResetError:
            return found, False
        finally:
            client.setblocking(True)

    def let_go(self) -> None:
        """Close the connections. The server goes on for the next workload."""
        for client in (*self._clients.values(), self._pinging):
            client.close()
        self._in_use.release()

    def _connect(self) -> socket.socket:
        client = socket.create_connection((_HOST, self._port), timeout=_PATIENCE_S)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def _settle(self) -> None:
        """Let pings go through the processor, and take what comes before them and between them."""
        for _ in range(_PINGS):
            time.sleep(_BETWEEN_PINGS_S)
            self._ping(self._pinging)

    def _ping(self, client: socket.socket) -> None:
        body = request_class(ApiKeys.API_VERSIONS)()
        ping = request_bytes(ApiKeys.API_VERSIONS, 0, body, correlation_id=_PING, client_id=None)
        client.sendall(len(ping).to_bytes(4) + ping)
        while (request := self._next()).header().correlationId() != _PING:
            self._note(request)
        self._respond(request)
        _exactly(client, int.from_bytes(_exactly(client, 4)))

    def _wait_for(self, connection: str, seconds: float) -> None:
        """Wait until the client of a connection has something to read, or learns of its end."""
        select.select([self._clients[connection]], [], [], seconds)

    def _next(self) -> Any:
        request = self._channel.receiveRequest(_PATIENCE_MS)
        if request is None:
            raise TimeoutError("Kafka's SocketServer has handed over no request for ten seconds")
        return request

    def _note(self, request: Any) -> None:
        header = request.header()
        number = header.correlationId()
        words = f"{header.apiKey().name()} v{header.apiVersion()} of {header.clientId()!r}"
        client = request.context().connectionId().split("-")[1]  # of server-client-processor-index
        self._arrived.append((self._connections[client], number, words))
        self._waiting[number] = self._connections[client], request

    def _respond(self, request: Any) -> None:
        data = self._kafka.find_class("org.apache.kafka.common.message.ApiVersionsResponseData")()
        response = self._kafka.find_class("org.apache.kafka.common.requests.ApiVersionsResponse")(data)
        self._channel.sendResponse(request, response, self._kafka.find_class("scala.Option").empty())


def _started(kafka: KafkaJvm) -> tuple[Any, int]:
    """A running `SocketServer` on a port of its own."""
    java_class = kafka.find_class
    nothing = kafka.constant("scala.collection.immutable.Map$", "MODULE$").empty()
    nobody = kafka.constant("scala.collection.immutable.Nil$", "MODULE$")
    tokens = java_class("org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache")([])
    broker = kafka.constant("org.apache.kafka.common.message.ApiMessageType$ListenerType", "BROKER")
    with kafka_errors():
        server = java_class("kafka.network.SocketServer")(
            java_class("kafka.server.KafkaConfig")(kafka.properties(_SETTINGS), False),
            java_class("org.apache.kafka.common.metrics.Metrics")(),
            kafka.constant("org.apache.kafka.common.utils.Time", "SYSTEM"),
            java_class("org.apache.kafka.security.CredentialProvider")([], tokens),
            java_class("org.apache.kafka.server.SimpleApiVersionManager")(broker, False, None),
            kafka.constant("org.apache.kafka.server.ServerSocketFactory", "INSTANCE"),
            nobody,
        )
        server.enableRequestProcessing(nothing).get()
        listener = java_class("org.apache.kafka.common.network.ListenerName")(_LISTENER)
        return server, server.boundPort(listener)


def _wait_until_delivered(client: socket.socket) -> None:
    """Wait until what a client has sent lies in the broker's socket, as far as the system tells."""
    import fcntl  # neither is there in a browser, where this module is loaded and Kafka is not
    import termios

    deadline = time.monotonic() + _ON_ITS_WAY_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if not struct.unpack("i", fcntl.ioctl(client, termios.TIOCOUTQ, b"\0\0\0\0"))[0]:
                return


def _exactly(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = client.recv(count - len(found))
        if not piece:
            raise EOFError("Kafka has closed the connection of the pings")
        found += piece
    return found
