"""Kafka's exceptions, by Kafka's names and with Kafka's hierarchy, and the few of Java's own that Kafka lets escape.

Tests ask two questions of an exception: does Kafka throw the same class, and does the message name the file, position,
offset or partition? The hierarchy matters because Kafka catches by base class: recovery, for instance, catches
`CorruptRecordException` and `InvalidRecordException`, and nothing wider.

Kafka: `org.apache.kafka.common.errors.*`, `org.apache.kafka.storage.internals.log.*Exception`.
"""

from pathlib import Path
from typing import NamedTuple

# Java's own exceptions that escape from Kafka's storage layer under their own names.


class IllegalArgumentException(ValueError):
    """An argument is outside what the method accepts. Kafka: `java.lang.IllegalArgumentException`."""


class NumberFormatException(IllegalArgumentException):
    """A text field that should hold a number does not. Kafka: `java.lang.NumberFormatException`."""


class IllegalStateException(RuntimeError):
    """A method was called in a state that forbids it. Kafka: `java.lang.IllegalStateException`."""


class NoSuchElementException(RuntimeError):
    """An element was asked of something empty. Kafka: `java.util.NoSuchElementException`."""


class NullPointerException(RuntimeError):
    """Something that must be there is null. Kafka: `java.lang.NullPointerException`."""


class IndexOutOfBoundsException(IndexError):
    """A field was read beyond the end of its buffer. Kafka: `java.lang.IndexOutOfBoundsException`."""


class StringIndexOutOfBoundsException(IndexOutOfBoundsException):
    """A text is shorter than the part asked of it. Kafka: `java.lang.StringIndexOutOfBoundsException`."""


class RuntimeException(RuntimeError):
    """A message of Kafka's protocol is malformed. Kafka: `java.lang.RuntimeException`."""


class NegativeArraySizeException(RuntimeException):
    """A length is below 0. Kafka: `java.lang.NegativeArraySizeException`."""


class MetadataParseException(RuntimeError):
    """A record of the metadata log cannot be read. Kafka: `server.common.serialization.MetadataParseException`."""


class InternalError(RuntimeError):
    """A mapped file could not be written. Kafka: `java.lang.InternalError`."""


class BufferUnderflowException(RuntimeError):
    """A buffer ends before the field that is read from it. Kafka: `java.nio.BufferUnderflowException`."""


class UnsupportedOperationException(RuntimeError):
    """The object lacks the operation. Kafka: `java.lang.UnsupportedOperationException`."""


class BufferOverflowException(RuntimeError):
    """A buffer or mapping has no room for what is put into it. Kafka: `java.nio.BufferOverflowException`."""


class OutOfMemoryError(MemoryError):
    """There is no memory for what is read from the file `filename`. Kafka: `java.lang.OutOfMemoryError`.

    As in Java, it is not among the exceptions that a loader catches, so it ends the command.
    """

    def __init__(self, message: str, file: Path):
        super().__init__(message)
        self.filename = str(file)


class IOException(OSError):
    """A file could not be read, or holds something malformed. Kafka: `java.io.IOException`."""


class ClosedChannelException(IOException):
    """The file is closed. Kafka: `java.nio.channels.ClosedChannelException`."""


# org.apache.kafka.common


class KafkaException(RuntimeError):
    """The root of Kafka's own exceptions. Kafka: `org.apache.kafka.common.KafkaException`."""


class ConfigException(KafkaException):
    """A configuration value is refused. Kafka: `org.apache.kafka.common.config.ConfigException`."""


class ApiException(KafkaException):
    """An error that a client may be told over the wire. Kafka: `common.errors.ApiException`."""


class RetriableException(ApiException):
    """An error that may go away when the request is sent again. Kafka: `common.errors.RetriableException`."""


class InvalidMetadataException(RetriableException):
    """The client's picture of the cluster is out of date. Kafka: `common.errors.InvalidMetadataException`."""


class ApplicationRecoverableException(ApiException):
    """The application must restart its producer. Kafka: `common.errors.ApplicationRecoverableException`."""


class InvalidConfigurationException(ApiException):
    """A request contradicts the configuration. Kafka: `common.errors.InvalidConfigurationException`."""


class CorruptRecordException(RetriableException):
    """A batch fails its CRC or its declared size is impossible. Kafka: `common.errors.CorruptRecordException`."""


class InvalidRecordException(InvalidConfigurationException):
    """A record or batch is well framed but breaks a rule. Kafka: `common.InvalidRecordException`."""


class RecordTooLargeException(ApiException):
    """A batch is larger than `max.message.bytes`. Kafka: `common.errors.RecordTooLargeException`."""


class RecordBatchTooLargeException(InvalidConfigurationException):
    """An append is larger than `segment.bytes`. Kafka: `common.errors.RecordBatchTooLargeException`."""


class InvalidOffsetException(ApiException):
    """An offset is not valid for the operation. Kafka: `common.errors.InvalidOffsetException`."""


class OffsetOutOfRangeException(InvalidOffsetException):
    """An offset lies outside [log start offset, upper bound]. Kafka: `common.errors.OffsetOutOfRangeException`."""


class KafkaStorageException(InvalidMetadataException):
    """The disk failed, or the log is closed. Kafka: `common.errors.KafkaStorageException`."""


class InvalidTimestampException(ApiException):
    """A record's timestamp is outside the accepted range. Kafka: `common.errors.InvalidTimestampException`."""


class UnsupportedVersionException(ApiException):
    """There is no such version, or no such kind of record. Kafka: `common.errors.UnsupportedVersionException`."""


class UnsupportedForMessageFormatException(InvalidConfigurationException):
    """The record format lacks a feature. Kafka: `common.errors.UnsupportedForMessageFormatException`."""


class UnsupportedCompressionTypeException(ApiException):
    """A codec is not allowed here. Kafka: `common.errors.UnsupportedCompressionTypeException`."""


class OutOfOrderSequenceException(ApiException):
    """A producer's sequence number is not the next one. Kafka: `common.errors.OutOfOrderSequenceException`."""


class InvalidProducerEpochException(ApplicationRecoverableException):
    """A producer's epoch is older than the known one. Kafka: `common.errors.InvalidProducerEpochException`."""


class ProducerFencedException(ApplicationRecoverableException):
    """Another producer took over the transactional id. Kafka: `common.errors.ProducerFencedException`."""


class InvalidTxnStateException(ApiException):
    """The append does not fit the state of the transaction. Kafka: `common.errors.InvalidTxnStateException`."""


class TransactionCoordinatorFencedException(ApiException):
    """A marker comes from an older coordinator. Kafka: `common.errors.TransactionCoordinatorFencedException`."""


class InconsistentTopicIdException(InvalidMetadataException):
    """The topic id on disk differs from the given one. Kafka: `common.errors.InconsistentTopicIdException`."""


class PolicyViolationException(ApiException):
    """The operation is forbidden by the topic's policy. Kafka: `common.errors.PolicyViolationException`."""


class LogDirNotFoundException(ApiException):
    """A directory is none of `log.dirs`. Kafka: `common.errors.LogDirNotFoundException`."""


# org.apache.kafka.storage.internals.log


class LogSegmentOffsetOverflowException(KafkaException):
    """An offset does not fit a segment: offset − base offset is outside 0 … 2147483647.

    `segment` is the segment that overflows (None where only its file is known); the loader splits it.
    Kafka: `storage.internals.log.LogSegmentOffsetOverflowException`.
    """

    def __init__(self, segment: object, offset: int):
        super().__init__(f"Detected offset overflow at offset {offset} in segment {segment}")
        self.segment = segment
        self.offset = offset


class IndexOffsetOverflowException(KafkaException):
    """An offset does not fit an index entry. Kafka: `storage.internals.log.IndexOffsetOverflowException`."""


class CorruptIndexException(RuntimeError):
    """An index contradicts its segment. Kafka: `storage.internals.log.CorruptIndexException`."""


class CorruptSnapshotException(KafkaException):
    """A producer snapshot is damaged. Kafka: `storage.internals.log.CorruptSnapshotException`."""


class OffsetsOutOfOrderException(RuntimeError):
    """A follower's append has offsets that do not grow. Kafka: `storage.internals.log.OffsetsOutOfOrderException`."""


class UnexpectedAppendOffsetException(RuntimeError):
    """A follower's append begins below the log end offset.

    `first_offset` and `last_offset` (both inclusive) are those of the append.
    Kafka: `storage.internals.log.UnexpectedAppendOffsetException`.
    """

    def __init__(self, message: str, first_offset: int, last_offset: int):
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class RecordError(NamedTuple):
    """Why the record at `batch_index` (0 = first of its batch) was refused. Kafka: `ProduceResponse.RecordError`."""

    batch_index: int
    message: str

    def __str__(self) -> str:
        return f"RecordError(batchIndex={self.batch_index}, message='{self.message}')"


class RecordValidationException(RuntimeError):
    """One or more records of an append were refused.

    `invalid_exception` is what the client is told; `record_errors` lists a `RecordError` for each refused record.
    Kafka: `storage.internals.log.RecordValidationException`.
    """

    def __init__(self, invalid_exception: Exception, record_errors: list[RecordError]):
        super().__init__(f"{type(invalid_exception).__name__}: {invalid_exception}")
        self.invalid_exception = invalid_exception
        self.record_errors = record_errors


class LogCleaningException(KafkaException):
    """A log could not be cleaned; the cause says why.

    `log` is the log in question. Kafka: `storage.internals.log.LogCleaningException`.
    """

    def __init__(self, log: object, message: str):
        super().__init__(message)
        self.log = log


class LogCleaningAbortedException(RuntimeError):
    """Somebody asked for a cleaning to end early. Kafka: `storage.internals.log.LogCleaningAbortedException`."""


class ThreadShutdownException(RuntimeError):
    """A thread is asked to end while it works. Kafka: `storage.internals.log.ThreadShutdownException`."""
