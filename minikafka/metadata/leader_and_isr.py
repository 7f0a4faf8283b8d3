"""The leader of a partition and its in-sync replicas, at one partition epoch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.metadata.leader_recovery_state import LeaderRecoveryState

NO_LEADER = -1
NO_LEADER_CHANGE = -2  # in a PartitionChangeRecord: the leader stays, and with it the leader epoch


class BrokerState(NamedTuple):
    """A member of a proposed ISR, and the broker epoch its leader knows of it (−1: none, which is not checked).

    Kafka: `AlterPartitionRequestData.BrokerState`.
    """

    broker_id: int
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """The leader and the ISR that a partition has, or that its leader proposes.

    `leader` is −1 when there is none. Kafka: `org.apache.kafka.metadata.LeaderAndIsr`.
    """

    leader: int
    leader_epoch: int
    leader_recovery_state: LeaderRecoveryState
    isr_with_broker_epoch: tuple[BrokerState, ...]
    partition_epoch: int

    @staticmethod
    def of(
        leader: int,
        leader_epoch: int,
        isr: Iterable[int],
        leader_recovery_state: LeaderRecoveryState,
        partition_epoch: int,
    ) -> "LeaderAndIsr":
        """A leader and an ISR whose broker epochs are not known. Kafka: the constructor that takes a list of ids."""
        states = tuple(BrokerState(broker_id) for broker_id in isr)
        return LeaderAndIsr(leader, leader_epoch, leader_recovery_state, states, partition_epoch)

    @property
    def isr(self) -> frozenset[int]:
        """The ids of the in-sync replicas. Kafka: `LeaderAndIsr.isr`."""
        return frozenset(state.broker_id for state in self.isr_with_broker_epoch)
