"""ListOffsets, key 2, versions 1–11: which offset of a partition belongs to a timestamp, or to a special one.

What Kafka does:

- Topics that the client may not describe get TOPIC_AUTHORIZATION_FAILED, the others go to the replica manager.
- A partition that is named twice gets INVALID_REQUEST. A consumer asks the leader, a replica id of −2 any replica.
- Timestamps below zero are special: −1 asks for the end of what the reader may see, −2 for the log start.

Versions: 2 has the isolation level, 4 leader epochs, 6 tagged fields, 7 the largest timestamp (−3), 8 the local log
start (−4), 9 the last offset in remote storage (−5), 10 a timeout for remote storage, 11 the first offset that waits
for its upload (−6).
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import ListOffsetsRequest, ListOffsetsResponse
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.replica_manager import ReplicaManager


class ListOffsetsHandler:
    """Has offsets found for topics that may be described. Kafka: `KafkaApis.handleListOffsetRequest`."""

    def __init__(self, replica_manager: ReplicaManager, auth_helper: AuthHelper, request_channel: RequestChannel):
        self._replica_manager = replica_manager
        self._auth_helper = auth_helper
        self._request_channel = request_channel

    def handle_list_offset_request(self, request: Request) -> None:
        """Find offsets by timestamps. Kafka: `KafkaApis.handleListOffsetRequest`."""
        body = request.body_of(ListOffsetsRequest)
        allowed = self._auth_helper.filter_by_authorized(
            request, AclOperation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in body.topics)
        )
        authorized = [topic for topic in body.topics if topic.name in allowed]
        refused = [_unauthorized_offsets(topic) for topic in body.topics if topic.name not in allowed]

        def send_response(found: list[ListOffsetsResponse.ListOffsetsTopicResponse]) -> None:
            self._request_channel.send_response(request, ListOffsetsResponse(topics=[*found, *refused]))

        if not authorized:
            send_response([])
            return
        self._replica_manager.fetch_offset(
            authorized,
            _duplicate_partitions(body.topics),
            IsolationLevel(body.isolation_level),
            body.replica_id,
            request.header.api_version,
            send_response,
        )


def _duplicate_partitions(topics: list[ListOffsetsRequest.ListOffsetsTopic]) -> set[TopicPartition]:
    """The partitions that are named more than once. Kafka: `ListOffsetsRequest.duplicatePartitions`."""
    seen: set[TopicPartition] = set()
    twice: set[TopicPartition] = set()
    for topic in topics:
        for asked in topic.partitions:
            topic_partition = TopicPartition(topic.name, asked.partition_index)
            (twice if topic_partition in seen else seen).add(topic_partition)
    return twice


def _unauthorized_offsets(
    topic: ListOffsetsRequest.ListOffsetsTopic,
) -> ListOffsetsResponse.ListOffsetsTopicResponse:
    make_topic = ListOffsetsResponse.ListOffsetsTopicResponse
    partitions = [
        make_topic.ListOffsetsPartitionResponse(
            partition_index=asked.partition_index, error_code=Errors.TOPIC_AUTHORIZATION_FAILED
        )
        for asked in topic.partitions
    ]
    return make_topic(name=topic.name, partitions=partitions)
