"""The connection of a follower to a leader in the same process."""

import itertools
from collections.abc import Callable
from typing import Protocol

from minikafka.common.errors import IllegalStateException
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes
from minikafka.server.delayed_fetch import DelayedFetch
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.initial_fetch_state import BrokerEndPoint


class Answer(Protocol):
    """What has become of a request: `result` is the bytes of the response once it is `done`."""

    @property
    def done(self) -> bool: ...

    @property
    def result(self) -> object: ...


class FetchPurgatory(Protocol):
    """Where the leader lets fetches wait. Kafka: `ReplicaManager.delayedFetchPurgatory`."""

    @property
    def delayed_fetch_purgatory(self) -> DelayedOperationPurgatory[DelayedFetch]: ...


class Peer(Protocol):
    """A broker in this process."""

    @property
    def replica_manager(self) -> FetchPurgatory: ...

    def handle(self, request: bytes) -> Answer:
        """Take a request, header and body; it may be answered later. Kafka: `KafkaApis.handle`."""


class InProcessSend:
    """Hands the bytes of a request to the leader, in the caller's thread, and takes those of the response back.

    A fetch that the leader lets wait for data is answered all the same, as if its wait were over and nothing had come:
    while this thread waited, nothing could happen. The clock does not move for that.

    It stands where a connection does between two processes. Kafka: `kafka.server.BrokerBlockingSender`.
    """

    def __init__(self, broker_end_point: BrokerEndPoint, client_id: str, find_peer: Callable[[int], Peer | None]):
        """`find_peer(broker_id)`: the broker that has this id at the time, None if it is down."""
        self.broker_end_point = broker_end_point
        self._client_id = client_id
        self._find_peer = find_peer
        self._correlation_ids = itertools.count()

    def send_request(self, api_key: ApiKeys, version: int, body: Message) -> Message:
        """The body of the response to a request. Raises ConnectionError when the broker is down, and
        IllegalStateException for a request that it leaves without an answer.

        Kafka: `BrokerBlockingSender.sendRequest`.
        """
        # 1. The request as bytes, as it would be on a wire.
        request = request_bytes(
            api_key, version, body, correlation_id=next(self._correlation_ids), client_id=self._client_id
        )
        leader = self._find_peer(self.broker_end_point.id)
        if leader is None:
            raise ConnectionError(f"Connection to broker {self.broker_end_point.id} failed.")
        # 2. The leader handles it. What waits after that and did not before is this request.
        purgatory = leader.replica_manager.delayed_fetch_purgatory
        waiting = set(purgatory.delayed)
        answer = leader.handle(request)
        if not answer.done:
            for operation in purgatory.delayed:
                if operation not in waiting:
                    operation.force_complete()
        # 3. The response.
        if not answer.done or not isinstance(answer.result, bytes | bytearray | memoryview):
            raise IllegalStateException(f"Broker {self.broker_end_point.id} did not answer a request of {api_key.name}")
        return parse_response(api_key, version, answer.result)[1]

    def initiate_close(self) -> None:
        """Nothing is underway when this can be called. Kafka: `BrokerBlockingSender.initiateClose`."""

    def close(self) -> None:
        """There is nothing to close. Kafka: `BrokerBlockingSender.close`."""
