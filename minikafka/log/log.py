"""One partition's log: producers append to it, consumers and followers read from it, retention shortens it."""

import logging
import operator
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common import file_ops
from minikafka.common.errors import (
    IllegalArgumentException,
    InconsistentTopicIdException,
    InvalidProducerEpochException,
    OffsetOutOfRangeException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    UnexpectedAppendOffsetException,
)
from minikafka.common.java.java_numbers import INT_MAX, to_long
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.offset_and_epoch import OffsetAndEpoch
from minikafka.common.scheduler import KafkaScheduler, Scheduler
from minikafka.common.time import SystemTime, Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_analysis import (
    analyze_and_validate_producer_state,
    analyze_and_validate_records,
    has_ongoing_transaction,
    trim_invalid_bytes,
    verification_guard,
)
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.broker_compression_type import BrokerCompressionType
from minikafka.log.checkpointed_offset import checkpointed_offset
from minikafka.log.directory_lock import DirectoryLock
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.index.transaction_index import AbortedTxn
from minikafka.log.leader_epoch_file_cache import UNDEFINED_EPOCH_OFFSET, LeaderEpochFileCache
from minikafka.log.local_log import LocalLog, SegmentDeletionReason
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_lock import LogDirLock
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_loader import LogLoader
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET, LogOffsetMetadata
from minikafka.log.log_offset_snapshot import LogOffsetSnapshot
from minikafka.log.log_offsets_listener import NO_OP_OFFSETS_LISTENER, LogOffsetsListener
from minikafka.log.log_segment import LogSegment, RollParams
from minikafka.log.log_segments import LogSegments
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.log_state_snapshot import LogStateSnapshot, ProducerSnapshot
from minikafka.log.log_validator import LogValidator
from minikafka.log.producer.producer_append_info import TV_UNKNOWN
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.log.producer.producer_updates import in_kafkas_order
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.log.producer_state_rebuilding import rebuild_producer_state
from minikafka.log.retention import (
    DeletionCondition,
    RetentionRule,
    log_start_offset_breached,
    retention_ms_breached,
    retention_size_breached,
)
from minikafka.log.segment_end import unclosed_segment
from minikafka.log.segment_files import delete_producer_snapshots, replace_segments, split_overflowed_segment
from minikafka.record.files.file_records import TimestampAndOffset
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import MAGIC_VALUE_V2, NO_TIMESTAMP
from minikafka.record.format.timestamp_type import TimestampType

logger = logging.getLogger(__name__)

# Looked up once: before Python 3.12, `TimestampType.LOG_APPEND_TIME` takes longer than a call.
_LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME
_RAFT_LEADER = AppendOrigin.RAFT_LEADER

# What `fetch_offset_by_timestamp` finds besides timestamps. Kafka: `ListOffsetsRequest`.
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


class LastRecord(NamedTuple):
    """A producer's epoch and the offset of its last data record, None without one. Kafka: `LastRecord`."""

    last_data_offset: int | None
    producer_epoch: int


class ProducerState(NamedTuple):
    """A producer as the request DescribeProducers shows it; numbers that are unknown are -1, times are in ms.

    Kafka: `DescribeProducersResponseData.ProducerState`.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


class Log:
    """One partition's log. Kafka calls it `UnifiedLog` since 3.1; before, it was `Log`.

    Four offsets say what the log holds and who may see it (upper bounds are exclusive):

    - `log_start_offset`: the first offset that may be read. Retention and DeleteRecords raise it.
    - `last_stable_offset` (LSO): every transaction below it is decided; readers of committed data see up to here.
    - `high_watermark` (HW): every in-sync replica has the records below it; consumers see up to here.
    - `log_end_offset` (LEO): the next offset to be written; followers see up to here.

    Invariants:

    1. 0 <= log start <= LSO <= HW <= LEO. (A log start inside a batch is the exception: a look-up finds the batch's
       base offset, so HW and LSO may fall back to the base of the batch that the log start lies in.)
    2. Everything below `recovery_point` is on the device; recovery point <= LEO.
    3. Offsets in the log grow. They may have gaps, which compaction and aborted appends leave.
    4. At most one thread changes the log, because every change holds the lock. Reads of records hold no lock;
       they see the offsets that were in force when they began. (Where only the offset of a mark is known, its position
       is looked up under the lock.)
    5. The steps of an append have a fixed order, see `_append`. An append that is refused late (for a sequence out of
       order, say) may leave a new leader epoch and a new segment behind, but never a record; except an index for which
       the disk has no room (InternalError, see `docs/rooms/log.md`).
    6. No other log is open on the directory (`DirectoryLock`) until `close`, `close_handlers` or `delete`. To reopen a
       directory as after a crash, release the log with `close_handlers`, which writes nothing.

    Simpler than Kafka: there are no remote (tiered) segments, because they lie outside the log directory that this
    project is about, and no metrics, because offsets and files show the same. Scheduler and clock are passed in, so
    that a run can be repeated to the byte.

    On disk, in the directory `topic-partition`: for each segment, by its base offset, `.log`, `.index`, `.timeindex`
    and maybe `.txnindex` (`LogSegment`); `.snapshot` files (`ProducerStateManager`); `leader-epoch-checkpoint`
    (`LeaderEpochFileCache`); `partition.metadata` (`PartitionMetadataFile`).

    `Log.open` is for programs that use one log; `create` takes everything that a broker, a test or a lesson passes in.
    Records go in by `append_as_leader` or `append_as_follower` and come out by `read`:

        >>> from minikafka import Compression, FetchIsolation, Log, MemoryRecords, SimpleRecord
        >>> log = Log.open("orders-0")
        >>> batch = MemoryRecords.with_records(Compression.NONE, SimpleRecord(value=b"a"), SimpleRecord(value=b"b"))
        >>> log.append_as_leader(batch, leader_epoch=0).last_offset
        1
        >>> [(record.offset, record.value) for record in log.read(0).records.records()]
        [(0, b'a'), (1, b'b')]
        >>> log.high_watermark, log.log_end_offset  # no follower has them yet, so no consumer sees them
        (0, 2)
        >>> log.read(0, isolation=FetchIsolation.HIGH_WATERMARK).records.size_in_bytes
        0
        >>> old = log.maybe_increment_high_watermark(log.log_end_offset_metadata)  # now all followers have them
        >>> old.message_offset, log.high_watermark
        (0, 2)
        >>> log.close()

    Kafka: `UnifiedLog`.
    """

    @classmethod
    def open(
        cls,
        directory: str | Path,
        settings: Mapping[str, object] | None = None,
        *,
        log_start_offset: int | None = None,
        recovery_point: int = 0,
        last_shutdown_clean: bool | None = None,
        topic_id: str | None = None,
    ) -> "Log":
        """Open the log in `directory` by the machine's clock, with a scheduler that `close` ends.

        `last_shutdown_clean`: as for `create`. With None the files tell: where the newest segment is not as closing
        leaves it (after a kill, or a disk that was full), the log is recovered from `recovery_point` on, or if that is
        0 from the newest segment on. After a power cut older ones may be damaged, too: then give False. An error of the
        operating system ends the load, see `stop_at_os_errors`.

        `log_start_offset`: with None, the one that a broker noted for the partition beside the directory, in
        `log-start-offset-checkpoint`, or 0. A log that is opened alone notes none itself: what
        `maybe_increment_log_start_offset` sets must be given at the next opening.

        `settings` are the topic's, by Kafka's names (`{"retention.ms": 3_600_000}`); those that a topic could not be
        created with are refused, before anything is opened, by InvalidConfigurationException or ConfigException. The
        other arguments, and what else is raised, are those of `create`.

        Raises KafkaException while a broker runs on the log directory: two writers would overwrite each other's
        batches. In a broker's directory none can start while the log is open: the lock on the file `.lock` is held. A
        mark of its clean stop is deleted, so that its next start looks at what was written here.
        """
        directory = Path(directory)
        LogConfig.validate(settings or {})
        # A directory of another name would stop a broker's start, so none is made.
        topic_partition = parse_topic_partition_name(directory.absolute())
        log_dir = Path(os.path.realpath(directory)).parent
        log_dir_lock = LogDirLock(log_dir, shared=True, changes=True)
        scheduler = KafkaScheduler()
        scheduler.startup()
        try:
            CleanShutdownFileHandler(log_dir).delete()
            if log_start_offset is None:
                log_start_offset = checkpointed_offset(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE, topic_partition)
            if last_shutdown_clean is None:
                unclosed = unclosed_segment(directory)
                last_shutdown_clean = unclosed is None
                recovery_point = recovery_point or unclosed or 0
            log = cls.create(
                directory,
                LogConfig(settings),
                log_start_offset,
                recovery_point,
                scheduler=scheduler,
                time=SystemTime(),
                last_shutdown_clean=last_shutdown_clean,
                topic_id=topic_id,
                stop_at_os_errors=True,
            )
        except BaseException:
            scheduler.shutdown()
            log_dir_lock.release()
            raise
        log._own_scheduler, log._log_dir_lock = scheduler, log_dir_lock
        return log

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @classmethod
    def create(
        cls,
        directory: Path,
        config: LogConfig,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        *,
        scheduler: Scheduler,
        time: Time,
        max_transaction_timeout_ms: int = 900_000,
        producer_state_manager_config: ProducerStateManagerConfig | None = None,
        producer_id_expiration_check_interval_ms: int = 600_000,
        log_dir_failure_channel: LogDirFailureChannel | None = None,
        last_shutdown_clean: bool = True,
        topic_id: str | None = None,
        num_remaining_segments: dict[str, int] | None = None,
        log_offsets_listener: LogOffsetsListener = NO_OP_OFFSETS_LISTENER,
        stop_at_os_errors: bool = False,
    ) -> "Log":
        """Open the log in `directory`, whose name is `topic-partition`; make it if missing, recover it if necessary.

        - `log_start_offset`, `recovery_point`: from the checkpoint files, 0 if there are none.
        - `last_shutdown_clean`: the marker of a clean shutdown was found; the files are then trusted as they are.
        - `topic_id`: 22 characters; written to the directory, or compared with the id that is there.
        - `scheduler` does the background work (flushing, deleting files, expiring producers), `time` is the clock.
          Times are in ms.
        - `stop_at_os_errors`: an error of the operating system ends the load. Kafka, and therefore this method by
          default, takes such an error during recovery for damage and cuts the log there: a process that runs out of
          descriptors loses sound segments.

        Raises what a damaged directory makes Kafka raise (`LogLoader`), InconsistentTopicIdException, OSError, and
        KafkaStorageException when another log is open on the directory. Kafka: `UnifiedLog.create`.
        """
        # 1. The directory, which no other log may hold.
        directory = directory.absolute()  # should the process change its directory, the log stays where it is
        file_ops.create_directories(directory)
        topic_partition = parse_topic_partition_name(directory)
        log_dir_failure_channel = log_dir_failure_channel or LogDirFailureChannel(1)
        directory_lock = DirectoryLock(directory)
        try:
            # 2. No segments yet, the leader epochs of the file, no producers yet but the list of snapshot files.
            segments = LogSegments(topic_partition)
            leader_epoch_cache = create_leader_epoch_cache(
                directory, topic_partition, scheduler=scheduler, log_dir_failure_channel=log_dir_failure_channel
            )
            producer_state_manager = ProducerStateManager(
                topic_partition,
                directory,
                max_transaction_timeout_ms=max_transaction_timeout_ms,
                producer_state_manager_config=producer_state_manager_config or ProducerStateManagerConfig(),
                time=time,
            )

            # 3. Load: fill the three.
            offsets = LogLoader(
                directory,
                topic_partition,
                config,
                scheduler=scheduler,
                time=time,
                log_dir_failure_channel=log_dir_failure_channel,
                had_clean_shutdown=last_shutdown_clean,
                segments=segments,
                log_start_offset_checkpoint=log_start_offset,
                recovery_point_checkpoint=recovery_point,
                leader_epoch_cache=leader_epoch_cache,
                producer_state_manager=producer_state_manager,
                num_remaining_segments=num_remaining_segments,
                stop_at_os_errors=stop_at_os_errors,
            ).load()

            # 4. The sequence of segments, then the log around it.
            local_log = LocalLog(
                directory,
                config,
                segments,
                recovery_point=offsets.recovery_point,
                next_offset_metadata=offsets.next_offset_metadata,
                scheduler=scheduler,
                time=time,
                topic_partition=topic_partition,
                log_dir_failure_channel=log_dir_failure_channel,
            )
            return cls(
                offsets.log_start_offset,
                local_log,
                leader_epoch_cache,
                producer_state_manager,
                producer_id_expiration_check_interval_ms=producer_id_expiration_check_interval_ms,
                topic_id=topic_id,
                log_offsets_listener=log_offsets_listener,
                directory_lock=directory_lock,
            )
        except BaseException:
            directory_lock.release()
            raise

    def __init__(
        self,
        log_start_offset: int,
        local_log: LocalLog,
        leader_epoch_cache: LeaderEpochFileCache,
        producer_state_manager: ProducerStateManager,
        *,
        producer_id_expiration_check_interval_ms: int,
        topic_id: str | None,
        log_offsets_listener: LogOffsetsListener,
        directory_lock: DirectoryLock,
    ):
        # Held by every change of the log; a thread may take it again.
        self._lock = threading.RLock()
        # Keeps other logs out of the directory.
        self._directory_lock = directory_lock
        # What `open` started and `close` must end; None when the caller brought the scheduler.
        self._own_scheduler: KafkaScheduler | None = None
        self._log_dir_lock: LogDirLock | None = None
        # The segments, the log end offset and the recovery point.
        self._local_log = local_log
        self.topic_partition = local_log.topic_partition
        """The partition that this log stores. Kafka: `UnifiedLog.topicPartition`."""
        self.config = local_log.config
        """The settings in force; `update_config` replaces them. Kafka: `UnifiedLog.config`."""
        self.time = local_log.time
        """The clock."""
        self.log_start_offset = operator.index(log_start_offset)
        self.leader_epoch_cache = leader_epoch_cache
        self.producer_state_manager = producer_state_manager
        # 22 characters; None for a topic of an old version without one.
        self.topic_id = topic_id
        self.log_offsets_listener = log_offsets_listener
        # `partition.metadata`; None once the directory is renamed to be deleted.
        partition_metadata_file = self._new_partition_metadata_file()
        self.partition_metadata_file: PartitionMetadataFile | None = partition_metadata_file
        # The high watermark, with its place once that was looked up.
        self._high_watermark_metadata = LogOffsetMetadata(log_start_offset)
        # Where the first undecided transaction begins, with its place if it is known; None without one.
        self._first_unstable_offset_metadata: LogOffsetMetadata | None = None
        # What the lines in the broker's own log begin with.
        self._log_ident = f"[UnifiedLog partition={self.topic_partition}, dir={self.parent_dir}] "
        # The periodic task that forgets idle producers.
        self.producer_expire_check = self.scheduler.schedule(
            "PeriodicProducerExpirationCheck",
            lambda: self.remove_expired_producers(self.time.milliseconds()),
            producer_id_expiration_check_interval_ms,
            producer_id_expiration_check_interval_ms,
        )
        self._update_log_start_offset(log_start_offset)
        self._maybe_increment_first_unstable_offset()
        self._initialize_topic_id(partition_metadata_file)
        log_offsets_listener.on_high_watermark_updated(self.high_watermark)

    # What the log is

    @property
    def dir(self) -> Path:
        """The partition's directory, under its present name. Kafka: `UnifiedLog.dir`."""
        return self._local_log.dir

    @property
    def parent_dir(self) -> Path:
        """The log directory (one of `log.dirs`) that the partition lies in. Kafka: `UnifiedLog.parentDir`."""
        return self._local_log.parent_dir

    @property
    def name(self) -> str:
        """The directory's name. Kafka: `UnifiedLog.name`."""
        return self._local_log.name

    @property
    def is_future(self) -> bool:
        """True while this log is built up to replace another one. Kafka: `UnifiedLog.isFuture`."""
        return self._local_log.is_future

    @property
    def scheduler(self) -> Scheduler:
        """What does the background work."""
        return self._local_log.scheduler

    @property
    def log_dir_failure_channel(self) -> LogDirFailureChannel:
        """Where failures of the disk are reported. Kafka: `UnifiedLog.logDirFailureChannel`."""
        return self._local_log.log_dir_failure_channel

    def update_config(self, new_config: LogConfig) -> LogConfig:
        """Replace the settings and return the old ones. Kafka: `UnifiedLog.updateConfig`."""
        old_config = self.config
        self.config = self._local_log.config = new_config
        return old_config

    # Offsets

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record will get. Kafka: `UnifiedLog.logEndOffset`."""
        return self._local_log.log_end_offset_metadata.message_offset

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """The log end offset with its segment and position. Kafka: `UnifiedLog.logEndOffsetMetadata`."""
        return self._local_log.log_end_offset_metadata

    @property
    def recovery_point(self) -> int:
        """The first offset that may not be on the device yet. Kafka: `UnifiedLog.recoveryPoint`."""
        return self._local_log.recovery_point

    @property
    def last_flush_time(self) -> int:
        """When the recovery point was last raised (ms). Kafka: `UnifiedLog.lastFlushTime`."""
        return self._local_log.last_flush_time

    @property
    def is_empty(self) -> bool:
        """True when the log start is the log end. Kafka: `UnifiedLog.isEmpty`."""
        return self.log_start_offset == self.log_end_offset

    @property
    def high_watermark(self) -> int:
        """The offset below which every in-sync replica has the records. Kafka: `UnifiedLog.highWatermark`."""
        return self._high_watermark_metadata.message_offset

    def update_high_watermark(self, high_watermark: "int | LogOffsetMetadata") -> int:
        """Set the high watermark, up or down, to the nearest offset in [log start, log end] and return that offset.

        Used when a replica becomes leader, and by truncation. Kafka: `UnifiedLog.updateHighWatermark`.
        """
        # 1. A bare number is an offset whose place is not known yet.
        if isinstance(high_watermark, int):
            high_watermark = LogOffsetMetadata(high_watermark)
        end_offset_metadata = self._local_log.log_end_offset_metadata
        # 2. It is never below the log start.
        if high_watermark.message_offset < self.log_start_offset:
            new_high_watermark = LogOffsetMetadata(self.log_start_offset)
        # 3. At or above the log end it is the log end, whose place is known.
        elif high_watermark.message_offset >= end_offset_metadata.message_offset:
            new_high_watermark = end_offset_metadata
        else:
            new_high_watermark = high_watermark
        # 4. Set it.
        self._update_high_watermark_metadata(new_high_watermark)
        return new_high_watermark.message_offset

    def maybe_increment_high_watermark(self, new_high_watermark: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """Raise the high watermark and return the old one, or None when the new one is not ahead of it.

        Used by a leader, after a follower's fetch. Raises IllegalArgumentException above the log end.
        Kafka: `UnifiedLog.maybeIncrementHighWatermark`.
        """
        # 1. A leader cannot have replicated what it does not have.
        if new_high_watermark.message_offset > self.log_end_offset:
            raise IllegalArgumentException(
                f"High watermark {new_high_watermark} update exceeds current log end offset "
                f"{self._local_log.log_end_offset_metadata}"
            )
        # 2. Nobody else changes it meanwhile.
        with self._lock:
            # 3. The old high watermark, with its place.
            old = self._fetch_high_watermark_metadata()
            # 4. It moves only forward: to a higher offset, or to the same offset on a newer segment, as after a roll.
            if old.message_offset < new_high_watermark.message_offset or (
                old.message_offset == new_high_watermark.message_offset and old.on_older_segment(new_high_watermark)
            ):
                self._update_high_watermark_metadata(new_high_watermark)
                return old
            return None

    def maybe_update_high_watermark(self, high_watermark: int) -> int | None:
        """Set the high watermark to the nearest offset in [log start, log end]; returns that offset if it is a change.

        Used by a follower, which learns the high watermark from its leader.
        Kafka: `UnifiedLog.maybeUpdateHighWatermark`.
        """
        with self._lock:
            old = self._high_watermark_metadata.message_offset
            new = self.update_high_watermark(LogOffsetMetadata(operator.index(high_watermark)))
            return None if new == old else new

    def _fetch_high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark with its place, which is looked up and kept if only the offset was known.

        Kafka: `UnifiedLog.fetchHighWatermarkMetadata`.
        """
        # 1. Is the log closed?
        self._local_log.check_if_memory_mapped_buffer_closed()
        # 2. Is the place known?
        metadata = self._high_watermark_metadata
        if not metadata.message_offset_only:
            return metadata
        # 3. No: look it up, and keep it.
        with self._lock:
            metadata = self.maybe_convert_to_offset_metadata(self.high_watermark)
            self._update_high_watermark_metadata(metadata)
            return metadata

    def _update_high_watermark_metadata(self, new_high_watermark: LogOffsetMetadata) -> None:
        """Set the high watermark: everything that changes it ends here. Raises IllegalArgumentException below 0.

        Kafka: `UnifiedLog.updateHighWatermarkMetadata`.
        """
        # 1. No offset is negative.
        if new_high_watermark.message_offset < 0:
            raise IllegalArgumentException("High watermark offset should be non-negative")
        with self._lock:
            if new_high_watermark.message_offset < self._high_watermark_metadata.message_offset:
                logger.warning(
                    "%sNon-monotonic update of high watermark from %s to %s",
                    self._log_ident,
                    self._high_watermark_metadata,
                    new_high_watermark,
                )
            # 2. Readers see it from here on.
            self._high_watermark_metadata = new_high_watermark
            # 3. Transactions whose markers are replicated now need not be remembered.
            self.producer_state_manager.on_high_watermark_updated(new_high_watermark.message_offset)
            # 4. Tell the listener.
            self.log_offsets_listener.on_high_watermark_updated(new_high_watermark.message_offset)
            # 5. The last stable offset may move with it.
            self._maybe_increment_first_unstable_offset()

    def _update_high_watermark_with_log_end_offset(self) -> None:
        """Make a high watermark at or above the log end equal to it, as a roll has changed the log end's place or a
        truncation its offset. Kafka: `UnifiedLog.updateHighWatermarkWithLogEndOffset`.
        """
        end_offset_metadata = self._local_log.log_end_offset_metadata
        if self._high_watermark_metadata.message_offset >= end_offset_metadata.message_offset:
            self._update_high_watermark_metadata(end_offset_metadata)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open or whose marker is not replicated yet, else None.

        Kafka: `UnifiedLog.firstUnstableOffset`.
        """
        metadata = self._first_unstable_offset_metadata
        return None if metadata is None else metadata.message_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction is decided: min(first unstable offset, high watermark).

        Kafka: `UnifiedLog.lastStableOffset`.
        """
        first_unstable = self._first_unstable_offset_metadata
        high_watermark = self._high_watermark_metadata.message_offset
        if first_unstable is not None and first_unstable.message_offset < high_watermark:
            return first_unstable.message_offset
        return high_watermark

    def _fetch_last_stable_offset_metadata(self) -> LogOffsetMetadata:
        """The last stable offset with its place, which is looked up and kept if only the offset was known.

        Kafka: `UnifiedLog.fetchLastStableOffsetMetadata`.
        """
        self._local_log.check_if_memory_mapped_buffer_closed()
        high_watermark_metadata = self._fetch_high_watermark_metadata()
        first_unstable = self._first_unstable_offset_metadata
        if first_unstable is None or first_unstable.message_offset >= high_watermark_metadata.message_offset:
            return high_watermark_metadata
        if not first_unstable.message_offset_only:
            return first_unstable
        with self._lock:
            metadata = self.maybe_convert_to_offset_metadata(first_unstable.message_offset)
            self._first_unstable_offset_metadata = metadata
            return metadata

    def _maybe_increment_first_unstable_offset(self) -> None:
        """Ask the producer state again where the first undecided transaction begins, and find that place.

        An offset below the log start counts as the log start; looking that up gives the base offset of its batch. The
        lock must be held. Kafka: `UnifiedLog.maybeIncrementFirstUnstableOffset`.
        """
        self._local_log.check_if_memory_mapped_buffer_closed()
        updated = self.producer_state_manager.first_unstable_offset
        if updated is not None and (updated.message_offset_only or updated.message_offset < self.log_start_offset):
            offset = max(updated.message_offset, self.log_start_offset)
            updated = self.maybe_convert_to_offset_metadata(offset)
        self._first_unstable_offset_metadata = updated

    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """The four offsets at one moment, with their places. Kafka: `UnifiedLog.fetchOffsetSnapshot`."""
        last_stable = self._fetch_last_stable_offset_metadata()
        high_watermark = self._fetch_high_watermark_metadata()
        return LogOffsetSnapshot(
            self.log_start_offset, self._local_log.log_end_offset_metadata, high_watermark, last_stable
        )

    def fetch_state_snapshot(self) -> LogStateSnapshot:
        """The offsets, segments, leader epochs and producers at one moment; see `LogStateSnapshot` for the units."""
        with self._lock:
            producers = self.producer_state_manager.active_producers
            return LogStateSnapshot(
                self.log_start_offset,
                self.recovery_point,
                self.high_watermark,
                self.last_stable_offset,
                self.log_end_offset,
                tuple((segment.base_offset, segment.size) for segment in self.log_segments),
                tuple(self.leader_epoch_cache.epoch_entries),
                tuple(ProducerSnapshot.of(producers[producer_id]) for producer_id in sorted(producers)),
            )

    def maybe_convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """The batch that holds `offset`, by base offset and place; the bare `offset` if the log does not have it.

        Kafka: `UnifiedLog.maybeConvertToOffsetMetadata`.
        """
        try:
            return self._local_log.convert_to_offset_metadata_or_throw(offset)
        except OffsetOutOfRangeException:
            return LogOffsetMetadata(offset)

    def maybe_increment_log_start_offset(
        self, new_log_start_offset: int, reason: LogStartOffsetIncrementReason
    ) -> bool:
        """Raise the log start offset; False when it is that high already.

        Nothing is deleted here; retention deletes segments once all of their offsets lie below. Raises
        OffsetOutOfRangeException above the high watermark, KafkaStorageException.
        Kafka: `UnifiedLog.maybeIncrementLogStartOffset`.
        """
        message = (
            f"Exception while increasing log start offset for {self.topic_partition} to {new_log_start_offset} in dir "
            f"{self.parent_dir}"
        )
        with self._local_log.maybe_handle_io_exception(message), self._lock:
            # 1. The log start cannot pass the high watermark: what lies above it may not be replicated yet.
            if new_log_start_offset > self.high_watermark:
                raise OffsetOutOfRangeException(
                    f"Cannot increment the log start offset to {new_log_start_offset} of partition "
                    f"{self.topic_partition} since it is larger than the high watermark {self.high_watermark}"
                )
            self._local_log.check_if_memory_mapped_buffer_closed()
            if new_log_start_offset <= self.log_start_offset:
                return False
            # 2. Set it. The high watermark and the recovery point are raised to it if they are lower.
            self._update_log_start_offset(new_log_start_offset)
            logger.info("%sIncremented log start offset to %s due to %s", self._log_ident, new_log_start_offset, reason)
            # 3. Remove the epochs that end below it.
            self.leader_epoch_cache.truncate_from_start_async_flush(self.log_start_offset)
            # 4. Forget the replicated transactions below it.
            self.producer_state_manager.on_log_start_offset_incremented(new_log_start_offset)
            # 5. The last stable offset moves up to it if it is lower.
            self._maybe_increment_first_unstable_offset()
            return True

    def _update_log_start_offset(self, offset: int) -> None:
        self.log_start_offset = offset = operator.index(offset)
        if self.high_watermark < offset:
            self.update_high_watermark(offset)
        if self._local_log.recovery_point < offset:
            self._local_log.recovery_point = offset

    # Leader epochs

    def assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """Note that `leader_epoch` begins at `start_offset`. Kafka: `UnifiedLog.assignEpochStartOffset`."""
        self._local_log.own_process.require("The log of", self._local_log.location)
        self.leader_epoch_cache.assign(operator.index(leader_epoch), operator.index(start_offset))

    @property
    def latest_epoch(self) -> int | None:
        """The newest leader epoch. Kafka: `UnifiedLog.latestEpoch`."""
        return self.leader_epoch_cache.latest_epoch

    def end_offset_for_epoch(self, leader_epoch: int) -> OffsetAndEpoch | None:
        """The newest epoch up to `leader_epoch` that this log knows, and where it ends (exclusive); None if unknown.

        Kafka: `UnifiedLog.endOffsetForEpoch`.
        """
        found_epoch, found_offset = self.leader_epoch_cache.end_offset_for(leader_epoch, self.log_end_offset)
        return None if found_offset == UNDEFINED_EPOCH_OFFSET else OffsetAndEpoch(found_offset, found_epoch)

    # Appending

    def append_as_leader(
        self,
        records: MemoryRecords,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard = VerificationGuard.SENTINEL,
        transaction_version: int = TV_UNKNOWN,
    ) -> LogAppendInfo:
        """Append `records` with the next offsets and `leader_epoch`, which may be written into their bytes in place.

        `verification_guard` proves that the coordinator knows the transaction; `transaction_version` (0, 1 or 2) is
        required for end markers. Raises what `_append` raises. Kafka: `UnifiedLog.appendAsLeader`.
        """
        # 1. Leaders and followers share the append.
        return self._append(
            records,
            origin,
            leader_epoch,
            verification_guard,
            transaction_version,
            validate_and_assign_offsets=origin is not _RAFT_LEADER,
            ignore_record_size=False,
        )

    def append_as_follower(self, records: MemoryRecords, leader_epoch: int) -> LogAppendInfo:
        """Append what was fetched from the leader, with its offsets and epochs.

        `leader_epoch` is the epoch that the follower fetched in. Raises what `_append` raises.
        Kafka: `UnifiedLog.appendAsFollower`.
        """
        return self._append(
            records,
            AppendOrigin.REPLICATION,
            leader_epoch,
            VerificationGuard.SENTINEL,
            TV_UNKNOWN,
            validate_and_assign_offsets=False,
            ignore_record_size=True,
        )

    def _append(
        self,
        records: MemoryRecords,
        origin: AppendOrigin,
        leader_epoch: int,
        verification_guard: VerificationGuard,
        transaction_version: int,
        *,
        validate_and_assign_offsets: bool,
        ignore_record_size: bool,
    ) -> LogAppendInfo:
        """Append to the active segment, or to a new one if it is full.

        A leader validates the records and assigns offsets; a follower keeps the offsets that it gets. Raises, in this
        order:
        InvalidRecordException, OffsetsOutOfOrderException, RecordTooLargeException, CorruptRecordException (bad
        batches); what LogValidator raises (bad records); UnexpectedAppendOffsetException (a follower that has these
        offsets already); RecordBatchTooLargeException; what rolling raises; what checking producers raises;
        KafkaStorageException (the disk failed, or the log is closed). Kafka: `UnifiedLog.append`.
        """
        # 1. The topic id must be on disk before the first record is.
        self._maybe_flush_metadata_file()

        # 2. Check each batch by itself, and sum up what will be needed.
        config, local_log = self.config, self._local_log
        append_info = analyze_and_validate_records(
            records,
            self.topic_partition,
            origin,
            leader_epoch=leader_epoch,
            max_message_size=None if ignore_record_size else config.max_message_size,
            require_offsets_monotonic=not validate_and_assign_offsets,
            log_start_offset=self.log_start_offset,
        )

        # 3. Return if there is no batch. Cut off the bytes after the last whole batch.
        if append_info.valid_bytes <= 0:
            return append_info
        valid_records = trim_invalid_bytes(records, append_info.valid_bytes)

        # 4. From here on one append at a time, and none to a closed log.
        with self._lock, local_log.maybe_handle_io_exception(f"Error while appending records to {local_log.location}"):
            local_log.check_if_memory_mapped_buffer_closed()
            if validate_and_assign_offsets:
                # 5. Leader: check each record; write offsets from the log end on, the epoch, and maybe timestamps.
                append_info.first_offset = local_log.log_end_offset_metadata.message_offset
                validation = LogValidator(
                    valid_records,
                    self.topic_partition,
                    self.time,
                    append_info.source_compression,
                    BrokerCompressionType.target_compression(config.compression, append_info.source_compression),
                    config.compact,
                    config.message_timestamp_type,
                    config.message_timestamp_before_max_ms,
                    config.message_timestamp_after_max_ms,
                    leader_epoch,
                    origin,
                ).validate_messages_and_assign_offsets(append_info.first_offset)
                valid_records = validation.validated_records
                append_info.max_timestamp = validation.max_timestamp_ms
                append_info.last_offset = validation.next_offset - 1
                if config.message_timestamp_type is _LOG_APPEND_TIME:
                    append_info.log_append_time = validation.log_append_time_ms

                # 5b. A batch that was compressed again may have become too large.
                if validation.message_size_maybe_changed and not ignore_record_size:
                    self._check_batch_sizes(valid_records, config.max_message_size)
            # 5. Follower: keep the leader's offsets. They must begin at or above the log end; gaps are allowed.
            elif append_info.first_or_last_offset_of_first_batch < local_log.log_end_offset:
                raise self._unexpected_append_offset(records, append_info)

            # 6. Note a new leader epoch. (Batches before magic 2 have none: they clear all epochs.)
            batches = list(valid_records.batches())
            for batch in batches:
                if batch.magic >= MAGIC_VALUE_V2:
                    self.leader_epoch_cache.assign(batch.partition_leader_epoch, batch.base_offset)
                elif self.leader_epoch_cache.non_empty:
                    logger.warning(
                        "%sClearing leader epoch cache after unexpected append with message format v%s",
                        self._log_ident,
                        batch.magic,
                    )
                    self.leader_epoch_cache.clear_and_flush()

            # 7. Refuse an append that is larger than a segment.
            size = valid_records.size_in_bytes
            if size > config.segment_size:
                raise RecordBatchTooLargeException(
                    f"Message batch size is {size} bytes in append to partition {self.topic_partition}, which exceeds "
                    f"the maximum configured segment size of {config.segment_size}."
                )

            # 8. Begin a new segment if this one is full or old.
            segment = self._maybe_roll(size, append_info)

            # 9. Check producers: epochs, sequences, transactions. A duplicate is answered as the first time.
            place = LogOffsetMetadata(
                append_info.first_or_last_offset_of_first_batch, segment.base_offset, segment.size
            )
            analysis = analyze_and_validate_producer_state(
                self.producer_state_manager, batches, place, origin, verification_guard, transaction_version
            )
            if analysis.maybe_duplicate is not None:
                append_info.first_offset = analysis.maybe_duplicate.first_offset
                append_info.last_offset = analysis.maybe_duplicate.last_offset
                append_info.log_append_time = analysis.maybe_duplicate.timestamp
                append_info.log_start_offset = self.log_start_offset
                return append_info

            # 10. Write, and move the log end at once: even if a later step fails, no offset is given twice.
            local_log.append(append_info.last_offset, valid_records)

            # 11. If the high watermark is at or above the new log end, it gets the log end's offset and place.
            self._update_high_watermark_with_log_end_offset()

            # 12. Keep the producers' new states; write aborted transactions to the transaction index.
            for producer_append_info in in_kafkas_order(analysis.updated_producers):
                self.producer_state_manager.update(producer_append_info)
            for completed_txn in analysis.completed_txns:
                last_stable_offset = self.producer_state_manager.last_stable_offset(completed_txn)
                segment.update_txn_index(completed_txn, last_stable_offset)
                self.producer_state_manager.complete_txn(completed_txn)

            # 13. The producers' states now reach to the new log end. Update the last stable offset.
            self.producer_state_manager.update_map_end_offset(to_long(append_info.last_offset + 1))
            self._maybe_increment_first_unstable_offset()

            # 14. Flush if `flush.messages` records or more are not on the device yet.
            if local_log.unflushed_messages >= config.flush_interval:
                self.flush(force_flush_active_segment=False)

            # 15. Done.
            return append_info

    def _check_batch_sizes(self, records: MemoryRecords, max_message_size: int) -> None:
        for batch in records.batches():
            if batch.size_in_bytes > max_message_size:
                raise RecordTooLargeException(
                    f"Message batch size is {batch.size_in_bytes} bytes in append topartition {self.topic_partition} "
                    f"which exceeds the maximum configured size of {max_message_size}."
                )

    def _unexpected_append_offset(
        self, records: MemoryRecords, append_info: LogAppendInfo
    ) -> UnexpectedAppendOffsetException:
        """The refusal of offsets that a follower has already.

        The caller can still mend an empty log: the leader's log start may lie inside a batch, and a batch is always
        fetched from its first offset.
        """
        if append_info.first_offset != UNKNOWN_OFFSET:
            first_offset, first_or_last = append_info.first_offset, "First offset"
        else:
            first_offset = next(iter(records.batches())).base_offset
            first_or_last = "Last offset of the first batch"
        offsets: list[str] = []
        for record in records.records():
            offsets.append(str(record.offset))
            if len(offsets) == 10:
                break
        return UnexpectedAppendOffsetException(
            f"Unexpected offset in append to {self.topic_partition}. {first_or_last} "
            f"{append_info.first_or_last_offset_of_first_batch} is less than the next offset {self.log_end_offset}. "
            f"First 10 offsets in append: {', '.join(offsets)}, last offset in append: {append_info.last_offset}. "
            f"Log start offset = {self.log_start_offset}",
            first_offset,
            append_info.last_offset,
        )

    # Rolling

    def _maybe_roll(self, messages_size: int, append_info: LogAppendInfo) -> LogSegment:
        """The active segment, which is a new one if the old one has no room for `messages_size` bytes, is too old, has
        a full index, or is too far below the offsets. Kafka: `UnifiedLog.maybeRoll`.
        """
        segment = self._local_log.segments.active_segment
        config = self.config
        # 1. Ask the active segment.
        if not segment.should_roll(
            RollParams(
                config.max_segment_ms,
                config.segment_size,
                append_info.max_timestamp,
                append_info.last_offset,
                messages_size,
                self.time.milliseconds(),
            )
        ):
            return segment
        # 2. The new segment begins at the first offset of the append. If only the last offset is known (a follower,
        #    magic 0 or 1), it begins as far below that as one segment can span.
        if append_info.first_offset == UNKNOWN_OFFSET:
            return self.roll(append_info.last_offset - INT_MAX)
        return self.roll(append_info.first_offset)

    def roll(self, expected_next_offset: int | None = None) -> LogSegment:
        """Start a new active segment at max(`expected_next_offset`, log end offset) and return it.

        Raises KafkaException when a segment with records begins there, KafkaStorageException. Kafka: `UnifiedLog.roll`.
        """
        with self._lock:
            # 1. Cut the old segment's indexes to their entries, and open the new segment.
            new_segment = self._local_log.roll(expected_next_offset or 0)
            # 2. Write a snapshot of the producers' states, for a recovery. A flush here would delay the next append.
            self.producer_state_manager.update_map_end_offset(new_segment.base_offset)
            snapshot = self.producer_state_manager.take_snapshot(sync=False)
            # 3. The log end has a new place; so has a high watermark equal to it.
            self._update_high_watermark_with_log_end_offset()

            # 4. In the background, flush everything below the new segment.
            def flush_log() -> None:
                if snapshot is not None:
                    self._flush_producer_state_snapshot(snapshot)
                self.flush_upto_offset_exclusive(new_segment.base_offset)

            self.scheduler.schedule_once("flush-log", flush_log)
            return new_segment

    def _flush_producer_state_snapshot(self, snapshot: Path) -> None:
        message = f"Error while deleting producer state snapshot {snapshot} for {self._local_log.location}"
        with self._local_log.maybe_handle_io_exception(message, is_change=False):
            file_ops.flush_file_if_exists(snapshot)

    # Flushing

    def flush(self, *, force_flush_active_segment: bool) -> None:
        """Force everything below the log end to the device and raise the recovery point to the log end.

        An empty active segment is left out unless `force_flush_active_segment` is True, as at a clean shutdown.
        Raises KafkaStorageException. Kafka: `UnifiedLog.flush`.
        """
        self._flush(self.log_end_offset, including_offset=force_flush_active_segment)

    def flush_upto_offset_exclusive(self, offset: int) -> None:
        """Force everything below `offset` to the device and raise the recovery point to `offset`.

        Raises KafkaStorageException. Kafka: `UnifiedLog.flushUptoOffsetExclusive`.
        """
        self._flush(offset, including_offset=False)

    def _flush(self, offset: int, *, including_offset: bool) -> None:
        message = (
            f"Error while flushing log for {self._local_log.location} with offset {offset} "
            f"({'inclusive' if including_offset else 'exclusive'}) and recovery point {offset}"
        )
        with self._local_log.maybe_handle_io_exception(message, is_change=False):
            flush_offset = to_long(offset + 1) if including_offset else offset
            if flush_offset > self._local_log.recovery_point:
                # 1. Flush without the lock: appends go on meanwhile.
                self._local_log.flush(flush_offset)
                # 2. Raise the recovery point.
                with self._lock:
                    self._local_log.mark_flushed(offset)

    # Reading

    def read(
        self,
        start_offset: int,
        max_length: int = 1_048_576,
        isolation: FetchIsolation = FetchIsolation.LOG_END,
        *,
        min_one_message: bool = True,
    ) -> FetchDataInfo:
        """Read from the batch that holds `start_offset` up to the offset that `isolation` lets the reader see.

        The result has at most `max_length` bytes and may cut the last batch short; with `min_one_message` the first
        batch is whole, however large. It begins with a whole batch and so may hold records below `start_offset`.
        Raises OffsetOutOfRangeException below the log start and above the log end, KafkaStorageException.
        Kafka: `UnifiedLog.read`.
        """
        # 1. Refuse a start below the log start: those records are deleted.
        if start_offset < self.log_start_offset:
            raise OffsetOutOfRangeException(
                f"Received request for offset {start_offset} for partition {self.topic_partition}, "
                f"but we only have log segments starting from offset: {self.log_start_offset}."
            )
        # 2. How far this reader may see (exclusive).
        if isolation is FetchIsolation.LOG_END:
            max_offset_metadata = self._local_log.log_end_offset_metadata
        elif isolation is FetchIsolation.HIGH_WATERMARK:
            max_offset_metadata = self._fetch_high_watermark_metadata()
        else:
            max_offset_metadata = self._fetch_last_stable_offset_metadata()
        # 3. Read from the segments.
        return self._local_log.read(
            start_offset,
            max_length,
            max_offset_metadata,
            min_one_message=min_one_message,
            include_aborted_txns=isolation is FetchIsolation.TXN_COMMITTED,
        )

    def collect_aborted_transactions(self, start_offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """Aborted transactions that overlap [log start, `upper_bound_offset`).

        The search begins in the segment that holds `start_offset`. Kafka: `UnifiedLog.collectAbortedTransactions`.
        """
        return self._local_log.collect_aborted_transactions(self.log_start_offset, start_offset, upper_bound_offset)

    def fetch_offset_by_timestamp(self, target_timestamp: int) -> TimestampAndOffset | None:
        """The first record from the log start on with a timestamp >= `target_timestamp` (ms) in one segment, or None.

        It is the first segment whose largest timestamp is so late (of one without timestamps: the time of its file's
        last change). As in Kafka, None is also the answer where that segment has no such record from the log start on,
        though a later one may have.

        Negative values ask for special offsets: -1 for the log end, -2 and -4 for the log start, -3 for the record with
        the largest timestamp, -5 and -6 for remote storage (always offset -1 here). Only -3 brings a timestamp.
        Raises KafkaStorageException. Kafka: `UnifiedLog.fetchOffsetByTimestamp`.
        """
        message = f"Error while fetching offset by timestamp for {self._local_log.location}"
        with self._local_log.maybe_handle_io_exception(message, is_change=False):
            if target_timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
                earliest = self.leader_epoch_cache.earliest_entry
                epoch = None
                if earliest is not None and earliest.start_offset <= self.log_start_offset:
                    epoch = earliest.epoch
                return TimestampAndOffset(NO_TIMESTAMP, self.log_start_offset, epoch)
            if target_timestamp == LATEST_TIMESTAMP:
                return TimestampAndOffset(NO_TIMESTAMP, self.log_end_offset, self.latest_epoch)
            if target_timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
                return TimestampAndOffset(NO_TIMESTAMP, -1, -1)
            if target_timestamp == MAX_TIMESTAMP:
                return self._fetch_offset_of_max_timestamp()
            return self._search_offset_in_local_log(target_timestamp)

    def _fetch_offset_of_max_timestamp(self) -> TimestampAndOffset | None:
        # 1. The first of the segments that have the largest timestamp.
        segment = max(self.log_segments, key=lambda candidate: candidate.max_timestamp_so_far)
        # 2. The last offset of its batch leads, by the index, to a place at or before that batch.
        timestamp, offset = segment.read_max_timestamp_and_offset_so_far()
        position = segment.offset_index.lookup(offset).position
        # 3. The batch, and the first record in it.
        for batch in segment.log.batches_from(position):
            if batch.max_timestamp == timestamp:
                offset_of_max_timestamp = batch.offset_of_max_timestamp()
                if offset_of_max_timestamp is None:
                    return None
                epoch = batch.partition_leader_epoch
                return TimestampAndOffset(timestamp, offset_of_max_timestamp, epoch if epoch >= 0 else None)
        return None

    def _search_offset_in_local_log(self, target_timestamp: int) -> TimestampAndOffset | None:
        for segment in self.log_segments:
            if segment.largest_timestamp >= target_timestamp:
                return segment.find_offset_by_timestamp(target_timestamp, self.log_start_offset)
        return None

    # Segments

    @property
    def number_of_segments(self) -> int:
        """How many segments there are. Kafka: `UnifiedLog.numberOfSegments`."""
        return self._local_log.segments.number_of_segments

    @property
    def active_segment(self) -> LogSegment:
        """The segment that is appended to. Kafka: `UnifiedLog.activeSegment`."""
        return self._local_log.segments.active_segment

    @property
    def log_segments(self) -> list[LogSegment]:
        """All segments, oldest first. Kafka: `UnifiedLog.logSegments`."""
        with self._lock:
            return list(self._local_log.segments.values())

    def log_segments_between(self, from_offset: int, to_offset: int) -> list[LogSegment]:
        """The segments from the one that holds `from_offset` to the last that begins below `to_offset`.

        Kafka: `UnifiedLog.logSegments(long, long)`.
        """
        with self._lock:
            return list(self._local_log.segments.values(from_offset, to_offset))

    def non_active_log_segments_from(self, from_offset: int) -> list[LogSegment]:
        """The segments from the one that holds `from_offset` on, without the active segment.

        Kafka: `UnifiedLog.nonActiveLogSegmentsFrom`.
        """
        with self._lock:
            return list(self._local_log.segments.non_active_log_segments_from(from_offset))

    @property
    def size(self) -> int:
        """Bytes in all `.log` files. Kafka: `UnifiedLog.size`."""
        return sum(segment.size for segment in self.log_segments)

    # Retention

    def delete_old_segments(self) -> int:
        """Drop the oldest segments according to `cleanup.policy`; returns how many went.

        Their files are deleted `file.delete.delay.ms` later. Raises KafkaStorageException.
        Kafka: `UnifiedLog.deleteOldSegments`.
        """
        # 1. By log start, under any policy: segments that lie wholly below it.
        deleted = self._delete_old_segments_by(log_start_offset_breached(self.log_start_offset, self._log_ident))
        if not self.config.delete:
            return deleted
        # 2. By size: the oldest segments, as long as the rest is large enough.
        size_rule = retention_size_breached(self.size, self.config.retention_size, self._log_ident)
        if size_rule is not None:
            deleted += self._delete_old_segments_by(size_rule)
        # 3. By time: segments that are too old.
        time_rule = retention_ms_breached(self.time.milliseconds(), self.config.retention_ms, self._log_ident)
        if time_rule is not None:
            deleted += self._delete_old_segments_by(time_rule)
        return deleted

    def deletable_segments(self, should_delete: DeletionCondition) -> list[LogSegment]:
        """The oldest segments up to the first that must stay, or that `should_delete` lets stay.

        A segment must stay unless it lies below the high watermark as a whole, since the log start may not pass that,
        and an empty last segment must stay. Kafka: `UnifiedLog.deletableSegments`.
        """
        deletable = []
        segments = self._local_log.segments.values()
        for segment, next_segment in zip(segments, [*segments[1:], None], strict=True):
            upper_bound_offset = self.log_end_offset if next_segment is None else next_segment.base_offset
            # 1. Stop at a segment that the high watermark has not passed.
            if self.high_watermark < upper_bound_offset:
                break
            # 2. Stop at a segment that the rule keeps.
            if not should_delete(segment, next_segment):
                break
            # 3. Stop at an empty last segment.
            if next_segment is None and segment.size == 0:
                break
            deletable.append(segment)
        return deletable

    def _delete_old_segments_by(self, rule: RetentionRule) -> int:
        with self._lock:
            deletable = self.deletable_segments(rule.should_delete)
            return self._delete_segments(deletable, rule.reason) if deletable else 0

    def _delete_segments(self, deletable: list[LogSegment], reason: SegmentDeletionReason) -> int:
        """Remove the log's oldest segments; returns how many. Kafka: `UnifiedLog.deleteSegments`."""
        message = f"Error while deleting segments for {self._local_log.location}"
        with self._local_log.maybe_handle_io_exception(message):
            number_of_segments = len(deletable)
            # 1. If all are to be deleted, begin a new segment first.
            if self.number_of_segments == number_of_segments:
                new_segment = self.roll()
                if deletable[-1].base_offset == new_segment.base_offset:
                    logger.warning(
                        "%sEmpty active segment at %s was deleted and recreated",
                        self._log_ident,
                        new_segment.base_offset,
                    )
                    deletable = deletable[:-1]
            self._local_log.check_if_memory_mapped_buffer_closed()
            if deletable:
                # 2. Raise the log start to the first segment that stays.
                first_to_stay = self._local_log.segments.higher_segments(deletable[-1].base_offset)[0]
                self.maybe_increment_log_start_offset(
                    first_to_stay.base_offset, LogStartOffsetIncrementReason.SEGMENT_DELETION
                )
                # 3. Take them out of the log and rename their files; a task deletes these later.
                self._local_log.remove_and_delete_segments(deletable, reason, async_delete=True)
            # 4. Do the same with their snapshots.
            self._delete_producer_snapshots(deletable)
            return number_of_segments

    def _delete_producer_snapshots(self, segments: list[LogSegment], *, async_delete: bool = True) -> None:
        delete_producer_snapshots(self._local_log, self.producer_state_manager, segments, async_delete=async_delete)

    # Truncation

    def truncate_to(self, target_offset: int) -> bool:
        """Cut off every batch that holds `target_offset` or higher offsets; False when the log ends at or below it.

        Used by a follower whose log differs from its leader's. Raises IllegalArgumentException for a negative offset,
        KafkaStorageException. Kafka: `UnifiedLog.truncateTo`.
        """
        target_offset = operator.index(target_offset)  # numpy's numbers would count on in their own width
        message = f"Error while truncating log to offset {target_offset} for {self._local_log.location}"
        with self._local_log.maybe_handle_io_exception(message):
            if target_offset < 0:
                raise IllegalArgumentException(
                    f"Cannot truncate partition {self.topic_partition} to a negative offset ({target_offset})."
                )
            if target_offset < self.high_watermark:
                logger.warning(
                    "%sTruncating %s to offset %s below high watermark %s",
                    self._log_ident,
                    self.topic_partition,
                    target_offset,
                    self.high_watermark,
                )
            # 1. Nothing to cut but an epoch that was noted and never written to.
            if target_offset >= self.log_end_offset:
                with self._lock:
                    self.leader_epoch_cache.truncate_from_end_async_flush(self.log_end_offset)
                return False
            logger.info("%sTruncating to offset %s", self._log_ident, target_offset)
            # 2. Reads go on meanwhile, appends do not.
            with self._lock:
                self._local_log.check_if_memory_mapped_buffer_closed()
                # 3. Below all segments: start over there.
                if self._local_log.segments.base_offsets[0] > target_offset:
                    self.truncate_fully_and_start_at(target_offset)
                    return True
                # 4. Whole segments go, the one that holds the offset is cut.
                deleted_segments = self._local_log.truncate_to(target_offset)
                # 5. Snapshots of what went, and epochs that began there.
                self._delete_producer_snapshots(deleted_segments)
                self.leader_epoch_cache.truncate_from_end_async_flush(target_offset)
                # 6. The log start is not left above the end.
                self.log_start_offset = min(target_offset, self.log_start_offset)
                # 7. Producers as they were at that offset.
                self._rebuild_producer_state(target_offset)
                # 8. The high watermark is not left above the end.
                if self.high_watermark >= self.log_end_offset:
                    self.update_high_watermark(self._local_log.log_end_offset_metadata)
                return True

    def truncate_fully_and_start_at(self, new_offset: int, log_start_offset: int | None = None) -> None:
        """Delete everything and start an empty segment at `new_offset`.

        The log start is `log_start_offset`, or `new_offset` without one. Raises KafkaStorageException.
        Kafka: `UnifiedLog.truncateFullyAndStartAt`.
        """
        new_offset = operator.index(new_offset)
        log_start_offset = new_offset if log_start_offset is None else operator.index(log_start_offset)
        message = f"Error while truncating the entire log for {self._local_log.location}"
        with self._local_log.maybe_handle_io_exception(message), self._lock:
            # 1. Segments.
            self._local_log.truncate_fully_and_start_at(new_offset)
            # 2. Epochs.
            self.leader_epoch_cache.clear_and_flush()
            # 3. Producers and their snapshots.
            self.producer_state_manager.truncate_fully_and_start_at(new_offset)
            # 4. The offsets.
            self.log_start_offset = log_start_offset
            self._rebuild_producer_state(new_offset)
            self.update_high_watermark(self._local_log.log_end_offset_metadata)

    # Producers

    def _rebuild_producer_state(self, last_offset: int) -> None:
        with self._lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            rebuild_producer_state(
                self.producer_state_manager,
                self._local_log.segments,
                log_start_offset=self.log_start_offset,
                last_offset=last_offset,
                time=self.time,
                reload_from_clean_shutdown=False,
                log_prefix=self._log_ident,
            )

    def remove_expired_producers(self, current_time_ms: int) -> None:
        """Forget producers that have been idle for too long. Kafka: `UnifiedLog.removeExpiredProducers`."""
        with self._lock:
            self.producer_state_manager.remove_expired_producers(current_time_ms)

    def take_producer_snapshot(self) -> None:
        """Write a snapshot at the log end unless there is one. Kafka: `UnifiedLog.takeProducerSnapshot`."""
        self._local_log.own_process.require("The log of", self._local_log.location)
        with self._lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            self.producer_state_manager.take_snapshot()

    def has_late_transaction(self, current_time_ms: int) -> bool:
        """True when a transaction has been open for longer than any may be. Kafka: `UnifiedLog.hasLateTransaction`."""
        return self.producer_state_manager.has_late_transaction(current_time_ms)

    @property
    def last_records_of_active_producers(self) -> dict[int, LastRecord]:
        """The last record of each producer, by producer id; compaction must keep these.

        Kafka: `UnifiedLog.lastRecordsOfActiveProducers`.
        """
        with self._lock:
            return {
                producer_id: LastRecord(
                    entry.last_data_offset if entry.last_data_offset >= 0 else None, entry.producer_epoch
                )
                for producer_id, entry in self.producer_state_manager.active_producers.items()
            }

    @property
    def active_producers(self) -> list[ProducerState]:
        """What is known of each producer. Kafka: `UnifiedLog.activeProducers`."""
        with self._lock:
            return [
                ProducerState(
                    producer_id,
                    entry.producer_epoch,
                    entry.last_seq,
                    entry.last_timestamp,
                    entry.coordinator_epoch,
                    -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
                )
                for producer_id, entry in self.producer_state_manager.active_producers.items()
            ]

    def maybe_start_transaction_verification(
        self, producer_id: int, *, sequence: int, epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard:
        """The guard for appending a transaction's first batch, or the sentinel when the transaction is already open.

        Raises InvalidProducerEpochException for an epoch older than the known one.
        Kafka: `UnifiedLog.maybeStartTransactionVerification`.
        """
        with self._lock:
            entry = self.producer_state_manager.last_entry(producer_id)
            if entry is not None and epoch < entry.producer_epoch:
                raise InvalidProducerEpochException(
                    f"Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen epoch "
                    f"{entry.producer_epoch}"
                )
            if self.has_ongoing_transaction(producer_id, epoch):
                return VerificationGuard.SENTINEL
            return self.producer_state_manager.maybe_create_verification_state_entry(
                producer_id, sequence=sequence, epoch=epoch, supports_epoch_bump=supports_epoch_bump
            ).verification_guard

    def verification_guard(self, producer_id: int) -> VerificationGuard:
        """The guard that a producer's first batch must show, or the sentinel. Kafka: `UnifiedLog.verificationGuard`."""
        with self._lock:
            return verification_guard(self.producer_state_manager, producer_id)

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """True when the producer has a transaction open under this epoch. Kafka: `UnifiedLog.hasOngoingTransaction`."""
        with self._lock:
            return has_ongoing_transaction(self.producer_state_manager, producer_id, producer_epoch)

    # Replacing segments

    def replace_segments(self, new_segments: list[LogSegment], old_segments: list[LogSegment]) -> None:
        """Replace old segments by compacted ones, whose files are still called `.cleaned`. Raises OSError.

        Kafka: `UnifiedLog.replaceSegments`.
        """
        with self._lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            deleted = replace_segments(self._local_log, self._local_log.segments, new_segments, old_segments)
            self._delete_producer_snapshots(deleted)

    def split_overflowed_segment(self, segment: LogSegment) -> list[LogSegment]:
        """Replace a segment whose offsets overflow by several segments, which are returned. Raises OSError.

        Kafka: `UnifiedLog.splitOverflowedSegment`.
        """
        with self._lock:
            result = split_overflowed_segment(self._local_log, self._local_log.segments, segment)
            self._delete_producer_snapshots(result.deleted_segments)
            return result.new_segments

    # Topic id

    def _new_partition_metadata_file(self) -> PartitionMetadataFile:
        return PartitionMetadataFile(PartitionMetadataFile.new_file(self.dir), self.log_dir_failure_channel)

    def _initialize_topic_id(self, partition_metadata_file: PartitionMetadataFile) -> None:
        """Take the topic id from the directory, or write the given one there.

        Raises InconsistentTopicIdException when there are two ids and they differ.
        Kafka: `UnifiedLog.initializeTopicId`.
        """
        if partition_metadata_file.exists():
            file_topic_id = partition_metadata_file.read().topic_id
            if self.topic_id is not None and self.topic_id != file_topic_id:
                raise InconsistentTopicIdException(
                    f"Tried to assign topic ID Optional[{self.topic_id}] to log for topic partition "
                    f"{self.topic_partition},but log already contained topic ID {file_topic_id}"
                )
            self.topic_id = file_topic_id
        else:
            if self.topic_id is not None:
                partition_metadata_file.record(self.topic_id)
            self.scheduler.schedule_once("flush-metadata-file", self._maybe_flush_metadata_file)

    def assign_topic_id(self, topic_id: str) -> None:
        """Give the log the id (22 characters) of its topic, for one that was made before topics had ids.

        Raises InconsistentTopicIdException when it has another one. Kafka: `UnifiedLog.assignTopicId`.
        """
        if self.topic_id is not None:
            if self.topic_id != topic_id:
                raise InconsistentTopicIdException(
                    f"Tried to assign topic ID {topic_id} to log for topic partition {self.topic_partition}, "
                    f"but log already contained topic ID {self.topic_id}"
                )
            return
        self.topic_id = topic_id
        if self.partition_metadata_file is None:
            logger.warning("%sThe topic id %s is not kept, since the partition is deleted", self._log_ident, topic_id)
        elif not self.partition_metadata_file.exists():
            self.partition_metadata_file.record(topic_id)
            self.scheduler.schedule_once("flush-metadata-file", self._maybe_flush_metadata_file)

    def _maybe_flush_metadata_file(self) -> None:
        if self.partition_metadata_file is not None:
            self.partition_metadata_file.maybe_flush()

    # Closing, renaming, deleting

    def close(self) -> None:
        """Write a snapshot of the producers for the next load, then cut all files to what they hold and close them.

        Nothing is flushed here. As in Kafka no state says afterwards that the log is closed: an append fails when it
        rolls the log ("Error while rolling log segment", as with a failed disk), a read when it looks into an index
        (NullPointerException), and what needs no open file is done. Raises KafkaStorageException.
        Kafka: `UnifiedLog.close`.
        """
        self._end_own_scheduler()
        with self._lock:
            self.log_offsets_listener = NO_OP_OFFSETS_LISTENER
            self._maybe_flush_metadata_file()
            self._local_log.check_if_memory_mapped_buffer_closed()
            self.producer_expire_check.cancel()
            message = f"Error while renaming dir for {self._local_log.location}"
            try:
                with self._local_log.maybe_handle_io_exception(message):
                    self.producer_state_manager.take_snapshot()
                self._local_log.close()
            finally:  # as in Kafka, the directory can be opened again also after a close that fails
                self._release_locks()

    def close_handlers(self) -> None:
        """Release all files without writing, because the directory is offline. Kafka: `UnifiedLog.closeHandlers`."""
        self._end_own_scheduler()
        with self._lock:
            self._local_log.close_handlers()
            self._release_locks()

    def rename_dir(self, name: str, *, should_reinitialize: bool) -> None:
        """Rename the directory. With `should_reinitialize` the log stays in use; without, it is about to be deleted.

        Raises KafkaStorageException. Kafka: `UnifiedLog.renameDir`.
        """
        message = f"Error while renaming dir for {self.topic_partition} in log dir {self.parent_dir}"
        with self._lock, self._local_log.maybe_handle_io_exception(message):
            self._maybe_flush_metadata_file()
            if not self._local_log.rename_dir(name):
                return
            self.producer_state_manager.update_parent_dir(self.dir)
            if should_reinitialize:
                self.leader_epoch_cache = create_leader_epoch_cache(
                    self.dir,
                    self.topic_partition,
                    scheduler=self.scheduler,
                    log_dir_failure_channel=self.log_dir_failure_channel,
                    current_cache=self.leader_epoch_cache,
                )
                self.partition_metadata_file = self._new_partition_metadata_file()
            else:
                self.leader_epoch_cache.clear()
                self.leader_epoch_cache.let_go()
                self.partition_metadata_file = None

    def delete(self) -> None:
        """Delete the directory with everything in it, at once. Raises KafkaStorageException.

        Kafka: `UnifiedLog.delete`.
        """
        self._end_own_scheduler()
        message = f"Error while deleting log for {self._local_log.location}"
        with self._local_log.maybe_handle_io_exception(message), self._lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            self.producer_expire_check.cancel()
            self.leader_epoch_cache.clear()
            self.leader_epoch_cache.let_go()
            deleted_segments = self._local_log.delete_all_segments()
            self._delete_producer_snapshots(deleted_segments, async_delete=False)
            self._local_log.delete_empty_dir()
            self._release_locks()

    def _end_own_scheduler(self) -> None:
        """First, as a broker does: a task that still runs needs the files, and a late one would write into those of
        the log that has the directory next.
        """
        if self._own_scheduler is not None:
            self._own_scheduler.shutdown()

    def _release_locks(self) -> None:
        self._directory_lock.release()
        if self._log_dir_lock is not None:
            self._log_dir_lock.release()

    def __str__(self) -> str:
        topic_id = "" if self.topic_id is None else f", topicId={self.topic_id}"
        return (
            f"Log(dir={self.dir}{topic_id}, topic={self.topic_partition.topic}, "
            f"partition={self.topic_partition.partition}, highWatermark={self.high_watermark}, "
            f"lastStableOffset={self.last_stable_offset}, logStartOffset={self.log_start_offset}, "
            f"logEndOffset={self.log_end_offset})"
        )


def create_leader_epoch_cache(
    directory: Path,
    topic_partition: TopicPartition,
    *,
    scheduler: Scheduler,
    log_dir_failure_channel: LogDirFailureChannel,
    current_cache: LeaderEpochFileCache | None = None,
) -> LeaderEpochFileCache:
    """The leader epochs that the file in `directory` lists, or those of `current_cache`, from now on kept in that file.

    Raises KafkaStorageException. Kafka: `UnifiedLog.createLeaderEpochCache`.
    """
    checkpoint_file = LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.new_file(directory), log_dir_failure_channel)
    if current_cache is not None:
        return current_cache.with_checkpoint(checkpoint_file)
    return LeaderEpochFileCache(topic_partition, checkpoint_file, scheduler)
