"""What a broker has of a partition: the partition itself, or only the knowledge that its disk has failed."""

from dataclasses import dataclass

from minikafka.cluster.partition import Partition


@dataclass(frozen=True, slots=True)
class OnlinePartition:
    """The broker has this partition, as its leader or a follower. Kafka: `HostedPartition.Online`."""

    partition: Partition


@dataclass(frozen=True, slots=True)
class OfflinePartition:
    """The broker has the partition, but in a log directory that has failed.

    `partition` is what it was before, None if it never got a log. Kafka: `HostedPartition.Offline`.
    """

    partition: Partition | None = None


HostedPartition = OnlinePartition | OfflinePartition
"""A broker that has nothing of a partition has None in its place. Kafka: `HostedPartition`."""
