"""All replicas of a broker: produce and fetch requests reach their partitions here, and wait here."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from minikafka.cluster.alter_partition_listener import AlterPartitionListener
from minikafka.cluster.alter_partition_manager import AlterPartitionManager
from minikafka.cluster.delayed_operations import DelayedOperations
from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchParams, FetchRequestPartitionData
from minikafka.cluster.log_delete_records_result import LogDeleteRecordsResult
from minikafka.cluster.partition import ACKS_ALL, ActiveProducers, Partition
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    CorruptRecordException,
    FatalExitError,
    FencedLeaderEpochException,
    InconsistentTopicIdException,
    InvalidPidMappingException,
    InvalidTopicException,
    KafkaStorageException,
    NotLeaderOrFollowerException,
    OffsetOutOfRangeException,
    PolicyViolationException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    RecordValidationException,
    ReplicaNotAvailableException,
    UnknownLeaderEpochException,
    UnknownTopicIdException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.exit import Halt, raise_fatal
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.topic import is_internal
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.log_append_info import LeaderHwChange, LogAppendInfo
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET_METADATA
from minikafka.log.manager.high_watermark_checkpoints import HighWatermarkCheckpoints
from minikafka.log.manager.log_manager import LogManager
from minikafka.log.producer.producer_append_info import TV_UNKNOWN
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.messages.apis import ListOffsetsRequest, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.topics_delta import TopicsDelta
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager, TransactionSupportedOperation
from minikafka.server.all_partitions import AllPartitions
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.delayed_action_queue import DelayedActionQueue
from minikafka.server.delayed_delete_records import (
    DelayedDeleteRecords,
    DeleteRecordsCallback,
    DeleteRecordsPartitionResult,
    DeleteRecordsPartitionStatus,
)
from minikafka.server.delayed_fetch import DelayedFetch, FetchCallback
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.delayed_produce import DelayedProduce, ProduceCallback
from minikafka.server.fetch_partition_status import FetchPartitionStatus
from minikafka.server.hosted_partition import OfflinePartition
from minikafka.server.leaders_and_followers import FetcherManager, LeadersAndFollowers
from minikafka.server.list_offsets import (
    UNKNOWN_EPOCH,
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
    find_offset,
    is_list_offsets_timestamp_unsupported,
    list_offsets_error,
    responses_by_topic,
)
from minikafka.server.log_append_result import LogAppendResult
from minikafka.server.log_read_result import LogReadResult
from minikafka.server.preferred_read_replica import PreferredReadReplica
from minikafka.server.produce_partition_status import PartitionResponse, ProducePartitionStatus
from minikafka.server.timer import SystemTimer
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey
from minikafka.server.transaction_verification import (
    TransactionalAppend,
    TransactionVerification,
    VerifiedPartitions,
    refused_by_coordinator,
)

logger = logging.getLogger(__name__)

# Looked up once: before Python 3.12, `LeaderHwChange.INCREASED` takes longer than a call.
_CLIENT = AppendOrigin.CLIENT
_INCREASED = LeaderHwChange.INCREASED


# What goes wrong in a broker's everyday work: answered, but not logged as an error.
KNOWN_APPEND_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderOrFollowerException,
    RecordTooLargeException,
    RecordBatchTooLargeException,
    CorruptRecordException,
    KafkaStorageException,
    UnknownTopicIdException,
)
KNOWN_FETCH_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderOrFollowerException,
    UnknownLeaderEpochException,
    FencedLeaderEpochException,
    ReplicaNotAvailableException,
    KafkaStorageException,
    InconsistentTopicIdException,
    OffsetOutOfRangeException,
)
KNOWN_DELETE_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderOrFollowerException,
    PolicyViolationException,
    KafkaStorageException,
    OffsetOutOfRangeException,
)
ListOffsetsCallback: TypeAlias = Callable[[list[ListOffsetsTopicResponse]], object]


class ReplicaManager(AllPartitions):
    """All replicas of a broker.

    A request names partitions; each of them is served or refused on its own, and one answer holds all results. Where
    the answer depends on others, the request waits: a produce request for the replicas, a fetch for enough records, a
    deletion of records for the followers. Three purgatories hold what waits.

    Invariants:

    1. Nothing that waits is completed while a partition's lock is held. An append puts the completion into the action
       queue, and whoever handles the request drains the queue at the end (`try_complete_actions`).
    2. Roles change under one lock, and only by `apply_delta`, in the order of the metadata log.
    3. A callback is called once: now, or by the purgatory.
    4. A partition whose log directory has failed is offline until the broker starts anew; nothing is written for it.

    In `log_dirs`, it keeps the file `replication-offset-checkpoint` (`HighWatermarkCheckpoints`). On the scheduler,
    `startup` begins the task `isr-expiration`, `start_high_watermark_check_point_thread` the task
    `highwatermark-checkpoint`.

    Simpler than Kafka: no quotas, no metrics, no remote storage, no share fetches, no moves between log directories.
    The followers' fetchers have no threads of their own.

    Kafka: `kafka.server.ReplicaManager`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        time: Time,
        scheduler: Scheduler,
        log_manager: LogManager,
        metadata_cache: MetadataCache,
        log_dir_failure_channel: LogDirFailureChannel,
        alter_partition_manager: AlterPartitionManager,
        create_replica_fetcher_manager: "Callable[[ReplicaManager], FetcherManager]",
        *,
        broker_epoch_supplier: Callable[[], int] = lambda: -1,
        add_partitions_to_txn_manager: AddPartitionsToTxnManager | None = None,
        alter_partition_listener: AlterPartitionListener | None = None,
        on_log_dir_failure: Callable[[str], object] = lambda directory_id: None,
        metadata_log_dir: Path | None = None,
        halt: Halt = raise_fatal,
        timer_scheduler: Scheduler | None = None,
    ):
        """A manager without partitions.

        - `create_replica_fetcher_manager(self)`: makes what copies partitions that other brokers lead.
        - `broker_epoch_supplier()`: the epoch with which this broker is registered now.
        - `add_partitions_to_txn_manager`: the way to the transaction coordinators, None if there are none.
        - `on_log_dir_failure(directory_id)`: the controller is to learn that a log directory has failed.
        - `metadata_log_dir`: the log directory (absolute) that has the metadata log in it, too; None if none has.
        - `timer_scheduler`: wakes the timers of requests that wait, `scheduler` if None.
        - `halt(fatal)`: ends the process, since the broker cannot go on without a log directory that has failed.

        Raises OSError when the high watermarks' files cannot be made, ConfigException for an unknown
        `replica.selector.class`.
        """
        super().__init__(metadata_cache)
        self.config = config
        self.log_manager = log_manager
        self.alter_partition_manager = alter_partition_manager
        self.broker_epoch_supplier = broker_epoch_supplier
        self.high_watermark_checkpoints = HighWatermarkCheckpoints(log_manager.live_log_dirs, log_dir_failure_channel)
        self._time = time
        self._scheduler = scheduler
        self._log_dir_failure_channel = log_dir_failure_channel
        self._alter_partition_listener = alter_partition_listener or AlterPartitionListener()
        self._on_log_dir_failure = on_log_dir_failure
        self._metadata_log_dir = metadata_log_dir
        self._halt = halt
        self._high_watermark_checkpoint_started = False
        timer_scheduler = timer_scheduler or scheduler
        self.delayed_produce_purgatory: DelayedOperationPurgatory[DelayedProduce] = DelayedOperationPurgatory(
            "Produce",
            SystemTimer("Produce", time, timer_scheduler),
            config.producer_purgatory_purge_interval_requests,
        )
        self.delayed_fetch_purgatory: DelayedOperationPurgatory[DelayedFetch] = DelayedOperationPurgatory(
            "Fetch",
            SystemTimer("Fetch", time, timer_scheduler),
            config.fetch_purgatory_purge_interval_requests,
        )
        self.delayed_delete_records_purgatory: DelayedOperationPurgatory[DelayedDeleteRecords] = (
            DelayedOperationPurgatory(
                "DeleteRecords",
                SystemTimer("DeleteRecords", time, timer_scheduler),
                config.delete_records_purgatory_purge_interval_requests,
            )
        )
        self._default_action_queue = DelayedActionQueue()
        self._preferred_read_replica = PreferredReadReplica(config, metadata_cache)
        self._transaction_verification = TransactionVerification(
            self, config, time, scheduler, add_partitions_to_txn_manager
        )
        self.replica_fetcher_manager = create_replica_fetcher_manager(self)
        self._leaders_and_followers = LeadersAndFollowers(
            config,
            self,
            self.create_partition,
            self._complete_delayed_operations_when_not_partition_leader,
            log_manager,
            self.high_watermark_checkpoints,
            self.replica_fetcher_manager,
        )

    # Producing

    def handle_produce_append(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        transactional_id: str | None,
        entries_per_partition: Mapping[TopicIdPartition, MemoryRecords],
        response_callback: ProduceCallback,
        transaction_supported_operation: TransactionSupportedOperation = TransactionSupportedOperation.DEFAULT_ERROR,
    ) -> None:
        """Append what a producer sent, once the coordinator has said that its transaction may write there.

        The arguments are those of `append_records`, and `transactional_id`: None for a producer without transactions.
        Raises InvalidPidMappingException for transactional batches of more than one producer.
        Kafka: `ReplicaManager.handleProduceAppend`.
        """
        # 1. Which producer writes transactional batches, and into which partitions?
        producers: set[tuple[int, int]] = set()
        base_sequences: dict[TopicPartition, int] = {}
        for topic_id_partition, records in entries_per_partition.items():
            for batch in records.batches():
                if batch.has_producer_id and batch.is_transactional:
                    producers.add((batch.producer_id, batch.producer_epoch))
                    base_sequences[topic_id_partition.topic_partition] = next(records.batches()).base_sequence
        if len(producers) > 1:
            raise InvalidPidMappingException("Transactional records contained more than one producer ID")
        # 2. Nobody: there is nothing to ask.
        if not producers:
            self.append_records(
                timeout_ms,
                required_acks,
                internal_topics_allowed,
                _CLIENT,
                entries_per_partition,
                response_callback,
            )
            return

        def append_verified(verified: VerifiedPartitions) -> None:
            self._append_verified(
                verified,
                timeout_ms,
                required_acks,
                internal_topics_allowed,
                entries_per_partition,
                response_callback,
                transaction_supported_operation,
            )

        # 3. Ask the coordinator; the append goes on when it has answered.
        (producer_id, producer_epoch) = producers.pop()
        append = TransactionalAppend(
            base_sequences, transactional_id, producer_id, producer_epoch, transaction_supported_operation
        )
        self._transaction_verification.verify(append, append_verified)

    def _append_verified(
        self,
        verified: VerifiedPartitions,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries_per_partition: Mapping[TopicIdPartition, MemoryRecords],
        response_callback: ProduceCallback,
        operation: TransactionSupportedOperation,
    ) -> None:
        """Append to the partitions without an error, and answer for the others too.

        Kafka: `ReplicaManager.handleProduceAppend`, its function `postVerificationCallback`.
        """
        refused = {
            topic_id_partition: refused_by_coordinator(verified.errors[topic_id_partition.topic_partition], operation)
            for topic_id_partition in entries_per_partition
            if topic_id_partition.topic_partition in verified.errors
        }
        responses = {
            key: status.response_status for key, status in self._build_produce_partition_status(refused).items()
        }
        self.append_records(
            timeout_ms,
            required_acks,
            internal_topics_allowed,
            _CLIENT,
            {key: records for key, records in entries_per_partition.items() if key not in refused},
            lambda appended: response_callback({**responses, **appended}),
            verification_guards=verified.guards,
        )

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        origin: AppendOrigin,
        entries_per_partition: Mapping[TopicIdPartition, MemoryRecords],
        response_callback: ProduceCallback,
        verification_guards: Mapping[TopicPartition, VerificationGuard] | None = None,
        transaction_version: int = TV_UNKNOWN,
    ) -> None:
        """Append records to the partitions that this broker leads, and answer when the producer's acks are there.

        - `timeout_ms`: how long the answer may wait for them.
        - `required_acks`: 0 and 1: the leader's log will do; −1: everything the high watermark waits for.
        - `internal_topics_allowed`: Kafka's own topics may be written, too.
        - `response_callback(responses)` is called once, now or later: with an answer for each partition.
        - `verification_guards`, `transaction_version`: as `Log.append_as_leader` takes them.

        Whoever calls drains the action queue afterwards, with no lock held (`try_complete_actions`).
        Kafka: `ReplicaManager.appendRecords`.
        """
        # 1. Refuse acks that do not exist.
        if required_acks not in (-1, 0, 1):
            response_callback({key: PartitionResponse(Errors.INVALID_REQUIRED_ACKS) for key in entries_per_partition})
            return
        # 2. Append to each partition. Waiting requests are checked later, when no lock is held.
        results = self.append_records_to_leader(
            required_acks,
            internal_topics_allowed,
            origin,
            entries_per_partition,
            verification_guards=verification_guards,
            transaction_version=transaction_version,
        )
        # 3. The answer as it is now, and the high watermark at which each partition's part is acknowledged.
        produce_status = self._build_produce_partition_status(results)
        # 4. Answer, or wait.
        self._maybe_add_delayed_produce(required_acks, timeout_ms, results, produce_status, response_callback)

    def append_records_to_leader(
        self,
        required_acks: int,
        internal_topics_allowed: bool,
        origin: AppendOrigin,
        entries_per_partition: Mapping[TopicIdPartition, MemoryRecords],
        action_queue: DelayedActionQueue | None = None,
        verification_guards: Mapping[TopicPartition, VerificationGuard] | None = None,
        transaction_version: int = TV_UNKNOWN,
    ) -> dict[TopicIdPartition, LogAppendResult]:
        """Append records to the leaders' logs, and wait for nobody; arguments as for `append_records`.

        `action_queue`: where the completion of what waits is put, None for the manager's own queue.
        Kafka: `ReplicaManager.appendRecordsToLeader`.
        """
        is_timed = logger.isEnabledFor(logging.DEBUG)
        start_ms = self._time.milliseconds() if is_timed else 0
        results = self._append_to_local_log(
            internal_topics_allowed,
            origin,
            entries_per_partition,
            required_acks,
            verification_guards or {},
            transaction_version,
        )
        if is_timed:
            logger.debug("Produce to local log in %d ms", self._time.milliseconds() - start_ms)
        self._add_complete_purgatory_action(action_queue or self._default_action_queue, results)
        return results

    def _append_to_local_log(
        self,
        internal_topics_allowed: bool,
        origin: AppendOrigin,
        entries_per_partition: Mapping[TopicIdPartition, MemoryRecords],
        required_acks: int,
        verification_guards: Mapping[TopicPartition, VerificationGuard],
        transaction_version: int,
    ) -> dict[TopicIdPartition, LogAppendResult]:
        """Append to each partition on its own: what one of them refuses does not concern the others.

        Kafka: `ReplicaManager.appendToLocalLog`.
        """
        results: dict[TopicIdPartition, LogAppendResult] = {}
        for topic_id_partition, records in entries_per_partition.items():
            topic_partition = topic_id_partition.topic_partition
            # 1. Kafka's own topics are not for everybody.
            if not internal_topics_allowed and is_internal(topic_partition.topic):
                refusal = InvalidTopicException(f"Cannot append to internal topic {topic_partition.topic}")
                results[topic_id_partition] = LogAppendResult(LogAppendInfo.unknown(), refusal)
                continue
            try:
                # 2. The partition must be here, and belong to the topic that is meant.
                partition = self.get_partition_or_exception(topic_id_partition)
                # 3. It decides whether this broker leads it, and whether enough replicas are in sync.
                info = partition.append_records_to_leader(
                    records,
                    origin,
                    required_acks,
                    verification_guards.get(topic_partition, VerificationGuard.SENTINEL),
                    transaction_version,
                )
                results[topic_id_partition] = LogAppendResult(info)
            except KNOWN_APPEND_ERRORS as error:
                # 4. What clients cause or cure themselves: the code says all.
                results[topic_id_partition] = LogAppendResult(LogAppendInfo.unknown(), error)
            except RecordValidationException as error:
                # 5. Records that break a rule: the producer is told which, and why.
                log_start_offset = self._failed_append(topic_id_partition, error.invalid_exception)
                info = LogAppendInfo.unknown(log_start_offset, error.record_errors)
                results[topic_id_partition] = LogAppendResult(
                    info, error.invalid_exception, has_custom_error_message=True
                )
            except Exception as error:
                # 6. Everything else, such as too few replicas, a sequence with a gap, a fenced producer.
                log_start_offset = self._failed_append(topic_id_partition, error)
                results[topic_id_partition] = LogAppendResult(LogAppendInfo.unknown(log_start_offset), error)
        return results

    def _failed_append(self, topic_id_partition: TopicIdPartition, error: Exception) -> int:
        """Log the failure, and return the log start for the answer: −1 unless this broker leads the partition."""
        logger.error("Error processing append operation on partition %s: %r", topic_id_partition, error)
        partition = self.online_partition(topic_id_partition.topic_partition)
        return -1 if partition is None else partition.log_start_offset

    def _add_complete_purgatory_action(
        self, action_queue: DelayedActionQueue, results: Mapping[TopicIdPartition, LogAppendResult]
    ) -> None:
        """Check later what waits for these partitions. Kafka: `ReplicaManager.addCompletePurgatoryAction`."""

        def complete() -> None:
            for topic_id_partition, result in results.items():
                key = TopicPartitionOperationKey.of(topic_id_partition.topic_partition)
                if result.info.leader_hw_change is _INCREASED:
                    self.delayed_produce_purgatory.check_and_complete(key)
                    self.delayed_fetch_purgatory.check_and_complete(key)
                    self.delayed_delete_records_purgatory.check_and_complete(key)
                elif result.info.leader_hw_change is LeaderHwChange.SAME:
                    self.delayed_fetch_purgatory.check_and_complete(key)  # followers read up to the log end

        action_queue.add(complete)

    @staticmethod
    def _build_produce_partition_status(
        results: Mapping[TopicIdPartition, LogAppendResult],
    ) -> dict[TopicIdPartition, ProducePartitionStatus]:
        """Kafka: `ReplicaManager.buildProducePartitionStatus`."""
        produce_status = {}
        for key, result in results.items():
            info = result.info
            response = PartitionResponse(
                result.error,
                info.first_offset,
                info.log_append_time,
                info.log_start_offset,
                info.record_errors,
                result.error_message,
            )
            produce_status[key] = ProducePartitionStatus(info.last_offset + 1, response)
        return produce_status

    def _maybe_add_delayed_produce(
        self,
        required_acks: int,
        timeout_ms: int,
        results: Mapping[TopicIdPartition, LogAppendResult],
        produce_status: dict[TopicIdPartition, ProducePartitionStatus],
        response_callback: ProduceCallback,
    ) -> None:
        """Wait for the replicas if acks=all asks for it and any partition took its records; else answer.

        Kafka: `ReplicaManager.maybeAddDelayedProduce`, `ReplicaManager.delayedProduceRequestRequired`.
        """
        if required_acks != ACKS_ALL or None not in [result.exception for result in results.values()]:
            response_callback({key: status.response_status for key, status in produce_status.items()})
            return
        delayed_produce = DelayedProduce(timeout_ms, produce_status, self._enough_replicas, response_callback)
        # Replicas may have caught up meanwhile: it is tried at once, and waits only if that fails.
        is_answered = self.delayed_produce_purgatory.try_complete_else_watch(
            delayed_produce, [TopicPartitionOperationKey.of(key.topic_partition) for key in produce_status]
        )
        if not is_answered:
            logger.debug("Produce waits for at most %d ms for the high watermarks of %s", timeout_ms, produce_status)

    def _enough_replicas(self, topic_partition: TopicPartition, required_offset: int) -> tuple[bool, Errors]:
        partition = self.get_partition_or_error(topic_partition)
        if not isinstance(partition, Partition):
            return False, partition
        return partition.check_enough_replicas_reach_offset(required_offset)

    def try_complete_actions(self) -> None:
        """Do what was left for the time after a request. Kafka: `ReplicaManager.tryCompleteActions`."""
        self._default_action_queue.try_complete_actions()

    # Fetching

    def fetch_messages(
        self,
        params: FetchParams,
        fetch_infos: Sequence[tuple[TopicIdPartition, FetchRequestPartitionData]],
        response_callback: FetchCallback,
    ) -> None:
        """Read the partitions, and answer when there is enough, or something that cannot wait.

        Consumers may read from any replica, followers from the leader only; the leader learns from a follower's fetch
        how far it has come. `response_callback(data)` is called once, now or later, with the partitions in the order
        of `fetch_infos`. Kafka: `ReplicaManager.fetchMessages`.
        """
        # 1. Read what is there.
        log_read_results = self.read_from_log(params, fetch_infos, read_from_purgatory=False)
        # 2. Is it enough, or does something not bear waiting: an error, a follower whose log departs from this one, or
        #    a replica that is nearer to the consumer?
        bytes_readable = sum(result.info.records.size_in_bytes for _, result in log_read_results)
        answer_now = (
            params.max_wait_ms <= 0
            or not fetch_infos
            or bytes_readable >= params.min_bytes
            or any(result.error is not Errors.NONE for _, result in log_read_results)
            or any(result.diverging_epoch is not None for _, result in log_read_results)
            or any(result.preferred_read_replica is not None for _, result in log_read_results)
        )
        # 3. Then answer.
        if answer_now:
            response_callback(
                [
                    (
                        topic_id_partition,
                        result.to_fetch_partition_data(
                            is_reassignment_fetch=params.is_from_follower
                            and self.is_adding_replica(topic_id_partition.topic_partition, params.replica_id)
                        ),
                    )
                    for topic_id_partition, result in log_read_results
                ]
            )
            return
        # 4. Else wait. Where each read began is kept, so that new bytes can be counted without reading.
        read = dict(log_read_results)
        fetch_partition_status = {
            topic_id_partition: FetchPartitionStatus(read[topic_id_partition].info.fetch_offset_metadata, data)
            for topic_id_partition, data in fetch_infos
        }
        logger.debug(
            "Fetch waits for at most %d ms: %s of %d bytes", params.max_wait_ms, bytes_readable, params.min_bytes
        )
        delayed_fetch = DelayedFetch(params, fetch_partition_status, self, response_callback)
        # 5. Records may have come meanwhile: it is tried at once, and waits only if that fails.
        self.delayed_fetch_purgatory.try_complete_else_watch(
            delayed_fetch, [TopicPartitionOperationKey.of(key.topic_partition) for key in fetch_partition_status]
        )

    def read_from_log(
        self,
        params: FetchParams,
        read_partition_info: Sequence[tuple[TopicIdPartition, FetchRequestPartitionData]],
        read_from_purgatory: bool,
    ) -> list[tuple[TopicIdPartition, LogReadResult]]:
        """Read the partitions in their order, until `params.max_bytes` are together.

        The first batch of the whole answer is read whole, however large it is, so that readers get on.
        `read_from_purgatory`: the fetch has waited; what it says of a follower was noted when it came.
        Kafka: `ReplicaManager.readFromLog`.
        """
        limit_bytes = params.max_bytes
        min_one_message = True
        results: list[tuple[TopicIdPartition, LogReadResult]] = []
        for topic_id_partition, fetch_info in read_partition_info:
            # 1. Read one partition: no more than it may have, nor than is left.
            result = self._read(
                params,
                topic_id_partition,
                fetch_info,
                limit_bytes,
                min_one_message=min_one_message,
                update_fetch_state=not read_from_purgatory,
            )
            # 2. After the first records, limits hold for everybody.
            record_batch_size = result.info.records.size_in_bytes
            if record_batch_size > 0:
                min_one_message = False
            # 3. What is left for the next.
            limit_bytes = max(0, limit_bytes - record_batch_size)
            results.append((topic_id_partition, result))
        return results

    def _read(
        self,
        params: FetchParams,
        topic_id_partition: TopicIdPartition,
        fetch_info: FetchRequestPartitionData,
        limit_bytes: int,
        *,
        min_one_message: bool,
        update_fetch_state: bool,
    ) -> LogReadResult:
        """Read one partition; what goes wrong stands in the result. Kafka: `ReplicaManager.readFromLog`, `read`."""
        adjusted_max_bytes = min(fetch_info.max_bytes, limit_bytes)
        fetch_time_ms = self._time.milliseconds()
        try:
            # 1. The partition must be here, and belong to the topic that is meant.
            partition = self.get_partition_or_exception(topic_id_partition.topic_partition)
            if topic_id_partition.topic_id != ZERO_UUID and partition.topic_id not in (
                None,
                topic_id_partition.topic_id,
            ):
                raise InconsistentTopicIdException(
                    "Topic ID in the fetch session did not match the topic ID in the log."
                )
            # 2. A consumer that had better ask another replica is told so, and gets nothing here.
            preferred = self._preferred_read_replica.find(partition, params, fetch_info.fetch_offset, fetch_time_ms)
            if preferred is not None:
                return _go_there(partition, fetch_info, preferred)
            # 3. The partition decides who may read from this broker, and how far.
            read_info = partition.fetch_records(
                params, fetch_info, fetch_time_ms, adjusted_max_bytes, min_one_message, update_fetch_state
            )
            # 4. A batch cut short is of no use to anybody: the reader gets nothing, and gets on elsewhere.
            fetched = read_info.fetched_data
            if fetched.first_entry_incomplete:
                fetched = FetchDataInfo(fetched.fetch_offset_metadata, MemoryRecords.EMPTY)
            return LogReadResult(
                fetched,
                read_info.diverging_epoch,
                read_info.high_watermark,
                read_info.log_start_offset,
                read_info.log_end_offset,
                fetch_info.log_start_offset,
                fetch_time_ms,
                read_info.last_stable_offset,
            )
        except KNOWN_FETCH_ERRORS as error:
            return LogReadResult.failed(Errors.for_exception(error))
        except Exception as error:
            logger.exception(
                "Error processing fetch with max size %d from replica %d on partition %s: %s",
                adjusted_max_bytes,
                params.replica_id,
                topic_id_partition,
                fetch_info,
            )
            return LogReadResult.failed(Errors.for_exception(error))

    def complete_delayed_fetch_requests(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Check the fetches that wait for partitions whose high watermark a fetcher has moved.

        Kafka: `ReplicaManager.completeDelayedFetchRequests`.
        """
        for topic_partition in topic_partitions:
            self.delayed_fetch_purgatory.check_and_complete(TopicPartitionOperationKey.of(topic_partition))

    # Deleting records

    def delete_records(
        self,
        timeout_ms: int,
        offset_per_partition: Mapping[TopicPartition, int],
        response_callback: DeleteRecordsCallback,
        *,
        allow_internal_topic_deletion: bool = False,
    ) -> None:
        """Raise log starts to these offsets (exclusive; −1: the high watermark), and answer when all replicas have.

        `response_callback(results)` is called once, now or later. Kafka: `ReplicaManager.deleteRecords`.
        """
        # 1. The leader's part.
        results = {
            topic_partition: self._delete_records_on_local_log(topic_partition, offset, allow_internal_topic_deletion)
            for topic_partition, offset in offset_per_partition.items()
        }
        # 2. The answer as it is now.
        status = {
            topic_partition: DeleteRecordsPartitionStatus(
                result.requested_offset,
                DeleteRecordsPartitionResult(
                    partition_index=topic_partition.partition,
                    low_watermark=result.low_watermark,
                    error_code=result.error,
                ),
            )
            for topic_partition, result in results.items()
        }
        # 3. Followers learn of the new log starts with their next fetches: wait for them, or answer.
        if any(
            result.exception is None and result.low_watermark < result.requested_offset for result in results.values()
        ):
            self.delayed_delete_records_purgatory.try_complete_else_watch(
                DelayedDeleteRecords(timeout_ms, status, self._check_low_watermark, response_callback),
                [TopicPartitionOperationKey.of(topic_partition) for topic_partition in offset_per_partition],
            )
        else:
            response_callback({key: each.response_status for key, each in status.items()})

    def _delete_records_on_local_log(
        self, topic_partition: TopicPartition, offset: int, allow_internal_topic_deletion: bool
    ) -> LogDeleteRecordsResult:
        """Kafka: `ReplicaManager.deleteRecordsOnLocalLog`."""
        if is_internal(topic_partition.topic) and not allow_internal_topic_deletion:
            refusal = InvalidTopicException(f"Cannot delete records of internal topic {topic_partition.topic}")
            return LogDeleteRecordsResult(-1, -1, refusal)
        try:
            return self.get_partition_or_exception(topic_partition).delete_records_on_leader(offset)
        except KNOWN_DELETE_ERRORS as error:
            return LogDeleteRecordsResult(-1, -1, error)
        except Exception as error:
            logger.exception("Error processing delete records operation on partition %s", topic_partition)
            return LogDeleteRecordsResult(-1, -1, error)

    def _check_low_watermark(self, topic_partition: TopicPartition, status: DeleteRecordsPartitionStatus) -> None:
        """Settle a partition's part if its low watermark has come far enough, or will not come any more.

        Kafka: `ReplicaManager.deleteRecords`, its function `onAcks`.
        """
        hosted = self.get_partition(topic_partition)
        error, low_watermark = Errors.NONE, -1
        if hosted is None:
            error = Errors.UNKNOWN_TOPIC_OR_PARTITION
        elif isinstance(hosted, OfflinePartition):
            error = Errors.KAFKA_STORAGE_ERROR
        elif hosted.partition.leader_log_if_local is None:
            error = Errors.NOT_LEADER_OR_FOLLOWER
        else:
            low_watermark = hosted.partition.low_watermark_if_leader
        if error is not Errors.NONE or low_watermark >= status.required_offset:
            status.acks_pending = False
            status.response_status.error_code = error
            status.response_status.low_watermark = low_watermark

    # Questions for offsets, epochs and producers

    def fetch_offset(
        self,
        topics: Sequence[ListOffsetsRequest.ListOffsetsTopic],
        duplicate_partitions: frozenset[TopicPartition] | set[TopicPartition],
        isolation_level: IsolationLevel,
        replica_id: int,
        version: int,
        response_callback: ListOffsetsCallback,
    ) -> None:
        """Find offsets by their timestamps, or the special ones.

        - `duplicate_partitions`: those that the request names more than once; they are refused.
        - `replica_id`: −1 for a consumer, which sees up to `isolation_level`'s bound; −2 for a debugging one, which may
          also ask a follower; both it and brokers see up to the log end.
        - `version`: that of the request: it decides which special timestamps and which errors exist.

        Simpler than Kafka: nothing is searched in remote storage, so the answer is given at once.
        Kafka: `ReplicaManager.fetchOffset`.
        """
        responses: dict[TopicPartition, ListOffsetsPartitionResponse] = {}
        for topic in topics:
            for question in topic.partitions:
                topic_partition = TopicPartition(topic.name, question.partition_index)
                error = Errors.NONE
                if topic_partition in duplicate_partitions:
                    error = Errors.INVALID_REQUEST
                elif is_list_offsets_timestamp_unsupported(question.timestamp, version):
                    error = Errors.UNSUPPORTED_VERSION
                else:
                    try:
                        partition = self.get_partition_or_exception(topic_partition)
                        responses[topic_partition] = find_offset(
                            partition, question, isolation_level, replica_id, version
                        )
                        continue
                    except Exception as failure:
                        error = list_offsets_error(failure, version)
                responses[topic_partition] = ListOffsetsPartitionResponse(
                    partition_index=question.partition_index, error_code=error
                )
        response_callback(responses_by_topic(responses))

    def last_offset_for_leader_epoch(
        self, requested_epoch_info: Sequence[OffsetForLeaderEpochRequest.OffsetForLeaderTopic]
    ) -> list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult]:
        """Where leader epochs end in the logs that this broker leads; errors stand in the answers.

        Kafka: `ReplicaManager.lastOffsetForLeaderEpoch`.
        """
        make_topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
        results = []
        for topic in requested_epoch_info:
            result = make_topic(topic=topic.topic)
            for question in topic.partitions:
                partition = self.get_partition_or_error(TopicPartition(topic.topic, question.partition))
                if isinstance(partition, Errors):
                    end = EpochEndOffset(error=partition)
                else:
                    unknown = question.current_leader_epoch == UNKNOWN_EPOCH
                    end = partition.last_offset_for_leader_epoch(
                        None if unknown else question.current_leader_epoch,
                        question.leader_epoch,
                        fetch_only_from_leader=True,
                    )
                result.partitions.append(
                    make_topic.EpochEndOffset(
                        partition=question.partition,
                        error_code=end.error,
                        leader_epoch=end.leader_epoch,
                        end_offset=end.end_offset,
                    )
                )
            results.append(result)
        return results

    def active_producer_state(self, topic_partition: TopicPartition) -> ActiveProducers:
        """What is known of each producer of a partition. Kafka: `ReplicaManager.activeProducerState`."""
        partition = self.get_partition_or_error(topic_partition)
        return ActiveProducers(partition) if isinstance(partition, Errors) else partition.active_producer_state

    # Becoming leader and follower

    def apply_delta(self, delta: TopicsDelta, new_image: MetadataImage) -> None:
        """Let this broker's replicas become what the metadata says: gone, leaders, followers.

        `new_image` is what `delta` leads to; the metadata cache has it already. Kafka: `ReplicaManager.applyDelta`.
        """
        self._leaders_and_followers.apply_delta(delta, new_image)

    def create_partition(self, topic_id_partition: TopicIdPartition) -> Partition:
        """Make a partition without a role, which is online from now on. Kafka: `ReplicaManager.createPartition`."""
        topic_partition = topic_id_partition.topic_partition
        partition = Partition(
            topic_partition,
            topic_id=topic_id_partition.topic_id,
            replica_lag_time_max_ms=self.config.replica_lag_time_max_ms,
            local_broker_id=self.config.broker_id,
            local_broker_epoch_supplier=self.broker_epoch_supplier,
            time=self._time,
            alter_partition_listener=self._alter_partition_listener,
            delayed_operations=DelayedOperations(
                TopicPartitionOperationKey.of(topic_partition),
                self.delayed_produce_purgatory,
                self.delayed_fetch_purgatory,
                self.delayed_delete_records_purgatory,
            ),
            metadata_cache=self.metadata_cache,
            log_manager=self.log_manager,
            alter_partition_manager=self.alter_partition_manager,
        )
        self.add_online_partition(topic_partition, partition)
        return partition

    def _complete_delayed_operations_when_not_partition_leader(self, topic_partition: TopicPartition) -> None:
        """Answer produce requests and fetches that waited for a leader.

        Kafka: `ReplicaManager.completeDelayedOperationsWhenNotPartitionLeader`.
        """
        key = TopicPartitionOperationKey.of(topic_partition)
        self.delayed_produce_purgatory.check_and_complete(key)
        self.delayed_fetch_purgatory.check_and_complete(key)

    # Start and stop of the broker

    def startup(self) -> None:
        """Begin the background work, after the logs have been loaded. Kafka: `ReplicaManager.startup`."""
        # A follower that stands still leaves the ISR after 1 to 1.5 times `replica.lag.time.max.ms`.
        self._scheduler.schedule("isr-expiration", self.maybe_shrink_isr, 0, self.config.replica_lag_time_max_ms // 2)
        self._log_dir_failure_channel.call_for_each_offline_log_dir(
            lambda: self._scheduler.schedule_once("log-dir-failure", self._handle_next_log_dir_failure)
        )

    def maybe_shrink_isr(self) -> None:
        """Look for followers that have stayed behind for too long. Kafka: `ReplicaManager.maybeShrinkIsr`."""
        for partition in self.online_partitions():
            partition.maybe_shrink_isr()

    def start_high_watermark_check_point_thread(self) -> None:
        """Begin to write down the high watermarks every now and then, unless that was done before.

        Kafka: `ReplicaManager.startHighWatermarkCheckPointThread`.
        """
        if self._high_watermark_checkpoint_started:
            return
        self._high_watermark_checkpoint_started = True
        period_ms = self.config.replica_high_watermark_checkpoint_interval_ms
        self._scheduler.schedule("highwatermark-checkpoint", self.checkpoint_high_watermarks, 0, period_ms)

    def checkpoint_high_watermarks(self) -> None:
        """Write down the high watermarks of all online partitions, led and followed.

        Kafka: `ReplicaManager.checkpointHighWatermarks`.
        """
        self.log_manager.log_dirs.require_own_process()
        logs = [each.log for each in self.online_partitions() if each.log is not None]
        self.high_watermark_checkpoints.checkpoint_high_watermarks(logs)

    def handle_log_dir_failure(self, log_dir: Path) -> None:
        """Serve nothing any more from a log directory (absolute) whose disk has failed, and tell the controller.

        Raises FatalExitError when the broker cannot go on without it: it was the last one, has the metadata log in it,
        or has no id by which the controller knows it. Kafka: `ReplicaManager.handleLogDirFailure`.
        """
        log_dirs = self.log_manager.log_dirs
        if not log_dirs.is_log_dir_online(log_dir):
            return
        directory_id = log_dirs.directory_id(log_dir)  # which the log manager is about to forget
        logger.warning("Stopping serving replicas in dir %s because the log directory has failed.", log_dir)
        with self.replica_state_change_lock:
            # 1. Which partitions does it concern?
            failed = [
                each for each in self.online_partitions() if each.log is not None and each.log.parent_dir == log_dir
            ]
            # 2. Nobody copies into them any more.
            self.replica_fetcher_manager.remove_fetcher_for_partitions({each.topic_partition for each in failed})
            # 3. They are offline.
            for partition in failed:
                self.mark_partition_offline(partition.topic_partition)
            # 4. Their high watermarks are not written any more.
            self.high_watermark_checkpoints.handle_failure(log_dir)
        # 5. Nor is anything else.
        self.log_manager.handle_log_dir_failure(log_dir)
        if log_dir == self._metadata_log_dir:
            raise FatalExitError(f"Shutdown broker because the metadata log dir {log_dir} has failed")
        # 6. The controller gives the partitions other leaders.
        if directory_id is None:
            raise FatalExitError(f"Shutdown broker because the log dir {log_dir} has failed, and has no directory.id")
        self._on_log_dir_failure(directory_id)

    def _handle_next_log_dir_failure(self) -> None:
        try:
            self.handle_log_dir_failure(self._log_dir_failure_channel.take_next_offline_log_dir())
        except FatalExitError as fatal:
            self._halt(fatal)

    def begin_controlled_shutdown(self) -> None:
        """From now on, a replica without a leader, or outside its ISR, is stopped, not followed.

        Kafka: `ReplicaManager.beginControlledShutdown`.
        """
        self._leaders_and_followers.is_in_controlled_shutdown = True

    def shutdown(self, *, checkpoint_hw: bool = True) -> None:
        """End the fetchers and the purgatories, and write down the high watermarks; what waits is not answered.

        The logs are closed later, by the log manager. Kafka: `ReplicaManager.shutdown`.
        """
        logger.info("Shutting down")
        self.replica_fetcher_manager.shutdown()
        self.delayed_fetch_purgatory.shutdown()
        self.delayed_produce_purgatory.shutdown()
        self.delayed_delete_records_purgatory.shutdown()
        if checkpoint_hw:
            self.checkpoint_high_watermarks()
        logger.info("Shut down completely")


def _go_there(
    partition: Partition, fetch_info: FetchRequestPartitionData, preferred_read_replica: int
) -> LogReadResult:
    """A result without records, for a consumer that had better ask another replica."""
    snapshot = partition.fetch_offset_snapshot(fetch_info.current_leader_epoch, fetch_only_from_leader=False)
    return LogReadResult(
        FetchDataInfo(UNKNOWN_OFFSET_METADATA, MemoryRecords.EMPTY),
        None,
        snapshot.high_watermark.message_offset,
        snapshot.log_start_offset,
        snapshot.log_end_offset.message_offset,
        fetch_info.log_start_offset,
        -1,
        snapshot.last_stable_offset.message_offset,
        preferred_read_replica,
    )
