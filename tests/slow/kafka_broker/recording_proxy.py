"""Stands between clients and a broker, and keeps what the broker answers."""

import socket
import threading
from collections import deque
from typing import NamedTuple

from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import LARGEST_MESSAGE, RequestHeader, parse_response, response_sink
from tests.framed import answered, framed

_TELL_PORTS = (ApiKeys.METADATA, ApiKeys.DESCRIBE_CLUSTER, ApiKeys.FIND_COORDINATOR)


class Answered(NamedTuple):
    """An answer of the broker's, as it came."""

    api: ApiKeys
    version: int
    body: Message


class RecordingProxy:
    """Listens on a port of its own, which clients are told in place of the broker's.

    `answers` has all answers in the order in which they came. Each request must have one: with acks=0 there is none.
    """

    def __init__(self, broker_port):
        self._broker_port = broker_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.answers = []
        self._ends = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        for end in self._ends:
            end.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            broker = socket.create_connection(("127.0.0.1", self._broker_port))
            self._ends += client, broker
            asked = deque()
            threading.Thread(target=self._forward, args=(client, broker, asked.append), daemon=True).start()
            threading.Thread(target=self._answer, args=(broker, client, asked), daemon=True).start()

    def _forward(self, client, broker, note):
        while (request := _next_message(client)) is not None:
            note(RequestHeader.read(MessageBytes(request, limit=LARGEST_MESSAGE)))
            broker.sendall(framed(request))
        broker.close()

    def _answer(self, broker, client, asked):
        while (answer := _next_message(broker)) is not None:
            header = asked.popleft()
            _, body = parse_response(header.api_key, header.api_version, answer)
            if header.api_key in _TELL_PORTS:
                _, told = parse_response(header.api_key, header.api_version, answer)
                for node in [told] if header.api_key is ApiKeys.FIND_COORDINATOR else told.brokers:
                    node.port = self.port
                answer = bytes(response_sink(header, told))
            self.answers.append(Answered(header.api_key, header.api_version, body))
            client.sendall(framed(answer))
        client.close()


def _next_message(end):
    """None when the connection has ended."""
    try:
        return answered(end)
    except (EOFError, OSError):
        return None
