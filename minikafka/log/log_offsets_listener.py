"""Who wants to hear of a log's offsets."""


class LogOffsetsListener:
    """Is told of offsets that change, in the thread and under the lock of the change. Kafka: `LogOffsetsListener`."""

    def on_high_watermark_updated(self, offset: int) -> None:
        """The high watermark is `offset` now. Kafka: `LogOffsetsListener.onHighWatermarkUpdated`."""


NO_OP_OFFSETS_LISTENER = LogOffsetsListener()
