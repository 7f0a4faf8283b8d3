"""The records of the cluster's metadata log: what a controller decided, in the order in which it was decided.

Names and fields are those of Kafka's records. They stay Python objects here: Kafka writes them to a log of their own
(`__cluster_metadata`) and replicates that by Raft, which this course does not mirror. Fields for what minikafka leaves
out (zones of migration, cordoned directories) are missing.

Kafka: `org.apache.kafka.common.metadata.*`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from minikafka.common.config_resource import ConfigResourceType
from minikafka.metadata.leader_and_isr import NO_LEADER_CHANGE
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState


class BrokerEndpoint(NamedTuple):
    """A listener of a broker: its name, and where it listens. Kafka: `RegisterBrokerRecord.BrokerEndpoint`."""

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class FeatureLevelRecord:
    """A feature of the cluster has another level; 0 turns it off. Kafka: `FeatureLevelRecord`."""

    name: str
    feature_level: int


@dataclass(frozen=True, slots=True)
class RegisterBrokerRecord:
    """A broker has registered, at first fenced: it takes part in nothing yet. Kafka: `RegisterBrokerRecord`."""

    broker_id: int
    broker_epoch: int
    incarnation_id: str
    end_points: tuple[BrokerEndpoint, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRecord:
    """A broker is no longer a part of the cluster. Kafka: `UnregisterBrokerRecord`."""

    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class FenceBrokerRecord:
    """A broker is shut out (written by old controllers only). Kafka: `FenceBrokerRecord`."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class UnfenceBrokerRecord:
    """A broker takes part (written by old controllers only). Kafka: `UnfenceBrokerRecord`."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class BrokerRegistrationChangeRecord:
    """A registration changes: None leaves `fenced` as it is, False a shutdown; no directories leave those as they are.

    A shutdown that has begun is only ended by another registration. Kafka: `BrokerRegistrationChangeRecord`.
    """

    broker_id: int
    broker_epoch: int
    fenced: bool | None = None
    in_controlled_shutdown: bool = False
    log_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic has come into being; its partitions follow. Kafka: `TopicRecord`."""

    name: str
    topic_id: str


@dataclass(frozen=True, slots=True)
class RemoveTopicRecord:
    """A topic is deleted, with its partitions and settings. Kafka: `RemoveTopicRecord`."""

    topic_id: str


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """Everything about one partition. Kafka: `PartitionRecord`."""

    partition_id: int
    topic_id: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    directories: tuple[str, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionChangeRecord:
    """What changes about a partition: None (and −2 for the leader) stays as it is. Kafka: `PartitionChangeRecord`.

    A record that names a leader, be it the present one, raises the leader epoch; every record the partition epoch.
    """

    partition_id: int
    topic_id: str
    isr: tuple[int, ...] | None = None
    leader: int = NO_LEADER_CHANGE
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: LeaderRecoveryState | None = None
    directories: tuple[str, ...] | None = None
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """A setting has a new value; None removes it. Kafka: `ConfigRecord`."""

    resource_type: ConfigResourceType
    resource_name: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ClearElrRecord:
    """The partitions of a topic ("": of all topics) forget their eligible leader replicas. Kafka: `ClearElrRecord`."""

    topic_name: str = ""


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """A block of producer ids is given away; the next begins at `next_producer_id`. Kafka: `ProducerIdsRecord`."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int


MetadataRecord = (
    FeatureLevelRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | BrokerRegistrationChangeRecord
    | TopicRecord
    | RemoveTopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | ConfigRecord
    | ClearElrRecord
    | ProducerIdsRecord
)
