"""Three brokers, their controller and one clock, for tests that ask them with the bytes of requests."""

from minikafka.broker.broker import Broker
from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.network.request import ANONYMOUS
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

Produce = request_class(ApiKeys.PRODUCE)
Fetch = request_class(ApiKeys.FETCH)


class ThreeBrokers:
    """Brokers 0, 1 and 2, or those with other `ids`; the first replica of a topic's partition 0 leads."""

    def __init__(self, directory, authorizer=None, coordinator=None, ids=(0, 1, 2), **settings):
        self.directory = directory
        self.coordinator = coordinator
        self.time = ManualTime(1_000_000)
        self.controller = Controller(seed=7)
        self.settings = {name.replace("__", "."): value for name, value in settings.items()}
        self.authorizer = authorizer
        self.brokers = {}
        self._starts = 0
        for broker_id in ids:
            self.start(broker_id)
        self.publish()

    def start(self, broker_id):
        """A broker on its directory, new or as the last one left it."""
        self._starts += 1
        self.brokers[broker_id] = Broker(
            broker_id,
            [self.directory / f"broker-{broker_id}"],
            self.controller,
            time=self.time,
            scheduler=ManualScheduler(self.time),
            settings=self.settings,
            find_peer=self.running,
            incarnation_id=f"{self._starts:021d}A",
            cluster_id="cluster",
            authorizer=self.authorizer,
            add_partitions_to_txn_manager=self.coordinator,
        )
        self.brokers[broker_id].startup()

    def running(self, broker_id):
        broker = self.brokers.get(broker_id)
        return broker if broker is not None and broker.is_running else None

    def publish(self):
        for broker in self.brokers.values():
            if broker.is_running:
                broker.publish()

    def close(self):
        for broker in self.brokers.values():
            if broker.is_running:
                broker.crash()

    def create(self, topic, *assignments, **configs):
        """A topic whose partitions have these replicas, the first of which leads; [0, 1, 2] if none are given."""
        places = list(enumerate(assignments or ([0, 1, 2],)))
        configs = {name.replace("__", "."): str(value) for name, value in configs.items()}
        (result,) = self.controller.create_topics([creatable_topic(topic, assignments=places, configs=configs)])
        assert result.error_code == Errors.NONE, result
        self.publish()
        return result.topic_id

    def follow(self, times=1):
        for _ in range(times):
            for broker_id in sorted(self.brokers):
                if self.running(broker_id):
                    self.brokers[broker_id].follow_once()

    def send(self, broker_id, api, version, body, client_id="c", principal=ANONYMOUS):
        """A ticket, whose answer may be there or not."""
        data = request_bytes(api, version, body, correlation_id=5, client_id=client_id)
        return self.brokers[broker_id].handle(bytearray(data), principal=principal)

    def ask(self, broker_id, api, version, body, **who):
        """The body of an answer that is there at once."""
        return answer_of(self.send(broker_id, api, version, body, **who), api, version)

    def produce(self, broker_id, partitions, acks=1, version=9, timeout_ms=1000, **more):
        """`partitions`: records (or bytes) by (topic, index); topics are ids from version 13 on."""
        topics = [produced(version, topic, index, records) for (topic, index), records in partitions.items()]
        body = Produce(acks=acks, timeout_ms=timeout_ms, topic_data=topics, **more)
        return self.send(broker_id, ApiKeys.PRODUCE, version, body)

    def fetch(self, broker_id, topic, offset, version=12, index=0, **more):
        """A ticket for a fetch of one partition; `more` are fields of the request or the partition."""
        make = Fetch.FetchTopic.FetchPartition
        of_partition = {name: more.pop(name) for name in list(more) if hasattr(make(), name)}
        partition = make(partition=index, fetch_offset=offset, **{"partition_max_bytes": 1 << 20, **of_partition})
        names = {"topic_id": topic} if version >= 13 else {"topic": topic}
        body = Fetch(**{"max_wait_ms": 0, "min_bytes": 1, **more})
        body.topics = [Fetch.FetchTopic(partitions=[partition], **names)]
        return self.send(broker_id, ApiKeys.FETCH, version, body)


def produced(version, topic, index, records):
    data = Produce.TopicProduceData
    names = {"topic_id": topic} if version >= 13 else {"name": topic}
    return data(partition_data=[data.PartitionProduceData(index=index, records=records)], **names)


def batch(*values, **settings):
    """The bytes of a batch with these values."""
    records = [SimpleRecord(1_000_000, None, value) for value in values or (b"v",)]
    settings.setdefault("compression", CompressionType.NONE)
    compression = settings.pop("compression")
    return bytes(MemoryRecords.with_records(compression, *records, initial_offset=0, **settings).buffer)


def answer_of(ticket, api, version):
    assert ticket.done
    return parse_response(api, version, ticket.result)[1]


def only_partition(response):
    """The one partition of a produce, fetch or list-offsets response."""
    (topic,) = response.responses if hasattr(response, "responses") else response.topics
    (partition,) = topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions
    return partition
