"""The broker that a test works with, in this process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from minikafka.broker.broker_server import BrokerServer
from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalStateException, UnknownTopicOrPartitionException
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import ProduceRequest, ProduceResponse
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes
from minikafka.network.request import NoBytes
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.testing.injected_answers import Injected, InjectedAnswers
from minikafka.testing.moved_clock import MovedClock

_PRODUCE_VERSION = 12  # the last one that names topics
_MOST_BYTES = 64 << 20  # that `records` reads at a time


class Kept(NamedTuple):
    """A record that the broker has. `timestamp`: ms since 1970."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


KeyAndValue = tuple[bytes | None, bytes | None]


class Node(Protocol):
    """A broker that runs, from `start` to `stop` or `kill`. What each method raises, `Broker` tells."""

    def start(self) -> tuple[str, int]:
        """Start; host and port of the broker."""

    def stop(self) -> None:
        """Stop in order."""

    def kill(self) -> None:
        """End as kill -9 does."""

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Make a topic."""

    def has_topic(self, name: str) -> bool:
        """Whether there is such a topic."""

    def append(self, topic: str, partition: int, records: Sequence[KeyAndValue], timestamp_ms: int | None) -> int:
        """Append one batch; the offset of its first record."""

    def records(self, topic: str, partition: int) -> list[Kept]:
        """All records of a partition."""

    def answer(self, api: ApiKeys, what: Injected, times: int | None) -> None:
        """Inject an answer."""

    def delay(self, api: ApiKeys, ms: int, times: int | None) -> None:
        """Hold answers back."""

    def clear_injected(self) -> None:
        """Inject and delay nothing any more."""

    def advance(self, ms: int) -> None:
        """Move the clock, and let what is due be done."""

    def now_ms(self) -> int:
        """What the clock shows."""


class LocalNode:
    """A broker in this process: a `BrokerServer` with a clock that can be moved and answers that can be injected."""

    def __init__(self, directory: Path, settings: Mapping[str, str], clock_ms: int | None):
        self._clock = MovedClock(clock_ms)
        self._injected = InjectedAnswers()
        self._server = BrokerServer(
            [directory], settings, time=self._clock, log_time=self._clock.of_the_logs, around=self._injected.around
        )

    def start(self) -> tuple[str, int]:
        self._server.start()
        endpoint = self._server.endpoints[0]
        return endpoint.host, endpoint.port

    def stop(self) -> None:
        self._server.stop()

    def kill(self) -> None:
        self._server.kill()

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str]) -> None:
        server = self._up
        assert server.controller is not None
        topic = creatable_topic(name, partitions, 1, configs=dict(settings))
        [result] = server.controller.create_topics([topic])
        _raise_if_failed(Errors(result.error_code), result.error_message)
        server.publish()

    def has_topic(self, name: str) -> bool:
        controller = self._up.controller
        assert controller is not None
        return controller.image.topics.get_topic(name) is not None

    def append(self, topic: str, partition: int, records: Sequence[KeyAndValue], timestamp_ms: int | None) -> int:
        written_ms = self.now_ms() if timestamp_ms is None else timestamp_ms
        batch = MemoryRecords.with_records(
            CompressionType.NONE, *(SimpleRecord(written_ms, key, value) for key, value in records)
        )
        of_topic = ProduceRequest.TopicProduceData
        part = of_topic.PartitionProduceData(index=partition, records=bytes(batch.buffer))
        body = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[of_topic(name=topic, partition_data=[part])])
        request = request_bytes(
            ApiKeys.PRODUCE, _PRODUCE_VERSION, body, correlation_id=0, client_id="minikafka.testing"
        )
        broker = self._up.broker
        assert broker is not None
        answer = broker.handle(bytearray(request)).result
        assert not isinstance(answer, NoBytes)
        response = parse_response(ApiKeys.PRODUCE, _PRODUCE_VERSION, answer)[1]
        assert isinstance(response, ProduceResponse)
        told = response.responses[0].partition_responses[0]
        _raise_if_failed(Errors(told.error_code), told.error_message)
        return told.base_offset

    def records(self, topic: str, partition: int) -> list[Kept]:
        broker = self._up.broker
        assert broker is not None
        log = broker.log_manager.get_log(TopicPartition(topic, partition))
        if log is None:
            raise UnknownTopicOrPartitionException(f"{topic}-{partition}")
        found: list[Kept] = []
        offset = start = log.log_start_offset
        while offset < log.log_end_offset:
            for batch in log.read(offset, max_length=_MOST_BYTES).records.batches():
                offset = batch.next_offset
                if not batch.is_control_batch:
                    found += [Kept(each.offset, each.timestamp, each.key, each.value) for each in batch]
        return [each for each in found if each.offset >= start]  # which may lie inside a batch

    def answer(self, api: ApiKeys, what: Injected, times: int | None) -> None:
        self._injected.answer(api, what, times)

    def delay(self, api: ApiKeys, ms: int, times: int | None) -> None:
        self._injected.delay(api, ms, times)

    def clear_injected(self) -> None:
        self._injected.clear()

    def advance(self, ms: int) -> None:
        server = self._up
        self._clock.move(ms)
        server.run_due_tasks()

    def now_ms(self) -> int:
        return self._clock.milliseconds()

    @property
    def _up(self) -> BrokerServer:
        """The server, which has not ended by itself. Raises IllegalStateException."""
        if self._server.fatal is not None:
            raise IllegalStateException(f"The broker has ended by itself: {self._server.fatal}")
        return self._server


def _raise_if_failed(error: Errors, message: str | None) -> None:
    if error is not Errors.NONE:
        exception = error.exception(message)
        assert exception is not None
        raise exception
