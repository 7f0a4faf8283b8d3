"""The memory into which a cleaner reads batches."""

import logging

from minikafka.common.errors import CorruptRecordException, IllegalStateException
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords

logger = logging.getLogger(__name__)


class IoBuffer:
    """Holds as many batches as fit, and grows for one that does not.

    What is read into it stays until the next read. Kafka's cleaner has a second buffer of the same size to write from.
    Here, the output has memory of its own, but it is written out whenever Kafka's buffer would be full.

    Kafka: `readBuffer` and `writeBuffer` of `Cleaner`.
    """

    def __init__(self, initial_size: int, max_size: int):
        """`initial_size` bytes, growing up to `max_size`, or to what a topic allows if that is more."""
        self._initial_size = initial_size
        self._max_size = max_size
        self._bytes = bytearray(initial_size)

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return len(self._bytes)

    def read(self, source: FileRecords, position: int) -> MemoryRecords:
        """As many bytes of `source` from `position` on as there is room for; the last batch may be incomplete."""
        size = source.read_into(self._bytes, position)
        return MemoryRecords.readable_records(memoryview(self._bytes)[:size])

    def grow_or_fail(
        self, source: FileRecords, position: int, max_log_message_size: int, memory_records: MemoryRecords
    ) -> None:
        """Make more room: `memory_records`, read at `position` of `source`, do not hold a whole batch.

        A batch may be larger than the topic's `max.message.bytes` (`max_log_message_size`), if the setting was once
        larger or the batch grew when it was recompressed. Raises IllegalStateException for a batch that is too large
        or has an impossible size, CorruptRecordException for one that would end beyond the file.
        Kafka: `Cleaner.growBuffersOrFail`.
        """
        max_size = max_log_message_size
        if self.size >= max_log_message_size:
            next_batch_size = memory_records.first_batch_size()
            log_desc = f"log segment {source.file} at position {position}"
            if next_batch_size is None:
                raise IllegalStateException(f"Could not determine next batch size for {log_desc}")
            if next_batch_size <= 0:
                raise IllegalStateException(f"Invalid batch size {next_batch_size} for {log_desc}")
            if next_batch_size <= self.size:
                raise IllegalStateException(
                    f"Batch size {next_batch_size} < buffer size {self.size}, but not processed for {log_desc}"
                )
            bytes_left = source.channel.size - position
            if next_batch_size > bytes_left:
                raise CorruptRecordException(
                    f"Log segment may be corrupt, batch size {next_batch_size} > {bytes_left} bytes left in segment "
                    f"for {log_desc}"
                )
            max_size = next_batch_size
        self._grow(max_size)

    def _grow(self, max_log_message_size: int) -> None:
        """Double the size, up to the larger of the limits. Kafka: `Cleaner.growBuffers`."""
        max_size = max(max_log_message_size, self._max_size)
        if self.size >= max_size:
            raise IllegalStateException(
                f"This log contains a message larger than maximum allowable size of {max_size}."
            )
        new_size = min(self.size * 2, max_size)
        logger.info("Growing cleaner I/O buffers from %d bytes to %d bytes.", self.size, new_size)
        self._bytes = bytearray(new_size)

    def restore(self) -> None:
        """Return to the initial size. Kafka: `Cleaner.restoreBuffers`."""
        if self.size > self._initial_size:
            self._bytes = bytearray(self._initial_size)
