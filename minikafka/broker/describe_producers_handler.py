"""DescribeProducers, key 61, version 0: who produces to partitions, and since where a transaction is open.

What Kafka does:

- A topic needs the right READ, else TOPIC_AUTHORIZATION_FAILED; its name is checked before.
- Any broker with a replica of the partition answers out of its log; others say NOT_LEADER_OR_FOLLOWER.
"""

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common import topic as topic_names
from minikafka.common.api_error import ApiError
from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidTopicException
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import DescribeProducersRequest, DescribeProducersResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.replica_manager import ReplicaManager

TopicResponse = DescribeProducersResponse.TopicResponse
PartitionResponse = TopicResponse.PartitionResponse


class DescribeProducersHandler:
    """Answers DescribeProducers out of the logs of this broker. Kafka: `KafkaApis.handleDescribeProducersRequest`."""

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

    def handle_describe_producers_request(self, request: Request) -> None:
        """Answer for each partition. Kafka: `KafkaApis.handleDescribeProducersRequest`."""
        response = DescribeProducersResponse()
        for topic in request.body_of(DescribeProducersRequest).topics:
            error = self._topic_error(request, topic.name)
            partitions = [
                self._active_producer_state(TopicPartition(topic.name, index))
                if error is None
                else PartitionResponse(partition_index=index, error_code=error.error, error_message=error.message)
                for index in topic.partition_indexes
            ]
            response.topics.append(TopicResponse(name=topic.name, partitions=partitions))
        self._request_channel.send_response(request, response)

    def _topic_error(self, request: Request, name: str) -> ApiError | None:
        try:
            topic_names.validate(name)
        except InvalidTopicException as error:
            return ApiError.from_exception(error)
        if not self._auth_helper.authorize(request, AclOperation.READ, ResourceType.TOPIC, name):
            return ApiError.of(Errors.TOPIC_AUTHORIZATION_FAILED)
        if not self._metadata_cache.contains(name):
            return ApiError.of(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        return None

    def _active_producer_state(self, topic_partition: TopicPartition) -> PartitionResponse:
        """Kafka: `ReplicaManager.activeProducerState`."""
        found = self._replica_manager.active_producer_state(topic_partition)
        return PartitionResponse(
            partition_index=topic_partition.partition,
            error_code=found.error,
            active_producers=[PartitionResponse.ProducerState(**producer._asdict()) for producer in found.producers],
        )
