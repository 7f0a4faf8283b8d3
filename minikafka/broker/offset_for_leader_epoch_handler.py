"""OffsetForLeaderEpoch, key 23, versions 2–4: where leader epochs end in a leader's log.

What Kafka does:

- Who has the right CLUSTER_ACTION, as brokers have, asks about any topic; others about those that they may describe.
- Topics that may not be described get TOPIC_AUTHORIZATION_FAILED, and come last.

Versions: 3 has the replica id, 4 tagged fields.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.error_codes import Errors
from minikafka.messages.apis import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.replica_manager import ReplicaManager


class OffsetForLeaderEpochHandler:
    """Has ends of epochs found. Kafka: `KafkaApis.handleOffsetForLeaderEpochRequest`."""

    def __init__(self, replica_manager: ReplicaManager, auth_helper: AuthHelper, request_channel: RequestChannel):
        self._replica_manager = replica_manager
        self._auth_helper = auth_helper
        self._request_channel = request_channel

    def handle_offset_for_leader_epoch_request(self, request: Request) -> None:
        """Tell where leader epochs end. Brokers may ask about any topic, clients about those they may describe.

        Kafka: `KafkaApis.handleOffsetForLeaderEpochRequest`.
        """
        topics = request.body_of(OffsetForLeaderEpochRequest).topics
        allowed = {topic.topic for topic in topics}
        if not self._auth_helper.authorize(request, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER):
            allowed = self._auth_helper.filter_by_authorized(
                request, AclOperation.DESCRIBE, ResourceType.TOPIC, (topic.topic for topic in topics)
            )
        results = self._replica_manager.last_offset_for_leader_epoch(
            [topic for topic in topics if topic.topic in allowed]
        )
        refused = [_unauthorized_epochs(topic) for topic in topics if topic.topic not in allowed]
        self._request_channel.send_response(request, OffsetForLeaderEpochResponse(topics=[*results, *refused]))


def _unauthorized_epochs(
    topic: OffsetForLeaderEpochRequest.OffsetForLeaderTopic,
) -> OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult:
    make_topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    partitions = [
        make_topic.EpochEndOffset(partition=asked.partition, error_code=Errors.TOPIC_AUTHORIZATION_FAILED)
        for asked in topic.partitions
    ]
    return make_topic(topic=topic.topic, partitions=partitions)
