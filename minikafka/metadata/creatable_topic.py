"""What somebody asks for who wants a topic, and what the controller answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minikafka.common.api_error import NO_ERROR, ApiError
from minikafka.common.uuid import ZERO_UUID
from minikafka.metadata.configuration_control_manager import ConfigEntry


@dataclass(frozen=True, slots=True)
class CreatableTopic:
    """A topic that is to be made. Kafka: `CreateTopicsRequestData.CreatableTopic`.

    Either `num_partitions` and `replication_factor` (−1: the cluster's default), or `assignments`: pairs of a
    partition's number and the broker ids of its replicas, the first of which is to lead. `topic_id` is drawn when it is
    not given; Kafka always draws it.
    """

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Mapping[str, str | None] = field(default_factory=dict)
    topic_id: str | None = None


@dataclass(frozen=True, slots=True)
class CreatableTopicResult:
    """The topic that was made, or the error. Kafka: `CreateTopicsResponseData.CreatableTopicResult`."""

    name: str
    error: ApiError = NO_ERROR
    topic_id: str = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic is to have. Kafka: `CreatePartitionsRequestData.CreatePartitionsTopic`.

    `assignments`: the broker ids of the replicas of each new partition; None to have them placed.
    """

    name: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None
