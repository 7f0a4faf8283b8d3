"""What the search for a log to clean has found."""


class PreCleanStats:
    """How many logs could be cleaned, how many of them are overdue, and by how much at most.

    A log is overdue when a dirty record has waited longer than `max.compaction.lag.ms`. Times are in ms.
    Kafka: `PreCleanStats`.
    """

    def __init__(self) -> None:
        self.max_compaction_delay_ms = 0
        self.delayed_partitions = 0
        self.cleanable_partitions = 0

    def update_max_compaction_delay(self, delay_ms: int) -> None:
        """Note by how much a log is overdue, 0 if it is not. Kafka: `PreCleanStats.updateMaxCompactionDelay`."""
        self.max_compaction_delay_ms = max(self.max_compaction_delay_ms, delay_ms)
        if delay_ms > 0:
            self.delayed_partitions += 1

    def record_cleanable_partitions(self, number: int) -> None:
        """Note how many logs could be cleaned. Kafka: `PreCleanStats.recordCleanablePartitions`."""
        self.cleanable_partitions = number
