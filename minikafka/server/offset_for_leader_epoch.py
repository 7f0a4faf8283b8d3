"""What an OffsetForLeaderEpoch request asks and is answered, in the form that all its versions share."""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.cluster.epoch_end_offset import EpochEndOffset


class OffsetForLeaderPartition(NamedTuple):
    """A question where `leader_epoch` ends.

    `current_leader_epoch`: what the reader takes for the leader's epoch, −1 if it does not say.
    Kafka: `OffsetForLeaderEpochRequestData.OffsetForLeaderPartition`.
    """

    partition: int
    current_leader_epoch: int
    leader_epoch: int


class OffsetForLeaderTopic(NamedTuple):
    """The questions for one topic. Kafka: `OffsetForLeaderEpochRequestData.OffsetForLeaderTopic`."""

    topic: str
    partitions: Sequence[OffsetForLeaderPartition]


class OffsetForLeaderTopicResult(NamedTuple):
    """The answers for one topic: each with the number of its partition, in the order of the questions.

    Kafka: `OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult`.
    """

    topic: str
    partitions: list[tuple[int, EpochEndOffset]]
