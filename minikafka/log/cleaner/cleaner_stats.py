"""What a cleaning counted."""

from minikafka.common.time import SystemTime, Time


class CleanerStats:
    """Numbers of one cleaning; bytes are those of whole batches.

    - `messages_read`, `bytes_read`: from the segments that were rewritten; messages of batches that were dropped as a
      whole are not counted.
    - `messages_written`, `bytes_written`: what was kept of them.
    - `map_messages_read`, `map_bytes_read`: what was read for the offset map.
    - `invalid_messages_read`: messages without a key, which a compacted log cannot keep.
    - `buffer_utilization`: the share of the offset map that was used, 0 to 1.
    - The times are by the machine's clock, whatever clock the log has.

    Kafka: `CleanerStats`.
    """

    def __init__(self, time: Time | None = None):
        self._time = time or SystemTime()
        self.start_time = self._time.milliseconds()
        self.map_complete_time = -1
        self.end_time = -1
        self.messages_read = 0
        self.bytes_read = 0
        self.messages_written = 0
        self.bytes_written = 0
        self.map_messages_read = 0
        self.map_bytes_read = 0
        self.invalid_messages_read = 0
        self.buffer_utilization = 0.0

    def read_messages(self, messages_read: int, bytes_read: int) -> None:
        """Count what was read from a segment. Kafka: `CleanerStats.readMessages`."""
        self.messages_read += messages_read
        self.bytes_read += bytes_read

    def recopy_messages(self, messages_written: int, bytes_written: int) -> None:
        """Count what was kept of that. Kafka: `CleanerStats.recopyMessages`."""
        self.messages_written += messages_written
        self.bytes_written += bytes_written

    def invalid_messages(self, messages: int) -> None:
        """Count messages without a key. Kafka: `CleanerStats.invalidMessage`, for several."""
        self.invalid_messages_read += messages

    def index_messages_read(self, messages: int) -> None:
        """Count messages that the offset map was built from. Kafka: `CleanerStats.indexMessagesRead`."""
        self.map_messages_read += messages

    def index_bytes_read(self, size: int) -> None:
        """Count bytes that the offset map was built from. Kafka: `CleanerStats.indexBytesRead`."""
        self.map_bytes_read += size

    def index_done(self) -> None:
        """Note that the offset map is complete. Kafka: `CleanerStats.indexDone`."""
        self.map_complete_time = self._time.milliseconds()

    def all_done(self) -> None:
        """Note that the cleaning has ended. Kafka: `CleanerStats.allDone`."""
        self.end_time = self._time.milliseconds()

    @property
    def elapsed_secs(self) -> float:
        """How many seconds the cleaning took. Kafka: `CleanerStats.elapsedSecs`."""
        return (self.end_time - self.start_time) / 1000

    @property
    def elapsed_index_secs(self) -> float:
        """How many of them it took to build the offset map. Kafka: `CleanerStats.elapsedIndexSecs`."""
        return (self.map_complete_time - self.start_time) / 1000
