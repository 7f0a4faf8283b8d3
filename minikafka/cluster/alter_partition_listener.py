"""The interface through which others learn that the in-sync replicas change."""


class AlterPartitionListener:
    """Told of every change of an ISR, for instance to count them. Kafka: `AlterPartitionListener`."""

    def mark_isr_expand(self) -> None:
        """A replica has joined an ISR. Kafka: `AlterPartitionListener.markIsrExpand`."""

    def mark_isr_shrink(self) -> None:
        """Replicas have left an ISR. Kafka: `AlterPartitionListener.markIsrShrink`."""

    def mark_failed(self) -> None:
        """A change was refused, or its answer came too late. Kafka: `AlterPartitionListener.markFailed`."""
