"""The APIs of Kafka's protocol by name and number, with the versions that Kafka 4.3.0 has of them."""

from enum import IntEnum
from functools import cache
from typing import Literal, TypeAlias

from minikafka.common.errors import IllegalArgumentException
from minikafka.messages.message_schema import MessageSchema
from minikafka.messages.message_tables import message_schema
from minikafka.messages.versions import Versions

ListenerType: TypeAlias = Literal["broker", "controller"]

PRODUCE_API_VERSIONS_RESPONSE_MIN_VERSION = 0
"""Told to clients, though the versions below 3 are gone: a client library does not compress if it sees a higher one."""


class ApiKeys(IntEnum):
    """What a request asks for; the value is what stands in its header.

    Kafka: `org.apache.kafka.common.protocol.ApiKeys`.
    """

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92

    @classmethod
    def for_id(cls, number: int) -> "ApiKeys":
        """The API of this number. Raises IllegalArgumentException. Kafka: `ApiKeys.forId`."""
        try:
            return cls(number)
        except ValueError:
            raise IllegalArgumentException(f"Unexpected api key: {number}") from None

    @property
    def message_name(self) -> str:
        """The name of its messages ("Produce"), before "Request" and "Response". Kafka: `ApiKeys.name`."""
        return self.name.title().replace("_", "")

    @property
    def has_valid_version(self) -> bool:
        """False for an API that is gone and whose number stays reserved. Kafka: `ApiKeys.hasValidVersion`."""
        return self not in _GONE

    @property
    def request_schema(self) -> MessageSchema:
        """The schema of its requests, of an API that is not gone."""
        return _schema(self, "Request")

    @property
    def response_schema(self) -> MessageSchema:
        """The schema of its responses, of an API that is not gone."""
        return _schema(self, "Response")

    @property
    def versions(self) -> Versions:
        """All versions, also one that is not released; without an end before the first if the API is gone.

        Kafka: `ApiKeys.oldestVersion`, `latestVersion`.
        """
        return self.request_schema.versions if self.has_valid_version else Versions(0, -1)

    @property
    def stable_versions(self) -> Versions:
        """The released versions. Kafka: `ApiKeys.latestVersion(false)`."""
        lowest, highest = self.versions
        return Versions(lowest, highest - (self.has_valid_version and self.request_schema.latest_unstable))

    def is_version_enabled(self, version: int) -> bool:
        """Whether a request of this version is taken: of ApiVersions any is, and answered with an error.

        Simpler than Kafka: versions that are not released are never enabled (`unstable.api.versions.enable`).
        Kafka: `ApiKeys.isVersionEnabled`.
        """
        lowest, highest = self.stable_versions
        return self is ApiKeys.API_VERSIONS or lowest <= version <= highest

    def in_scope(self, listener: ListenerType) -> bool:
        """Whether such requests are heard at that kind of listener. Kafka: `ApiKeys.inScope`."""
        return self.has_valid_version and listener in self.request_schema.listeners

    def request_header_version(self, version: int) -> int:
        """2 with tagged fields, 1 without. Kafka: `ApiKeys.requestHeaderVersion`."""
        return 2 if self._is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """1 with tagged fields, 0 without; ApiVersions' is 0, for it comes before anything is agreed upon.

        Kafka: `ApiKeys.responseHeaderVersion`.
        """
        return 1 if self._is_flexible(version) and self is not ApiKeys.API_VERSIONS else 0

    def _is_flexible(self, version: int) -> bool:
        struct = self.request_schema.struct
        return struct.flexible.has(version, struct.possible)


@cache
def _schema(api_key: ApiKeys, kind: str) -> MessageSchema:
    return message_schema("apis", api_key.message_name + kind)


_GONE = frozenset(
    {
        ApiKeys.LEADER_AND_ISR,
        ApiKeys.STOP_REPLICA,
        ApiKeys.UPDATE_METADATA,
        ApiKeys.CONTROLLED_SHUTDOWN,
    }
)
