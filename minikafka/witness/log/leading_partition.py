"""A log as its partition's leader has it: followers fetch, the in-sync replicas change, the high watermark follows."""

from collections.abc import Iterable
from typing import Any

from minikafka.cluster.alter_partition_listener import AlterPartitionListener
from minikafka.cluster.fetch_params import FetchParams, FetchRequestPartitionData
from minikafka.cluster.partition import Partition
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.partition_registration import PartitionRegistration

_LEADER = 0
_MAX_BYTES = 1_048_576


class LeadingPartition:
    """minikafka's `Partition` as leader of a log, minikafka's or Kafka's, with followers that a workload moves.

    Which ends the high watermark waits for is decided by `Partition` alone. What a broker would do besides is left out,
    so that one log can be looked at: nobody joins or leaves the ISR by himself (no broker is known to be alive), and
    the log's leader epochs are not touched, since the workload's appends name theirs.
    """

    def __init__(self, log: Any, isr: Iterable[int]):
        """`isr`: the in-sync followers, by broker id; the leader is 0."""
        self.isr = tuple(isr)
        """The followers in the ISR; `change_isr` replaces them."""
        self._replicas: dict[int, None] = {_LEADER: None}  # all that were ever named, in this order
        self._raised_from: LogOffsetMetadata | None = None
        self._partition = Partition(
            TopicPartition("topic", 0),
            replica_lag_time_max_ms=30_000,
            local_broker_id=_LEADER,
            local_broker_epoch_supplier=lambda: -1,
            time=ManualTime(),
            alter_partition_listener=AlterPartitionListener(),
            delayed_operations=_NobodyWaits(),
            metadata_cache=MetadataCache(_LEADER),
            log_manager=None,  # the log is there, and is never truncated through the partition
            alter_partition_manager=None,  # the ISR changes as the workload says
        )
        self._partition.leader_replica_id = _LEADER
        self.log = log

    @property
    def log(self) -> Any:
        """The log; another one after it was closed and opened again."""
        return self._partition.log.log

    @log.setter
    def log(self, log: Any) -> None:
        self._partition.log = _Listened(log, self)

    def fetched(self, follower: int) -> LogOffsetMetadata | None:
        """What a follower asked for last, with its place; None before its first fetch."""
        replica = self._partition.get_replica(follower)
        if replica is None or replica.state_snapshot.broker_epoch is None:
            return None
        return replica.state_snapshot.log_end_offset_metadata

    def fetch(self, follower: int, offset: int) -> LogOffsetMetadata | None:
        """A follower fetches from `offset` on; the high watermark as it was, if it rose, else None.

        Raises what reading the log raises. Kafka: `Partition.fetchRecords`.
        """
        self._replicas.setdefault(follower)
        news = self._news
        self._partition.update_assignment_and_isr(
            replicas=news.replicas,
            is_leader=True,
            isr=news.isr,
            adding_replicas=(),
            removing_replicas=(),
            leader_recovery_state=news.leader_recovery_state,
        )
        self._partition.fetch_records(
            FetchParams(follower, -1, 0, 1, _MAX_BYTES, FetchIsolation.LOG_END),
            FetchRequestPartitionData(ZERO_UUID, offset, -1, _MAX_BYTES, None),
            0,
            _MAX_BYTES,
            min_one_message=True,
            update_fetch_state=True,
        )
        return self.look_again()

    def change_isr(self, isr: Iterable[int]) -> LogOffsetMetadata | None:
        """These followers are in sync from now on; the high watermark as it was, if it rose, else None."""
        self.isr = tuple(isr)
        return self.look_again()

    def look_again(self) -> LogOffsetMetadata | None:
        """Look whether the high watermark may rise, as a leader does whenever the controller has news of the partition.

        Returns it as it was, if it rose since the last fetch or look, else None.
        """
        self._partition.make_leader(self._news, False, high_watermark_checkpoints=None, topic_id=None)
        old, self._raised_from = self._raised_from, None
        return old

    @property
    def _news(self) -> PartitionRegistration:
        """The partition as the controller would describe it, without a new epoch."""
        self._replicas.update(dict.fromkeys(self.isr))
        replicas = tuple(self._replicas)
        return PartitionRegistration(
            replicas=replicas,
            directories=(ZERO_UUID,) * len(replicas),
            isr=(_LEADER, *self.isr),
            leader=_LEADER,
            leader_recovery_state=LeaderRecoveryState.RECOVERED,
            leader_epoch=self._partition.leader_epoch,
            partition_epoch=self._partition.partition_epoch,
        )


class _Listened:
    """A log; whoever waits for it to rise learns what its high watermark was before."""

    def __init__(self, log: Any, leader: LeadingPartition):
        self.log = log
        self._leader = leader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)

    def maybe_increment_high_watermark(self, new_high_watermark: LogOffsetMetadata) -> LogOffsetMetadata | None:
        old = self.log.maybe_increment_high_watermark(new_high_watermark)
        if self._leader._raised_from is None:
            self._leader._raised_from = old
        return old


class _NobodyWaits:
    """In place of `DelayedOperations`: there are no requests."""

    num_delayed_delete = 0

    def check_and_complete_all(self) -> None:
        pass
