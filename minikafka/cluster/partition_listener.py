"""The interface through which others learn what happens to a partition."""

from minikafka.common.topic_partition import TopicPartition


class PartitionListener:
    """Told what happens to an online partition, in the thread and under the locks of the change.

    After `on_failed` or `on_deleted` nothing more is told. Kafka: `PartitionListener`.
    """

    def on_high_watermark_updated(self, topic_partition: TopicPartition, offset: int) -> None:
        """The high watermark is `offset` now. Kafka: `PartitionListener.onHighWatermarkUpdated`."""

    def on_failed(self, topic_partition: TopicPartition) -> None:
        """The partition's log directory has failed. Kafka: `PartitionListener.onFailed`."""

    def on_deleted(self, topic_partition: TopicPartition) -> None:
        """This broker no longer has the partition. Kafka: `PartitionListener.onDeleted`."""

    def on_becoming_follower(self, topic_partition: TopicPartition) -> None:
        """This broker has become a follower. Kafka: `PartitionListener.onBecomingFollower`."""
