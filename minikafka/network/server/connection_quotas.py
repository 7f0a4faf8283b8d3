"""How many connections a broker takes: in all, through a listener, from an address."""

import socket
from collections import Counter

from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.network.server.socket_server_config import SocketServerConfig


class TooManyConnectionsException(KafkaException):
    """An address has as many connections as it may have. Kafka: `TooManyConnectionsException`."""

    def __init__(self, address: str, count: int):
        super().__init__(f"Too many connections from {address} (maximum = {count})")
        self.address = address
        self.count = count


class ConnectionQuotas:
    """Counts connections, and knows the limits.

    - A connection above the limit of its address is closed at once.
    - When the broker, or a listener, has as many as it may have, no further one is taken until one ends. The limit of
      the broker does not stop the listener of the other brokers, where it is not the only one: another connection goes.

    Simpler than Kafka: how fast connections come is not limited. Kafka: `ConnectionQuotas`.
    """

    def __init__(self, config: SocketServerConfig):
        """Raises KafkaException for an override of a host that nobody knows."""
        self._broker_max_connections = config.get_int("max.connections")
        self._max_connections_per_ip = config.get_int("max.connections.per.ip")
        self._overrides = {
            address: count
            for host, count in config.max_connections_per_ip_overrides.items()
            for address in _addresses_of(host)
        }
        self._max_of_listener = config.max_connections_of_listener
        self._inter_broker_listener_name = config.inter_broker_listener_name
        self._counts: Counter[str] = Counter()
        self._listener_counts: Counter[str] = Counter()
        self.total_count = 0
        """Connections that are open."""

    def inc(self, listener_name: str, address: str) -> None:
        """A connection from `address` is there; it counts until `dec`, also when it is one too many.

        Raises TooManyConnectionsException. Kafka: `ConnectionQuotas.inc`, when there is a slot.
        """
        count = self._counts[address]
        self._counts[address] += 1
        self._listener_counts[listener_name] += 1
        self.total_count += 1
        most = self._overrides.get(address, self._max_connections_per_ip)
        if count >= most:
            raise TooManyConnectionsException(address, most)

    def dec(self, listener_name: str, address: str) -> None:
        """A connection has ended. Raises IllegalArgumentException where there was none.

        Kafka: `ConnectionQuotas.dec`.
        """
        if self._counts[address] == 0:
            raise IllegalArgumentException(
                f"Attempted to decrease connection count for address with no connections, address: {address}"
            )
        self._counts[address] -= 1
        if self._counts[address] == 0:
            del self._counts[address]
        self._listener_counts[listener_name] -= 1
        self.total_count -= 1

    def get(self, address: str) -> int:
        """How many connections an address has. Kafka: `ConnectionQuotas.get`."""
        return self._counts[address]

    def connection_slot_available(self, listener_name: str) -> bool:
        """Whether a connection may be accepted. Kafka: `ConnectionQuotas.connectionSlotAvailable`."""
        if self._listener_counts[listener_name] >= self._max_of_listener[listener_name]:
            return False
        return self.total_count < self._broker_max_connections or self._is_protected(listener_name)

    @property
    def has_excess(self) -> bool:
        """Whether there are more connections than the broker may have: then one of some listener may have to go."""
        return self.total_count > self._broker_max_connections

    def max_connections_exceeded(self, listener_name: str) -> bool:
        """Whether a connection of this listener has to go. Kafka: `ConnectionQuotas.maxConnectionsExceeded`."""
        return self.has_excess and not self._is_protected(listener_name)

    def _is_protected(self, listener_name: str) -> bool:
        """Kafka: `ConnectionQuotas.protectedListener`."""
        return listener_name == self._inter_broker_listener_name and len(self._max_of_listener) > 1


def _addresses_of(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise KafkaException(f"max.connections.per.ip.overrides: {host}: {error.strerror}") from error
