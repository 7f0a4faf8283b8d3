"""DeleteRecords, key 21, versions 0–2: the log start of partitions is moved up to an offset.

What Kafka does:

- A topic needs the right DELETE. Which topics there are is told only to those who have it.
- The leader moves its log start; the answer comes when all alive replicas have done so, or after `timeout_ms`.
- The offset −1 means the high watermark.

Versions: 2 has tagged fields.
"""

from collections.abc import Mapping
from typing import TypeAlias

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import DeleteRecordsRequest, DeleteRecordsResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.delayed_delete_records import INVALID_LOW_WATERMARK, DeleteRecordsPartitionResult
from minikafka.server.replica_manager import ReplicaManager

_Deleted: TypeAlias = dict[TopicPartition, DeleteRecordsPartitionResult]


class DeleteRecordsHandler:
    """Has records deleted where the client may do so. Kafka: `KafkaApis.handleDeleteRecordsRequest`."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
    ):
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel

    def handle_delete_records_request(self, request: Request) -> None:
        """Delete records below offsets; the answer comes when all alive replicas have done so.

        Kafka: `KafkaApis.handleDeleteRecordsRequest`.
        """
        body = request.body_of(DeleteRecordsRequest)
        unauthorized: _Deleted = {}
        non_existing: _Deleted = {}
        offsets: dict[TopicPartition, int] = {}
        allowed = self._auth_helper.filter_by_authorized(
            request, AclOperation.DELETE, ResourceType.TOPIC, (topic.name for topic in body.topics)
        )
        for topic in body.topics:
            for asked in topic.partitions:
                topic_partition = TopicPartition(topic.name, asked.partition_index)
                if topic.name not in allowed:
                    refusal = _refusal(asked.partition_index, Errors.TOPIC_AUTHORIZATION_FAILED)
                    unauthorized[topic_partition] = refusal
                elif not self._metadata_cache.contains(topic_partition):
                    refusal = _refusal(asked.partition_index, Errors.UNKNOWN_TOPIC_OR_PARTITION)
                    non_existing[topic_partition] = refusal
                else:
                    offsets[topic_partition] = asked.offset

        def send_response(deleted: Mapping[TopicPartition, DeleteRecordsPartitionResult]) -> None:
            response = _delete_records_response({**deleted, **unauthorized, **non_existing})
            self._request_channel.send_response(request, response)

        if not offsets:
            send_response({})
            return
        request.waits_for = "the log starts of the replicas of " + ", ".join(map(str, offsets))
        self._replica_manager.delete_records(body.timeout_ms, offsets, send_response)


def _refusal(index: int, error: Errors) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=INVALID_LOW_WATERMARK, error_code=error)


def _delete_records_response(results: Mapping[TopicPartition, DeleteRecordsPartitionResult]) -> DeleteRecordsResponse:
    """The results by topic."""
    make_topic = DeleteRecordsResponse.DeleteRecordsTopicResult
    by_topic = {key.topic: make_topic(name=key.topic) for key in results}
    for key, result in results.items():
        by_topic[key.topic].partitions.append(result)
    return DeleteRecordsResponse(topics=list(by_topic.values()))
