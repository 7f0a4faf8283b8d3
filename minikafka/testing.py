"""A broker for tests of programs that talk to Kafka: it is up in milliseconds, in the process of the test.

    from minikafka.testing import Broker

    with Broker(topics={"orders": 2}) as broker:
        broker.append("orders", 0, b"first", b"second")
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, ...)

Groups and transactions are missing: consumers `assign` their partitions, and commit nothing (librdkafka needs
`enable.auto.commit=false`, or its consumer's `close` waits for a coordinator for most of a minute).
"""

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

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

_PRODUCE_VERSION = 12  # the last one that names topics
_MOST_BYTES = 64 << 20  # that `records` reads at a time


class Kept(NamedTuple):
    """A record that the broker has. `timestamp`: ms since 1970."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Broker:
    """A broker of one node on a free port of this machine, and what a test wants of it.

    - `stop` and `start` it, or `kill` it, as often as you like: topics and records are there again, at another port
      unless one was given.
    - `directory` holds the files that Kafka would have written. One of its own is deleted at the end of the block.
    - Topics that a client names are made, as by Kafka's default; `{"auto.create.topics.enable": "false"}` forbids it.
    """

    def __init__(
        self,
        directory: Path | str | None = None,
        *,
        topics: Mapping[str, int] | None = None,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
    ):
        """A broker that has not started. `topics`: the number of partitions, by name; `settings`: by Kafka's names."""
        self._temporary = directory is None
        self.directory = Path(tempfile.mkdtemp(prefix="minikafka-")) if directory is None else Path(directory)
        self._topics = dict(topics or {})
        self._settings = {"listeners": f"PLAINTEXT://127.0.0.1:{port}", **(settings or {})}
        self._server: BrokerServer | None = None

    def __enter__(self) -> "Broker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            self.stop()
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect. Raises IllegalStateException while the broker is down."""
        endpoint = self._running().endpoints[0]
        return f"{endpoint.host}:{endpoint.port}"

    def start(self) -> None:
        """Start it, and make the topics that are missing. Raises what `BrokerServer.start` raises."""
        server = BrokerServer([self.directory], self._settings)
        server.start()
        self._server = server
        for name, partitions in self._topics.items():
            assert server.controller is not None
            if server.controller.image.topics.get_topic(name) is None:
                self.create_topic(name, partitions)

    def stop(self) -> None:
        """Stop it in order. Raises IllegalStateException when it is down."""
        server, self._server = self._running(), None
        server.stop()

    def kill(self) -> None:
        """End it as kill -9 does: nothing more is written. Raises IllegalStateException when it is down."""
        server, self._server = self._running(), None
        server.kill()

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic. Raises what a client would be told: TopicExistsException, InvalidConfigurationException, …"""
        server = self._running()
        assert server.controller is not None
        topic = creatable_topic(name, partitions, 1, configs=dict(settings or {}))
        [result] = server.controller.create_topics([topic])
        _raise_if_failed(Errors(result.error_code), result.error_message)
        server.publish()

    def append(self, topic: str, partition: int, *values: bytes | None, key: bytes | None = None) -> int:
        """Append records with these values as one batch, as a producer does; the offset of the first one.

        Raises what a producer would be told, such as UnknownTopicOrPartitionException.
        """
        now_ms = time.time_ns() // 1_000_000
        records = [SimpleRecord(now_ms, key, value) for value in values]
        batch = MemoryRecords.with_records(CompressionType.NONE, *records)
        of_topic = ProduceRequest.TopicProduceData
        part = of_topic.PartitionProduceData(index=partition, records=bytes(batch.buffer))
        body = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[of_topic(name=topic, partition_data=[part])])
        broker = self._running().broker
        assert broker is not None
        request = request_bytes(
            ApiKeys.PRODUCE, _PRODUCE_VERSION, body, correlation_id=0, client_id="minikafka.testing"
        )
        answer = broker.handle(bytearray(request)).result
        assert not isinstance(answer, NoBytes)
        response = parse_response(ApiKeys.PRODUCE, _PRODUCE_VERSION, answer)[1]
        assert isinstance(response, ProduceResponse)
        told = response.responses[0].partition_responses[0]
        _raise_if_failed(Errors(told.error_code), told.error_message)
        return told.base_offset

    def records(self, topic: str, partition: int) -> list[Kept]:
        """All records of a partition, in order. Raises UnknownTopicOrPartitionException."""
        broker = self._running().broker
        assert broker is not None
        log = broker.log_manager.get_log(TopicPartition(topic, partition))
        if log is None:
            raise UnknownTopicOrPartitionException(f"{topic}-{partition}")
        found: list[Kept] = []
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            for batch in log.read(offset, max_length=_MOST_BYTES).records.batches():
                offset = batch.next_offset
                if not batch.is_control_batch:
                    found += [Kept(each.offset, each.timestamp, each.key, each.value) for each in batch]
        return found

    def _running(self) -> BrokerServer:
        if self._server is None:
            raise IllegalStateException("The broker is down: start it, or use it inside the `with` block")
        return self._server


def _raise_if_failed(error: Errors, message: str | None) -> None:
    if error is not Errors.NONE:
        exception = error.exception(message)
        assert exception is not None
        raise exception
