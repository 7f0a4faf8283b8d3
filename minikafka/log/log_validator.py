"""What a leader does to incoming batches: it refuses bad ones and gives good ones offsets, epoch and timestamps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from minikafka.common.errors import (
    ApiException,
    CorruptRecordException,
    InvalidRecordException,
    InvalidTimestampException,
    RecordError,
    RecordValidationException,
    UnsupportedOperationException,
)
from minikafka.common.java.java_numbers import to_long
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.batch import Batch
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import AnyRecord, Record, SimpleRecord
from minikafka.record.format.record_batch import MAGIC_VALUE_V1, MAGIC_VALUE_V2, NO_TIMESTAMP, RecordBatch
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels.record_walk import RecordsSummary

B = TypeVar("B", bound=Batch)

# Members of an Enum that each batch is compared with: before Python 3.12, to look one up takes longer than a call.
_NONE = CompressionType.NONE
_CREATE_TIME = TimestampType.CREATE_TIME
_LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME


@dataclass(slots=True)
class ValidationResult:
    """The outcome of a validation.

    - `log_append_time_ms`: the time of the validation (ms).
    - `validated_records`: the given records, changed in place, or new ones.
    - `max_timestamp_ms`: the largest timestamp of the validated records, -1 without one.
    - `message_size_maybe_changed`: True for new records, whose sizes must be checked again.
    - `next_offset`: the offset after the last record. (Kafka leaves it in an offset counter.)

    Kafka: `LogValidator.ValidationResult`.
    """

    log_append_time_ms: int
    validated_records: MemoryRecords
    max_timestamp_ms: int
    message_size_maybe_changed: bool
    next_offset: int


class LogValidator:
    """Validates the records of one append and assigns offsets. Only a leader uses it.

    What happens to the bytes:

    - A batch of magic 2 that has the target codec and whose offsets count 0, 1, 2 … is changed *in place*: base offset,
      leader epoch, max timestamp and timestamp type, and the CRC if one of the last two changes. The records stay as
      they are.
    - A batch with another codec or an older magic is rebuilt record by record with the target codec. A control batch
      that arrived uncompressed stays uncompressed.

    One pass over the bytes of a batch yields a few numbers that prove a good batch good. Only when they show that some
    record must be refused, a second pass examines each record and says which.

    Simpler than Kafka: the target magic is always 2, because 4.x knows no other, and there are no metrics.
    Kafka: `LogValidator`.
    """

    def __init__(
        self,
        records: MemoryRecords,
        topic_partition: TopicPartition,
        time: Time,
        source_compression: CompressionType,
        target_compression: Compression,
        compacted_topic: bool,
        timestamp_type: TimestampType,
        timestamp_before_max_ms: int,
        timestamp_after_max_ms: int,
        partition_leader_epoch: int,
        origin: AppendOrigin,
    ):
        """`timestamp_type` is the topic's. `timestamp_before_max_ms` and `timestamp_after_max_ms` say how far the
        timestamp of a record may be behind and ahead of the clock."""
        self._records = records
        self._topic_partition = topic_partition
        self._time = time
        self._source_compression = source_compression
        self._target_compression = target_compression
        self._compacted_topic = compacted_topic
        self._timestamp_type = timestamp_type
        self._timestamp_before_max_ms = timestamp_before_max_ms
        self._timestamp_after_max_ms = timestamp_after_max_ms
        self._partition_leader_epoch = partition_leader_epoch
        self._origin = origin

    def validate_messages_and_assign_offsets(self, first_offset: int) -> ValidationResult:
        """Check everything and give the records the offsets from `first_offset` on.

        Raises `InvalidRecordException` (a batch is refused), `RecordValidationException` (records are refused, and
        listed), `CorruptRecordException` (a wrong CRC of a record inside a compressed set of magic 0 or 1),
        `UnsupportedOperationException` (gaps between the offsets of a batch whose codec stays).
        Kafka: `LogValidator.validateMessagesAndAssignOffsets`.
        """
        target = self._target_compression.type
        batches = list(self._records.batches())
        if self._source_compression is _NONE and target is _NONE:
            batches_of_magic_2 = [batch for batch in batches if isinstance(batch, RecordBatch)]
            if len(batches_of_magic_2) < len(batches):
                return self._convert_and_assign_offsets_non_compressed(batches, first_offset)
            return self._assign_offsets_non_compressed(batches_of_magic_2, first_offset)
        return self._validate_messages_and_assign_offsets_compressed(batches, first_offset)

    def _assign_offsets_non_compressed(self, batches: list[RecordBatch], first_offset: int) -> ValidationResult:
        """Check one batch of magic 2 that is uncompressed before and after: the most frequent case."""
        now = self._time.milliseconds()
        batch = self._first_batch_and_no_more(batches)
        self._validate_batch(batch, batch)
        summary = batch.summary()
        if self._may_hold_refused_records(batch, summary, now):
            self._refuse_records(batch, batch, now)
        return self._assign_in_place(batch, summary, first_offset, now)

    def _convert_and_assign_offsets_non_compressed(
        self, batches: Sequence[Batch], first_offset: int
    ) -> ValidationResult:
        """Convert magic 0 or 1 to magic 2. Each old batch holds one record."""
        now = self._time.milliseconds()
        # Kafka first estimates the size of the new batch, so that a key or value that cannot be read raises before
        # anything is refused.
        contents = [_contents(batch) for batch in batches]
        first_batch = self._first_batch_and_no_more(batches)
        builder = self._builder(first_batch, first_offset, now)
        offset = first_offset
        for batch, records in zip(batches, contents, strict=True):
            self._validate_batch(first_batch, batch)
            self._refuse_records(batch, batch, now)
            for record in records:
                builder.append_with_offset(offset, *record)
                offset += 1
        return _rebuilt(builder, now, offset)

    def _validate_messages_and_assign_offsets_compressed(
        self, batches: Sequence[Batch], first_offset: int
    ) -> ValidationResult:
        """Check one batch that is compressed before or after.

        It is changed in place if the codec stays or if it is a control batch that arrived uncompressed.
        """
        now = self._time.milliseconds()
        batch = self._first_batch_and_no_more(batches)
        is_plain_control_batch = self._source_compression is _NONE and batch.is_control_batch
        same_codec = self._source_compression is self._target_compression.type
        if not (isinstance(batch, RecordBatch) and (same_codec or is_plain_control_batch)):
            return self._rebuild(batch, batches, first_offset, now)

        # Keys and values are skipped here, as in Kafka: a record that is damaged inside them, or whose size is wrong,
        # gets through. Offsets with gaps need a new batch; Kafka tries to build it from records whose keys it has
        # skipped, and fails.
        self._validate_batch(batch, batch)
        summary = batch.summary(skip_key_value=True)
        if self._may_hold_refused_records(batch, summary, now):
            kind = "PartialDefaultRecord" if batch.is_compressed else "DefaultRecord"
            self._refuse_records(batch, batch.skip_key_value_iterator(), now, kind)
        if summary.count and not (summary.consecutive and batch.base_offset == 0):
            if batch.is_compressed:
                raise UnsupportedOperationException("key is skipped in PartialDefaultRecord")
            return self._rebuild(batch, batches, first_offset, now)
        return self._assign_in_place(batch, summary, first_offset, now)

    def _assign_in_place(
        self, batch: RecordBatch, summary: RecordsSummary, first_offset: int, now: int
    ) -> ValidationResult:
        """Write offset, epoch and max timestamp into the batch's header."""
        next_offset = first_offset + summary.count
        max_timestamp = max(summary.max_timestamp, NO_TIMESTAMP) if summary.count else NO_TIMESTAMP
        if self._timestamp_type is _LOG_APPEND_TIME:
            max_timestamp = now
        # In Kafka the timestamp comes last. The order does not matter here: a batch reads its header after each change.
        batch.set_max_timestamp(self._timestamp_type, max_timestamp)
        batch.set_last_offset(next_offset - 1)
        batch.set_partition_leader_epoch(self._partition_leader_epoch)
        return ValidationResult(now, self._records, max_timestamp, False, next_offset)

    def _rebuild(self, first_batch: Batch, batches: Sequence[Batch], first_offset: int, now: int) -> ValidationResult:
        """Check all records, then write them into one new batch with the target codec."""
        records: list[AnyRecord] = []
        for batch in batches:
            self._validate_batch(first_batch, batch)
            batch_records = list(batch)
            self._refuse_records(batch, batch_records, now)
            records += batch_records
        builder = self._builder(first_batch, first_offset, now)
        for offset, record in enumerate(_contents(records), first_offset):
            builder.append_with_offset(offset, *record)
        return _rebuilt(builder, now, first_offset + len(records))

    def _builder(self, first_batch: Batch, first_offset: int, now: int) -> MemoryRecordsBuilder:
        """A builder of the new batch, with the producer's fields of the first batch that arrived."""
        return MemoryRecordsBuilder(
            compression=self._target_compression,
            timestamp_type=self._timestamp_type,
            base_offset=first_offset,
            log_append_time=now,
            producer_id=first_batch.producer_id,
            producer_epoch=first_batch.producer_epoch,
            base_sequence=first_batch.base_sequence,
            is_transactional=first_batch.is_transactional,
            partition_leader_epoch=self._partition_leader_epoch,
        )

    def _first_batch_and_no_more(self, batches: Sequence[B]) -> B:
        """The first batch. Raises `InvalidRecordException` without one, and for more batches than the format allows."""
        if not batches:
            raise InvalidRecordException("Record batch has no batches at all")
        if len(batches) > 1 and (batches[0].magic >= MAGIC_VALUE_V2 or self._source_compression is not _NONE):
            raise InvalidRecordException("Compressed outer record has more than one batch")
        return batches[0]

    def _validate_batch(self, first_batch: Batch, batch: Batch) -> None:
        """Refuse a batch whose header breaks a rule; raises `InvalidRecordException`."""
        if batch is not first_batch and batch.magic != first_batch.magic:
            raise InvalidRecordException(
                f"Batch magic {batch.magic} is not the same as the first batch's magic byte {first_batch.magic} "
                f"in topic partition {self._topic_partition}"
            )
        if self._origin is not AppendOrigin.CLIENT:
            return
        if isinstance(batch, RecordBatch):
            base_offset, last_offset, count = batch.base_offset, batch.last_offset, batch.count
            if last_offset < base_offset:
                raise InvalidRecordException(
                    f"Batch has an invalid offset range: [{base_offset}, {last_offset}] "
                    f"in topic partition {self._topic_partition}"
                )
            if count <= 0:
                raise InvalidRecordException(
                    f"Invalid reported count for record batch: {count} in topic partition {self._topic_partition}"
                )
            if last_offset - base_offset + 1 != count:
                raise InvalidRecordException(
                    f"Inconsistent batch offset range [{base_offset}, {last_offset}] and count of records {count} "
                    f"in topic partition {self._topic_partition}"
                )
        if batch.is_control_batch:
            raise InvalidRecordException(
                f"Clients are not allowed to write control records in topic partition {self._topic_partition}"
            )
        if batch.has_producer_id and batch.base_sequence < 0:
            raise InvalidRecordException(
                f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id} "
                f"in topic partition {self._topic_partition}"
            )

    def _may_hold_refused_records(self, batch: RecordBatch, summary: RecordsSummary, now: int) -> bool:
        """False when the extremes of the batch prove that no record must be refused."""
        if not summary.count:
            return False
        if summary.first_null_key >= 0 and self._compacted_topic:
            return True
        if batch.timestamp_type is _LOG_APPEND_TIME:
            return True
        return self._timestamp_type is _CREATE_TIME and (
            now - summary.min_timestamp > self._timestamp_before_max_ms
            or summary.max_timestamp - now > self._timestamp_after_max_ms
        )

    def _refuse_records(
        self, batch: Batch, records: Iterable[AnyRecord], now: int, kind: str = "DefaultRecord"
    ) -> None:
        """Examine each record; raises `RecordValidationException` with a `RecordError` for each refused one.

        `kind` is Kafka's name of such a record in messages.
        """
        errors = []
        any_timestamp_error = False
        for index, record in enumerate(records):
            message = self._structure_error(batch, record, kind)
            if message is None:
                message = self._timestamp_error(batch, record, now, kind)
                any_timestamp_error = any_timestamp_error or message is not None
            if message is not None:
                errors.append(RecordError(index, message))
        if not errors:
            return
        refusal: ApiException
        if any_timestamp_error:
            refusal = InvalidTimestampException("One or more records have been rejected due to invalid timestamp")
        else:
            refusal = InvalidRecordException(
                f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing "
                f"the first three errors at most: [{', '.join(map(str, errors[:3]))}]"
            )
        raise RecordValidationException(refusal, errors)

    def _structure_error(self, batch: Batch, record: AnyRecord, kind: str) -> str | None:
        """Why `record` may not be stored, apart from its timestamp; None when it may.

        Raises `CorruptRecordException` for a wrong CRC of a record inside a compressed set, because only those records
        have a CRC that has not been checked yet.
        """
        if self._source_compression is not _NONE and record.is_compressed:
            return (
                "Compressed outer record should not have an inner record with a compression attribute set: "
                f"{_describe(record, kind)}"
            )
        if not record.has_magic(batch.magic):
            return (
                f"Record {_describe(record, kind)}'s magic does not match outer magic {batch.magic} "
                f"in topic partition {self._topic_partition}"
            )
        if batch.magic <= MAGIC_VALUE_V1 and batch.is_compressed:
            try:
                record.ensure_valid()
            except InvalidRecordException as error:
                raise CorruptRecordException(f"{error} in topic partition {self._topic_partition}") from error
        if self._compacted_topic and not record.has_key:
            return f"Compacted topic cannot accept message without key in topic partition {self._topic_partition}"
        return None

    def _timestamp_error(self, batch: Batch, record: AnyRecord, now: int, kind: str) -> str | None:
        """Why the timestamp of `record` is refused; None when it is accepted.

        A batch that claims LogAppendTime is accepted by a CreateTime topic unless the record has no timestamp: Kafka
        examines the claim only where it does not examine the range.
        """
        timestamp = record.timestamp
        if self._timestamp_type is _CREATE_TIME and timestamp != NO_TIMESTAMP:
            age_ms = to_long(now - timestamp)
            if age_ms > self._timestamp_before_max_ms or to_long(-age_ms) > self._timestamp_after_max_ms:
                return (
                    f"Timestamp {timestamp} of message with offset {record.offset} is out of range. The timestamp "
                    f"should be within [{to_long(now - self._timestamp_before_max_ms)}, "
                    f"{to_long(now + self._timestamp_after_max_ms)}]"
                )
        elif batch.timestamp_type is _LOG_APPEND_TIME:
            return (
                f"Invalid timestamp type in message {_describe(record, kind)}. "
                "Producer should not set timestamp type to LogAppendTime."
            )
        return None


def _rebuilt(builder: MemoryRecordsBuilder, now: int, next_offset: int) -> ValidationResult:
    """The outcome when `builder` has written all records into a new batch."""
    return ValidationResult(
        log_append_time_ms=now,
        validated_records=builder.build(),
        max_timestamp_ms=builder.info().max_timestamp,
        message_size_maybe_changed=True,
        next_offset=next_offset,
    )


def _contents(records: Iterable[AnyRecord]) -> list[SimpleRecord]:
    """The contents of each record, all of them read at once."""
    return [SimpleRecord(record.timestamp, record.key, record.value, record.headers) for record in records]


def _describe(record: AnyRecord, kind: str) -> str:
    """A record as Kafka's messages print it: only a partial record shows by its size that a key is null."""
    if not isinstance(record, Record):
        return repr(record)
    key_size, value_size = record.key_size, record.value_size
    if kind == "DefaultRecord":
        key_size, value_size = max(key_size, 0), max(value_size, 0)
    return (
        f"{kind}(offset={record.offset}, timestamp={record.timestamp}, key={key_size} bytes, value={value_size} bytes)"
    )
