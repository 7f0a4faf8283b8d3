"""The third witness: Apache Kafka's own `UnifiedLog` behind the names and result types of minikafka's `Log`."""

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry
from minikafka.common.offset_and_epoch import OffsetAndEpoch
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_data_info import AbortedTransaction, FetchDataInfo
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_append_info import LeaderHwChange, LogAppendInfo
from minikafka.log.log_config import LogConfig
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_offset_snapshot import LogOffsetSnapshot
from minikafka.log.log_state_snapshot import LogStateSnapshot
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import TimestampAndOffset
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_log_cleaner import KafkaLogCleaner
from minikafka.witness.kafka.kafka_time import JavaScheduler, JavaTime

_INTERNALS = "org.apache.kafka.storage.internals.log"
_MAX_TRANSACTION_TIMEOUT_MS = 900_000
_PRODUCER_ID_EXPIRATION_MS = 86_400_000
_PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = 600_000
_INT = r"(-?\d+)"
_OFFSETS = re.compile(rf"highWatermark={_INT}, lastStableOffset={_INT}, logStartOffset={_INT}, logEndOffset={_INT}\)$")
_SEGMENT = re.compile(rf"LogSegment\(baseOffset={_INT}, size={_INT}")
_EPOCH = re.compile(rf"epoch=-?{_INT}, startOffset={_INT}")
_PRODUCER = re.compile(
    rf"ProducerStateEntry\(producerId={_INT}, producerEpoch={_INT}, "
    rf"currentTxnFirstOffset=Optional(?:Long)?\S*?(?:\[{_INT}\]|empty), "
    rf"coordinatorEpoch={_INT}, lastTimestamp={_INT}, batchMetadata=\[(.*?)\]\)"
)
_BATCH = re.compile(rf"lastSeq={_INT}, firstOffset={_INT}, lastOffset={_INT}")
_APPEND_INFO = re.compile(
    rf"firstOffset={_INT}, lastOffset={_INT}, lastLeaderEpoch=Optional(?:Int)?(?:\[{_INT}\]|.empty), "
    rf"maxTimestamp={_INT}, logAppendTime={_INT}, logStartOffset={_INT}, .*sourceCompression=(\w+), "
    rf"validBytes={_INT}, lastOffsetOfFirstBatch={_INT}, .*leaderHwChange=(\w+)"
)


class KafkaSegment(NamedTuple):
    """A segment's base offset and the size of its .log in bytes, as they were when Kafka was asked."""

    base_offset: int
    size: int


def _speaks_python(method):
    """Make `method` raise minikafka's exceptions where it would raise Java's."""

    @functools.wraps(method)
    def speaking(*args, **kwargs):
        with kafka_errors():
            return method(*args, **kwargs)

    return speaking


def kafka_log(kafka: KafkaJvm):
    """A factory for `minikafka.witness.run` that opens Apache Kafka's own logs in the JVM `kafka`."""

    def open_log(directory: Path, config: Mapping[str, str], **state) -> KafkaLog:
        return KafkaLog.create(kafka, directory, config, **state)

    open_log.name = "Apache Kafka"
    open_log.kafka = kafka
    open_log.cleaner = KafkaLogCleaner
    return open_log


class KafkaLog:
    """Kafka's log of one partition, driven as minikafka's `Log` is.

    - Arguments and results are minikafka's: offsets are ints, Optional is None or the value, records are bytes or
      `MemoryRecords`, what is read is a `FetchDataInfo`.
    - Java's exceptions are raised as minikafka's of the same name and message.
    - `unified_log` is Kafka's own object, for everything that this class lacks.

    A property asks Kafka each time it is read; `fetch_state_snapshot` has all that a runner observes, by a few calls.
    """

    def __init__(self, kafka: KafkaJvm, unified_log, scheduler: JavaScheduler):
        self.kafka = kafka
        self.unified_log = unified_log
        self._scheduler = scheduler
        self._producers = unified_log.producerStateManager()
        self._epochs = unified_log.leaderEpochCache()

    @classmethod
    @_speaks_python
    def create(
        cls,
        kafka: KafkaJvm,
        directory: Path,
        config: Mapping[str, object],
        *,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        scheduler: Scheduler,
        time: Time,
        last_shutdown_clean: bool = True,
        topic_id: str | None = None,
    ) -> "KafkaLog":
        """Open the log in `directory` (made when missing; its name is topic-partition), loading what is there.

        `config` are topic settings; `scheduler` and `time` are minikafka's. Kafka: `UnifiedLog.create`.
        """
        tasks = JavaScheduler(kafka, scheduler)
        uuid = kafka.find_class("org.apache.kafka.common.Uuid")
        unified_log = kafka.log_class("UnifiedLog").create(
            kafka.file(directory),
            kafka.log_class("LogConfig")(kafka.properties(config)),
            log_start_offset,
            recovery_point,
            tasks,
            kafka.broker_topic_stats,
            JavaTime(time),
            _MAX_TRANSACTION_TIMEOUT_MS,
            kafka.log_class("ProducerStateManagerConfig")(_PRODUCER_ID_EXPIRATION_MS, False),
            _PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS,
            kafka.log_class("LogDirFailureChannel")(10),
            last_shutdown_clean,
            kafka.optional(topic_id and uuid.fromString(topic_id)),
        )
        return cls(kafka, unified_log, tasks)

    @_speaks_python
    def update_config(self, new_config: LogConfig) -> None:
        """Put other settings in force. Kafka: `UnifiedLog.updateConfig`."""
        self.unified_log.updateConfig(self.kafka.log_class("LogConfig")(self.kafka.properties(new_config.props)))

    @property
    def config(self) -> LogConfig:
        """The setting that a partition asks its log for, `min.insync.replicas`. Kafka: `UnifiedLog.config`."""
        return LogConfig({"min.insync.replicas": _field(self.unified_log.config(), "minInSyncReplicas")})

    # Appending and reading

    @_speaks_python
    def append_as_leader(
        self,
        records: bytes | MemoryRecords,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard=None,
        transaction_version: int = -1,
    ) -> LogAppendInfo:
        """Append as the leader does. `verification_guard`: one of Kafka's own, or None.

        Kafka: `UnifiedLog.appendAsLeader`.
        """
        info = self.unified_log.appendAsLeader(
            self._records(records),
            leader_epoch,
            self.kafka.constant(f"{_INTERNALS}.AppendOrigin", origin.name),
            self.kafka.no_caching,
            verification_guard or self.kafka.constant(f"{_INTERNALS}.VerificationGuard", "SENTINEL"),
            transaction_version,
        )
        return _append_info(info.toString())

    @_speaks_python
    def append_as_follower(self, records: bytes | MemoryRecords, leader_epoch: int) -> LogAppendInfo:
        """Append batches that a leader has given offsets. Kafka: `UnifiedLog.appendAsFollower`."""
        return _append_info(self.unified_log.appendAsFollower(self._records(records), leader_epoch).toString())

    @_speaks_python
    def read(
        self, start_offset: int, max_length: int, isolation: FetchIsolation, *, min_one_message: bool = True
    ) -> FetchDataInfo:
        """Read at most `max_length` bytes from `start_offset` on, copied. Kafka: `UnifiedLog.read`."""
        fetch_isolation = self.kafka.constant("org.apache.kafka.server.storage.log.FetchIsolation", isolation.name)
        data = self.unified_log.read(start_offset, max_length, fetch_isolation, min_one_message)
        field = functools.partial(_field, data)
        aborted = field("abortedTransactions").orElse(None)
        return FetchDataInfo(
            _metadata(field("fetchOffsetMetadata")),
            MemoryRecords.readable_records(self.kafka.bytes_of(field("records"))),
            field("firstEntryIncomplete"),
            None if aborted is None else [AbortedTransaction(txn.producerId(), txn.firstOffset()) for txn in aborted],
        )

    @_speaks_python
    def fetch_offset_by_timestamp(self, target_timestamp: int) -> TimestampAndOffset | None:
        """The first record with a timestamp (ms) at or after the target. Kafka: `UnifiedLog.fetchOffsetByTimestamp`."""
        holder = self.unified_log.fetchOffsetByTimestamp(target_timestamp, self.kafka.optional(None))
        found = holder.timestampAndOffsetOpt().orElse(None)
        if found is None:
            return None
        return TimestampAndOffset(
            _field(found, "timestamp"), _field(found, "offset"), _field(found, "leaderEpoch").orElse(None)
        )

    def _records(self, records):
        data = records if isinstance(records, (bytes, bytearray)) else bytes(records.buffer)
        return self.kafka.records(data)

    @property
    def topic_partition(self) -> TopicPartition:
        """Kafka: `UnifiedLog.topicPartition`."""
        partition = self.unified_log.topicPartition()
        return TopicPartition(partition.topic(), partition.partition())

    @property
    def dir(self) -> Path:
        """The partition's directory. Kafka: `UnifiedLog.dir`."""
        return Path(self.unified_log.dir().getPath())

    # Offsets

    @property
    def log_start_offset(self) -> int:
        """Kafka: `UnifiedLog.logStartOffset`."""
        return self.unified_log.logStartOffset()

    @property
    def recovery_point(self) -> int:
        """Kafka: `UnifiedLog.recoveryPoint`."""
        return self.unified_log.recoveryPoint()

    @property
    def high_watermark(self) -> int:
        """Kafka: `UnifiedLog.highWatermark`."""
        return self.unified_log.highWatermark()

    @property
    def last_stable_offset(self) -> int:
        """Kafka: `UnifiedLog.lastStableOffset`."""
        return self.unified_log.lastStableOffset()

    @property
    def first_unstable_offset(self) -> int | None:
        """Kafka: `UnifiedLog.firstUnstableOffset`."""
        return self.unified_log.firstUnstableOffset().orElse(None)

    @property
    def log_end_offset(self) -> int:
        """Kafka: `UnifiedLog.logEndOffset`."""
        return self.unified_log.logEndOffset()

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """Kafka: `UnifiedLog.logEndOffsetMetadata`."""
        return _metadata(self.unified_log.logEndOffsetMetadata())

    @_speaks_python
    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """Kafka: `UnifiedLog.fetchOffsetSnapshot`."""
        snapshot = self.unified_log.fetchOffsetSnapshot()
        places = snapshot.logEndOffset(), snapshot.highWatermark(), snapshot.lastStableOffset()
        return LogOffsetSnapshot(snapshot.logStartOffset(), *map(_metadata, places))

    @_speaks_python
    def maybe_convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Kafka: `UnifiedLog.maybeConvertToOffsetMetadata`."""
        return _metadata(self.unified_log.maybeConvertToOffsetMetadata(offset))

    @_speaks_python
    def update_high_watermark(self, hw: int | LogOffsetMetadata) -> int:
        """Kafka: `UnifiedLog.updateHighWatermark`."""
        return self.unified_log.updateHighWatermark(hw if isinstance(hw, int) else self._java_metadata(hw))

    @_speaks_python
    def maybe_increment_high_watermark(self, new_high_watermark: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """Kafka: `UnifiedLog.maybeIncrementHighWatermark`."""
        old = self.unified_log.maybeIncrementHighWatermark(self._java_metadata(new_high_watermark)).orElse(None)
        return old and _metadata(old)

    @_speaks_python
    def maybe_update_high_watermark(self, hw: int) -> int | None:
        """Kafka: `UnifiedLog.maybeUpdateHighWatermark`."""
        return self.unified_log.maybeUpdateHighWatermark(hw).orElse(None)

    @_speaks_python
    def maybe_increment_log_start_offset(self, new_log_start_offset: int, reason) -> bool:
        """`reason` is minikafka's `LogStartOffsetIncrementReason`. Kafka: `UnifiedLog.maybeIncrementLogStartOffset`."""
        constant = "".join(map(str.capitalize, reason.name.split("_")))
        java_reason = self.kafka.constant(f"{_INTERNALS}.LogStartOffsetIncrementReason", constant)
        return self.unified_log.maybeIncrementLogStartOffset(new_log_start_offset, java_reason)

    def _java_metadata(self, metadata: LogOffsetMetadata):
        return self.kafka.log_class("LogOffsetMetadata")(*metadata)

    # Segments

    @property
    def log_segments(self) -> list[KafkaSegment]:
        """Base offset and size of each segment. Kafka: `UnifiedLog.logSegments`."""
        return [KafkaSegment(*map(int, s)) for s in _SEGMENT.findall(self.unified_log.logSegments().toString())]

    @property
    def active_segment(self) -> KafkaSegment:
        """Kafka: `UnifiedLog.activeSegment`."""
        return self.log_segments[-1]

    @property
    def active_index_entries(self) -> int:
        """How many entries the offset index of the active segment has; what follows them in the file does not count."""
        return self.unified_log.activeSegment().offsetIndex().entries()

    @property
    def number_of_segments(self) -> int:
        """Kafka: `UnifiedLog.numberOfSegments`."""
        return self.unified_log.numberOfSegments()

    @property
    def size(self) -> int:
        """Bytes of all segments. Kafka: `UnifiedLog.size`."""
        return self.unified_log.size()

    @_speaks_python
    def roll(self, expected_next_offset: int | None = None) -> KafkaSegment:
        """Kafka: `UnifiedLog.roll`."""
        segment = self.unified_log.roll(self.kafka.optional_long(expected_next_offset))
        return KafkaSegment(segment.baseOffset(), segment.size())

    @_speaks_python
    def delete_old_segments(self) -> int:
        """Kafka: `UnifiedLog.deleteOldSegments`."""
        return self.unified_log.deleteOldSegments()

    @_speaks_python
    def truncate_to(self, target_offset: int) -> bool:
        """Kafka: `UnifiedLog.truncateTo`."""
        return self.unified_log.truncateTo(target_offset)

    @_speaks_python
    def truncate_fully_and_start_at(self, new_offset: int, log_start_offset: int | None = None) -> None:
        """Kafka: `UnifiedLog.truncateFullyAndStartAt`."""
        self.unified_log.truncateFullyAndStartAt(new_offset, self.kafka.optional_long(log_start_offset))

    @_speaks_python
    def flush(self, *, force_flush_active_segment: bool) -> None:
        """Kafka: `UnifiedLog.flush`."""
        self.unified_log.flush(force_flush_active_segment)

    # Producers and epochs

    @_speaks_python
    def take_producer_snapshot(self) -> None:
        """Kafka: `UnifiedLog.takeProducerSnapshot`."""
        self.unified_log.takeProducerSnapshot()

    @property
    def epoch_entries(self) -> list[EpochEntry]:
        """Leader epochs and their first offsets. Kafka: `LeaderEpochFileCache.epochEntries`."""
        return [EpochEntry(*map(int, e)) for e in _EPOCH.findall(self._epochs.epochEntries().toString())]

    @property
    def latest_epoch(self) -> int | None:
        """Kafka: `UnifiedLog.latestEpoch`."""
        return self.unified_log.latestEpoch().orElse(None)

    @_speaks_python
    def assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """Kafka: `UnifiedLog.assignEpochStartOffset`."""
        self.unified_log.assignEpochStartOffset(leader_epoch, start_offset)

    @_speaks_python
    def end_offset_for_epoch(self, leader_epoch: int) -> OffsetAndEpoch | None:
        """Kafka: `UnifiedLog.endOffsetForEpoch`."""
        end = self.unified_log.endOffsetForEpoch(leader_epoch).orElse(None)
        return end and OffsetAndEpoch(end.offset(), end.epoch())

    @property
    def producers(self) -> list[tuple[int, ...]]:
        """(id, epoch, last sequence, last data offset, last timestamp in ms, coordinator epoch, first offset of the
        open transaction or −1) of each producer, ordered by id. Kafka: `ProducerStateManager.activeProducers`.
        """
        return sorted(map(_producer, _PRODUCER.findall(self._producers.activeProducers().toString())))

    # The end, and the whole

    @_speaks_python
    def close(self) -> None:
        """Kafka: `UnifiedLog.close`."""
        self.unified_log.close()
        self._scheduler.take_back_cancelled()

    @_speaks_python
    def close_handlers(self) -> None:
        """Let go of the files without writing anything. Kafka: `UnifiedLog.closeHandlers`."""
        self.unified_log.closeHandlers()

    @_speaks_python
    def delete(self) -> None:
        """Kafka: `UnifiedLog.delete`."""
        self.unified_log.delete()

    @_speaks_python
    def fetch_state_snapshot(self) -> LogStateSnapshot:
        """As minikafka's `Log` shows it."""
        hw, lso, start, end = map(int, _OFFSETS.search(self.unified_log.toString()).groups())
        segments, epochs, producers = map(tuple, (self.log_segments, self.epoch_entries, self.producers))
        return LogStateSnapshot(start, self.recovery_point, hw, lso, end, segments, epochs, producers)

    def __repr__(self) -> str:
        return f"Kafka's {self.unified_log.toString()}"


def _field(java_object, name: str):
    from py4j.java_gateway import get_field

    return get_field(java_object, name)


def _metadata(java_metadata) -> LogOffsetMetadata:
    """Offset metadata read from Kafka's own text, such as (offset=5, segment=[0:120]): one call instead of three."""
    return LogOffsetMetadata(*map(int, re.findall(r"-?\d+", java_metadata.toString())))


def _append_info(text: str) -> LogAppendInfo:
    """Kafka's LogAppendInfo read from its text form: one call instead of eleven."""
    first, last, epoch, max_timestamp, append_time, start, codec, valid_bytes, first_batch_last, change = (
        _APPEND_INFO.search(text).groups()
    )
    return LogAppendInfo(
        first_offset=int(first),
        last_offset=int(last),
        last_leader_epoch=None if epoch is None else int(epoch),
        max_timestamp=int(max_timestamp),
        log_append_time=int(append_time),
        log_start_offset=int(start),
        source_compression=CompressionType[codec.upper()],
        valid_bytes=int(valid_bytes),
        last_offset_of_first_batch=int(first_batch_last),
        leader_hw_change=LeaderHwChange[change],
    )


def _producer(found: tuple[str, ...]) -> tuple[int, ...]:
    producer_id, epoch, txn_first_offset, coordinator_epoch, last_timestamp, batches = found
    last_seq, _, last_offset = _BATCH.findall(batches)[-1] if batches else (-1, -1, -1)
    numbers = producer_id, epoch, last_seq, last_offset, last_timestamp, coordinator_epoch, txn_first_offset or -1
    return tuple(map(int, numbers))
