"""What a broker remembers of a reader that asks for the same partitions again and again."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.apis import FetchResponse

INVALID_PREFERRED_REPLICA_ID = -1
"""There is no replica that a consumer had better ask. Kafka: `FetchResponse.INVALID_PREFERRED_REPLICA_ID`."""

PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


class LastUsedKey(NamedTuple):
    """Sessions in the order in which they were last used (ms since 1970). Kafka: `FetchSession.LastUsedKey`."""

    last_used_ms: int
    id: int


class EvictableKey(NamedTuple):
    """Sessions by their value: those of consumers before those of followers, small ones before large ones.

    Kafka: `FetchSession.EvictableKey`.
    """

    privileged: bool
    size: int
    id: int


class CachedPartition:
    """A partition of a session: what the reader asked for last, and what it was told last.

    - A partition is told apart by its topic's id where requests have ids, and by its topic's name where they do not.
    - `topic` is "" as long as no topic has the id.
    - `high_watermark` and `local_log_start_offset` are those that the reader knows, −1 for unknown.

    Kafka: `FetchSession.CachedPartition`.
    """

    __slots__ = ("_request", "_partition", "high_watermark", "local_log_start_offset", "topic", "topic_id")

    def __init__(
        self, partition: TopicIdPartition, request: FetchRequestPartitionData, response: PartitionData | None = None
    ):
        """A partition that was asked for by `request`; the reader has got `response`, None if it has got nothing."""
        self.topic = partition.topic
        self.topic_id = partition.topic_id
        self._partition = partition.partition
        self._request = request
        self.high_watermark = -1 if response is None else response.high_watermark
        self.local_log_start_offset = -1 if response is None else response.log_start_offset

    @property
    def request(self) -> FetchRequestPartitionData:
        """What the reader asked for last. Kafka: `CachedPartition.reqData`."""
        return self._request

    @property
    def topic_id_partition(self) -> TopicIdPartition:
        """The partition, with its topic's name if that is known. Kafka: `IncrementalFetchContext.foreachPartition`."""
        return TopicIdPartition(self.topic_id, TopicPartition(self.topic, self._partition))

    def update_request_params(self, request: FetchRequestPartitionData) -> None:
        """The reader asks for something else in this partition. Kafka: `CachedPartition.updateRequestParams`."""
        self._request = request

    def maybe_resolve_unknown_name(self, name_of: Callable[[str], str | None]) -> None:
        """Look whether a topic has the id by now. Kafka: `CachedPartition.maybeResolveUnknownName`."""
        if not self.topic:
            self.topic = name_of(self.topic_id) or ""

    def maybe_update_response_data(self, response: PartitionData) -> bool:
        """Whether the reader must be told of `response`; if so, remember what it is told.

        Kafka: `CachedPartition.maybeUpdateResponseData`.
        """
        # 1. Records are always told.
        must_respond = bool(response.records)
        # 2. So are a high watermark and a log start that the reader does not know.
        if self.high_watermark != response.high_watermark:
            must_respond = True
            self.high_watermark = response.high_watermark
        if self.local_log_start_offset != response.log_start_offset:
            must_respond = True
            self.local_log_start_offset = response.log_start_offset
        # 3. So is another broker to read from.
        if response.preferred_read_replica != INVALID_PREFERRED_REPLICA_ID:
            must_respond = True
        # 4. So is an error. Behind it the partition is told again, whatever its high watermark is.
        if response.error_code != Errors.NONE:
            self.high_watermark = -1
            must_respond = True
        # 5. So is the place where a follower has to cut its log.
        return must_respond or response.diverging_epoch.epoch >= 0


class FetchSession:
    """The partitions that one reader asks for, in the order in which they are read next.

    - A request names only what has changed since the one before it, and an answer has only partitions of which there is
      something to tell.
    - `epoch` is the number that the next request must have.
    - A partition that had records goes to the end, so that a small answer does not always have the same partitions.
    - Whoever looks at a session or changes it holds `lock`.

    `privileged`: the reader is a follower. `uses_topic_ids`: its requests have ids in place of names. `creation_ms`,
    `last_used_ms`: ms since 1970. `cached_size`: the number of partitions when the session was last used.
    Kafka: `org.apache.kafka.server.FetchSession`.
    """

    def __init__(
        self,
        id: int,
        privileged: bool,
        partitions: Iterable[CachedPartition],
        uses_topic_ids: bool,
        creation_ms: int,
        epoch: int,
    ):
        self.id = id
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.creation_ms = creation_ms
        self.last_used_ms = creation_ms
        self.epoch = epoch
        self.lock = threading.RLock()
        self._partition_map = {_key(partition.topic_id_partition): partition for partition in partitions}
        self.cached_size = len(self._partition_map)

    def __len__(self) -> int:
        """The number of its partitions. Kafka: `FetchSession.size`."""
        return len(self._partition_map)

    @property
    def partitions(self) -> list[CachedPartition]:
        """Its partitions in their order. Kafka: `FetchSession.partitionMap`."""
        return list(self._partition_map.values())

    @property
    def last_used_key(self) -> LastUsedKey:
        """Its place among sessions that were not used for long. Kafka: `FetchSession.lastUsedKey`."""
        return LastUsedKey(self.last_used_ms, self.id)

    @property
    def evictable_key(self) -> EvictableKey:
        """Its place among sessions that may have to go. Kafka: `FetchSession.evictableKey`."""
        return EvictableKey(self.privileged, self.cached_size, self.id)

    def find(self, partition: TopicIdPartition) -> CachedPartition | None:
        """What is remembered of a partition, None for nothing. Kafka: `ImplicitLinkedHashCollection.find`."""
        return self._partition_map.get(_key(partition))

    def move_to_the_end(self, partition: TopicIdPartition) -> None:
        """Read this partition after all others. Kafka: `IncrementalFetchContext.PartitionIterator.hasNext`."""
        key = _key(partition)
        self._partition_map[key] = self._partition_map.pop(key)

    def update(
        self,
        fetch_data: Mapping[TopicIdPartition, FetchRequestPartitionData],
        to_forget: Iterable[TopicIdPartition],
    ) -> None:
        """Add and change partitions as a request says, then forget some. Kafka: `FetchSession.update`."""
        for partition, request in fetch_data.items():
            cached = self.find(partition)
            if cached is None:
                self._partition_map[_key(partition)] = CachedPartition(partition, request)
            else:
                cached.update_request_params(request)
        for partition in to_forget:
            self._partition_map.pop(_key(partition), None)

    def __str__(self) -> str:
        return f"fetch session {self.id} with {len(self)} partitions, epoch {self.epoch}"


def _key(partition: TopicIdPartition) -> tuple[str, str, int]:
    """What tells partitions of a session apart. Kafka: `CachedPartition.equals`."""
    by_name = partition.topic_id == ZERO_UUID
    return partition.topic_id, partition.topic if by_name else "", partition.partition
