"""Does a workload of connections on a broker's sockets, minikafka's or Kafka's, and notes what is seen."""

from typing import Any, Protocol

from minikafka.witness.connections.workload import ConnectionOperation, ConnectionWorkload
from minikafka.witness.observation import Observations

_SIZE = 4


class Server(Protocol):
    """Sockets of a broker, and their clients: `MinikafkaServer` and `KafkaSocketServer` are such."""

    def send(self, connection: str, data: bytes) -> None:
        """Let bytes arrive."""

    def answer(self, number: int, kind: str) -> None:
        """Answer a request."""

    def take_arrived(self) -> list[tuple[str, int, str]]:
        """What has been handed over since the last call: connection, correlation id, header in words."""

    def received(self, connection: str) -> tuple[bytes, bool]:
        """What a client can read, and whether its connection is open."""

    def let_go(self) -> None:
        """Close everything."""


class ConnectionRunner:
    """Applies operations to `server`. After each one, a row says:

    - `arrived`: the requests that the operation brought to the broker's handler, in words;
    - `in_work`: the numbers of all requests that are handled and not answered, sorted;
    - `answered`: for each connection the numbers of the answers that its client has got, in their order;
    - `open`: the connections that the broker has not closed.
    """

    def __init__(self, server: Server):
        self._server = server
        self._in_work: dict[int, str] = {}
        self._got: dict[str, bytes] = {}
        self._open: dict[str, bool] = {}

    def apply(self, operation: ConnectionOperation) -> dict[str, Any]:
        """Do one operation, and tell what is seen."""
        if operation.kind in ("send", "junk"):
            self._got.setdefault(operation.connection, b"")
            self._server.send(operation.connection, operation.data)
        elif operation.number in self._in_work:
            del self._in_work[operation.number]
            self._server.answer(operation.number, operation.kind)
        arrived = sorted(self._server.take_arrived())
        self._in_work |= {number: connection for connection, number, _ in arrived}
        for connection in self._got:
            data, self._open[connection] = self._server.received(connection)
            self._got[connection] += data
        closed = [name for name, is_open in self._open.items() if not is_open]
        self._in_work = {number: name for number, name in self._in_work.items() if name not in closed}
        return {
            "arrived": tuple(f"{number}: {words}" for _, number, words in arrived),
            "in_work": tuple(sorted(self._in_work)),
            "answered": tuple((name, answers_in(data)) for name, data in sorted(self._got.items())),
            "open": tuple(sorted(name for name, is_open in self._open.items() if is_open)),
        }

    def let_go(self) -> None:
        """Close the server."""
        self._server.let_go()


def answers_in(data: bytes) -> tuple[int, ...]:
    """The correlation ids of the answers in what a client has read."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + _SIZE])
        found.append(int.from_bytes(data[at + _SIZE : at + 2 * _SIZE], signed=True))
        at += _SIZE + size
    return tuple(found)


def run_connections(workload: ConnectionWorkload, server: Server, witness: str = "minikafka") -> Observations:
    """The table of what is seen after each operation; the server is let go."""
    runner = ConnectionRunner(server)
    try:
        return Observations(witness, workload, tuple(runner.apply(operation) for operation in workload))
    finally:
        runner.let_go()
