"""A partition on broker 0 with everything around it that a broker has: log manager, clock, metadata, controller."""

from concurrent.futures import Future
from pathlib import Path

from minikafka.cluster.alter_partition_listener import AlterPartitionListener
from minikafka.cluster.delayed_operations import DelayedOperations
from minikafka.cluster.fetch_params import ClientMetadata, FetchParams, FetchRequestPartitionData
from minikafka.cluster.log_read_info import LogReadInfo
from minikafka.cluster.partition import Partition
from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.metadata.leader_and_isr import LeaderAndIsr
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.partition_registration import PartitionRegistration
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.log.batch import Batch
from tests.two_logs import SMALL

NOW = 1_700_000_000_000
TOPIC_ID = "bWluaWthZmthLXRvcGljLQ"
TP = TopicPartition("topic", 0)


class Brokers:
    """What a metadata cache says of brokers: each is alive, with the epoch 100 + its id, unless a test changes it."""

    def __init__(self):
        self.epochs = {broker_id: 100 + broker_id for broker_id in range(4)}
        self.fenced = set()
        self.shutting_down = set()

    def get_alive_broker_epoch(self, broker_id):
        return None if broker_id in self.fenced else self.epochs.get(broker_id)

    def is_broker_fenced(self, broker_id):
        return broker_id in self.fenced

    def is_broker_shutting_down(self, broker_id):
        return broker_id in self.shutting_down

    def has_alive_broker(self, broker_id):
        return broker_id in self.epochs and broker_id not in self.fenced


class Controller:
    """Keeps what it is asked for, until the test answers."""

    def __init__(self):
        self.asked: list[tuple[LeaderAndIsr, Future]] = []
        self.submitted = 0

    def submit(self, topic_id_partition, leader_and_isr):
        assert topic_id_partition == (TOPIC_ID, TP)
        self.submitted += 1
        self.asked.append((leader_and_isr, future := Future()))
        return future

    def agree(self, **changes):
        """Answer the oldest proposal with what was proposed, one partition epoch later; `changes` replace fields."""
        proposal, future = self.asked.pop(0)
        fields = {name: getattr(proposal, name) for name in LeaderAndIsr.__slots__}
        fields["partition_epoch"] += 1
        future.set_result(LeaderAndIsr(**{**fields, **changes}))

    def refuse(self, error: Errors):
        self.asked.pop(0)[1].set_exception(error.exception())


class Waiting:
    """A purgatory that only notes when it is asked to look."""

    def __init__(self, name, story, num_delayed=0):
        self.name, self.story, self.num_delayed = name, story, num_delayed

    def check_and_complete(self, key):
        self.story.append(self.name)
        return 0


class Counter(AlterPartitionListener):
    def __init__(self):
        self.story = []

    def mark_isr_expand(self):
        self.story.append("expand")

    def mark_isr_shrink(self):
        self.story.append("shrink")

    def mark_failed(self):
        self.story.append("failed")


class Stand:
    """`leader()` or `follower()` gives the partition its role; `produce`, `follow` and `consume` are its requests."""

    def __init__(self, directory: Path, config=None, names=("a",)):
        self.directory = directory
        self.names = names
        self.topic_config = dict(config or {})
        self.brokers = Brokers()
        self.controller = Controller()
        self.changes = Counter()
        self.woken: list[str] = []
        self.delete_records = Waiting("delete", self.woken)
        self.checkpoints: dict[str, int] = {}  # by log directory
        self.time = ManualTime(NOW)
        self.epoch = 0
        self.partition_epoch = 0
        self.open()

    def open(self):
        """A new process on the same directories."""
        self.log_manager = LogManager(
            [self.directory / name for name in self.names],
            config_repository=MapConfigRepository({"topic": self.topic_config}),
            initial_default_config=LogConfig(SMALL),
            scheduler=ManualScheduler(self.time),
            time=self.time,
            cleaner_config=CleanerConfig.of({"log.cleaner.enable": False}),
        )
        self.log_manager.startup()
        self.partition = Partition(
            TP,
            replica_lag_time_max_ms=30_000,
            local_broker_id=0,
            local_broker_epoch_supplier=lambda: 100,
            time=self.time,
            alter_partition_listener=self.changes,
            delayed_operations=DelayedOperations(
                TP, Waiting("produce", self.woken), Waiting("fetch", self.woken), self.delete_records
            ),
            metadata_cache=self.brokers,
            log_manager=self.log_manager,
            alter_partition_manager=self.controller,
            topic_id=TOPIC_ID,
        )

    def close(self):
        self.log_manager.let_go()

    # As `OffsetCheckpoints`
    def fetch(self, log_dir, topic_partition):
        return self.checkpoints.get(log_dir)

    def registration(self, leader, replicas=(0, 1, 2), isr=None, **fields):
        """The partition as the metadata has it, with the present epochs unless `fields` says others."""
        return PartitionRegistration(
            **{
                "replicas": replicas,
                "directories": (ZERO_UUID,) * len(replicas),
                "isr": replicas if isr is None else isr,
                "leader": leader,
                "leader_recovery_state": LeaderRecoveryState.RECOVERED,
                "leader_epoch": self.epoch,
                "partition_epoch": self.partition_epoch,
                **fields,
            }
        )

    def leader(self, replicas=(0, 1, 2), isr=None, *, bump=True, **fields):
        """Make broker 0 the leader, in a new epoch with `bump`."""
        if bump:
            self.epoch += 1
            self.partition_epoch += 1
        return self.partition.make_leader(self.registration(0, replicas, isr, **fields), True, self, TOPIC_ID)

    def follower(self, leader=1, replicas=(0, 1, 2), *, bump=True, **fields):
        if bump:
            self.epoch += 1
            self.partition_epoch += 1
        return self.partition.make_follower(self.registration(leader, replicas, **fields), True, self, TOPIC_ID)

    def produce(self, text="[1x10]", acks=1) -> LogAppendInfo:
        batch = Batch.parse(text).encode(NOW)
        memory_records = MemoryRecords.readable_records(bytearray(batch))
        return self.partition.append_records_to_leader(memory_records, AppendOrigin.CLIENT, acks)

    def append_fetched(self, text="[1x10]", offset=0) -> LogAppendInfo:
        """What a follower has fetched in epoch 1: a batch that begins at `offset`."""
        batch = Batch.parse(text).encode(NOW, offset, leader_epoch=1)
        memory_records = MemoryRecords.readable_records(bytearray(batch))
        return self.partition.append_records_to_follower(memory_records, 1)

    def follow(
        self, broker, offset, *, log_start=0, epoch="now", last_fetched_epoch=None, broker_epoch="now", **update
    ):
        """A follower's fetch."""
        params = FetchParams(
            broker,
            self.brokers.epochs[broker] if broker_epoch == "now" else broker_epoch,
            500,
            1,
            1 << 20,
            FetchIsolation.LOG_END,
        )
        data = FetchRequestPartitionData(
            TOPIC_ID, offset, log_start, 1 << 20, self.epoch if epoch == "now" else epoch, last_fetched_epoch
        )
        return self._fetch(params, data, **update)

    def consume(
        self,
        offset,
        *,
        epoch=None,
        isolation=FetchIsolation.HIGH_WATERMARK,
        version_11=False,
        last_fetched_epoch=None,
    ) -> LogReadInfo:
        """A consumer's fetch."""
        metadata = ClientMetadata("", "c", "localhost", "User:ANONYMOUS", "PLAINTEXT") if version_11 else None
        params = FetchParams(-1, -1, 500, 1, 1 << 20, isolation, metadata)
        return self._fetch(params, FetchRequestPartitionData(TOPIC_ID, offset, -1, 1 << 20, epoch, last_fetched_epoch))

    def _fetch(self, params, data, update_fetch_state=True):
        return self.partition.fetch_records(
            params,
            data,
            self.time.milliseconds(),
            1 << 20,
            min_one_message=True,
            update_fetch_state=update_fetch_state,
        )

    @property
    def log(self):
        return self.partition.log

    @property
    def hw(self):
        return self.log.high_watermark

    def state(self, broker):
        return self.partition.get_replica(broker).state_snapshot


def offsets(read: LogReadInfo):
    return [record.offset for record in read.fetched_data.records.records()]
