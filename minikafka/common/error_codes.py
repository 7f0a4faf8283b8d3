"""The errors of Kafka's protocol: what stands in a response for an exception.

Made from Kafka's source by tests/tools/make_error_codes.py. Kafka: `org.apache.kafka.common.protocol.Errors`.
"""

from minikafka.common import errors
from minikafka.common.error_code_base import ErrorCode


class Errors(ErrorCode):
    """Kafka's errors by name: code, text and exception of each. Kafka: `Errors`."""

    UNKNOWN_SERVER_ERROR = (
        -1,
        "The server experienced an unexpected error when processing the request.",
        errors.UnknownServerException,
    )
    NONE = 0
    OFFSET_OUT_OF_RANGE = (
        1,
        "The requested offset is not within the range of offsets maintained by the server.",
        errors.OffsetOutOfRangeException,
    )
    CORRUPT_MESSAGE = (
        2,
        "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or "
        "is otherwise corrupt.",
        errors.CorruptRecordException,
    )
    UNKNOWN_TOPIC_OR_PARTITION = (
        3,
        "This server does not host this topic-partition.",
        errors.UnknownTopicOrPartitionException,
    )
    INVALID_FETCH_SIZE = (
        4,
        "The requested fetch size is invalid.",
        errors.InvalidFetchSizeException,
    )
    LEADER_NOT_AVAILABLE = (
        5,
        "There is no leader for this topic-partition as we are in the middle of a leadership election.",
        errors.LeaderNotAvailableException,
    )
    NOT_LEADER_OR_FOLLOWER = (
        6,
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
        "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
        "partition.",
        errors.NotLeaderOrFollowerException,
    )
    REQUEST_TIMED_OUT = (
        7,
        "The request timed out.",
        errors.TimeoutException,
    )
    BROKER_NOT_AVAILABLE = (
        8,
        "The broker is not available.",
        errors.BrokerNotAvailableException,
    )
    REPLICA_NOT_AVAILABLE = (
        9,
        "The replica is not available for the requested topic-partition. Produce/Fetch requests and other requests "
        "intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the "
        "topic-partition.",
        errors.ReplicaNotAvailableException,
    )
    MESSAGE_TOO_LARGE = (
        10,
        "The request included a message larger than the max message size the server will accept.",
        errors.RecordTooLargeException,
    )
    STALE_CONTROLLER_EPOCH = (
        11,
        "The controller moved to another broker.",
        errors.ControllerMovedException,
    )
    OFFSET_METADATA_TOO_LARGE = (
        12,
        "The metadata field of the offset request was too large.",
        errors.OffsetMetadataTooLarge,
    )
    NETWORK_EXCEPTION = (
        13,
        "The server disconnected before a response was received.",
        errors.NetworkException,
    )
    COORDINATOR_LOAD_IN_PROGRESS = (
        14,
        "The coordinator is loading and hence can't process requests.",
        errors.CoordinatorLoadInProgressException,
    )
    COORDINATOR_NOT_AVAILABLE = (
        15,
        "The coordinator is not available.",
        errors.CoordinatorNotAvailableException,
    )
    NOT_COORDINATOR = (
        16,
        "This is not the correct coordinator.",
        errors.NotCoordinatorException,
    )
    INVALID_TOPIC_EXCEPTION = (
        17,
        "The request attempted to perform an operation on an invalid topic.",
        errors.InvalidTopicException,
    )
    RECORD_LIST_TOO_LARGE = (
        18,
        "The request included message batch larger than the configured segment size on the server.",
        errors.RecordBatchTooLargeException,
    )
    NOT_ENOUGH_REPLICAS = (
        19,
        "Messages are rejected since there are fewer in-sync replicas than required.",
        errors.NotEnoughReplicasException,
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        "Messages are written to the log, but to fewer in-sync replicas than required.",
        errors.NotEnoughReplicasAfterAppendException,
    )
    INVALID_REQUIRED_ACKS = (
        21,
        "Produce request specified an invalid value for required acks.",
        errors.InvalidRequiredAcksException,
    )
    ILLEGAL_GENERATION = (
        22,
        "Specified group generation id is not valid.",
        errors.IllegalGenerationException,
    )
    INCONSISTENT_GROUP_PROTOCOL = (
        23,
        "The group member's supported protocols are incompatible with those of existing members or first group member "
        "tried to join with empty protocol type or empty protocol list.",
        errors.InconsistentGroupProtocolException,
    )
    INVALID_GROUP_ID = (
        24,
        "The group id is invalid.",
        errors.InvalidGroupIdException,
    )
    UNKNOWN_MEMBER_ID = (
        25,
        "The coordinator is not aware of this member.",
        errors.UnknownMemberIdException,
    )
    INVALID_SESSION_TIMEOUT = (
        26,
        "The session timeout is not within the range allowed by the broker (as configured by "
        "group.min.session.timeout.ms and group.max.session.timeout.ms).",
        errors.InvalidSessionTimeoutException,
    )
    REBALANCE_IN_PROGRESS = (
        27,
        "The group is rebalancing, so a rejoin is needed.",
        errors.RebalanceInProgressException,
    )
    INVALID_COMMIT_OFFSET_SIZE = (
        28,
        "The committing offset data size is not valid.",
        errors.InvalidCommitOffsetSizeException,
    )
    TOPIC_AUTHORIZATION_FAILED = (
        29,
        "Topic authorization failed.",
        errors.TopicAuthorizationException,
    )
    GROUP_AUTHORIZATION_FAILED = (
        30,
        "Group authorization failed.",
        errors.GroupAuthorizationException,
    )
    CLUSTER_AUTHORIZATION_FAILED = (
        31,
        "Cluster authorization failed.",
        errors.ClusterAuthorizationException,
    )
    INVALID_TIMESTAMP = (
        32,
        "The timestamp of the message is out of acceptable range.",
        errors.InvalidTimestampException,
    )
    UNSUPPORTED_SASL_MECHANISM = (
        33,
        "The broker does not support the requested SASL mechanism.",
        errors.UnsupportedSaslMechanismException,
    )
    ILLEGAL_SASL_STATE = (
        34,
        "Request is not valid given the current SASL state.",
        errors.IllegalSaslStateException,
    )
    UNSUPPORTED_VERSION = (
        35,
        "The version of API is not supported.",
        errors.UnsupportedVersionException,
    )
    TOPIC_ALREADY_EXISTS = (
        36,
        "Topic with this name already exists.",
        errors.TopicExistsException,
    )
    INVALID_PARTITIONS = (
        37,
        "Number of partitions is below 1.",
        errors.InvalidPartitionsException,
    )
    INVALID_REPLICATION_FACTOR = (
        38,
        "Replication factor is below 1 or larger than the number of available brokers.",
        errors.InvalidReplicationFactorException,
    )
    INVALID_REPLICA_ASSIGNMENT = (
        39,
        "Replica assignment is invalid.",
        errors.InvalidReplicaAssignmentException,
    )
    INVALID_CONFIG = (
        40,
        "Configuration is invalid.",
        errors.InvalidConfigurationException,
    )
    NOT_CONTROLLER = (
        41,
        "This is not the correct controller for this cluster.",
        errors.NotControllerException,
    )
    INVALID_REQUEST = (
        42,
        "This most likely occurs because of a request being malformed by the client library or the message was sent "
        "to an incompatible broker. See the broker logs for more details.",
        errors.InvalidRequestException,
    )
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (
        43,
        "The message format version on the broker does not support the request.",
        errors.UnsupportedForMessageFormatException,
    )
    POLICY_VIOLATION = (
        44,
        "Request parameters do not satisfy the configured policy.",
        errors.PolicyViolationException,
    )
    OUT_OF_ORDER_SEQUENCE_NUMBER = (
        45,
        "The broker received an out of order sequence number.",
        errors.OutOfOrderSequenceException,
    )
    DUPLICATE_SEQUENCE_NUMBER = (
        46,
        "The broker received a duplicate sequence number.",
        errors.DuplicateSequenceException,
    )
    INVALID_PRODUCER_EPOCH = (
        47,
        "Producer attempted to produce with an old epoch.",
        errors.InvalidProducerEpochException,
    )
    INVALID_TXN_STATE = (
        48,
        "The producer attempted a transactional operation in an invalid state.",
        errors.InvalidTxnStateException,
    )
    INVALID_PRODUCER_ID_MAPPING = (
        49,
        "The producer attempted to use a producer id which is not currently assigned to its transactional id.",
        errors.InvalidPidMappingException,
    )
    INVALID_TRANSACTION_TIMEOUT = (
        50,
        "The transaction timeout is larger than the maximum value allowed by the broker (as configured by "
        "transaction.max.timeout.ms).",
        errors.InvalidTxnTimeoutException,
    )
    CONCURRENT_TRANSACTIONS = (
        51,
        "The producer attempted to update a transaction while another concurrent operation on the same transaction "
        "was ongoing.",
        errors.ConcurrentTransactionsException,
    )
    TRANSACTION_COORDINATOR_FENCED = (
        52,
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current coordinator for "
        "a given producer.",
        errors.TransactionCoordinatorFencedException,
    )
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (
        53,
        "Transactional Id authorization failed.",
        errors.TransactionalIdAuthorizationException,
    )
    SECURITY_DISABLED = (
        54,
        "Security features are disabled.",
        errors.SecurityDisabledException,
    )
    OPERATION_NOT_ATTEMPTED = (
        55,
        "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations "
        "in the batch failed, causing the broker to respond without trying the rest.",
        errors.OperationNotAttemptedException,
    )
    KAFKA_STORAGE_ERROR = (
        56,
        "Disk error when trying to access log file on the disk.",
        errors.KafkaStorageException,
    )
    LOG_DIR_NOT_FOUND = (
        57,
        "The user-specified log directory is not found in the broker config.",
        errors.LogDirNotFoundException,
    )
    SASL_AUTHENTICATION_FAILED = (
        58,
        "SASL Authentication failed.",
        errors.SaslAuthenticationException,
    )
    UNKNOWN_PRODUCER_ID = (
        59,
        "This exception is raised by the broker if it could not locate the producer metadata associated with the "
        "producerId in question. This could happen if, for instance, the producer's records were deleted because "
        "their retention time had elapsed. Once the last records of the producerId are removed, the producer's "
        "metadata is removed from the broker, and future appends by the producer will return this exception.",
        errors.UnknownProducerIdException,
    )
    REASSIGNMENT_IN_PROGRESS = (
        60,
        "A partition reassignment is in progress.",
        errors.ReassignmentInProgressException,
    )
    DELEGATION_TOKEN_AUTH_DISABLED = (
        61,
        "Delegation Token feature is not enabled.",
        errors.DelegationTokenDisabledException,
    )
    DELEGATION_TOKEN_NOT_FOUND = (
        62,
        "Delegation Token is not found on server.",
        errors.DelegationTokenNotFoundException,
    )
    DELEGATION_TOKEN_OWNER_MISMATCH = (
        63,
        "Specified Principal is not valid Owner/Renewer.",
        errors.DelegationTokenOwnerMismatchException,
    )
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token "
        "authenticated channels.",
        errors.UnsupportedByAuthenticationException,
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = (
        65,
        "Delegation Token authorization failed.",
        errors.DelegationTokenAuthorizationException,
    )
    DELEGATION_TOKEN_EXPIRED = (
        66,
        "Delegation Token is expired.",
        errors.DelegationTokenExpiredException,
    )
    INVALID_PRINCIPAL_TYPE = (
        67,
        "Supplied principalType is not supported.",
        errors.InvalidPrincipalTypeException,
    )
    NON_EMPTY_GROUP = (
        68,
        "The group is not empty.",
        errors.GroupNotEmptyException,
    )
    GROUP_ID_NOT_FOUND = (
        69,
        "The group id does not exist.",
        errors.GroupIdNotFoundException,
    )
    FETCH_SESSION_ID_NOT_FOUND = (
        70,
        "The fetch session ID was not found.",
        errors.FetchSessionIdNotFoundException,
    )
    INVALID_FETCH_SESSION_EPOCH = (
        71,
        "The fetch session epoch is invalid.",
        errors.InvalidFetchSessionEpochException,
    )
    LISTENER_NOT_FOUND = (
        72,
        "There is no listener on the leader broker that matches the listener on which metadata request was processed.",
        errors.ListenerNotFoundException,
    )
    TOPIC_DELETION_DISABLED = (
        73,
        "Topic deletion is disabled.",
        errors.TopicDeletionDisabledException,
    )
    FENCED_LEADER_EPOCH = (
        74,
        "The leader epoch in the request is older than the epoch on the broker.",
        errors.FencedLeaderEpochException,
    )
    UNKNOWN_LEADER_EPOCH = (
        75,
        "The leader epoch in the request is newer than the epoch on the broker.",
        errors.UnknownLeaderEpochException,
    )
    UNSUPPORTED_COMPRESSION_TYPE = (
        76,
        "The requesting client does not support the compression type of given partition.",
        errors.UnsupportedCompressionTypeException,
    )
    STALE_BROKER_EPOCH = (
        77,
        "Broker epoch has changed.",
        errors.StaleBrokerEpochException,
    )
    OFFSET_NOT_AVAILABLE = (
        78,
        "The leader high watermark has not caught up from a recent leader election so the offsets cannot be "
        "guaranteed to be monotonically increasing.",
        errors.OffsetNotAvailableException,
    )
    MEMBER_ID_REQUIRED = (
        79,
        "The group member needs to have a valid member id before actually entering a consumer group.",
        errors.MemberIdRequiredException,
    )
    PREFERRED_LEADER_NOT_AVAILABLE = (
        80,
        "The preferred leader was not available.",
        errors.PreferredLeaderNotAvailableException,
    )
    GROUP_MAX_SIZE_REACHED = (
        81,
        "The group has reached its maximum size.",
        errors.GroupMaxSizeReachedException,
    )
    FENCED_INSTANCE_ID = (
        82,
        "The broker rejected this static consumer since another consumer with the same group.instance.id has "
        "registered with a different member.id.",
        errors.FencedInstanceIdException,
    )
    ELIGIBLE_LEADERS_NOT_AVAILABLE = (
        83,
        "Eligible topic partition leaders are not available.",
        errors.EligibleLeadersNotAvailableException,
    )
    ELECTION_NOT_NEEDED = (
        84,
        "Leader election not needed for topic partition.",
        errors.ElectionNotNeededException,
    )
    NO_REASSIGNMENT_IN_PROGRESS = (
        85,
        "No partition reassignment is in progress.",
        errors.NoReassignmentInProgressException,
    )
    GROUP_SUBSCRIBED_TO_TOPIC = (
        86,
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
        errors.GroupSubscribedToTopicException,
    )
    INVALID_RECORD = (
        87,
        "This record has failed the validation on broker and hence will be rejected.",
        errors.InvalidRecordException,
    )
    UNSTABLE_OFFSET_COMMIT = (
        88,
        "There are unstable offsets that need to be cleared.",
        errors.UnstableOffsetCommitException,
    )
    THROTTLING_QUOTA_EXCEEDED = (
        89,
        "The throttling quota has been exceeded.",
        errors.ThrottlingQuotaExceededException,
    )
    PRODUCER_FENCED = (
        90,
        "There is a newer producer with the same transactionalId which fences the current one.",
        errors.ProducerFencedException,
    )
    RESOURCE_NOT_FOUND = (
        91,
        "A request illegally referred to a resource that does not exist.",
        errors.ResourceNotFoundException,
    )
    DUPLICATE_RESOURCE = (
        92,
        "A request illegally referred to the same resource twice.",
        errors.DuplicateResourceException,
    )
    UNACCEPTABLE_CREDENTIAL = (
        93,
        "Requested credential would not meet criteria for acceptability.",
        errors.UnacceptableCredentialException,
    )
    INCONSISTENT_VOTER_SET = (
        94,
        "Indicates that the either the sender or recipient of a voter-only request is not one of the expected voters.",
        errors.InconsistentVoterSetException,
    )
    INVALID_UPDATE_VERSION = (
        95,
        "The given update version was invalid.",
        errors.InvalidUpdateVersionException,
    )
    FEATURE_UPDATE_FAILED = (
        96,
        "Unable to update finalized features due to an unexpected server error.",
        errors.FeatureUpdateFailedException,
    )
    PRINCIPAL_DESERIALIZATION_FAILURE = (
        97,
        "Request principal deserialization failed during forwarding. This indicates an internal error on the broker "
        "cluster security setup.",
        errors.PrincipalDeserializationException,
    )
    SNAPSHOT_NOT_FOUND = (
        98,
        "Requested snapshot was not found.",
        errors.SnapshotNotFoundException,
    )
    POSITION_OUT_OF_RANGE = (
        99,
        "Requested position is not greater than or equal to zero, and less than the size of the snapshot.",
        errors.PositionOutOfRangeException,
    )
    UNKNOWN_TOPIC_ID = (
        100,
        "This server does not host this topic ID.",
        errors.UnknownTopicIdException,
    )
    DUPLICATE_BROKER_REGISTRATION = (
        101,
        "This broker ID is already in use.",
        errors.DuplicateBrokerRegistrationException,
    )
    BROKER_ID_NOT_REGISTERED = (
        102,
        "The given broker ID was not registered.",
        errors.BrokerIdNotRegisteredException,
    )
    INCONSISTENT_TOPIC_ID = (
        103,
        "The log's topic ID did not match the topic ID in the request.",
        errors.InconsistentTopicIdException,
    )
    INCONSISTENT_CLUSTER_ID = (
        104,
        "The clusterId in the request does not match that found on the server.",
        errors.InconsistentClusterIdException,
    )
    TRANSACTIONAL_ID_NOT_FOUND = (
        105,
        "The transactionalId could not be found.",
        errors.TransactionalIdNotFoundException,
    )
    FETCH_SESSION_TOPIC_ID_ERROR = (
        106,
        "The fetch session encountered inconsistent topic ID usage.",
        errors.FetchSessionTopicIdException,
    )
    INELIGIBLE_REPLICA = (
        107,
        "The new ISR contains at least one ineligible replica.",
        errors.IneligibleReplicaException,
    )
    NEW_LEADER_ELECTED = (
        108,
        "The AlterPartition request successfully updated the partition state but the leader has changed.",
        errors.NewLeaderElectedException,
    )
    OFFSET_MOVED_TO_TIERED_STORAGE = (
        109,
        "The requested offset is moved to tiered storage.",
        errors.OffsetMovedToTieredStorageException,
    )
    FENCED_MEMBER_EPOCH = (
        110,
        "The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin.",
        errors.FencedMemberEpochException,
    )
    UNRELEASED_INSTANCE_ID = (
        111,
        "The instance ID is still used by another member in the consumer group. That member must leave first.",
        errors.UnreleasedInstanceIdException,
    )
    UNSUPPORTED_ASSIGNOR = (
        112,
        "The assignor or its version range is not supported by the consumer group.",
        errors.UnsupportedAssignorException,
    )
    STALE_MEMBER_EPOCH = (
        113,
        "The member epoch is stale. The member must retry after receiving its updated member epoch via the "
        "ConsumerGroupHeartbeat API.",
        errors.StaleMemberEpochException,
    )
    MISMATCHED_ENDPOINT_TYPE = (
        114,
        "The request was sent to an endpoint of the wrong type.",
        errors.MismatchedEndpointTypeException,
    )
    UNSUPPORTED_ENDPOINT_TYPE = (
        115,
        "This endpoint type is not supported yet.",
        errors.UnsupportedEndpointTypeException,
    )
    UNKNOWN_CONTROLLER_ID = (
        116,
        "This controller ID is not known.",
        errors.UnknownControllerIdException,
    )
    UNKNOWN_SUBSCRIPTION_ID = (
        117,
        "Client sent a push telemetry request with an invalid or outdated subscription ID.",
        errors.UnknownSubscriptionIdException,
    )
    TELEMETRY_TOO_LARGE = (
        118,
        "Client sent a push telemetry request larger than the maximum size the broker will accept.",
        errors.TelemetryTooLargeException,
    )
    INVALID_REGISTRATION = (
        119,
        "The controller has considered the broker registration to be invalid.",
        errors.InvalidRegistrationException,
    )
    TRANSACTION_ABORTABLE = (
        120,
        "The server encountered an error with the transaction. The client can abort the transaction to continue using "
        "this transactional ID.",
        errors.TransactionAbortableException,
    )
    INVALID_RECORD_STATE = (
        121,
        "The record state is invalid. The acknowledgement of delivery could not be completed.",
        errors.InvalidRecordStateException,
    )
    SHARE_SESSION_NOT_FOUND = (
        122,
        "The share session was not found.",
        errors.ShareSessionNotFoundException,
    )
    INVALID_SHARE_SESSION_EPOCH = (
        123,
        "The share session epoch is invalid.",
        errors.InvalidShareSessionEpochException,
    )
    FENCED_STATE_EPOCH = (
        124,
        "The share coordinator rejected the request because the share-group state epoch did not match.",
        errors.FencedStateEpochException,
    )
    INVALID_VOTER_KEY = (
        125,
        "The voter key doesn't match the receiving replica's key.",
        errors.InvalidVoterKeyException,
    )
    DUPLICATE_VOTER = (
        126,
        "The voter is already part of the set of voters.",
        errors.DuplicateVoterException,
    )
    VOTER_NOT_FOUND = (
        127,
        "The voter is not part of the set of voters.",
        errors.VoterNotFoundException,
    )
    INVALID_REGULAR_EXPRESSION = (
        128,
        "The regular expression is not valid.",
        errors.InvalidRegularExpression,
    )
    REBOOTSTRAP_REQUIRED = (
        129,
        "Client metadata is stale. The client should rebootstrap to obtain new metadata.",
        errors.RebootstrapRequiredException,
    )
    STREAMS_INVALID_TOPOLOGY = (
        130,
        "The supplied topology is invalid.",
        errors.StreamsInvalidTopologyException,
    )
    STREAMS_INVALID_TOPOLOGY_EPOCH = (
        131,
        "The supplied topology epoch is invalid.",
        errors.StreamsInvalidTopologyEpochException,
    )
    STREAMS_TOPOLOGY_FENCED = (
        132,
        "The supplied topology epoch is outdated.",
        errors.StreamsTopologyFencedException,
    )
    SHARE_SESSION_LIMIT_REACHED = (
        133,
        "The limit of share sessions has been reached.",
        errors.ShareSessionLimitReachedException,
    )
