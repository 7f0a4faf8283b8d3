"""What a fetch request reads, and what its answer has: with a session, without one, or with one that is not there."""

import logging
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.time import Time
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import FetchResponse
from minikafka.server.fetch_metadata import INVALID_SESSION_ID, FetchMetadata, next_epoch
from minikafka.server.fetch_session import CachedPartition, FetchSession, PartitionData
from minikafka.server.fetch_session_cache import FetchSessionCache

logger = logging.getLogger(__name__)

FetchData: TypeAlias = Mapping[TopicIdPartition, FetchRequestPartitionData]
Updates: TypeAlias = dict[TopicIdPartition, PartitionData]


class FetchContext(Protocol):
    """One fetch request, from its partitions to its answer.

    Simpler than Kafka: nothing is throttled, so no answer is measured before it is made.
    Kafka: `org.apache.kafka.server.FetchContext`.
    """

    def partitions(self) -> list[tuple[TopicIdPartition, FetchRequestPartitionData]]:
        """What the request reads, in order. Kafka: `FetchContext.foreachPartition`."""

    def update_and_generate_response_data(
        self, updates: Updates, node_endpoints: list[FetchResponse.NodeEndpoint]
    ) -> FetchResponse:
        """The answer, out of what was found in each partition; the session remembers what its reader is told.

        Kafka: `FetchContext.updateAndGenerateResponseData`.
        """


class SessionErrorContext:
    """The request continues a session, and cannot. Kafka: `FetchContext.SessionErrorContext`."""

    def __init__(self, error: Errors):
        self._error = error

    def partitions(self) -> list[tuple[TopicIdPartition, FetchRequestPartitionData]]:
        return []

    def update_and_generate_response_data(
        self, updates: Updates, node_endpoints: list[FetchResponse.NodeEndpoint]
    ) -> FetchResponse:
        return _response(self._error, INVALID_SESSION_ID, {}, node_endpoints)


class SessionlessFetchContext:
    """The request has no session, and wants none. Kafka: `FetchContext.SessionlessFetchContext`."""

    def __init__(self, fetch_data: FetchData):
        self._fetch_data = fetch_data

    def partitions(self) -> list[tuple[TopicIdPartition, FetchRequestPartitionData]]:
        return list(self._fetch_data.items())

    def update_and_generate_response_data(
        self, updates: Updates, node_endpoints: list[FetchResponse.NodeEndpoint]
    ) -> FetchResponse:
        return _response(Errors.NONE, INVALID_SESSION_ID, updates, node_endpoints)


class FullFetchContext:
    """The request names all its partitions, and a session begins with its answer, if there is room for one.

    Kafka: `FetchContext.FullFetchContext`.
    """

    def __init__(
        self,
        time: Time,
        cache: FetchSessionCache,
        fetch_data: FetchData,
        uses_topic_ids: bool,
        is_from_follower: bool,
    ):
        self._time = time
        self._cache = cache
        self._fetch_data = fetch_data
        self._uses_topic_ids = uses_topic_ids
        self._is_from_follower = is_from_follower

    def partitions(self) -> list[tuple[TopicIdPartition, FetchRequestPartitionData]]:
        return list(self._fetch_data.items())

    def update_and_generate_response_data(
        self, updates: Updates, node_endpoints: list[FetchResponse.NodeEndpoint]
    ) -> FetchResponse:
        session_id = self._cache.get_next_cache_shard().maybe_create_session(
            self._time.milliseconds(),
            self._is_from_follower,
            self._uses_topic_ids,
            [CachedPartition(key, self._fetch_data[key], answer) for key, answer in updates.items()],
        )
        return _response(Errors.NONE, session_id, updates, node_endpoints)


class IncrementalFetchContext:
    """The request continues a session: all partitions of the session are read, and only news are told.

    `name_of(id)`: the name of a topic, None if no topic has the id. Kafka: `FetchContext.IncrementalFetchContext`.
    """

    def __init__(self, request_metadata: FetchMetadata, session: FetchSession, name_of: Callable[[str], str | None]):
        self._request_metadata = request_metadata
        self._session = session
        self._name_of = name_of

    def partitions(self) -> list[tuple[TopicIdPartition, FetchRequestPartitionData]]:
        with self._session.lock:
            cached = self._session.partitions
            if self._session.uses_topic_ids:
                for partition in cached:
                    partition.maybe_resolve_unknown_name(self._name_of)
            return [(partition.topic_id_partition, partition.request) for partition in cached]

    def update_and_generate_response_data(
        self, updates: Updates, node_endpoints: list[FetchResponse.NodeEndpoint]
    ) -> FetchResponse:
        session = self._session
        with session.lock:
            # 1. While this request waited, another one may have continued the session.
            expected_epoch = next_epoch(self._request_metadata.epoch)
            if session.epoch != expected_epoch:
                logger.info("%s: expected epoch %d. Possible duplicate request", session, expected_epoch)
                return _response(Errors.INVALID_FETCH_SESSION_EPOCH, session.id, {}, node_endpoints)
            # 2. Only what the reader does not know.
            news = {key: answer for key, answer in updates.items() if self._is_news(key, answer)}
            return _response(Errors.NONE, session.id, news, node_endpoints)

    def _is_news(self, key: TopicIdPartition, answer: PartitionData) -> bool:
        """Kafka: `IncrementalFetchContext.PartitionIterator.hasNext`."""
        cached = self._session.find(key)
        if cached is None or not cached.maybe_update_response_data(answer):
            return False
        if answer.records:
            self._session.move_to_the_end(key)
        return True


def _response(
    error: Errors, session_id: int, answers: Updates, node_endpoints: list[FetchResponse.NodeEndpoint]
) -> FetchResponse:
    """The partitions in their order; those of one topic that follow each other are together.

    Kafka: `FetchResponse.of`, `FetchResponse.toMessage`.
    """
    make_topic = FetchResponse.FetchableTopicResponse
    topics: list[FetchResponse.FetchableTopicResponse] = []
    for key, answer in answers.items():
        last = topics[-1] if topics else None
        if last is None or not _is_of(last, key):
            last = make_topic(topic=key.topic, topic_id=key.topic_id)
            topics.append(last)
        last.partitions.append(answer)
    return FetchResponse(error_code=error, session_id=session_id, responses=topics, node_endpoints=node_endpoints)


def _is_of(topic: FetchResponse.FetchableTopicResponse, key: TopicIdPartition) -> bool:
    """Whether the partition belongs to the topic, by the id if there is one."""
    return topic.topic_id == key.topic_id if topic.topic_id != ZERO_UUID else topic.topic == key.topic
