"""One partition as the metadata log describes it."""

from dataclasses import dataclass
from typing import TypeVar

from minikafka.common import directory_id
from minikafka.common.errors import IllegalArgumentException
from minikafka.messages.cluster_metadata import PartitionChangeRecord, PartitionRecord
from minikafka.metadata.leader_and_isr import NO_LEADER, NO_LEADER_CHANGE
from minikafka.metadata.leader_recovery_state import NO_CHANGE, LeaderRecoveryState

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PartitionRegistration:
    """A partition's replicas, leader, ISR and epochs; immutable.

    - `replicas`: broker ids in the order of preference; `directories`: the log directory of each, in the same order.
    - `isr`: the replicas in sync. `elr`: replicas out of it that still hold all that was committed, and may lead when
      the ISR is empty; `last_known_elr`: the last leader, when both are empty.
    - `leader_epoch` grows with each record that names a leader, `partition_epoch` with each record.

    Kafka: `org.apache.kafka.metadata.PartitionRegistration`.
    """

    replicas: tuple[int, ...]
    directories: tuple[str, ...]
    isr: tuple[int, ...]
    leader: int
    leader_recovery_state: LeaderRecoveryState
    leader_epoch: int
    partition_epoch: int
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @staticmethod
    def from_record(record: PartitionRecord) -> "PartitionRegistration":
        """The partition of `record`. Kafka: `PartitionRegistration(PartitionRecord)`.

        Raises IllegalArgumentException when there are directories, but not one for each replica.
        """
        return PartitionRegistration(
            replicas=tuple(record.replicas),
            directories=_directories_or_migrating(tuple(record.directories), tuple(record.replicas)),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_recovery_state=LeaderRecoveryState(record.leader_recovery_state),
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            elr=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def merge(self, record: PartitionChangeRecord) -> "PartitionRegistration":
        """This partition after `record`: one partition epoch later, and one leader epoch if it names a leader.

        It may name the present leader. What it leaves out (None, and −2 for the leader) stays as it is.

        Kafka: `PartitionRegistration.merge`.
        """
        replicas = _or_as_before(record.replicas, self.replicas)
        recovery = record.leader_recovery_state
        names_leader = record.leader != NO_LEADER_CHANGE
        return PartitionRegistration(
            replicas=replicas,
            directories=_directories_or_migrating(_or_as_before(record.directories, self.directories), replicas),
            isr=_or_as_before(record.isr, self.isr),
            leader=record.leader if names_leader else self.leader,
            leader_recovery_state=(
                self.leader_recovery_state if recovery == NO_CHANGE else LeaderRecoveryState(recovery)
            ),
            leader_epoch=self.leader_epoch + names_leader,
            partition_epoch=self.partition_epoch + 1,
            removing_replicas=_or_as_before(record.removing_replicas, self.removing_replicas),
            adding_replicas=_or_as_before(record.adding_replicas, self.adding_replicas),
            elr=_or_as_before(record.eligible_leader_replicas, self.elr),
            last_known_elr=_or_as_before(record.last_known_elr, self.last_known_elr),
        )

    def to_record(self, topic_id: str, partition_id: int) -> PartitionRecord:
        """The record that makes this partition. Kafka: `PartitionRegistration.toRecord`."""
        return PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            leader_recovery_state=self.leader_recovery_state,
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            directories=list(self.directories),
            eligible_leader_replicas=list(self.elr) or None,  # what is tagged is only there with contents
            last_known_elr=list(self.last_known_elr) or None,
        )

    def has_leader(self) -> bool:
        """Whether some replica leads. Kafka: `PartitionRegistration.hasLeader`."""
        return self.leader != NO_LEADER

    def has_preferred_leader(self) -> bool:
        """Whether the preferred replica leads. Kafka: `PartitionRegistration.hasPreferredLeader`."""
        return self.leader == self.preferred_replica()

    def preferred_replica(self) -> int:
        """The first replica; −1 if there is none. Kafka: `PartitionRegistration.preferredReplica`."""
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory(self, replica: int) -> str:
        """The id of the log directory of `replica`. Kafka: `PartitionRegistration.directory`.

        Raises IllegalArgumentException when it is not assigned to this partition.
        """
        if replica not in self.replicas:
            raise IllegalArgumentException(f"Replica {replica} is not assigned to this partition.")
        return self.directories[self.replicas.index(replica)]


def _or_as_before(changed: list[T] | None, before: tuple[T, ...]) -> tuple[T, ...]:
    return before if changed is None else tuple(changed)


def _directories_or_migrating(directories: tuple[str, ...], replicas: tuple[int, ...]) -> tuple[str, ...]:
    """A directory for each replica: the given ones, or all unknown when none of the given is known."""
    if all(directory == directory_id.MIGRATING_DIR for directory in directories):
        return (directory_id.MIGRATING_DIR,) * len(replicas)
    if len(directories) != len(replicas):
        raise IllegalArgumentException("The lengths for replicas and directories do not match.")
    return directories
