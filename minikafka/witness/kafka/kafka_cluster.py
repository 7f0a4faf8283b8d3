"""A cluster of Apache Kafka's own classes: KafkaApis, ReplicaManager, Partition, LogManager and followers, no sockets.

Several brokers run in one JVM and in the caller's thread, on a clock that stands still (`KafkaReplicas.scala`). Methods
are named as those of `minikafka.broker.cluster.Cluster`; metadata records come as minikafka's, and Kafka reads their
bytes.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.messages.apis import AlterPartitionRequest, AlterPartitionResponse
from minikafka.messages.cluster_metadata import MetadataRecord
from minikafka.messages.framed_message import write_framed
from minikafka.metadata.metadata_version import record_version
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.scala_objects import new_instance, scala_constructor


class KafkaCluster:
    """Kafka's brokers, each on a log directory of its own below `directory`.

    Whoever holds the cluster is its controller: `publish` gives metadata records to a broker, `alter_partition` shows
    what a leader asks for and `answer_alter_partition` answers it. `handle` returns a ticket's number; `take_answers`
    tells which tickets were answered since the last call. Whatever Kafka raises comes as minikafka's exception of the
    same name. The metadata version is Kafka's latest; any other feature is on if a published record says so, such as
    `eligible.leader.replicas.version`.
    """

    def __init__(self, kafka: KafkaJvm, directory: Path, start_ms: int):
        self.kafka = kafka
        self._directory = directory
        self._replicas = _kafka_replicas(kafka, start_ms)

    # Brokers

    def start(self, broker_id: int, broker_epoch: int, settings: Mapping[str, object]) -> None:
        """Make a broker on its directory; its logs are loaded when metadata is first published to it."""
        with kafka_errors():
            self._replicas.start(broker_id, broker_epoch, self.kafka.properties(settings))

    def crash(self, broker_id: int) -> None:
        """Kill the broker: its files stay as they are, and what waits is never answered."""
        with kafka_errors():
            self._replicas.crash(broker_id)

    def stop(self, broker_id: int) -> None:
        """Let the broker end in order."""
        with kafka_errors():
            self._replicas.stop(broker_id)

    def publish(self, broker_id: int, records: Sequence[MetadataRecord]) -> None:
        """Give a broker the metadata records that follow those which it has."""
        java = self.kafka.find_class("java.util.ArrayList")()
        for record in records:
            java.add(self._java_record(record))
        with kafka_errors():
            self._replicas.publish(broker_id, java)

    def replica_manager(self, broker_id: int) -> Any:
        """A broker's `ReplicaManager`, Kafka's own object."""
        return self._replicas.brokers().apply(broker_id).replicaManager()

    # Requests

    def handle(self, broker_id: int, request: bytes) -> int:
        """Have a broker handle a request (header and body). Kafka: `KafkaApis.handle`."""
        with kafka_errors():
            return self._replicas.handle(broker_id, bytearray(request))

    def append(
        self, broker_id: int, entries: Mapping[str, bytes], acks: int, timeout_ms: int, internal: bool, origin: str
    ) -> int:
        """Append batches to partitions ("topic-0"), then do what is queued. Kafka: `ReplicaManager.appendRecords`."""
        java = self.kafka.find_class("java.util.LinkedHashMap")()
        for partition, data in entries.items():
            java.put(partition, bytearray(data))
        with kafka_errors():
            return self._replicas.append(broker_id, java, acks, timeout_ms, internal, origin)

    def take_answers(self) -> dict[int, object]:
        """What was answered since the last call, by ticket: bytes, "none" or "close"; for appends, a mapping."""
        answers: dict[int, object] = {}
        for line in filter(None, self._replicas.takeAnswers().split("\n")):
            ticket, kind, *rest = line.split(" ", 2)
            read = {"bytes": base64.b64decode, "append": json.loads}.get(kind)
            answers[int(ticket)] = read(rest[0]) if read else kind
        return answers

    # Time, followers, checkpoints

    def sleep(self, ms: int) -> None:
        """Let time pass, millisecond by millisecond, and what becomes due be done."""
        with kafka_errors():
            self._replicas.sleep(ms)

    def follow(self, broker_id: int) -> None:
        """Let each of the broker's fetchers go one round. Kafka: `AbstractFetcherThread.doWork`."""
        with kafka_errors():
            self._replicas.follow(broker_id)

    def checkpoint(self, broker_id: int) -> None:
        """Write the high watermarks down. Kafka: `ReplicaManager.checkpointHighWatermarks`."""
        with kafka_errors():
            self._replicas.checkpoint(broker_id)

    def truncate(self, broker_id: int, partition: str, offset: int) -> None:
        """Cut a partition's log. Kafka: `Partition.truncateTo`."""
        with kafka_errors():
            self._replicas.truncate(broker_id, partition, offset)

    # The controller's side

    def alter_partition(self, broker_id: int) -> AlterPartitionRequest | None:
        """What the broker asks the controller for, until it is answered."""
        asked = json.loads(self._replicas.alterPartition(broker_id))
        if asked is None:
            return None
        epoch, proposals = asked
        make_topic = AlterPartitionRequest.TopicData
        topics: dict[str, AlterPartitionRequest.TopicData] = {}
        for topic_id, *fields in proposals:
            topics.setdefault(topic_id, make_topic(topic_id=topic_id)).partitions.append(_proposal(*fields))
        return AlterPartitionRequest(broker_id=broker_id, broker_epoch=epoch, topics=list(topics.values()))

    def answer_alter_partition(self, broker_id: int, response: AlterPartitionResponse) -> None:
        """Answer what the broker asks for."""
        lines = self.kafka.find_class("java.util.ArrayList")()
        for topic in response.topics:
            for result in topic.partitions:
                isr = ",".join(map(str, result.isr))
                lines.add(
                    f"{topic.topic_id} {result.partition_index} {int(result.error_code)} {result.leader_id} "
                    f"{result.leader_epoch} {isr} {int(result.leader_recovery_state)} {result.partition_epoch}"
                )
        with kafka_errors():
            self._replicas.answerAlterPartition(broker_id, int(response.error_code), lines)

    # What can be seen

    def state(self, broker_id: int) -> dict:
        """What the broker knows of its partitions, and how many requests wait in it."""
        with kafka_errors():
            return json.loads(self._replicas.state(broker_id))

    # Java's objects

    def _java_record(self, record: MetadataRecord) -> Any:
        """The record as Kafka reads its bytes. Kafka: `MetadataRecordSerde.read`."""
        data = write_framed("cluster-metadata", record, record_version(record))
        buffer = self.kafka.find_class("java.nio.ByteBuffer").wrap(data)
        readable = self.kafka.find_class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
        serde = self.kafka.find_class("org.apache.kafka.metadata.MetadataRecordSerde")()
        return serde.read(readable, len(data)).message()


def _kafka_replicas(kafka: KafkaJvm, start_ms: int) -> Any:
    """A new object of the Scala class, which is compiled first if need be."""
    constructor = scala_constructor(kafka, "kafka.server.KafkaReplicas")
    return new_instance(kafka, constructor, kafka.find_class("java.lang.Long").valueOf(str(start_ms)))


def _proposal(
    partition: int, leader_epoch: int, partition_epoch: int, isr: list[list[int]], recovery: int
) -> AlterPartitionRequest.TopicData.PartitionData:
    make = AlterPartitionRequest.TopicData.PartitionData
    return make(
        partition_index=partition,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        new_isr_with_epochs=[make.BrokerState(broker_id=id, broker_epoch=epoch) for id, epoch in isr],
        leader_recovery_state=recovery,
    )
