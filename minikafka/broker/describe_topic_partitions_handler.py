"""DescribeTopicPartitions, key 75, version 0: the partitions of topics, page by page.

What Kafka does:

- Topics come in the order of their names. Those that may not be described come last if they were asked for by name, and
  are not told at all if all topics were.
- An answer has at most `max.request.partition.size.limit` partitions; its cursor says where the next one begins.
- Beside replicas and ISR it has the replicas that may lead next though they are not in the ISR.
"""

from collections.abc import Callable, Iterable

from minikafka.broker.auth_helper import AuthHelper
from minikafka.broker.authorizer import AclOperation, ResourceType
from minikafka.common import topic as topic_names
from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidRequestException, InvalidTopicException, NullPointerException
from minikafka.messages.apis import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from minikafka.metadata.metadata_cache import MetadataCache, PartitionMetadata
from minikafka.network.request import Request
from minikafka.network.request_channel import RequestChannel
from minikafka.server.broker_config import BrokerConfig

ResponseTopic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
ResponsePartition = ResponseTopic.DescribeTopicPartitionsResponsePartition
Cursor = DescribeTopicPartitionsResponse.Cursor


class DescribeTopicPartitionsHandler:
    """Answers DescribeTopicPartitions out of the broker's cache.

    Topics come in the order of their names; where an answer has no room for all of their partitions, its cursor says
    where the next one is to begin. Kafka: `kafka.server.handlers.DescribeTopicPartitionsRequestHandler`.
    """

    def __init__(
        self,
        metadata_cache: MetadataCache,
        auth_helper: AuthHelper,
        request_channel: RequestChannel,
        config: BrokerConfig,
    ):
        self._metadata_cache = metadata_cache
        self._auth_helper = auth_helper
        self._request_channel = request_channel
        self._most_partitions = config.get_int("max.request.partition.size.limit")

    def handle_describe_topic_partitions_request(self, request: Request) -> None:
        """Answer with the topics that were asked for, or all.

        Raises InvalidRequestException, and NullPointerException for a topic with an empty name, as Kafka does.

        Kafka: `DescribeTopicPartitionsRequestHandler.handleDescribeTopicPartitionsRequest`.
        """
        body = request.body_of(DescribeTopicPartitionsRequest)
        cursor, all_topics = body.cursor, not body.topics
        first = "" if cursor is None else cursor.topic_name
        # 1. Which topics are meant, from the cursor on?
        asked = self._metadata_cache.get_all_topics() if all_topics else {topic.name for topic in body.topics}
        topics = sorted(name for name in asked if name >= first)
        if cursor is not None and not all_topics and first not in topics:
            raise InvalidRequestException(
                f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {first}"
            )
        if cursor is not None and cursor.partition_index < 0:
            raise InvalidRequestException(
                "DescribeTopicPartitionsRequest cursor partition must be valid: "
                f"Cursor(topicName='{first}', partitionIndex={cursor.partition_index})"
            )

        def start_index_of(name: str) -> int:
            if name != first:
                return 0
            if cursor is None:
                raise NullPointerException("a topic with an empty name")
            return cursor.partition_index

        # 2. Which of them may be described? The existence of the others is not told.
        allowed = self._auth_helper.filter_by_authorized(request, AclOperation.DESCRIBE, ResourceType.TOPIC, topics)
        response = self._describe_topics(
            (name for name in topics if name in allowed),
            request.listener_name,
            start_index_of,
            max(min(self._most_partitions, body.response_partition_limit), 1),
            ignore_topics_with_exceptions=all_topics,
        )
        # 3. What may be done to them.
        for topic in response.topics:
            assert topic.name is not None
            topic.topic_authorized_operations = self._auth_helper.authorized_operations(
                request, ResourceType.TOPIC, topic.name
            )
        if not all_topics:
            response.topics += [
                ResponseTopic(name=name, error_code=Errors.TOPIC_AUTHORIZATION_FAILED)
                for name in topics
                if name not in allowed
            ]
        self._request_channel.send_response(request, response)

    def _describe_topics(
        self,
        topics: Iterable[str],
        listener_name: str,
        start_index_of: Callable[[str], int],
        most_partitions: int,
        *,
        ignore_topics_with_exceptions: bool,
    ) -> DescribeTopicPartitionsResponse:
        """Kafka: `KRaftMetadataCache.describeTopicResponse`."""
        response, remaining = DescribeTopicPartitionsResponse(), most_partitions
        for name in topics:
            if remaining == 0:
                response.next_cursor = Cursor(topic_name=name, partition_index=0)
                break
            found = self._metadata_cache.describe_partitions(name, listener_name, start_index_of(name), remaining)
            if found is None:
                if not ignore_topics_with_exceptions:
                    response.topics.append(_missing(name))
                continue
            partitions, next_index = found
            response.topics.append(
                ResponseTopic(
                    name=name,
                    topic_id=self._metadata_cache.get_topic_id(name),
                    is_internal=topic_names.is_internal(name),
                    partitions=[_described(partition) for partition in partitions],
                )
            )
            if next_index is not None:
                response.next_cursor = Cursor(topic_name=name, partition_index=next_index)
                break
            remaining -= len(partitions)
        return response


def _missing(name: str) -> ResponseTopic:
    try:
        topic_names.validate(name)
        error = Errors.UNKNOWN_TOPIC_OR_PARTITION
    except InvalidTopicException:
        error = Errors.INVALID_TOPIC_EXCEPTION
    return ResponseTopic(name=name, error_code=error, is_internal=topic_names.is_internal(name))


def _described(partition: PartitionMetadata) -> ResponsePartition:
    return ResponsePartition(
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replica_nodes),
        isr_nodes=list(partition.isr_nodes),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=list(partition.offline_replicas),
    )
