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
    """A message of Kafka's protocol is malformed, or settings fit no directory. Kafka: `java.lang.RuntimeException`."""


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


class FatalExitError(RuntimeError):
    """The process cannot go on, and is to end at once. Kafka: `FatalExitError`, an Error in Java, and `Exit.halt`."""


class KafkaException(RuntimeError):
    """The root of Kafka's own exceptions. Kafka: `org.apache.kafka.common.KafkaException`."""


class ConfigException(KafkaException):
    """A configuration value is refused. Kafka: `org.apache.kafka.common.config.ConfigException`."""


class ApiException(KafkaException):
    """An error that a client may be told over the wire. Kafka: `common.errors.ApiException`."""


class RetriableException(ApiException):
    """An error that may go away when the request is sent again. Kafka: `common.errors.RetriableException`."""


class RefreshRetriableException(RetriableException):
    """A retriable error that asks the client for fresh metadata first.

    Kafka: `common.errors.RefreshRetriableException`.
    """


class InvalidMetadataException(RefreshRetriableException):
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


class UnsupportedVersionException(InvalidConfigurationException):
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


# Those that only requests and replication know, in the order of their codes on the wire.


class AuthenticationException(InvalidConfigurationException):
    """A client could not prove who it is. Kafka: `common.errors.AuthenticationException`."""


class AuthorizationException(InvalidConfigurationException):
    """A client may not do what it asks for. Kafka: `common.errors.AuthorizationException`."""


class UnknownServerException(ApiException):
    """Something failed that the protocol has no error for. Kafka: `common.errors.UnknownServerException`."""


class UnknownTopicOrPartitionException(InvalidMetadataException):
    """The broker knows no such partition. Kafka: `common.errors.UnknownTopicOrPartitionException`."""


class InvalidFetchSizeException(ApiException):
    """A fetch asks for an impossible number of bytes. Kafka: `common.errors.InvalidFetchSizeException`."""


class LeaderNotAvailableException(InvalidMetadataException):
    """The partition has no leader now. Kafka: `common.errors.LeaderNotAvailableException`."""


class NotLeaderOrFollowerException(InvalidMetadataException):
    """The broker does not lead the partition, or holds no replica of it.

    Kafka: `common.errors.NotLeaderOrFollowerException`.
    """


class TimeoutException(RetriableException):
    """A request was not done in its time. Kafka: `common.errors.TimeoutException`."""


class BrokerNotAvailableException(ApiException):
    """The broker is not there. Kafka: `common.errors.BrokerNotAvailableException`."""


class ReplicaNotAvailableException(InvalidMetadataException):
    """The broker cannot serve its replica of the partition. Kafka: `common.errors.ReplicaNotAvailableException`."""


class ControllerMovedException(ApiException):
    """A controller of the past speaks. Kafka: `common.errors.ControllerMovedException`."""


class OffsetMetadataTooLarge(ApiException):
    """The text beside a committed offset is too long. Kafka: `common.errors.OffsetMetadataTooLarge`."""


class NetworkException(InvalidMetadataException):
    """The connection ended before the response came. Kafka: `common.errors.NetworkException`."""


class CoordinatorLoadInProgressException(RetriableException):
    """The coordinator still reads its log. Kafka: `common.errors.CoordinatorLoadInProgressException`."""


class CoordinatorNotAvailableException(RefreshRetriableException):
    """The coordinator cannot be reached, or does not exist yet.

    Kafka: `common.errors.CoordinatorNotAvailableException`.
    """


class NotCoordinatorException(RefreshRetriableException):
    """Another broker is the coordinator. Kafka: `common.errors.NotCoordinatorException`."""


class InvalidTopicException(InvalidConfigurationException):
    """A topic's name is not allowed, or the topic is internal. Kafka: `common.errors.InvalidTopicException`."""


class NotEnoughReplicasException(RetriableException):
    """The ISR is smaller than `min.insync.replicas`; nothing was written.

    Kafka: `common.errors.NotEnoughReplicasException`.
    """


class NotEnoughReplicasAfterAppendException(RetriableException):
    """The ISR became too small after the records had been written.

    Kafka: `common.errors.NotEnoughReplicasAfterAppendException`.
    """


class InvalidRequiredAcksException(InvalidConfigurationException):
    """`acks` is none of −1, 0 and 1. Kafka: `common.errors.InvalidRequiredAcksException`."""


class IllegalGenerationException(ApplicationRecoverableException):
    """A member speaks of another generation of its group. Kafka: `common.errors.IllegalGenerationException`."""


class InconsistentGroupProtocolException(ApiException):
    """A member shares no protocol with its group. Kafka: `common.errors.InconsistentGroupProtocolException`."""


class InvalidGroupIdException(ApiException):
    """A group's id is not allowed. Kafka: `common.errors.InvalidGroupIdException`."""


class UnknownMemberIdException(ApplicationRecoverableException):
    """The coordinator knows no such member. Kafka: `common.errors.UnknownMemberIdException`."""


class InvalidSessionTimeoutException(ApiException):
    """A member's session timeout is outside the broker's limits.

    Kafka: `common.errors.InvalidSessionTimeoutException`.
    """


class RebalanceInProgressException(ApiException):
    """The group is being balanced; its members must join again. Kafka: `common.errors.RebalanceInProgressException`."""


class InvalidCommitOffsetSizeException(ApiException):
    """A commit of offsets is too large for a batch. Kafka: `common.errors.InvalidCommitOffsetSizeException`."""


class TopicAuthorizationException(AuthorizationException):
    """The client may not use the topic in this way. Kafka: `common.errors.TopicAuthorizationException`."""


class GroupAuthorizationException(AuthorizationException):
    """The client may not use the group in this way. Kafka: `common.errors.GroupAuthorizationException`."""


class ClusterAuthorizationException(AuthorizationException):
    """The client may not do this to the cluster. Kafka: `common.errors.ClusterAuthorizationException`."""


class UnsupportedSaslMechanismException(AuthenticationException):
    """The broker does not offer the SASL mechanism. Kafka: `common.errors.UnsupportedSaslMechanismException`."""


class IllegalSaslStateException(AuthenticationException):
    """A request does not fit the state of the SASL handshake. Kafka: `common.errors.IllegalSaslStateException`."""


class TopicExistsException(ApiException):
    """There is a topic of this name already. Kafka: `common.errors.TopicExistsException`."""


class InvalidPartitionsException(ApiException):
    """A topic's number of partitions is not allowed. Kafka: `common.errors.InvalidPartitionsException`."""


class InvalidReplicationFactorException(InvalidConfigurationException):
    """There are not that many brokers, or fewer than one replica is asked for.

    Kafka: `common.errors.InvalidReplicationFactorException`.
    """


class InvalidReplicaAssignmentException(ApiException):
    """Replicas are assigned in a way that is not allowed. Kafka: `common.errors.InvalidReplicaAssignmentException`."""


class NotControllerException(RetriableException):
    """Another node is the controller, or this one is behind the sender.

    Kafka: `common.errors.NotControllerException`.
    """


class InvalidRequestException(ApiException):
    """A request is malformed or contradicts itself. Kafka: `common.errors.InvalidRequestException`."""


class DuplicateSequenceException(ApiException):
    """A producer's sequence number was seen before. Kafka: `common.errors.DuplicateSequenceException`."""


class InvalidPidMappingException(ApplicationRecoverableException):
    """A producer id does not belong to its transactional id. Kafka: `common.errors.InvalidPidMappingException`."""


class InvalidTxnTimeoutException(ApiException):
    """A transaction's timeout is longer than the broker allows. Kafka: `common.errors.InvalidTxnTimeoutException`."""


class ConcurrentTransactionsException(RetriableException):
    """Another operation on the same transaction is under way.

    Kafka: `common.errors.ConcurrentTransactionsException`.
    """


class TransactionalIdAuthorizationException(AuthorizationException):
    """The client may not use the transactional id. Kafka: `common.errors.TransactionalIdAuthorizationException`."""


class SecurityDisabledException(ApiException):
    """The broker has no security features switched on. Kafka: `common.errors.SecurityDisabledException`."""


class OperationNotAttemptedException(ApiException):
    """This part of a request was not tried. Kafka: `common.errors.OperationNotAttemptedException`."""


class SaslAuthenticationException(AuthenticationException):
    """The SASL handshake failed. Kafka: `common.errors.SaslAuthenticationException`."""


class UnknownProducerIdException(OutOfOrderSequenceException):
    """The broker remembers nothing of the producer. Kafka: `common.errors.UnknownProducerIdException`."""


class ReassignmentInProgressException(ApiException):
    """The partition's replicas are being moved. Kafka: `common.errors.ReassignmentInProgressException`."""


class DelegationTokenDisabledException(ApiException):
    """The broker gives no delegation tokens. Kafka: `common.errors.DelegationTokenDisabledException`."""


class DelegationTokenNotFoundException(ApiException):
    """There is no such delegation token. Kafka: `common.errors.DelegationTokenNotFoundException`."""


class DelegationTokenOwnerMismatchException(ApiException):
    """The delegation token belongs to somebody else. Kafka: `common.errors.DelegationTokenOwnerMismatchException`."""


class UnsupportedByAuthenticationException(ApiException):
    """The way in which the client authenticated forbids the request.

    Kafka: `common.errors.UnsupportedByAuthenticationException`.
    """


class DelegationTokenAuthorizationException(AuthorizationException):
    """The client may not use the delegation token. Kafka: `common.errors.DelegationTokenAuthorizationException`."""


class DelegationTokenExpiredException(ApiException):
    """The delegation token has expired. Kafka: `common.errors.DelegationTokenExpiredException`."""


class InvalidPrincipalTypeException(ApiException):
    """The broker knows no principals of this type. Kafka: `common.errors.InvalidPrincipalTypeException`."""


class GroupNotEmptyException(ApiException):
    """The group still has members. Kafka: `common.errors.GroupNotEmptyException`."""


class GroupIdNotFoundException(ApiException):
    """There is no such group. Kafka: `common.errors.GroupIdNotFoundException`."""


class FetchSessionIdNotFoundException(RetriableException):
    """There is no such fetch session. Kafka: `common.errors.FetchSessionIdNotFoundException`."""


class InvalidFetchSessionEpochException(RetriableException):
    """A fetch is not the next one of its session. Kafka: `common.errors.InvalidFetchSessionEpochException`."""


class ListenerNotFoundException(InvalidMetadataException):
    """The leader does not listen where the client came in. Kafka: `common.errors.ListenerNotFoundException`."""


class TopicDeletionDisabledException(ApiException):
    """Topics cannot be deleted here. Kafka: `common.errors.TopicDeletionDisabledException`."""


class FencedLeaderEpochException(InvalidMetadataException):
    """A request has an older leader epoch than the broker. Kafka: `common.errors.FencedLeaderEpochException`."""


class UnknownLeaderEpochException(RetriableException):
    """A request has a newer leader epoch than the broker. Kafka: `common.errors.UnknownLeaderEpochException`."""


class StaleBrokerEpochException(ApiException):
    """A broker speaks as its former self, registered before. Kafka: `common.errors.StaleBrokerEpochException`."""


class OffsetNotAvailableException(RetriableException):
    """A new leader's high watermark has not yet reached the start of its epoch.

    Kafka: `common.errors.OffsetNotAvailableException`.
    """


class MemberIdRequiredException(ApiException):
    """A member must join with the id that it was given. Kafka: `common.errors.MemberIdRequiredException`."""


class PreferredLeaderNotAvailableException(InvalidMetadataException):
    """The first replica of the partition cannot lead it now.

    Kafka: `common.errors.PreferredLeaderNotAvailableException`.
    """


class GroupMaxSizeReachedException(ApiException):
    """The group is full. Kafka: `common.errors.GroupMaxSizeReachedException`."""


class FencedInstanceIdException(ApplicationRecoverableException):
    """Another member registered the same static id. Kafka: `common.errors.FencedInstanceIdException`."""


class EligibleLeadersNotAvailableException(InvalidMetadataException):
    """No replica that may lead the partition is there. Kafka: `common.errors.EligibleLeadersNotAvailableException`."""


class ElectionNotNeededException(InvalidMetadataException):
    """The partition has the leader already that an election would choose.

    Kafka: `common.errors.ElectionNotNeededException`.
    """


class NoReassignmentInProgressException(ApiException):
    """The partition's replicas are not being moved. Kafka: `common.errors.NoReassignmentInProgressException`."""


class GroupSubscribedToTopicException(ApiException):
    """The group is subscribed to the topic. Kafka: `common.errors.GroupSubscribedToTopicException`."""


class UnstableOffsetCommitException(RetriableException):
    """Offsets committed by an open transaction are not decided yet.

    Kafka: `common.errors.UnstableOffsetCommitException`.
    """


class ThrottlingQuotaExceededException(RetriableException):
    """The client has used up its quota. Kafka: `common.errors.ThrottlingQuotaExceededException`."""


class ResourceNotFoundException(ApiException):
    """There is no such resource. Kafka: `common.errors.ResourceNotFoundException`."""


class DuplicateResourceException(ApiException):
    """A request names a resource twice. Kafka: `common.errors.DuplicateResourceException`."""


class UnacceptableCredentialException(ApiException):
    """A credential does not meet the demands. Kafka: `common.errors.UnacceptableCredentialException`."""


class InconsistentVoterSetException(ApiException):
    """Sender or receiver is none of the expected voters. Kafka: `common.errors.InconsistentVoterSetException`."""


class InvalidUpdateVersionException(ApiException):
    """An update was made for another version of the state. Kafka: `common.errors.InvalidUpdateVersionException`."""


class FeatureUpdateFailedException(ApiException):
    """The features of the cluster could not be changed. Kafka: `common.errors.FeatureUpdateFailedException`."""


class PrincipalDeserializationException(ApiException):
    """The principal of a forwarded request cannot be read. Kafka: `common.errors.PrincipalDeserializationException`."""


class SnapshotNotFoundException(ApiException):
    """There is no such snapshot of the metadata log. Kafka: `common.errors.SnapshotNotFoundException`."""


class PositionOutOfRangeException(ApiException):
    """A position lies outside the snapshot. Kafka: `common.errors.PositionOutOfRangeException`."""


class UnknownTopicIdException(InvalidMetadataException):
    """The broker knows no topic with this id. Kafka: `common.errors.UnknownTopicIdException`."""


class DuplicateBrokerRegistrationException(ApiException):
    """A broker with this id is registered and alive. Kafka: `common.errors.DuplicateBrokerRegistrationException`."""


class BrokerIdNotRegisteredException(ApiException):
    """No broker with this id is registered. Kafka: `common.errors.BrokerIdNotRegisteredException`."""


class InconsistentClusterIdException(ApiException):
    """The sender belongs to another cluster. Kafka: `common.errors.InconsistentClusterIdException`."""


class TransactionalIdNotFoundException(ApiException):
    """There is no such transactional id. Kafka: `common.errors.TransactionalIdNotFoundException`."""


class FetchSessionTopicIdException(RetriableException):
    """A fetch session uses topic ids in some requests only. Kafka: `common.errors.FetchSessionTopicIdException`."""


class IneligibleReplicaException(ApiException):
    """A replica of the proposed ISR may not join it. Kafka: `common.errors.IneligibleReplicaException`."""


class NewLeaderElectedException(ApiException):
    """The ISR was changed, and with it the leader. Kafka: `common.errors.NewLeaderElectedException`."""


class OffsetMovedToTieredStorageException(ApiException):
    """The offset lies in remote storage only. Kafka: `common.errors.OffsetMovedToTieredStorageException`."""


class FencedMemberEpochException(ApiException):
    """The coordinator fenced the member's epoch. Kafka: `common.errors.FencedMemberEpochException`."""


class UnreleasedInstanceIdException(ApiException):
    """Another member still holds the static id. Kafka: `common.errors.UnreleasedInstanceIdException`."""


class UnsupportedAssignorException(ApiException):
    """The group does not support the assignor. Kafka: `common.errors.UnsupportedAssignorException`."""


class StaleMemberEpochException(ApiException):
    """A member speaks with an epoch of the past. Kafka: `common.errors.StaleMemberEpochException`."""


class MismatchedEndpointTypeException(ApiException):
    """A request for brokers reached a controller, or the other way round.

    Kafka: `common.errors.MismatchedEndpointTypeException`.
    """


class UnsupportedEndpointTypeException(ApiException):
    """Endpoints of this kind are not supported. Kafka: `common.errors.UnsupportedEndpointTypeException`."""


class UnknownControllerIdException(ApiException):
    """There is no such controller. Kafka: `common.errors.UnknownControllerIdException`."""


class UnknownSubscriptionIdException(ApiException):
    """A client's telemetry subscription is unknown or old. Kafka: `common.errors.UnknownSubscriptionIdException`."""


class TelemetryTooLargeException(ApiException):
    """A client sends more telemetry than the broker takes. Kafka: `common.errors.TelemetryTooLargeException`."""


class InvalidRegistrationException(ApiException):
    """The controller refuses a broker's registration. Kafka: `common.errors.InvalidRegistrationException`."""


class TransactionAbortableException(ApiException):
    """The transaction must be aborted; its producer may go on. Kafka: `common.errors.TransactionAbortableException`."""


class InvalidRecordStateException(ApiException):
    """A record of a share group cannot be acknowledged in its state.

    Kafka: `common.errors.InvalidRecordStateException`.
    """


class ShareSessionNotFoundException(RetriableException):
    """There is no such share session. Kafka: `common.errors.ShareSessionNotFoundException`."""


class InvalidShareSessionEpochException(RetriableException):
    """A request is not the next one of its share session. Kafka: `common.errors.InvalidShareSessionEpochException`."""


class FencedStateEpochException(ApiException):
    """The state of a share group has a newer epoch. Kafka: `common.errors.FencedStateEpochException`."""


class InvalidVoterKeyException(ApiException):
    """A voter's key is not that of the receiver. Kafka: `common.errors.InvalidVoterKeyException`."""


class DuplicateVoterException(ApiException):
    """The voter belongs to the voters already. Kafka: `common.errors.DuplicateVoterException`."""


class VoterNotFoundException(ApiException):
    """The voter is none of the voters. Kafka: `common.errors.VoterNotFoundException`."""


class InvalidRegularExpression(ApiException):
    """A regular expression cannot be read. Kafka: `common.errors.InvalidRegularExpression`."""


class RebootstrapRequiredException(ApiException):
    """A client's metadata is so old that it must start again from its first brokers.

    Kafka: `common.errors.RebootstrapRequiredException`.
    """


class StreamsInvalidTopologyException(ApiException):
    """A topology of Kafka Streams is not valid. Kafka: `common.errors.StreamsInvalidTopologyException`."""


class StreamsInvalidTopologyEpochException(ApiException):
    """The epoch of a topology is not valid. Kafka: `common.errors.StreamsInvalidTopologyEpochException`."""


class StreamsTopologyFencedException(ApiException):
    """The epoch of a topology is out of date. Kafka: `common.errors.StreamsTopologyFencedException`."""


class ShareSessionLimitReachedException(RetriableException):
    """There are as many share sessions as there may be. Kafka: `common.errors.ShareSessionLimitReachedException`."""


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
    Kafka: `server.storage.log.UnexpectedAppendOffsetException`.
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
