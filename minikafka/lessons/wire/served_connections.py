"""Connections for exercises: minikafka's sockets or Kafka's, moved through pieces and through time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minikafka.lab.exercises.asked import jvm_of
from minikafka.witness.connections.minikafka_server import MinikafkaServer
from minikafka.witness.connections.run import Server
from minikafka.witness.connections.workload import framed_request
from minikafka.witness.kafka.kafka_socket_server import KafkaSocketServer


@contextmanager
def served_by(factory: Any) -> Iterator[Server]:
    """The sockets of whoever opens logs with `factory`: Kafka's, if it has a JVM, else minikafka's."""
    kafka = jvm_of(factory)
    server: Server = MinikafkaServer() if kafka is None else KafkaSocketServer(kafka)
    try:
        yield server
    finally:
        server.let_go()


def whole_after(
    factory: Any, requests: Mapping[str, Sequence[int]], pieces: Sequence[tuple[str, int, int]]
) -> list[tuple[str, int, int]]:
    """After which piece each request is handed over, if all are answered at once: (connection, number, place).

    `requests`: the numbers of the requests of each connection in their order. `pieces`: connection, place, bytes.
    """
    streams = {name: b"".join(map(framed_request, numbers)) for name, numbers in requests.items()}
    found = []
    with served_by(factory) as server:
        for connection, place, count in sorted(pieces, key=lambda piece: piece[1]):
            data, streams[connection] = streams[connection][:count], streams[connection][count:]
            server.send(connection, data)
            while arrived := server.take_arrived():
                for name, number, _ in arrived:
                    found.append((name, number, place))
                    server.answer(number, "answer")
    return sorted(found)


def answered_at(factory: Any, requests: Sequence[tuple[str, int, int, int]]) -> list[tuple[str, int, int, int]]:
    """When each request is handed over and when it is answered: (connection, number, handed, answered), in ms.

    `requests`: connection, number, the ms at which its last byte arrives, and how many ms its work takes.
    """
    work = {number: ms for _, number, _, ms in requests}
    handed: dict[int, tuple[str, int]] = {}
    found: list[tuple[str, int, int, int]] = []
    with served_by(factory) as server:
        now = 0
        while len(found) < len(requests):
            for connection, number, whole_ms, _ in requests:
                if whole_ms == now:
                    server.send(connection, framed_request(number))
            done = True
            while done:
                handed |= {number: (name, now) for name, number, _ in server.take_arrived()}
                done = [number for number, (_, since) in handed.items() if since + work[number] <= now]
                for number in done:
                    name, since = handed.pop(number)
                    found.append((name, number, since, now))
                    server.answer(number, "answer")
            now += 1
    return sorted(found)
