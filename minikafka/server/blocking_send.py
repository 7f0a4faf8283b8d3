"""The connection of a follower to its leader."""

from typing import Protocol

from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.server.initial_fetch_state import BrokerEndPoint


class BlockingSend(Protocol):
    """Sends a request and waits for its answer. Kafka: `kafka.server.BlockingSend`."""

    @property
    def broker_end_point(self) -> BrokerEndPoint:
        """Whom the requests go to. Kafka: `BlockingSend.brokerEndPoint`."""

    def send_request(self, api_key: ApiKeys, version: int, body: Message) -> Message:
        """The body of the response to a request. Raises what has gone wrong on the way. Kafka: `.sendRequest`."""

    def initiate_close(self) -> None:
        """Let a request that is underway fail. Kafka: `BlockingSend.initiateClose`."""

    def close(self) -> None:
        """Close the connection. Kafka: `BlockingSend.close`."""
