"""How much memory requests may take that are being read or worked on."""

import logging

logger = logging.getLogger(__name__)


class MemoryPool:
    """Counts bytes, and says no when there are none left.

    As long as any byte is left, a request gets all that it needs: the pool may go below zero by one request.
    Kafka: `SimpleMemoryPool`, not strict; `MemoryPool.NONE`.
    """

    def __init__(self, size_in_bytes: int):
        """`size_in_bytes` ≤ 0: no limit."""
        self._is_limited = size_in_bytes > 0
        self.available_memory = size_in_bytes
        """Bytes that are left; below zero when the last request took more than there were."""

    @property
    def is_out_of_memory(self) -> bool:
        """Whether the next request has to wait. Kafka: `SimpleMemoryPool.isOutOfMemory`."""
        return self._is_limited and self.available_memory <= 0

    def try_allocate(self, size_in_bytes: int) -> bool:
        """Take the bytes; False where the pool is empty. Kafka: `SimpleMemoryPool.tryAllocate`."""
        if self._is_limited and self.available_memory <= 0:
            logger.debug("refused to allocate buffer of size %d", size_in_bytes)
            return False
        self.available_memory -= size_in_bytes
        return True

    def release(self, size_in_bytes: int) -> None:
        """Give the bytes back. Kafka: `SimpleMemoryPool.release`."""
        self.available_memory += size_in_bytes
