"""How a leader asks the controller for another ISR."""

from concurrent.futures import Future
from typing import Protocol

from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.metadata.leader_and_isr import LeaderAndIsr


class AlterPartitionManager(Protocol):
    """What a partition needs to have its ISR changed. Kafka: `kafka.server.AlterPartitionManager`."""

    def submit(self, topic_id_partition: TopicIdPartition, leader_and_isr: LeaderAndIsr) -> "Future[LeaderAndIsr]":
        """Ask the controller to make this the ISR; the future gets what the controller has decided, or an exception.

        The future is completed at any time, in any thread, with no lock held. Kafka: `AlterPartitionManager.submit`.
        """
