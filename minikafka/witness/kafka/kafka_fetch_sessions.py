"""Kafka's own fetch sessions: its `FetchManager`, with a cache of one shard, in a JVM."""

from collections.abc import Callable, Sequence
from typing import Any

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.sessions.fetch_sessions import TOPIC, VERSION, Found, SessionAnswer

_SERVER = "org.apache.kafka.server"
_SLOTS, _EVICTION_MS, _INT_MAX = 8, 120_000, 2**31 - 1
_DATA = "org.apache.kafka.common.message.FetchResponseData"


class KafkaFetchSessions:
    """A new `FetchManager` without any session."""

    def __init__(self, kafka: KafkaJvm):
        self._kafka = kafka
        self._find = find = kafka.find_class
        shard = find(f"{_SERVER}.FetchSessionCacheShard")(_SLOTS, _EVICTION_MS, _INT_MAX, 0)
        cache = find(f"{_SERVER}.FetchSession$FetchSessionCache")([shard])
        self._no_id = kafka.constant("org.apache.kafka.common.Uuid", "ZERO_UUID")
        clock = kafka.constant("org.apache.kafka.common.utils.Time", "SYSTEM")
        self._manager = find(f"{_SERVER}.FetchManager")(clock, cache)

    def fetch(
        self, session_id: int, epoch: int, named: Sequence[int], forgotten: Sequence[int], find: Callable[[int], Found]
    ) -> SessionAnswer:
        """See `FetchSessions.fetch`. Kafka: `FetchManager.newContext`, `FetchContext.updateAndGenerateResponseData`."""
        new = self._find
        with kafka_errors():
            fetch_data, updates = (new("java.util.LinkedHashMap")() for _ in range(2))
            of_partition = new("org.apache.kafka.common.requests.FetchRequest$PartitionData")
            for each in named:
                asked = of_partition(self._no_id, 0, 0, 1, self._kafka.optional(None))
                fetch_data.put(self._key(each), asked)
            to_forget = new("java.util.ArrayList")()
            for each in forgotten:
                to_forget.add(self._key(each))
            metadata = new("org.apache.kafka.common.requests.FetchMetadata")(session_id, epoch)
            names = new("java.util.HashMap")()
            context = self._manager.newContext(VERSION, metadata, False, fetch_data, to_forget, names)
            read = _Read()
            context.foreachPartition(read)
            for each in read.order:
                updates.put(self._key(each), self._data(each, find(each)))
            answer = context.updateAndGenerateResponseData(updates, new("java.util.ArrayList")()).data()
            told = tuple(each.partitionIndex() for topic in answer.responses() for each in topic.partitions())
            return SessionAnswer(answer.sessionId(), answer.errorCode(), told, tuple(read.order))

    def _key(self, partition: int) -> Any:
        topic_partition = self._find("org.apache.kafka.common.TopicPartition")(TOPIC, partition)
        return self._find("org.apache.kafka.common.TopicIdPartition")(self._no_id, topic_partition)

    def _data(self, partition: int, found: Found) -> Any:
        data = self._find(f"{_DATA}$PartitionData")()
        data.setPartitionIndex(partition).setErrorCode(found.error).setPreferredReadReplica(found.replica)
        data.setHighWatermark(found.high_watermark).setLogStartOffset(found.log_start)
        data.setRecords(self._kafka.records(found.data))
        if found.is_cut:
            data.setDivergingEpoch(self._find(f"{_DATA}$EpochEndOffset")().setEpoch(0).setEndOffset(0))
        return data


class _Read:
    """A Java `BiConsumer` that notes which partitions a fetch reads."""

    def __init__(self) -> None:
        self.order: list[int] = []

    def accept(self, partition: Any, request: Any) -> None:
        self.order.append(partition.partition())

    class Java:
        implements = ["java.util.function.BiConsumer"]
