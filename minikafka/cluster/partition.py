"""One replica of a partition, as its broker holds it: the leader's or a follower's."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from minikafka.checkpoint.lazy_offset_checkpoints import OffsetCheckpoints
from minikafka.cluster.alter_partition_listener import AlterPartitionListener
from minikafka.cluster.alter_partition_manager import AlterPartitionManager
from minikafka.cluster.assignment_state import AssignmentState, OngoingReassignmentState, SimpleAssignmentState
from minikafka.cluster.committed_partition_state import (
    CommittedPartitionState,
    PartitionState,
    PendingExpandIsr,
    PendingPartitionChange,
    PendingShrinkIsr,
)
from minikafka.cluster.delayed_operations import DelayedOperations
from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchParams, FetchRequestPartitionData
from minikafka.cluster.log_delete_records_result import LogDeleteRecordsResult
from minikafka.cluster.log_read_info import LogReadInfo
from minikafka.cluster.offset_result_holder import OffsetResultHolder
from minikafka.cluster.partition_listener import PartitionListener
from minikafka.cluster.replica import Replica
from minikafka.common.directory_id import UNASSIGNED_DIR
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    ApiException,
    FencedLeaderEpochException,
    IllegalStateException,
    NotEnoughReplicasException,
    NotLeaderOrFollowerException,
    OffsetNotAvailableException,
    OffsetOutOfRangeException,
    PolicyViolationException,
    UnexpectedAppendOffsetException,
    UnknownLeaderEpochException,
)
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.java.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.time import Time
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.leader_epoch_file_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from minikafka.log.log import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Log,
    ProducerState,
)
from minikafka.log.log_append_info import LeaderHwChange, LogAppendInfo
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_offset_snapshot import LogOffsetSnapshot
from minikafka.log.log_offsets_listener import LogOffsetsListener
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.manager.log_manager import LogManager
from minikafka.log.producer.producer_append_info import TV_UNKNOWN
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.metadata.leader_and_isr import BrokerState, LeaderAndIsr
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.partition_registration import PartitionRegistration
from minikafka.record.files.file_records import TimestampAndOffset
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import NO_TIMESTAMP

logger = logging.getLogger(__name__)

# Looked up once: before Python 3.12, `LeaderHwChange.SAME` takes longer than a call.
_INCREASED, _SAME = LeaderHwChange.INCREASED, LeaderHwChange.SAME

ACKS_ALL = -1
HIGH_WATERMARK = -1  # as the offset of a DeleteRecords request. Kafka: `DeleteRecordsRequest.HIGH_WATERMARK`.


class EnoughReplicas(NamedTuple):
    """Whether an offset is replicated as acks=all wants it, and the error with which the producer is to be answered.

    Kafka: the result of `Partition.checkEnoughReplicasReachOffset`.
    """

    reached: bool
    error: Errors


_NOT_LEADER = EnoughReplicas(False, Errors.NOT_LEADER_OR_FOLLOWER)
_NOT_REACHED = EnoughReplicas(False, Errors.NONE)
_REACHED_BY_TOO_FEW = EnoughReplicas(True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
_REACHED = EnoughReplicas(True, Errors.NONE)


class ActiveProducers(NamedTuple):
    """The producers of a partition, or the error that says why there are none to show.

    Kafka: `DescribeProducersResponseData.PartitionResponse`.
    """

    error: Errors
    producers: Sequence[ProducerState] = ()


class Partition:
    """One replica of a partition, as its broker holds it: the leader's or a follower's.

    Around the log stands what a log does not know: who leads, which followers are in sync, and so how far the high
    watermark may rise. Leader and followers have one class, because a broker is now the one and now the other.

    Invariants:

    1. Partition epoch and leader epoch never fall. The controller raises the first with each change of the partition,
       the second with each election; what arrives with an older partition epoch is ignored.
    2. Only the leader has `remote_replicas` (all other replicas), an ISR, and a `leader_epoch_start_offset`.
    3. A leader's high watermark is raised here and nowhere else: to the least log end of the replicas that count
       (`_maybe_increment_leader_hw`). While a change of the ISR is under way, those count who may be in it.
    4. At most one change of the ISR is under way. Its answer counts only while the state is still the one that was
       asked for.
    5. Locks are taken in this order: partition, log. Requests that wait are woken, and the controller is asked, with no
       lock held, because both may come back here.

    Simpler than Kafka: one lock that a thread may take again where Kafka has a lock for readers and one for writers, so
    that two reads of one partition take turns. There are no metrics and no remote storage.

    Kafka: `kafka.cluster.Partition`.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        replica_lag_time_max_ms: int,
        local_broker_id: int,
        local_broker_epoch_supplier: Callable[[], int],
        time: Time,
        alter_partition_listener: AlterPartitionListener,
        delayed_operations: DelayedOperations,
        metadata_cache: MetadataCache,
        log_manager: LogManager,
        alter_partition_manager: AlterPartitionManager,
        topic_id: str | None = None,
    ):
        """A replica without a role: `make_leader` or `make_follower` gives it one, and with it a log.

        - `replica_lag_time_max_ms`: how long a follower may stay behind before it leaves the ISR.
        - `local_broker_epoch_supplier`: the epoch with which this broker is registered at present.
        - `delayed_operations`: the requests that wait for this partition.
        - `topic_id`: 22 characters; None if only the log may know it.
        """
        self.topic_partition = topic_partition
        self.replica_lag_time_max_ms = replica_lag_time_max_ms
        self._local_broker_id = local_broker_id
        self._local_broker_epoch_supplier = local_broker_epoch_supplier
        self._time = time
        self._alter_partition_listener = alter_partition_listener
        self._delayed_operations = delayed_operations
        self._metadata_cache = metadata_cache
        self._log_manager = log_manager
        self._alter_partition_manager = alter_partition_manager
        self._topic_id = topic_id
        self._log_ident = f"[Partition {topic_partition} broker={local_broker_id}] "  # what its log lines begin with
        # Guards roles, epochs, ISR and the choice of the high watermark. Kafka: `leaderIsrUpdateLock`.
        self._lock = threading.RLock()
        self._remote_replicas: dict[int, Replica] = {}  # replaced as a whole, so that it can be read without the lock
        self._listeners: tuple[PartitionListener, ...] = ()
        self._log_offsets_listener = _HighWatermarkListener(self)
        self.partition_epoch = 0
        """Grows with every change of the partition. Kafka: `Partition.getPartitionEpoch`."""
        self.leader_epoch = -1
        """Grows with every election. Kafka: `Partition.getLeaderEpoch`."""
        self.leader_epoch_start_offset: int | None = None
        """The log end when this broker became leader in `leader_epoch`; None for a follower.

        Kafka: `Partition.leaderEpochStartOffsetOpt`.
        """
        self.leader_replica_id: int | None = None
        """The broker that leads, -1 if none does, None without a role. Kafka: `Partition.leaderReplicaIdOpt`."""
        self.partition_state: PartitionState = _NO_ISR
        """The ISR, and the change of it that is under way. Kafka: `Partition.partitionState`."""
        self.assignment_state: AssignmentState = SimpleAssignmentState()
        """The brokers that have the partition. Kafka: `Partition.assignmentState`."""
        self.log: Log | None = None
        """The log; None without a role, and after the log directory has failed. Kafka: `Partition.log`."""

    # What the replica is

    @property
    def topic(self) -> str:
        """The topic's name. Kafka: `Partition.topic`."""
        return self.topic_partition.topic

    @property
    def partition_id(self) -> int:
        """The number of the partition. Kafka: `Partition.partitionId`."""
        return self.topic_partition.partition

    @property
    def topic_id(self) -> str | None:
        """The topic's id (22 characters), from the log if it was not given; None while neither has one.

        Kafka: `Partition.topicId`.
        """
        if self._topic_id is None or self._topic_id == ZERO_UUID:
            log = self.log or self._log_manager.get_log(self.topic_partition)
            self._topic_id = None if log is None else log.topic_id
        return self._topic_id

    @property
    def is_leader(self) -> bool:
        """True when this broker leads. Kafka: `Partition.isLeader`."""
        return self.leader_replica_id == self._local_broker_id

    @property
    def leader_log_if_local(self) -> Log | None:
        """The log if this broker leads, else None. Kafka: `Partition.leaderLogIfLocal`."""
        return self.log if self.leader_replica_id == self._local_broker_id else None

    @property
    def local_log_or_exception(self) -> Log:
        """The log. Raises NotLeaderOrFollowerException without one. Kafka: `Partition.localLogOrException`."""
        if self.log is None:
            raise NotLeaderOrFollowerException(
                f"Broker {self._local_broker_id} has no log of partition {self.topic_partition} at hand"
            )
        return self.log

    def local_log_with_epoch_or_throw(self, current_leader_epoch: int | None, require_leader: bool) -> Log:
        """The log, if whoever asks has the right leader epoch (None: does not say), and may read from a follower.

        Raises FencedLeaderEpochException when this broker knows a newer epoch, UnknownLeaderEpochException when it
        knows only older ones, and after that NotLeaderOrFollowerException. Kafka: `Partition.localLogWithEpochOrThrow`.
        """
        found = self._get_local_log(current_leader_epoch, require_leader=require_leader)
        if isinstance(found, ApiException):
            raise found
        return found

    def _get_local_log(self, current_leader_epoch: int | None, *, require_leader: bool) -> Log | ApiException:
        """The log, or the exception that says why it cannot be used. Kafka: `Partition.getLocalLog`."""
        message = (
            f"Partition {self.topic_partition} is asked for with leader epoch {current_leader_epoch}; "
            f"the leader is {self.leader_replica_id}, its epoch is {self.leader_epoch}"
        )
        if current_leader_epoch is not None and current_leader_epoch < self.leader_epoch:
            return FencedLeaderEpochException(message)
        if current_leader_epoch is not None and current_leader_epoch > self.leader_epoch:
            return UnknownLeaderEpochException(message)
        if self.log is None or (require_leader and not self.is_leader):
            return NotLeaderOrFollowerException(message)
        return self.log

    @property
    def remote_replicas(self) -> Collection[Replica]:
        """What the leader knows of each other replica; empty on a follower. Kafka: `Partition.remoteReplicas`."""
        return self._remote_replicas.values()

    def get_replica(self, replica_id: int) -> Replica | None:
        """What the leader knows of one other replica, None if it is not assigned. Kafka: `Partition.getReplica`."""
        return self._remote_replicas.get(replica_id)

    @property
    def in_sync_replica_ids(self) -> frozenset[int]:
        """The ISR that the controller has agreed to; empty on a follower. Kafka: `Partition.inSyncReplicaIds`."""
        return self.partition_state.isr

    def _effective_min_isr(self, leader_log: Log) -> int:
        """`min.insync.replicas`, but no more than there are replicas. Kafka: `Partition.effectiveMinIsr`."""
        least, replicas = leader_log.config.min_in_sync_replicas, len(self._remote_replicas) + 1
        return least if least < replicas else replicas

    @property
    def is_under_min_isr(self) -> bool:
        """True when the ISR is too small for acks=all. Kafka: `Partition.isUnderMinIsr`."""
        log = self.leader_log_if_local
        return log is not None and len(self.partition_state.isr) < self._effective_min_isr(log)

    def is_adding_replica(self, replica_id: int) -> bool:
        """True while that broker is being given the partition. Kafka: `Partition.isAddingReplica`."""
        return self.assignment_state.is_adding_replica(replica_id)

    # Becoming leader or follower

    def make_leader(
        self,
        partition_registration: PartitionRegistration,
        is_new: bool,
        high_watermark_checkpoints: OffsetCheckpoints,
        topic_id: str | None,
        target_directory_id: str | None = None,
    ) -> bool:
        """Lead from now on, as the metadata log says; False when this broker led before, or the news is old.

        - `is_new`: the partition cannot have been on this broker before (`LogManager.get_or_create_log`).
        - `high_watermark_checkpoints`: where a log that is opened now takes its high watermark from.
        - `target_directory_id`: the log directory that the controller knows of.

        Raises what opening the log raises. Kafka: `Partition.makeLeader`.
        """
        registration = partition_registration
        with self._lock:
            # 1. Old news. (News of the present partition epoch is none: the answer to a change of the ISR may have come
            #    first, and a change that got no answer ends here.)
            if registration.partition_epoch < self.partition_epoch:
                self._skip("become leader", registration)
                return False
            current_time_ms = self._time.milliseconds()
            is_new_leader = not self.is_leader

            # 2. The replicas and the ISR.
            self.update_assignment_and_isr(
                replicas=registration.replicas,
                is_leader=True,
                isr=registration.isr,
                adding_replicas=registration.adding_replicas,
                removing_replicas=registration.removing_replicas,
                leader_recovery_state=LeaderRecoveryState.RECOVERED,
            )

            # 3. The log, whose high watermark is the checkpointed one if it is opened now.
            self._create_log_in_assigned_directory(
                high_watermark_checkpoints, topic_id, target_directory_id, is_new=is_new
            )
            leader_log = self.local_log_or_exception

            # 4. A new leader epoch begins at the log end. It is noted at once, for followers may ask where the epochs
            #    before it end although nothing has been written in it.
            if registration.leader_epoch > self.leader_epoch:
                leader_epoch_start_offset = leader_log.log_end_offset
                leader_log.assign_epoch_start_offset(registration.leader_epoch, leader_epoch_start_offset)
                for replica in self.remote_replicas:
                    replica.reset_replica_state(
                        current_time_ms,
                        leader_epoch_start_offset,
                        is_new_leader=is_new_leader,
                        is_follower_in_sync=replica.broker_id in registration.isr,
                    )
                self.leader_epoch = registration.leader_epoch
                self.leader_epoch_start_offset = leader_epoch_start_offset

            # 5. This broker leads.
            self.partition_epoch = registration.partition_epoch
            self.leader_replica_id = self._local_broker_id

            # 6. If the ISR has shrunk to this broker, everything is replicated.
            leader_hw_incremented = self._maybe_increment_leader_hw(leader_log, current_time_ms)
        logger.info("%sLeader as of %s; log %s", self._log_ident, registration, leader_log)

        # 7. Some requests may have waited for that.
        if leader_hw_incremented:
            self.try_complete_delayed_requests()
        return is_new_leader

    def make_follower(
        self,
        partition_registration: PartitionRegistration,
        is_new: bool,
        high_watermark_checkpoints: OffsetCheckpoints,
        topic_id: str | None,
        target_log_directory_id: str | None = None,
    ) -> bool:
        """Follow from now on, as the metadata log says; True when the leader epoch is new: fetching begins anew then.

        Nothing is truncated: the leader's answers will say where the logs differ. The arguments, and what is raised,
        are those of `make_leader`. Kafka: `Partition.makeFollower`.
        """
        registration = partition_registration
        with self._lock:
            # 1. Old news.
            if registration.partition_epoch < self.partition_epoch:
                self._skip("become follower", registration)
                return False
            is_new_leader_epoch = registration.leader_epoch > self.leader_epoch

            # 2. Another broker leads, or none.
            self.leader_replica_id = registration.leader
            self.leader_epoch = registration.leader_epoch
            self.leader_epoch_start_offset = None
            self.partition_epoch = registration.partition_epoch

            # 3. The ISR is the leader's business.
            self.update_assignment_and_isr(
                replicas=registration.replicas,
                is_leader=False,
                isr=(),
                adding_replicas=registration.adding_replicas,
                removing_replicas=registration.removing_replicas,
                leader_recovery_state=registration.leader_recovery_state,
            )

            # 4. The log, whose high watermark is the checkpointed one if it is opened now.
            self._create_log_in_assigned_directory(
                high_watermark_checkpoints, topic_id, target_log_directory_id, is_new=is_new
            )
            follower_log = self.local_log_or_exception
        logger.info("%sFollower as of %s; log %s", self._log_ident, registration, follower_log)

        # 5. The same leader in a new epoch is a new leader, too.
        return is_new_leader_epoch

    def _skip(self, change: str, registration: PartitionRegistration) -> None:
        logger.info("%sDid not %s: %s is older than %s", self._log_ident, change, registration, self.partition_epoch)

    def update_assignment_and_isr(
        self,
        *,
        replicas: Sequence[int],
        is_leader: bool,
        isr: Iterable[int],
        adding_replicas: Sequence[int],
        removing_replicas: Sequence[int],
        leader_recovery_state: LeaderRecoveryState,
    ) -> None:
        """Take over which brokers have the partition and which of them are in sync; a change under way is dropped.

        The leader keeps what it knows of followers that stay. Kafka: `Partition.updateAssignmentAndIsr`.
        """
        known = self._remote_replicas
        followers = [replica for replica in replicas if is_leader and replica != self._local_broker_id]
        stay = [follower for follower in known if follower in followers]
        # Where several followers are at the offset of the high watermark, the first one's position in the log counts.
        self._remote_replicas = {
            follower: known.get(follower) or Replica(follower, self.topic_partition, self._metadata_cache)
            for follower in in_order_of_concurrent_hash_map(dict.fromkeys([*stay, *followers]))
        }
        if adding_replicas or removing_replicas:
            self.assignment_state = OngoingReassignmentState(adding_replicas, removing_replicas, replicas)
        else:
            self.assignment_state = SimpleAssignmentState(replicas)
        self.partition_state = CommittedPartitionState(frozenset(isr), leader_recovery_state)

    def _create_log_in_assigned_directory(
        self,
        high_watermark_checkpoints: OffsetCheckpoints,
        topic_id: str | None,
        directory_id: str | None,
        *,
        is_new: bool,
    ) -> None:
        """Open the log, unless it may lie in a log directory that has failed.

        Kafka: `Partition.createLogInAssignedDirectoryId`.
        """
        if (
            directory_id is None
            or directory_id == UNASSIGNED_DIR
            or self._log_manager.log_dirs.directory_path(directory_id) is not None
            or not self._log_manager.log_dirs.offline_log_dirs
        ):
            self.create_log_if_not_exists(high_watermark_checkpoints, topic_id, directory_id, is_new=is_new)
        else:
            logger.warning("%sNo log is made: there may be one in a log directory that is offline", self._log_ident)

    def create_log_if_not_exists(
        self,
        offset_checkpoints: OffsetCheckpoints,
        topic_id: str | None,
        target_log_directory_id: str | None = None,
        *,
        is_new: bool,
    ) -> None:
        """Open the log if it is not open yet. Raises what opening raises.

        Kafka: `Partition.createLogIfNotExists`.
        """
        if self.log is None:
            self.log = self._create_log(offset_checkpoints, topic_id, target_log_directory_id, is_new=is_new)
        elif topic_id is not None and self.log.topic_id is None:
            self.log.assign_topic_id(topic_id)

    def _create_log(
        self,
        offset_checkpoints: OffsetCheckpoints,
        topic_id: str | None,
        target_log_directory_id: str | None,
        *,
        is_new: bool,
    ) -> Log:
        """The log from the log manager, with the high watermark of the checkpoint. Kafka: `Partition.createLog`."""
        self._log_manager.configs.initializing_log(self.topic_partition)
        log = None
        try:
            log = self._log_manager.get_or_create_log(
                self.topic_partition,
                is_new=is_new,
                topic_id=topic_id,
                target_log_directory_id=target_log_directory_id,
            )
            log.log_offsets_listener = self._log_offsets_listener
            log.update_high_watermark(offset_checkpoints.fetch(log.parent_dir, self.topic_partition) or 0)
            return log
        finally:
            self._log_manager.configs.finished_initializing_log(self.topic_partition, log)

    def delete(self) -> None:
        """Give up the partition; the log itself is deleted by whoever calls. Kafka: `Partition.delete`."""
        with self._lock:
            self._clear()
            for listener in self._listeners:
                listener.on_deleted(self.topic_partition)
            self._listeners = ()

    def mark_offline(self) -> None:
        """Give up the partition, because its log directory has failed. Kafka: `Partition.markOffline`."""
        with self._lock:
            self._clear()
            for listener in self._listeners:
                listener.on_failed(self.topic_partition)
            self._listeners = ()

    def _clear(self) -> None:
        self._remote_replicas = {}
        self.assignment_state = SimpleAssignmentState()
        self.log = None
        self.partition_state = _NO_ISR
        self.leader_replica_id = None
        self.leader_epoch_start_offset = None

    # Listeners

    def maybe_add_listener(self, listener: PartitionListener) -> bool:
        """Tell the listener from now on what happens; False, and nothing, when the partition has no log.

        Kafka: `Partition.maybeAddListener`.
        """
        with self._lock:
            if self.log is None:
                return False
            self._listeners = (*self._listeners, listener)
            return True

    def remove_listener(self, listener: PartitionListener) -> None:
        """Tell the listener nothing more. Kafka: `Partition.removeListener`."""
        with self._lock:
            self._listeners = tuple(known for known in self._listeners if known is not listener)

    def invoke_on_becoming_follower_listeners(self) -> None:
        """Tell the listeners that this broker follows now. Kafka: `Partition.invokeOnBecomingFollowerListeners`."""
        for listener in self._listeners:
            listener.on_becoming_follower(self.topic_partition)

    # Appending

    def append_records_to_leader(
        self,
        records: MemoryRecords,
        origin: AppendOrigin,
        required_acks: int,
        verification_guard: VerificationGuard = VerificationGuard.SENTINEL,
        transaction_version: int = TV_UNKNOWN,
    ) -> LogAppendInfo:
        """Append a producer's records; the result says whether the high watermark rose with it.

        Raises NotLeaderOrFollowerException; NotEnoughReplicasException, and nothing is written, when the ISR is too
        small for `required_acks` -1 (0 and 1 do not mind); what `Log.append_as_leader` raises.
        Kafka: `Partition.appendRecordsToLeader`.
        """
        with self._lock:
            # 1. Only the leader gives out offsets.
            leader_log = self.leader_log_if_local
            if leader_log is None:
                raise self._not_leader()

            # 2. With acks=all, refuse if fewer replicas than the minimum are in sync.
            min_isr = self._effective_min_isr(leader_log)
            in_sync_size = len(self.partition_state.isr)
            if in_sync_size < min_isr and required_acks == ACKS_ALL:
                raise NotEnoughReplicasException(
                    f"Partition {self.topic_partition} needs {min_isr} replicas in sync for acks=all, and has "
                    f"{in_sync_size}: {sorted(self.partition_state.isr)}"
                )

            # 3. Write to the log, in the present leader epoch.
            info = leader_log.append_as_leader(
                records, self.leader_epoch, origin, verification_guard, transaction_version
            )

            # 4. The high watermark may rise at once: the leader may be alone in the ISR.
            leader_hw_incremented = self._maybe_increment_leader_hw(leader_log, self._time.milliseconds())

        # 5. Tell the caller whether it rose: it wakes waiting requests when no lock is held.
        info.leader_hw_change = _INCREASED if leader_hw_incremented else _SAME
        return info

    def append_records_to_follower(self, records: MemoryRecords, partition_leader_epoch: int) -> LogAppendInfo:
        """Append what was fetched from the leader, as it is.

        `partition_leader_epoch`: the epoch in which it was fetched. Raises NotLeaderOrFollowerException without a log,
        and what `Log.append_as_follower` raises. Kafka: `Partition.appendRecordsToFollowerOrFutureReplica`.
        """
        try:
            return self.local_log_or_exception.append_as_follower(records, partition_leader_epoch)
        except UnexpectedAppendOffsetException as error:
            log = self.local_log_or_exception
            log_end_offset = log.log_end_offset
            # The leader's log may begin inside a batch, after records were deleted. A follower that begins there gets
            # the whole batch, and so offsets below its own log start: an empty log may as well begin with the batch.
            if not (
                log_end_offset == log.log_start_offset and error.first_offset < log_end_offset <= error.last_offset
            ):
                raise
            self.truncate_fully_and_start_at(error.first_offset)
            return self.local_log_or_exception.append_as_follower(records, partition_leader_epoch)

    def check_enough_replicas_reach_offset(self, required_offset: int) -> EnoughReplicas:
        """Whether everything below `required_offset` is replicated as acks=all wants it.

        The error is NOT_LEADER_OR_FOLLOWER when this broker no longer leads, NOT_ENOUGH_REPLICAS_AFTER_APPEND when it
        is replicated, but to fewer replicas than `min.insync.replicas` by now.
        Kafka: `Partition.checkEnoughReplicasReachOffset`.
        """
        leader_log = self.leader_log_if_local
        if leader_log is None:
            return _NOT_LEADER
        maximal_isr = self.partition_state.maximal_isr
        if leader_log.high_watermark < required_offset:
            return _NOT_REACHED
        if self._effective_min_isr(leader_log) > len(maximal_isr):
            return _REACHED_BY_TOO_FEW
        return _REACHED

    def maybe_start_transaction_verification(
        self, producer_id: int, *, sequence: int, epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard:
        """The guard for appending a transaction's first batch, or the sentinel when the transaction is already open.

        Raises NotLeaderOrFollowerException, InvalidProducerEpochException.
        Kafka: `Partition.maybeStartTransactionVerification`.
        """
        leader_log = self.leader_log_if_local
        if leader_log is None:
            raise self._not_leader()
        return leader_log.maybe_start_transaction_verification(
            producer_id, sequence=sequence, epoch=epoch, supports_epoch_bump=supports_epoch_bump
        )

    def has_late_transaction(self, current_time_ms: int) -> bool:
        """True when a transaction of this leader has been open for longer than any may be.

        Kafka: `Partition.hasLateTransaction`.
        """
        leader_log = self.leader_log_if_local
        return leader_log is not None and leader_log.has_late_transaction(current_time_ms)

    @property
    def active_producer_state(self) -> ActiveProducers:
        """What is known of each producer of this partition, on leader or follower.

        Kafka: `Partition.activeProducerState`.
        """
        if self.log is None:
            return ActiveProducers(Errors.NOT_LEADER_OR_FOLLOWER)
        return ActiveProducers(Errors.NONE, self.log.active_producers)

    def _not_leader(self) -> NotLeaderOrFollowerException:
        return NotLeaderOrFollowerException(
            f"Broker {self._local_broker_id} does not lead partition {self.topic_partition}"
        )

    # Reading

    def fetch_records(
        self,
        fetch_params: FetchParams,
        fetch_partition_data: FetchRequestPartitionData,
        fetch_time_ms: int,
        max_bytes: int,
        min_one_message: bool,
        update_fetch_state: bool,
    ) -> LogReadInfo:
        """Read records for a consumer or a follower, and learn from a follower's fetch how far it has come.

        - `max_bytes`: how much may be returned; with `min_one_message` the first batch is whole all the same.
        - `update_fetch_state`: False when a fetch that has waited is read again, since it was noted at first.

        Raises FencedLeaderEpochException, UnknownLeaderEpochException (also for a follower that is not assigned) and
        NotLeaderOrFollowerException (also for such a follower that names no epoch, or that was restarted since);
        OffsetOutOfRangeException, also for an unknown last fetched epoch; KafkaStorageException.
        Kafka: `Partition.fetchRecords`.
        """
        with self._lock:
            # 1. Is this the right leader, in the right epoch? And is the reader a follower of it?
            local_log = self.local_log_with_epoch_or_throw(
                fetch_partition_data.current_leader_epoch, require_leader=fetch_params.fetch_only_leader
            )
            replica = None
            if fetch_params.is_from_follower:
                replica = self._follower_replica_or_throw(fetch_params.replica_id, fetch_partition_data)

            # 2. Read.
            log_read_info = self._read_records(
                local_log,
                fetch_partition_data.last_fetched_epoch,
                fetch_partition_data.fetch_offset,
                fetch_partition_data.current_leader_epoch,
                max_bytes,
                fetch_params.isolation,
                min_one_message=min_one_message,
            )

        # 3. A follower has everything below the offset that it asks for, unless its log is another one.
        if replica is not None and update_fetch_state and log_read_info.diverging_epoch is None:
            self.update_follower_fetch_state(
                replica,
                follower_fetch_offset_metadata=log_read_info.fetched_data.fetch_offset_metadata,
                follower_start_offset=fetch_partition_data.log_start_offset,
                follower_fetch_time_ms=fetch_time_ms,
                leader_end_offset=log_read_info.log_end_offset,
                broker_epoch=fetch_params.replica_epoch,
            )
        return log_read_info

    def _follower_replica_or_throw(self, replica_id: int, fetch_partition_data: FetchRequestPartitionData) -> Replica:
        """What is known of the follower that fetches. Kafka: `Partition.followerReplicaOrThrow`."""
        replica = self.get_replica(replica_id)
        if replica is not None:
            return replica
        message = (
            f"Broker {replica_id} is no replica of partition {self.topic_partition} in leader epoch "
            f"{self.leader_epoch} and partition epoch {self.partition_epoch}"
        )
        # It may be one by now, and the news has not come here: "unknown epoch" lets it try again.
        if fetch_partition_data.current_leader_epoch is not None:
            raise UnknownLeaderEpochException(message)
        raise NotLeaderOrFollowerException(message)

    def _read_records(
        self,
        local_log: Log,
        last_fetched_epoch: int | None,
        fetch_offset: int,
        current_leader_epoch: int | None,
        max_bytes: int,
        fetch_isolation: FetchIsolation,
        *,
        min_one_message: bool,
    ) -> LogReadInfo:
        """Read, or find out that the follower's log differs from this one. Kafka: `Partition.readRecords`."""
        # 1. The offsets before the read: what is appended meanwhile must not make a follower late.
        high_watermark = local_log.high_watermark
        log_start_offset = local_log.log_start_offset
        log_end_offset = local_log.log_end_offset
        last_stable_offset = local_log.last_stable_offset

        diverging_epoch = None
        if last_fetched_epoch is not None:
            # 2. Where does the epoch of the follower's last record end here? If it is older than all that are known, or
            #    newer, there is nothing to compare.
            epoch_end_offset = self.last_offset_for_leader_epoch(
                current_leader_epoch, last_fetched_epoch, fetch_only_from_leader=False
            )
            epoch_end_offset.error.maybe_throw()
            if (
                epoch_end_offset.end_offset == UNDEFINED_EPOCH_OFFSET
                or epoch_end_offset.leader_epoch == UNDEFINED_EPOCH
            ):
                raise OffsetOutOfRangeException(
                    f"Leader epoch {last_fetched_epoch}, the last that was fetched of partition "
                    f"{self.topic_partition}, is not known"
                )

            # 3. Below the log start there is nothing to compare either.
            if fetch_offset < log_start_offset:
                raise OffsetOutOfRangeException(
                    f"Offset {fetch_offset} of partition {self.topic_partition} is not in the log, which has "
                    f"{log_start_offset} to {log_end_offset} (exclusive)"
                )

            # 4. The leader has no record of that epoch, or fewer: from there on the follower's log is another one.
            if epoch_end_offset.leader_epoch < last_fetched_epoch or epoch_end_offset.end_offset < fetch_offset:
                diverging_epoch = epoch_end_offset

        # 5. Read, unless the follower must truncate its log first.
        if diverging_epoch is None:
            fetched_data = local_log.read(fetch_offset, max_bytes, fetch_isolation, min_one_message=min_one_message)
        else:
            fetched_data = FetchDataInfo(LogOffsetMetadata(fetch_offset), MemoryRecords.EMPTY)
        return LogReadInfo(
            fetched_data, diverging_epoch, high_watermark, log_start_offset, log_end_offset, last_stable_offset
        )

    # How far followers have come

    def update_follower_fetch_state(
        self,
        replica: Replica,
        *,
        follower_fetch_offset_metadata: LogOffsetMetadata,
        follower_start_offset: int,
        follower_fetch_time_ms: int,
        leader_end_offset: int,
        broker_epoch: int,
    ) -> None:
        """Note a follower's fetch, and what follows from it: it may join the ISR, and the high watermark may rise.

        The arguments, and what is raised, are those of `Replica.update_fetch_state_or_throw`.
        Kafka: `Partition.updateFollowerFetchState`.
        """
        # 1. Note the low watermark, if DeleteRecords requests wait for it.
        old_low_watermark = self.low_watermark_if_leader if self._delayed_operations.num_delayed_delete > 0 else -1
        previous_end_offset = replica.state_snapshot.log_end_offset

        # 2. Note how far the follower has come.
        with self._lock:
            replica.update_fetch_state_or_throw(
                follower_fetch_offset_metadata,
                follower_start_offset,
                follower_fetch_time_ms,
                leader_end_offset,
                broker_epoch,
            )
        new_low_watermark = self.low_watermark_if_leader if self._delayed_operations.num_delayed_delete > 0 else -1

        # 3. Has it caught up? Then propose to add it to the ISR.
        self._maybe_expand_isr(replica)

        # 4. Has its end moved? Then the high watermark may rise.
        leader_hw_incremented = False
        if replica.state_snapshot.log_end_offset != previous_end_offset:
            with self._lock:
                leader_log = self.leader_log_if_local
                if leader_log is not None:
                    leader_hw_incremented = self._maybe_increment_leader_hw(leader_log, follower_fetch_time_ms)

        # 5. Has a watermark risen? Then check the waiting requests.
        if leader_hw_incremented or new_low_watermark > old_low_watermark:
            self.try_complete_delayed_requests()

    def _maybe_increment_leader_hw(self, leader_log: Log, current_time_ms: int) -> bool:
        """Raise the high watermark as far as the replicas allow; True when it rose. The lock must be held.

        Called whenever that may have changed: after an append, a follower's fetch, a change of the ISR, an election.
        Kafka: `Partition.maybeIncrementLeaderHW`.
        """
        # 1. With too few replicas in sync nothing counts as replicated.
        if self.is_under_min_isr:
            return False
        # 2. At most up to the leader's log end.
        leader_log_end_offset = leader_log.log_end_offset_metadata
        new_high_watermark = leader_log_end_offset
        maximal_isr = self.partition_state.maximal_isr
        for replica in self.remote_replicas:
            state = replica.state_snapshot
            # 3. A follower in the ISR (also one that may be in it by now) must have the records. So must one that is
            #    about to join, or it would run after the high watermark and never reach it.
            if state.log_end_offset < new_high_watermark.message_offset and (
                replica.broker_id in maximal_isr
                or (
                    state.is_caught_up(
                        leader_log_end_offset.message_offset, current_time_ms, self.replica_lag_time_max_ms
                    )
                    and self._is_replica_isr_eligible(replica.broker_id)
                )
            ):
                new_high_watermark = state.log_end_offset_metadata
        # 4. It never falls.
        old_high_watermark = leader_log.maybe_increment_high_watermark(new_high_watermark)
        if old_high_watermark is None:
            return False
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(
                "%sHigh watermark raised from %s to %s", self._log_ident, old_high_watermark, new_high_watermark
            )
        return True

    @property
    def low_watermark_if_leader(self) -> int:
        """The lowest log start of all replicas on brokers that are alive: below it, records are gone everywhere.

        Raises NotLeaderOrFollowerException. Kafka: `Partition.lowWatermarkIfLeader`.
        """
        if not self.is_leader:
            raise self._not_leader()
        low_watermark = self.local_log_or_exception.log_start_offset
        for replica in self.remote_replicas:
            if self._metadata_cache.has_alive_broker(replica.broker_id):
                low_watermark = min(low_watermark, replica.state_snapshot.log_start_offset)
        return low_watermark

    def try_complete_delayed_requests(self) -> None:
        """Answer the requests that have waited for this. The lock must not be held.

        Kafka: `Partition.tryCompleteDelayedRequests`.
        """
        self._delayed_operations.check_and_complete_all()

    # The in-sync replicas

    def _maybe_expand_isr(self, follower_replica: Replica) -> None:
        """Ask the controller to let a follower join the ISR, if it has caught up. Kafka: `Partition.maybeExpandIsr`."""
        with self._lock:
            # 1. One change at a time, and only of a follower that is ready.
            current_state = self.partition_state
            if not isinstance(current_state, CommittedPartitionState) or not self._needs_expand_isr(follower_replica):
                return
            # 2. From now on the high watermark waits for it.
            proposed_state = self._prepare_isr_expand(current_state, follower_replica.broker_id)
        # 3. The answer may come at once, and wake requests.
        self._submit_alter_partition(proposed_state)

    def _needs_expand_isr(self, follower_replica: Replica) -> bool:
        """Kafka: `Partition.needsExpandIsr`."""
        return (
            follower_replica.broker_id not in self.partition_state.isr
            and self._is_replica_isr_eligible(follower_replica.broker_id)
            and self._is_follower_in_sync(follower_replica)
        )

    def _is_follower_in_sync(self, follower_replica: Replica) -> bool:
        """True for a follower that has everything up to the high watermark, and up to where the leader epoch began.

        The second matters after an election: the new leader's high watermark may lag behind what was acknowledged, so
        whoever joins must also have all that the leader brought along. Kafka: `Partition.isFollowerInSync`.
        """
        leader_log = self.leader_log_if_local
        follower_end_offset = follower_replica.state_snapshot.log_end_offset
        return (
            leader_log is not None
            and follower_end_offset >= leader_log.high_watermark
            and self.leader_epoch_start_offset is not None
            and follower_end_offset >= self.leader_epoch_start_offset
        )

    def _is_replica_isr_eligible(self, follower_replica_id: int) -> bool:
        """True for a replica whose broker is alive, is not about to stop, and has fetched since it was started.

        The last is known by the broker epoch, which is the same in its fetch and in the metadata. (A fetch of -1 passes
        unchecked.) Kafka: `Partition.isReplicaIsrEligible`.
        """
        replica = self.get_replica(follower_replica_id)
        if replica is None:
            logger.warning("%sReplica %s is not known to the leader", self._log_ident, follower_replica_id)
            return False
        stored_broker_epoch = replica.state_snapshot.broker_epoch
        cached_broker_epoch = self._metadata_cache.get_alive_broker_epoch(follower_replica_id)
        return (
            not self._metadata_cache.is_broker_fenced(follower_replica_id)
            and not self._metadata_cache.is_broker_shutting_down(follower_replica_id)
            and stored_broker_epoch is not None
            and cached_broker_epoch is not None
            and stored_broker_epoch in (-1, cached_broker_epoch)
        )

    def maybe_shrink_isr(self) -> None:
        """Ask the controller to take those followers out of the ISR that have stayed behind for too long.

        To be called every now and then, in Kafka every `replica.lag.time.max.ms` / 2.
        Kafka: `Partition.maybeShrinkIsr`.
        """
        with self._lock:
            # 1. One change at a time, by the leader.
            current_state = self.partition_state
            leader_log = self.leader_log_if_local
            if leader_log is None or not isinstance(current_state, CommittedPartitionState):
                return
            # 2. Which followers have been behind for too long?
            out_of_sync_replica_ids = self.get_out_of_sync_replicas(self.replica_lag_time_max_ms)
            if not out_of_sync_replica_ids:
                return
            # 3. Until the controller agrees, the high watermark still waits for them.
            proposed_state = self._prepare_isr_shrink(current_state, out_of_sync_replica_ids)
        # 4. The answer may come at once, and wake requests.
        self._submit_alter_partition(proposed_state)

    def get_out_of_sync_replicas(self, max_lag_ms: int) -> frozenset[int]:
        """The members of the ISR that have been behind the leader's log end for more than `max_lag_ms`.

        None while a change is under way. A member that the leader knows nothing of counts as behind. Raises
        NotLeaderOrFollowerException without a log. Kafka: `Partition.getOutOfSyncReplicas`.
        """
        state = self.partition_state
        if state.is_inflight:
            return frozenset()
        current_time_ms = self._time.milliseconds()
        leader_end_offset = self.local_log_or_exception.log_end_offset
        return frozenset(
            replica_id
            for replica_id in state.isr - {self._local_broker_id}
            if (replica := self.get_replica(replica_id)) is None
            or not replica.state_snapshot.is_caught_up(leader_end_offset, current_time_ms, max_lag_ms)
        )

    def _prepare_isr_expand(
        self, current_state: CommittedPartitionState, new_in_sync_replica_id: int
    ) -> PendingExpandIsr:
        """Kafka: `Partition.prepareIsrExpand`."""
        to_send = self._leader_and_isr(current_state.isr | {new_in_sync_replica_id})
        self.partition_state = proposed_state = PendingExpandIsr(new_in_sync_replica_id, to_send, current_state)
        return proposed_state

    def _prepare_isr_shrink(
        self, current_state: CommittedPartitionState, out_of_sync_replica_ids: frozenset[int]
    ) -> PendingShrinkIsr:
        """Kafka: `Partition.prepareIsrShrink`."""
        to_send = self._leader_and_isr(current_state.isr - out_of_sync_replica_ids)
        self.partition_state = proposed_state = PendingShrinkIsr(out_of_sync_replica_ids, to_send, current_state)
        return proposed_state

    def _leader_and_isr(self, isr: frozenset[int]) -> LeaderAndIsr:
        """The proposal of this ISR, with the broker epoch of each member as the leader knows it (-1: it does not).

        The controller refuses a member that was restarted since. Kafka: `Partition.addBrokerEpochToIsr`.
        """
        states = []
        for broker_id in sorted(isr):
            replica = self.get_replica(broker_id)
            epoch = None if replica is None else replica.state_snapshot.broker_epoch
            if broker_id == self._local_broker_id:
                epoch = self._local_broker_epoch_supplier()
            states.append(BrokerState(broker_id, -1 if epoch is None else epoch))
        return LeaderAndIsr(
            self._local_broker_id,
            self.leader_epoch,
            self.partition_state.leader_recovery_state,
            tuple(states),
            self.partition_epoch,
        )

    def _submit_alter_partition(self, proposed_state: PendingPartitionChange) -> None:
        """Ask the controller, and see to the answer whenever it comes. Kafka: `Partition.submitAlterPartition`."""
        if self.topic_id is None:
            raise IllegalStateException(f"The topic of partition {self.topic_partition} has no id")
        logger.debug("%sThe controller is asked for %s", self._log_ident, proposed_state)
        future = self._alter_partition_manager.submit(
            TopicIdPartition(self.topic_id, self.topic_partition), proposed_state.sent_leader_and_isr
        )
        future.add_done_callback(lambda answer: self._handle_alter_partition_answer(proposed_state, answer))

    def _handle_alter_partition_answer(
        self, proposed_state: PendingPartitionChange, answer: "Future[LeaderAndIsr]"
    ) -> None:
        hw_incremented = should_retry = False
        with self._lock:
            # 1. An election or news of the partition came first: the answer is of no interest any more.
            if self.partition_state != proposed_state:
                logger.debug("%sAnswer to %s came too late", self._log_ident, proposed_state)
                return
            # 2. Refused, or agreed to.
            error = answer.exception()
            if error is None:
                hw_incremented = self._handle_alter_partition_update(proposed_state, answer.result())
            else:
                should_retry = self._handle_alter_partition_error(proposed_state, Errors.for_exception(error))
        # 3. What comes back here is done without the lock.
        if hw_incremented:
            self.try_complete_delayed_requests()
        if should_retry:
            self._submit_alter_partition(proposed_state)

    def _handle_alter_partition_error(self, proposed_state: PendingPartitionChange, error: Errors) -> bool:
        """The controller has refused; True to ask it again. Kafka: `Partition.handleAlterPartitionError`."""
        self._alter_partition_listener.mark_failed()
        logger.info("%sThe controller answered %s to %s", self._log_ident, error.name, proposed_state)
        # 1. It says that nothing has changed: back to what was agreed to before.
        if error in (Errors.OPERATION_NOT_ATTEMPTED, Errors.INELIGIBLE_REPLICA):
            self.partition_state = proposed_state.last_committed_state
            return False
        # 2. It knows something newer: that will arrive as metadata. Until then, whoever may be in the ISR counts.
        # 3. Anything else, such as a request that got lost, is tried again.
        return error not in _NEWS_WILL_COME

    def _handle_alter_partition_update(
        self, proposed_state: PendingPartitionChange, leader_and_isr: LeaderAndIsr
    ) -> bool:
        """The controller has agreed; True when the high watermark rose.

        Kafka: `Partition.handleAlterPartitionUpdate`.
        """
        # 1. An answer for another leader epoch, or one that metadata has overtaken.
        if leader_and_isr.leader_epoch != self.leader_epoch or leader_and_isr.partition_epoch < self.partition_epoch:
            logger.debug("%sIgnored %s", self._log_ident, leader_and_isr)
            self._alter_partition_listener.mark_failed()
            return False
        # 2. The change is done; with the same partition epoch it was done before.
        self.partition_state = CommittedPartitionState(leader_and_isr.isr, leader_and_isr.leader_recovery_state)
        self.partition_epoch = leader_and_isr.partition_epoch
        logger.info(
            "%sISR is %s, partition epoch %s", self._log_ident, sorted(leader_and_isr.isr), self.partition_epoch
        )
        if isinstance(proposed_state, PendingExpandIsr):
            self._alter_partition_listener.mark_isr_expand()
        else:
            self._alter_partition_listener.mark_isr_shrink()
        # 3. Fewer members may have more in common.
        leader_log = self.leader_log_if_local
        return leader_log is not None and self._maybe_increment_leader_hw(leader_log, self._time.milliseconds())

    # Offsets asked for

    def fetch_offset_for_timestamp(
        self,
        timestamp: int,
        isolation_level: IsolationLevel | None,
        current_leader_epoch: int | None,
        fetch_only_from_leader: bool,
    ) -> OffsetResultHolder:
        """The first offset with a timestamp (ms) from `timestamp` on; negative ones are special.

        Which there are says `Log.fetch_offset_by_timestamp`. But -1, the latest offset, is as far as the reader may see
        here: the last stable offset or the high watermark for a client of that `isolation_level`, the log end without
        a level (a replica).

        A new leader's high watermark may lag behind what clients saw of the old one. Until it has reached the start of
        the leader epoch, a client gets no latest offset (OffsetNotAvailableException), and for a timestamp the result
        has the exception to be raised if nothing was found below that bound. Raises what
        `local_log_with_epoch_or_throw` and `Log.fetch_offset_by_timestamp` raise.
        Kafka: `Partition.fetchOffsetForTimestamp`.
        """
        with self._lock:
            # 1. Whom to ask, and how far the reader may see.
            local_log = self.local_log_with_epoch_or_throw(current_leader_epoch, require_leader=fetch_only_from_leader)
            last_fetchable_offset = {
                IsolationLevel.READ_COMMITTED: local_log.last_stable_offset,
                IsolationLevel.READ_UNCOMMITTED: local_log.high_watermark,
                None: local_log.log_end_offset,
            }[isolation_level]

            # 2. Is the high watermark still behind?
            epoch_start = self.leader_epoch_start_offset
            error = None
            if isolation_level is not None and epoch_start is not None and epoch_start > local_log.high_watermark:
                error = OffsetNotAvailableException(
                    f"The high watermark {local_log.high_watermark} of partition {self.topic_partition} has not "
                    f"reached {epoch_start}, where leader epoch {self.leader_epoch} began"
                )

            # 3. The latest offset is known without a search.
            if timestamp == LATEST_TIMESTAMP:
                if error is not None:
                    raise error
                return OffsetResultHolder(TimestampAndOffset(NO_TIMESTAMP, last_fetchable_offset, self.leader_epoch))

            # 4. The earliest is below every bound; what else is found must be compared with it.
            log = self._log_manager.get_log(self.topic_partition)
            found = None if log is None else log.fetch_offset_by_timestamp(timestamp)
            if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
                return OffsetResultHolder(found)
            return OffsetResultHolder(found, error, last_fetchable_offset)

    def fetch_offset_snapshot(
        self, current_leader_epoch: int | None, fetch_only_from_leader: bool
    ) -> LogOffsetSnapshot:
        """The log's offsets at one moment, with their places. Raises what `local_log_with_epoch_or_throw` raises.

        Kafka: `Partition.fetchOffsetSnapshot`.
        """
        with self._lock:
            log = self.local_log_with_epoch_or_throw(current_leader_epoch, require_leader=fetch_only_from_leader)
            return log.fetch_offset_snapshot()

    def last_offset_for_leader_epoch(
        self, current_leader_epoch: int | None, leader_epoch: int, fetch_only_from_leader: bool
    ) -> EpochEndOffset:
        """The newest epoch up to `leader_epoch` and where it ends here: followers truncate by it.

        The end of an epoch is the start of the next one, that of the last is the log end. What keeps this broker from
        answering stands in the result. Kafka: `Partition.lastOffsetForLeaderEpoch`.
        """
        with self._lock:
            found = self._get_local_log(current_leader_epoch, require_leader=fetch_only_from_leader)
            if isinstance(found, ApiException):
                return EpochEndOffset(error=Errors.for_exception(found))
            end = found.end_offset_for_epoch(leader_epoch)
            return EpochEndOffset() if end is None else EpochEndOffset(end.epoch, end.offset)

    @property
    def log_start_offset(self) -> int:
        """The log start if this broker leads, else -1. Kafka: `Partition.logStartOffset`."""
        with self._lock:
            leader_log = self.leader_log_if_local
            return -1 if leader_log is None else leader_log.log_start_offset

    # Deleting and truncating

    def delete_records_on_leader(self, offset: int) -> LogDeleteRecordsResult:
        """Raise the leader's log start to `offset` (exclusive; -1 for the high watermark); followers will do the same.

        The records are deleted everywhere once the low watermark in the result, or a later one, has reached it. Raises
        NotLeaderOrFollowerException; PolicyViolationException for a topic that is compacted only;
        OffsetOutOfRangeException below 0 and above the high watermark. Kafka: `Partition.deleteRecordsOnLeader`.
        """
        with self._lock:
            leader_log = self.leader_log_if_local
            if leader_log is None:
                raise self._not_leader()
            if leader_log.config.compact and not leader_log.config.delete:
                raise PolicyViolationException(f"Records of the compacted partition {self.topic_partition} must stay")
            requested_offset = leader_log.high_watermark if offset == HIGH_WATERMARK else offset
            if requested_offset < 0:
                raise OffsetOutOfRangeException(f"Offset {offset} of partition {self.topic_partition} is negative")
            leader_log.maybe_increment_log_start_offset(
                requested_offset, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
            )
            return LogDeleteRecordsResult(requested_offset, self.low_watermark_if_leader)

    def truncate_to(self, offset: int) -> None:
        """Cut the log off at `offset` (exclusive), and write down the recovery point.

        Raises what `LogManager.truncate_to` raises. Kafka: `Partition.truncateTo`.
        """
        with self._lock:
            self._log_manager.truncate_to({self.topic_partition: offset})

    def truncate_fully_and_start_at(self, new_offset: int, log_start_offset: int | None = None) -> None:
        """Empty the log and let it begin at `new_offset`.

        Its log start is `log_start_offset`, or `new_offset` without one. Raises KafkaStorageException.
        Kafka: `Partition.truncateFullyAndStartAt`.
        """
        with self._lock:
            self._log_manager.truncate_fully_and_start_at(self.topic_partition, new_offset, log_start_offset)

    # Texts

    def __str__(self) -> str:
        return (
            f"Partition({self.topic_partition}, leader={self.leader_replica_id}, leader_epoch={self.leader_epoch}, "
            f"partition_epoch={self.partition_epoch}, replicas={list(self.assignment_state.replicas)}, "
            f"isr={sorted(self.partition_state.isr)})"
        )


class _HighWatermarkListener(LogOffsetsListener):
    """Passes a log's news on to the listeners of its partition."""

    def __init__(self, partition: Partition):
        self._partition = partition

    def on_high_watermark_updated(self, offset: int) -> None:
        for listener in self._partition._listeners:
            listener.on_high_watermark_updated(self._partition.topic_partition, offset)


_NO_ISR = CommittedPartitionState(frozenset(), LeaderRecoveryState.RECOVERED)

# After these answers of the controller, metadata of an equal or newer partition epoch will replace what was proposed.
_NEWS_WILL_COME = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_TOPIC_ID,
        Errors.FENCED_LEADER_EPOCH,
        Errors.INVALID_UPDATE_VERSION,
        Errors.INVALID_REQUEST,
        Errors.NEW_LEADER_ELECTED,
    }
)
