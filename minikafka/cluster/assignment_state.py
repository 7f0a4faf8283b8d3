"""Which brokers are to have a partition."""

from collections.abc import Sequence
from typing import NamedTuple


class SimpleAssignmentState(NamedTuple):
    """The brokers that have the partition, the preferred leader first. Kafka: `SimpleAssignmentState`."""

    replicas: Sequence[int] = ()

    @property
    def replication_factor(self) -> int:
        """How many replicas there are. Kafka: `AssignmentState.replicationFactor`."""
        return len(self.replicas)

    def is_adding_replica(self, broker_id: int) -> bool:
        """Never true here. Kafka: `AssignmentState.isAddingReplica`."""
        return False


class OngoingReassignmentState(NamedTuple):
    """The brokers that have the partition while it moves: `replicas` holds all, those that come and those that go.

    Kafka: `OngoingReassignmentState`.
    """

    adding_replicas: Sequence[int]
    removing_replicas: Sequence[int]
    replicas: Sequence[int]

    @property
    def replication_factor(self) -> int:
        """How many replicas there were before brokers were added. Kafka: `AssignmentState.replicationFactor`."""
        return sum(replica not in self.adding_replicas for replica in self.replicas)

    def is_adding_replica(self, broker_id: int) -> bool:
        """True for a broker that is about to get the partition. Kafka: `AssignmentState.isAddingReplica`."""
        return broker_id in self.adding_replicas


AssignmentState = SimpleAssignmentState | OngoingReassignmentState
"""Kafka: `AssignmentState`."""
