"""What a leader asks the controller when its ISR should change, and what it is answered.

Kafka: the messages AlterPartitionRequest and AlterPartitionResponse (version 3), as values: topic ids are texts here,
and error codes are those of `minikafka.common.error_codes`.
"""

from dataclasses import dataclass

from minikafka.common.error_codes import Errors
from minikafka.metadata.leader_and_isr import NO_LEADER, BrokerState
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState


@dataclass(frozen=True, slots=True)
class AlterPartitionData:
    """The ISR that a leader proposes for one of its partitions, and the epochs at which it does so.

    Kafka: `AlterPartitionRequestData.PartitionData`.
    """

    topic_id: str
    partition_index: int
    leader_epoch: int
    partition_epoch: int
    new_isr_with_epochs: tuple[BrokerState, ...]
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED


@dataclass(frozen=True, slots=True)
class AlterPartitionRequest:
    """The proposals of one broker. Kafka: `AlterPartitionRequestData`."""

    broker_id: int
    broker_epoch: int
    partitions: tuple[AlterPartitionData, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionResult:
    """What became of one proposal: an error, or the partition as it is now.

    Kafka: `AlterPartitionResponseData.PartitionData`.
    """

    topic_id: str
    partition_index: int
    error: Errors
    leader_id: int = NO_LEADER
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    partition_epoch: int = -1


@dataclass(frozen=True, slots=True)
class AlterPartitionResponse:
    """An error that concerns the whole request, or a result for each proposal, in its order.

    Kafka: `AlterPartitionResponseData`.
    """

    error: Errors
    partitions: tuple[AlterPartitionResult, ...] = ()
