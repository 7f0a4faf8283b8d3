"""Partitions of one of Kafka's own brokers, brought into the state that an exercise describes, and asked."""

from pathlib import Path
from typing import Any

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.lab.exercises.asked import call_private
from minikafka.witness.batch import Batch
from minikafka.witness.kafka_cluster import KafkaCluster
from minikafka.witness.scripted_controller import ScriptedController, directory_id
from minikafka.witness.workload import START_MS


class KafkaPartitions:
    """A broker of Kafka's that has partition 0 of some topics; other brokers are only known by name.

    First the topics are told to `controller`; in the `with` block the broker has them. Its log directory may hold logs
    already.
    """

    def __init__(self, kafka: Any, broker_id: int, log_dir: Path, others: tuple[int, ...]):
        self.kafka, self._broker_id, self._log_dir = kafka, broker_id, log_dir
        self.controller = ScriptedController()
        for other in others:
            self.controller.register_broker(other)
        self._epoch = self.controller.register_broker(broker_id)

    def __enter__(self) -> "KafkaPartitions":
        broker_id = self._broker_id
        self._log_dir.mkdir(exist_ok=True, parents=True)
        (self._log_dir / "meta.properties").write_text(
            f"version=1\nnode.id={broker_id}\ncluster.id=minikafka\ndirectory.id={directory_id(broker_id)}\n"
        )
        for (topic, partition), state in self.controller.partitions.items():
            if (directory := self._log_dir / f"{topic}-{partition}").exists():
                file = PartitionMetadataFile(PartitionMetadataFile.new_file(directory))
                file.record(state.topic_id)
                file.maybe_flush()
        CleanShutdownFileHandler(self._log_dir).write(self._epoch)
        settings = {
            "process.roles": "broker",
            "node.id": broker_id,
            "controller.quorum.voters": "100@localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://localhost:{9100 + broker_id}",
            "log.dirs": self._log_dir,
            "log.cleaner.enable": False,
            "log.index.size.max.bytes": 1024,
        }
        self._cluster = KafkaCluster(self.kafka, self._log_dir.parent, START_MS)
        self._cluster.start(broker_id, self._epoch, settings)
        self._cluster.publish(broker_id, self.controller.records)
        self._manager = self._cluster._world.brokers().apply(broker_id).replicaManager()
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.crash(self._broker_id)

    def mark_of(self, topic: str, seen: Any, now: int) -> int:
        """The high watermark after Kafka's `Partition.maybeIncrementLeaderHW`, which is private, in the state `seen` (a
        `LeaderSeen`).
        """
        log_class, find = self.kafka.log_class, self.kafka.find_class
        for _ in range(seen.log_end_offset):
            self._cluster.append(self._broker_id, {f"{topic}-0": Batch().encode(now)}, 1, 30_000, False, "CLIENT")
        partition = self._manager.getPartitionOrException(self._topic_partition(topic))
        log = partition.log().get()
        if len(seen.remote_replicas) > 0:
            log.updateHighWatermark(seen.high_watermark)
        for follower in seen.remote_replicas:
            if follower.log_end_offset >= 0:
                end = log_class("LogOffsetMetadata")(follower.log_end_offset)
                replica = partition.getReplica(follower.broker_id).get()
                replica.updateFetchStateOrThrow(end, 0, follower.last_caught_up_time_ms, 0, -1)
        for proposed in seen.maximal_isr - seen.isr:
            pending = find("org.apache.kafka.server.partition.PendingExpandIsr")
            call_private(
                self.kafka,
                partition.getClass(),
                partition,
                "partitionState_$eq",
                pending(proposed, None, partition.partitionState()),
            )
        time = self.kafka.optional_long(now).get()
        call_private(self.kafka, partition.getClass(), partition, "maybeIncrementLeaderHW", log, time)
        return log.highWatermark()

    def truncation_state(self, topic: str, leader_epoch: int, end_offset: int) -> tuple[int, bool]:
        """Kafka's `AbstractFetcherThread.getOffsetTruncationState`, which is private, of a follower."""
        find, partition = self.kafka.find_class, self._topic_partition(topic)
        answer = find("org.apache.kafka.common.message.OffsetForLeaderEpochResponseData").EpochEndOffset()
        answer.setLeaderEpoch(leader_epoch).setEndOffset(end_offset)
        fetchers = self._manager.replicaFetcherManager().fetcherThreadMap().values().iterator()
        fetcher = next(f for f in iter(fetchers.next, None) if f.fetchState(partition).isDefined())
        owner = find("java.lang.Class").forName("kafka.server.AbstractFetcherThread")
        found = call_private(self.kafka, owner, fetcher, "getOffsetTruncationState", partition, answer)
        return found.offset(), found.truncationCompleted()

    def _topic_partition(self, topic: str) -> Any:
        return self.kafka.find_class("org.apache.kafka.common.TopicPartition")(topic, 0)
