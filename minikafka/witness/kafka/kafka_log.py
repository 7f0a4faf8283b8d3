"""The third witness: Apache Kafka's own `UnifiedLog` behind the names and result types of minikafka's `Log`."""

import functools
import json
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
from minikafka.witness.kafka.scala_objects import new_instance, scala_constructor

_INTERNALS = "org.apache.kafka.storage.internals.log"
_MAX_TRANSACTION_TIMEOUT_MS = 900_000
_PRODUCER_ID_EXPIRATION_MS = 86_400_000
_PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = 600_000


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
        self._state = kafka.made_once("KafkaLogState", lambda: _new_state(kafka))

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
        return self._append_info(info)

    @_speaks_python
    def append_as_follower(self, records: bytes | MemoryRecords, leader_epoch: int) -> LogAppendInfo:
        """Append batches that a leader has given offsets. Kafka: `UnifiedLog.appendAsFollower`."""
        return self._append_info(self.unified_log.appendAsFollower(self._records(records), leader_epoch))

    @_speaks_python
    def read(
        self, start_offset: int, max_length: int, isolation: FetchIsolation, *, min_one_message: bool = True
    ) -> FetchDataInfo:
        """Read at most `max_length` bytes from `start_offset` on, copied. Kafka: `UnifiedLog.read`."""
        fetch_isolation = self.kafka.constant("org.apache.kafka.server.storage.log.FetchIsolation", isolation.name)
        data = self.unified_log.read(start_offset, max_length, fetch_isolation, min_one_message)
        field = functools.partial(_field, data)
        aborted = field("abortedTransactions").orElse(None)
        place = self._place(field("fetchOffsetMetadata"))
        return FetchDataInfo(
            place,
            MemoryRecords.readable_records(_bytes_of(field("records"), place)),
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

    def _append_info(self, java_info) -> LogAppendInfo:
        fields = json.loads(self._state.appendInfo(java_info))
        codec, change = CompressionType[fields.pop("source_compression")], fields.pop("leader_hw_change")
        return LogAppendInfo(source_compression=codec, leader_hw_change=LeaderHwChange[change], **fields)

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
        return self._place(self.unified_log.logEndOffsetMetadata())

    @_speaks_python
    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """Kafka: `UnifiedLog.fetchOffsetSnapshot`."""
        snapshot = self.unified_log.fetchOffsetSnapshot()
        places = snapshot.logEndOffset(), snapshot.highWatermark(), snapshot.lastStableOffset()
        return LogOffsetSnapshot(snapshot.logStartOffset(), *map(self._place, places))

    @_speaks_python
    def maybe_convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Kafka: `UnifiedLog.maybeConvertToOffsetMetadata`."""
        return self._place(self.unified_log.maybeConvertToOffsetMetadata(offset))

    @_speaks_python
    def update_high_watermark(self, hw: int | LogOffsetMetadata) -> int:
        """Kafka: `UnifiedLog.updateHighWatermark`."""
        return self.unified_log.updateHighWatermark(hw if isinstance(hw, int) else self._java_metadata(hw))

    @_speaks_python
    def maybe_increment_high_watermark(self, new_high_watermark: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """Kafka: `UnifiedLog.maybeIncrementHighWatermark`."""
        old = self.unified_log.maybeIncrementHighWatermark(self._java_metadata(new_high_watermark)).orElse(None)
        return old and self._place(old)

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

    def _place(self, java_metadata) -> LogOffsetMetadata:
        return LogOffsetMetadata(*json.loads(self._state.place(java_metadata)))

    def _java_metadata(self, metadata: LogOffsetMetadata):
        return self.kafka.log_class("LogOffsetMetadata")(*metadata)

    # Segments

    @property
    def log_segments(self) -> list[KafkaSegment]:
        """Base offset and size of each segment. Kafka: `UnifiedLog.logSegments`."""
        return [KafkaSegment(*each) for each in json.loads(self._state.segments(self.unified_log))]

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
        return [EpochEntry(*each) for each in json.loads(self._state.epochs(self.unified_log))]

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
        return [tuple(each) for each in json.loads(self._state.producers(self.unified_log))]

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
        offsets, segments, epochs, producers = json.loads(self._state.all(self.unified_log))
        return LogStateSnapshot(
            *offsets,
            tuple(KafkaSegment(*each) for each in segments),
            tuple(EpochEntry(*each) for each in epochs),
            tuple(map(tuple, producers)),
        )

    def __repr__(self) -> str:
        return f"Kafka's {self.unified_log.toString()}"


def _field(java_object, name: str):
    from py4j.java_gateway import get_field

    return get_field(java_object, name)


def _new_state(kafka: KafkaJvm):
    return new_instance(kafka, scala_constructor(kafka, "minikafka.KafkaLogState"))


def _bytes_of(java_records, place: LogOffsetMetadata) -> bytes:
    """The bytes of what a log has read at `place`: a slice of a segment's file, or nothing.

    They are taken from the file itself, because py4j is slow with many bytes.
    """
    size = java_records.sizeInBytes()
    if not size:
        return b""
    with open(java_records.file().getPath(), "rb") as file:
        file.seek(place.relative_position_in_segment)
        return file.read(size)
