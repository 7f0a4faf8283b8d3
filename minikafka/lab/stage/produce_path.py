"""Produce requests on their way: to a leader, into its log, into a waiting place, and back.

The brokers and their controller are minikafka's own; the clock stands still, and followers fetch when they are let.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.cluster import PRODUCE_VERSION, Cluster
from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.lab.stage.workbench import NOON, scratch
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.network.request import Request
from minikafka.network.request_channel import Ticket
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

ALL = -1
_SETTINGS = {"replica.fetch.wait.max.ms": "0", "replica.fetch.backoff.ms": "0"}


@dataclass
class Posted:
    """A produce request: its `number`, from 1 on, its `acks` (−1: all), when its time is over (`timeout.ms` after it
    came, in ms since the beginning), and its answer, which may come later.
    """

    number: int
    acks: int
    deadline_ms: int
    request: Any
    answered_ms: int | None = None
    required: dict[str, int] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """What the producer has got so far: "waits", "nothing", "connection closed", or each partition's part."""
        if not self.request.done:
            return "waits"
        if not isinstance(self.request.result, bytes):
            return _WITHOUT_BYTES[self.request.result.name]
        return "; ".join(f"{name}: {part}" for name, part in sorted(self.parts.items()))

    @property
    def parts(self) -> dict[str, "Part"]:
        """The answer's part for each partition ("orders-0"). Raises IllegalStateException while there is no answer."""
        return {
            f"{topic.name}-{part.index}": Part(
                Errors(part.error_code).name, part.base_offset, part.log_start_offset, part.error_message
            )
            for topic in self.request.response.responses
            for part in topic.partition_responses
        }

    def __str__(self) -> str:
        when = "" if self.answered_ms is None else f" (at {self.answered_ms} ms)"
        return f"request {self.number}: {self.answer}{when}"

    __repr__ = __str__


@dataclass(frozen=True)
class Part:
    """What a response says of one partition; −1: unknown."""

    error: str
    base_offset: int
    log_start_offset: int
    message: str | None = None

    def __str__(self) -> str:
        return f"{self.error}, base offset {self.base_offset}" if self.error == "NONE" else self.error


class ProducePath:
    """Brokers 0 to `brokers` − 1, and the topic `orders`: broker 0 leads partitions 0 and 1, broker 1 leads partition
    2; each has a replica on every broker.

    `min_isr`: min.insync.replicas. `narrow`: the answer to a follower's fetch has room for one batch only (so small is
    `replica.fetch.response.max.bytes`): it brings a batch of one partition, and nothing of the others. Metadata reaches
    every broker at once. `posted`: all requests so far.
    """

    def __init__(self, brokers: int = 2, *, min_isr: int = 1, narrow: bool = False):
        settings = {**_SETTINGS, **({"replica.fetch.response.max.bytes": "1"} if narrow else {})}
        self.cluster = Cluster(scratch("cluster"), settings=settings, start_ms=NOON)
        self.posted: list[Posted] = []
        self._brokers = range(brokers)
        for broker in self._brokers:
            self.cluster.start(broker)
        first, *others = self._brokers
        away = [*others, first]
        replicas = [[*self._brokers], [*self._brokers], away]
        self.cluster.create_topic("orders", *replicas, min__insync__replicas=min_isr)

    # What happens

    def produce(self, *parts: tuple[str, Any], acks: int | str = "all", timeout_ms: int = 30_000) -> Posted:
        """A producer sends a request to broker 0: pairs of a partition ("orders-0") and its records.

        Records are values apart by spaces ("a b": one batch of two), a list of such texts for several batches, or
        bytes.
        """
        return self._sent(self.request(*parts, acks=acks, timeout_ms=timeout_ms), _acks(acks), timeout_ms)

    def request(self, *parts: tuple[str, Any], acks: int | str = "all", timeout_ms: int = 30_000) -> Any:
        """The body of the request that `produce` sends."""
        produce = request_class(ApiKeys.PRODUCE)
        topics: dict[str, list[Any]] = {}
        for name, records in parts:
            topic, _, index = name.rpartition("-")
            part = produce.TopicProduceData.PartitionProduceData(index=int(index), records=self._records(records))
            topics.setdefault(topic, []).append(part)
        data = [produce.TopicProduceData(name=topic, partition_data=found) for topic, found in topics.items()]
        return produce(acks=_acks(acks), timeout_ms=timeout_ms, topic_data=data)

    def arrived(self, *parts: tuple[str, Any], acks: int | str = "all") -> Any:
        """A request that has been read from its bytes and that nobody has handled: for `KafkaApis.handle`."""
        body = self.request(*parts, acks=acks)
        data = request_bytes(ApiKeys.PRODUCE, PRODUCE_VERSION, body, correlation_id=0, client_id="shop")
        return Request.parse(bytearray(data), Ticket().answer, arrived_ms=self.cluster.time.milliseconds())

    def fetch(self, *brokers: int) -> None:
        """Let each of these brokers fetch once from its leaders; without any, every broker."""
        for broker in brokers or self.cluster.brokers:
            self.cluster.follow(broker)
        self._look()

    def in_sync(self) -> None:
        """Let everybody fetch until all know what the others have."""
        for _ in range(3):
            self.fetch()

    def dies(self, broker: int) -> None:
        """A broker is killed, and the controller knows at once."""
        self.cluster.crash(broker)
        self.cluster.fence(broker)
        self._look()

    def starts(self, broker: int) -> None:
        """A broker that was killed starts again."""
        self.cluster.start(broker)
        self._look()

    def sleep(self, ms: int) -> None:
        """Let time pass, millisecond by millisecond."""
        for _ in range(ms):
            self.cluster.sleep(1)
            self._look()

    # What is seen

    @property
    def now_ms(self) -> int:
        """The ms since the beginning."""
        return self.cluster.time.milliseconds() - NOON

    def partition(self, name: str = "orders-0", broker: int = 0) -> Any:
        """A broker's `Partition`."""
        topic, _, index = name.rpartition("-")
        manager = self.cluster.brokers[broker].replica_manager
        return manager.get_partition_or_exception(TopicPartition(topic, int(index)))

    def log(self, name: str = "orders-0", broker: int = 0) -> Any:
        """A broker's log of a partition."""
        return self.partition(name, broker).log

    def values(self, name: str = "orders-0", broker: int = 0) -> list[str]:
        """The values of all records that a broker holds of a partition."""
        return [
            bytes(record.value).decode()
            for segment in self.log(name, broker).log_segments
            for batch in segment.log.batches()
            for record in batch
        ]

    def isr(self, name: str = "orders-0") -> list[int]:
        """The in-sync replicas by the controller."""
        topic, _, index = name.rpartition("-")
        return sorted(self.cluster.registration(topic, int(index)).isr)

    def _sent(self, body: Any, acks: int, timeout_ms: int) -> Posted:
        known = self._waiting_operations()
        request = self.cluster.send(0, ApiKeys.PRODUCE, PRODUCE_VERSION, body)
        posted = Posted(len(self.posted) + 1, acks, self.now_ms + timeout_ms, request)
        for operation in self._waiting_operations():
            if operation not in known:
                posted.required = {
                    str(key.topic_partition): status.required_offset for key, status in operation.produce_status
                }
        self.posted.append(posted)
        self._look()
        return posted

    def _waiting_operations(self) -> list[Any]:
        return self.cluster.brokers[0].replica_manager.delayed_produce_purgatory.delayed

    def _records(self, records: Any) -> Any:
        if isinstance(records, bytes | bytearray):
            return bytes(records)
        now = self.cluster.time.milliseconds()
        batches: Sequence[str] = [records] if isinstance(records, str) else records
        return b"".join(
            bytes(
                MemoryRecords.with_records(
                    Compression.NONE, *[SimpleRecord(now, None, value.encode()) for value in batch.split()]
                ).buffer
            )
            for batch in batches
        )

    def _look(self) -> None:
        """See who has been answered."""
        for posted in self.posted:
            if posted.answered_ms is None and posted.request.done:
                posted.answered_ms = self.now_ms


_WITHOUT_BYTES = {"NO_RESPONSE": "nothing", "CLOSE": "connection closed"}


def _acks(acks: int | str) -> int:
    return ALL if acks == "all" else int(acks)
