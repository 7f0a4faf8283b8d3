"""Who may do what: what a broker asks before it serves a request."""

from collections.abc import Sequence
from enum import Enum, IntEnum
from typing import NamedTuple, Protocol

from minikafka.network.request import Request

CLUSTER_NAME = "kafka-cluster"


class AclOperation(IntEnum):
    """What can be done to a resource. Kafka: `org.apache.kafka.common.acl.AclOperation`."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceType(Enum):
    """What something can be done to. Kafka: `org.apache.kafka.common.resource.ResourceType`."""

    TOPIC = "Topic"
    CLUSTER = "Cluster"
    TRANSACTIONAL_ID = "TransactionalId"
    GROUP = "Group"


SUPPORTED_OPERATIONS = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
    ),
}
"""Kafka: `AclEntry.supportedOperations`."""


class Action(NamedTuple):
    """Something that somebody wants to do. Kafka: `org.apache.kafka.server.authorizer.Action`."""

    operation: AclOperation
    resource_type: ResourceType
    resource_name: str


class Authorizer(Protocol):
    """Decides by rules of its own. Kafka: `org.apache.kafka.server.authorizer.Authorizer`."""

    def authorize(self, request: Request, actions: Sequence[Action]) -> Sequence[bool]:
        """Whether whoever sent `request` may do each of `actions`. Kafka: `Authorizer.authorize`."""

    def authorize_by_resource_type(
        self, request: Request, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether it may do that to at least one resource. Kafka: `Authorizer.authorizeByResourceType`."""
