"""The interface through which others learn of a log's offsets."""


class LogOffsetsListener:
    """Called when offsets change, in the thread and under the lock of the change. Kafka: `LogOffsetsListener`."""

    def on_high_watermark_updated(self, offset: int) -> None:
        """Called with the new high watermark. Kafka: `LogOffsetsListener.onHighWatermarkUpdated`."""


NO_OP_OFFSETS_LISTENER = LogOffsetsListener()
