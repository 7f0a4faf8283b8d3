"""The connection of a follower to a leader in another process, or another loop of sockets."""

import itertools
import socket
from contextlib import suppress

from minikafka.common.errors import IllegalStateException
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.initial_fetch_state import BrokerEndPoint

_SIZE = 4


class BrokerBlockingSender:
    """Sends requests over TCP, one at a time, in the thread of a fetcher, which waits for each answer.

    The connection is made by the first request, and anew by the next one after a failure.

    Simpler than Kafka: no SSL and SASL; versions are those of this minikafka, and the leader is not asked for its own.
    Kafka: `kafka.server.BrokerBlockingSender`.
    """

    def __init__(self, broker_end_point: BrokerEndPoint, client_id: str, config: BrokerConfig):
        self.broker_end_point = broker_end_point
        self._client_id = client_id
        self._timeout_s = config.get_int("replica.socket.timeout.ms") / 1000
        self._correlation_ids = itertools.count()
        self._socket: socket.socket | None = None
        self._is_closed = False

    def send_request(self, api_key: ApiKeys, version: int, body: Message) -> Message:
        """The body of the response to a request.

        Raises OSError where the leader cannot be reached, does not answer in `replica.socket.timeout.ms`, or closes the
        connection, and IllegalStateException for an answer to something else. Kafka: `.sendRequest`.
        """
        correlation_id = next(self._correlation_ids)
        request = request_bytes(api_key, version, body, correlation_id=correlation_id, client_id=self._client_id)
        try:
            connection = self._connected()
            connection.sendall(len(request).to_bytes(_SIZE) + request)
            size = int.from_bytes(_received(connection, _SIZE))
            answered, response = parse_response(api_key, version, bytes(_received(connection, size)))
            if answered != correlation_id:
                raise IllegalStateException(f"Request {correlation_id} was answered as {answered}")
            return response
        except BaseException:
            self._disconnect()
            raise

    def initiate_close(self) -> None:
        """Let a request that is underway fail, from another thread, and every later one.

        Kafka: `BrokerBlockingSender.initiateClose`.
        """
        self._is_closed = True
        if (connection := self._socket) is not None:
            with suppress(OSError):  # the leader has gone
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection. Kafka: `BrokerBlockingSender.close`."""
        self._is_closed = True
        self._disconnect()

    def _connected(self) -> socket.socket:
        if self._socket is None:
            address = self.broker_end_point.host, self.broker_end_point.port
            self._socket = socket.create_connection(address, self._timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._is_closed:
            raise ConnectionError(f"The connection to broker {self.broker_end_point.id} was closed")
        return self._socket

    def _disconnect(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()


def _received(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    room = memoryview(data)
    while room:
        count = connection.recv_into(room)
        if count == 0:
            raise ConnectionError("The leader has closed the connection")
        room = room[count:]
    return data
