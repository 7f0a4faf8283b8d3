"""The in-sync replicas (ISR) of a partition: as the controller has agreed to them, and while a change is under way."""

from dataclasses import dataclass

from minikafka.metadata.leader_and_isr import LeaderAndIsr
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState


@dataclass(frozen=True, slots=True)
class CommittedPartitionState:
    """The ISR that the controller has agreed to. A follower's is empty. Kafka: `CommittedPartitionState`."""

    isr: frozenset[int]
    leader_recovery_state: LeaderRecoveryState

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The same, since nothing is under way. Kafka: `PartitionState.maximalIsr`."""
        return self.isr

    @property
    def is_inflight(self) -> bool:
        """False: the controller has been asked for nothing. Kafka: `PartitionState.isInflight`."""
        return False

    def __str__(self) -> str:
        return f"CommittedPartitionState(isr={sorted(self.isr)})"


class _PendingChange:
    """What holds while the controller has been asked for another ISR. Kafka: `PendingPartitionChange`."""

    __slots__ = ()
    last_committed_state: CommittedPartitionState

    @property
    def isr(self) -> frozenset[int]:
        """The last ISR that was agreed to. Kafka: `PartitionState.isr`."""
        return self.last_committed_state.isr

    @property
    def leader_recovery_state(self) -> LeaderRecoveryState:
        """Kafka: `PartitionState.leaderRecoveryState`."""
        return LeaderRecoveryState.RECOVERED

    @property
    def is_inflight(self) -> bool:
        """True: no other change may be asked for. Kafka: `PartitionState.isInflight`."""
        return True


@dataclass(frozen=True, slots=True)
class PendingExpandIsr(_PendingChange):
    """The controller has been asked to let `new_in_sync_replica_id` join, and has not answered.

    It may have agreed already, so the high watermark must wait for the new member; and it may refuse, so the new member
    does not help to reach `min.insync.replicas`. Kafka: `PendingExpandIsr`.
    """

    new_in_sync_replica_id: int
    sent_leader_and_isr: LeaderAndIsr
    last_committed_state: CommittedPartitionState

    @property
    def maximal_isr(self) -> frozenset[int]:
        """With the new member: whoever may be in the ISR by now. Kafka: `PartitionState.maximalIsr`."""
        return self.isr | {self.new_in_sync_replica_id}

    def __str__(self) -> str:
        return f"PendingExpandIsr(isr={sorted(self.isr)}, joins: {self.new_in_sync_replica_id})"


@dataclass(frozen=True, slots=True)
class PendingShrinkIsr(_PendingChange):
    """The controller has been asked to let `out_of_sync_replica_ids` leave, and has not answered.

    It may refuse: until it agrees, the high watermark must wait for those who are to leave. Kafka: `PendingShrinkIsr`.
    """

    out_of_sync_replica_ids: frozenset[int]
    sent_leader_and_isr: LeaderAndIsr
    last_committed_state: CommittedPartitionState

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The same: whoever is to leave is still in it. Kafka: `PartitionState.maximalIsr`."""
        return self.isr

    def __str__(self) -> str:
        return f"PendingShrinkIsr(isr={sorted(self.isr)}, leave: {sorted(self.out_of_sync_replica_ids)})"


PendingPartitionChange = PendingExpandIsr | PendingShrinkIsr
"""A change that the controller has been asked for. Kafka: `PendingPartitionChange`."""

PartitionState = CommittedPartitionState | PendingPartitionChange
"""Kafka: `PartitionState`."""
