"""ConsumerGroupHeartbeat, key 68, versions 0–1: a member of a group of the new protocol is alive.

What Kafka does:

- Where `group.coordinator.rebalance.protocols` has no `consumer`, everybody is answered UNSUPPORTED_VERSION. So here.
- Who may not read the group gets GROUP_AUTHORIZATION_FAILED.
- The coordinator answers with what the member has to read.

The API is named all the same: librdkafka, where it finds the coordinator but not this API, waits without a word.

Versions: 1 may subscribe by a pattern, and lets the member choose its id.
"""

from minikafka.common.error_codes import Errors
from minikafka.messages.apis import ConsumerGroupHeartbeatResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel


class ConsumerGroupHeartbeatHandler:
    """Refuses every member. Kafka: `KafkaApis.handleConsumerGroupHeartbeat`."""

    def __init__(self, request_channel: RequestChannel):
        self._request_channel = request_channel

    def handle_consumer_group_heartbeat(self, request: Request) -> None:
        """Say that no groups are served. Kafka: `KafkaApis.handleConsumerGroupHeartbeat`."""
        text = "this broker serves no groups: assign the partitions and turn auto commit off"
        response = ConsumerGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION, error_message=text)
        self._request_channel.send_response(request, response)
