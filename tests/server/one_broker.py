"""A broker of its own in a cluster of which the test is the controller, and the other replicas."""

from concurrent.futures import Future

from minikafka.cluster.fetch_params import ClientMetadata, FetchParams, FetchRequestPartitionData
from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.exit import raise_fatal
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID, random_uuid
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.manager.log_manager import LogManager
from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.metadata.broker_registration import BrokerRegistrationFencingChange
from minikafka.metadata.leader_and_isr import NO_LEADER_CHANGE
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.broker_metadata_publisher import BrokerMetadataPublisher
from minikafka.server.dynamic_broker_config import DynamicBrokerConfig
from minikafka.server.replica_manager import ReplicaManager
from minikafka.witness.log.batch import Batch

ME = 0
SETTINGS = {"transaction.partition.verification.enable": "false", "min.insync.replicas": "1"}


class Fetchers:
    """Stands for the fetchers: notes what they are told."""

    def __init__(self):
        self.states = {}
        self.failed = set()
        self.calls = []

    def add_fetcher_for_partitions(self, partition_and_offsets):
        self.calls.append(("add", set(partition_and_offsets)))
        self.states.update(partition_and_offsets)

    def remove_fetcher_for_partitions(self, partitions):
        self.calls.append(("remove", set(partitions)))
        for topic_partition in partitions:
            self.states.pop(topic_partition, None)

    def add_failed_partition(self, topic_partition):
        self.failed.add(topic_partition)

    def shutdown_idle_fetcher_threads(self):
        self.calls.append(("idle", set()))

    def shutdown(self):
        self.calls.append(("shutdown", set()))


class Proposals:
    """Stands for the way to the controller: keeps what is proposed until the test answers."""

    def __init__(self):
        self.items = []

    def submit(self, topic_id_partition, leader_and_isr):
        future = Future()
        self.items.append((topic_id_partition, leader_and_isr, future))
        return future


class OneBroker:
    """Broker 0, with everything below `ReplicaManager` real; brokers 1 and 2 are registrations, and fetch by hand."""

    def __init__(
        self, log_dirs, time=None, records=(), scheduler=None, *, metadata_log_dir=None, halt=raise_fatal, **settings
    ):
        self.time = time or ManualTime(1_000_000)
        self.scheduler = scheduler or ManualScheduler(self.time)
        self.config = BrokerConfig(
            {"node.id": ME, **SETTINGS, **{name.replace("__", "."): value for name, value in settings.items()}}
        )
        self.cache = MetadataCache(ME)
        self.channel = LogDirFailureChannel(len(log_dirs))
        self.log_dirs = log_dirs
        self.logs = LogManager(
            log_dirs,
            config_repository=self.cache,
            initial_default_config=self.config.log_config(),
            scheduler=self.scheduler,
            time=self.time,
            log_dir_failure_channel=self.channel,
            producer_state_manager_config=self.config.producer_state_manager_config(),
        )
        self.fetchers = Fetchers()
        self.proposals = Proposals()
        self.coordinator = None
        self.failed_dirs = []
        self.replicas = ReplicaManager(
            self.config,
            self.time,
            self.scheduler,
            self.logs,
            self.cache,
            self.channel,
            self.proposals,
            lambda manager: self.fetchers,
            broker_epoch_supplier=lambda: 100,
            add_partitions_to_txn_manager=self,
            on_log_dir_failure=self.failed_dirs.append,
            metadata_log_dir=metadata_log_dir,
            halt=halt,
        )
        dynamic_config = DynamicBrokerConfig(
            self.config, lambda changed: self.logs.update_default_config(changed.log_config())
        )
        self.publisher = BrokerMetadataPublisher(self.config, dynamic_config, self.cache, self.logs, self.replicas)
        self.topic_ids = {}
        self.records = list(records)
        if records:
            self.topic_ids = {each.name: each.topic_id for each in records if isinstance(each, TopicRecord)}
            self.publish()
        else:
            self.publish(*(self.registration(broker) for broker in range(3)))

    # What the controller writes

    @staticmethod
    def registration(broker):
        endpoints = [RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host=f"host{broker}", port=9092)]
        return RegisterBrokerRecord(
            broker_id=broker,
            broker_epoch=100 + broker,
            incarnation_id=random_uuid(),
            end_points=endpoints,
            rack=f"rack{broker}",
            fenced=False,
        )

    def publish(self, *records):
        """Write these records, and let the broker take all that it has not seen."""
        self.records += records
        new = self.records[self.cache.image.offset + 1 :]
        delta = MetadataDelta(self.cache.image).replay_all(new)
        self.publisher.on_metadata_update(delta, delta.apply())

    def create(self, topic="t", *partitions, **config):
        """Make a topic; each of `partitions` is the list of its replicas, the first of which leads."""
        topic_id = self.topic_ids[topic] = random_uuid()
        self.publish(
            TopicRecord(name=topic, topic_id=topic_id),
            *(
                ConfigRecord(
                    resource_type=ConfigResourceType.TOPIC,
                    resource_name=topic,
                    name=name.replace("__", "."),
                    value=str(value),
                )
                for name, value in config.items()
            ),
            *(
                PartitionRecord(
                    partition_id=number,
                    topic_id=topic_id,
                    replicas=list(replicas),
                    isr=list(replicas),
                    leader=replicas[0],
                    leader_epoch=0,
                    partition_epoch=0,
                )
                for number, replicas in enumerate(partitions or [[ME, 1, 2]])
            ),
        )

    def change(self, topic="t", partition=0, **fields):
        """Change a partition, for instance its `isr` or its `leader`."""
        fields.setdefault("leader", NO_LEADER_CHANGE)
        self.publish(PartitionChangeRecord(partition_id=partition, topic_id=self.topic_ids[topic], **fields))

    def delete(self, topic="t"):
        self.publish(RemoveTopicRecord(topic_id=self.topic_ids.pop(topic)))

    def fence(self, broker):
        self.publish(
            BrokerRegistrationChangeRecord(
                broker_id=broker, broker_epoch=100 + broker, fenced=BrokerRegistrationFencingChange.FENCE
            )
        )

    # What clients send

    def key(self, name, topic_id=None):
        topic, partition = name.rsplit("-", 1)
        topic_partition = TopicPartition(topic, int(partition))
        return TopicIdPartition(topic_id or self.topic_ids.get(topic, ZERO_UUID), topic_partition)

    def produce(self, entries="t-0", acks=1, timeout_ms=500, internal=False, topic_ids=None, **more):
        """Produce a batch, or those of the mapping `entries`; returns the list of answers, at most one."""
        entries = {entries: "[1x10]"} if isinstance(entries, str) else entries
        records = {
            self.key(name, (topic_ids or {}).get(name)): batch
            if isinstance(batch, MemoryRecords)
            else self.encode(batch)
            for name, batch in entries.items()
        }
        answers = more.pop("callback", Answers())
        if "transactional_id" in more:
            self.replicas.handle_produce_append(
                timeout_ms, acks, internal, entries_per_partition=records, response_callback=answers, **more
            )
        else:
            self.replicas.append_records(timeout_ms, acks, internal, AppendOrigin.CLIENT, records, answers, **more)
        self.replicas.try_complete_actions()
        return answers

    def encode(self, *batches):
        now = self.time.milliseconds()
        return MemoryRecords(b"".join(Batch.parse(batch).encode(now) for batch in batches))

    def fetch(self, offsets, replica=-1, max_wait_ms=0, min_bytes=1, max_bytes=2**31 - 1, **more):
        """Fetch from the offsets of the mapping `offsets`; returns the list of answers, at most one."""
        follower = replica >= 0
        params = FetchParams(
            replica,
            100 + replica if follower else -1,
            max_wait_ms,
            min_bytes,
            max_bytes,
            FetchIsolation.of(replica, more.pop("read_committed", False)),
            more.pop("client_metadata", None),
        )
        partition_max_bytes = more.pop("partition_max_bytes", 2**31 - 1)
        log_start_offset = more.pop("log_start_offset", 0 if follower else -1)
        epoch, last_epoch = more.pop("epoch", None), more.pop("last_epoch", None)
        topic_id = more.pop("topic_id", None)
        answers = more.pop("callback", Answers())
        assert not more
        infos = [
            (
                self.key(name, topic_id),
                FetchRequestPartitionData(
                    self.key(name, topic_id).topic_id, offset, log_start_offset, partition_max_bytes, epoch, last_epoch
                ),
            )
            for name, offset in offsets.items()
        ]
        self.replicas.fetch_messages(params, infos, answers)
        return answers

    def follow(self, *followers, name="t-0"):
        """Let the followers fetch at the leader's log end: then they have everything."""
        end = self.partition(name).local_log_or_exception.log_end_offset
        for follower in followers:
            self.fetch({name: end}, replica=follower)

    # What there is

    def partition(self, name="t-0"):
        return self.replicas.get_partition_or_exception(self.key(name).topic_partition)

    def log(self, name="t-0"):
        return self.partition(name).local_log_or_exception

    def shrink_isr(self, *isr, name="t-0"):
        """Let the controller agree to this ISR."""
        self.change(*self._split(name), isr=isr)

    @staticmethod
    def _split(name):
        topic, partition = name.rsplit("-", 1)
        return topic, int(partition)

    # The coordinator of all transactions

    def add_or_verify_transaction(self, *question):
        self.coordinator(*question)

    # The end

    def stop(self):
        self.replicas.shutdown()
        self.scheduler.shutdown()
        self.logs.shutdown()

    def crash(self):
        self.scheduler.shutdown()
        self.logs.let_go()


class Answers(list):
    """The answers that a request got; by name of the partition once there is one."""

    def __call__(self, answer):
        self.append(answer)

    def __getitem__(self, name):
        (answer,) = self
        by_name = {str(getattr(key, "topic_partition", key)): value for key, value in dict(answer).items()}
        return by_name[name]

    @property
    def errors(self):
        (answer,) = self
        return {str(getattr(key, "topic_partition", key)): value.error for key, value in dict(answer).items()}


CONSUMER_OF_VERSION_11 = ClientMetadata("", "client", "127.0.0.1", "User:ANONYMOUS", "PLAINTEXT")
