"""The offsets at which leader epochs began, kept in memory and in the file `leader-epoch-checkpoint`."""

import logging
import threading
from collections.abc import Callable

from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry, LeaderEpochCheckpointFile
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.scheduler import Scheduler
from minikafka.common.sorted_map import SortedMap
from minikafka.common.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class LeaderEpochFileCache:
    """The leader epochs of one log, each with the offset of its first record.

    Invariants:

    - Epochs and start offsets both grow strictly from entry to entry, and neither is negative.
    - An epoch is in the file before any of its records is in the log, because `assign` writes the file at once.
      Truncations write it in the background: superfluous entries do no harm, since loading the log truncates again.

    A follower finds the offset at which its log begins to differ from the leader's by `end_offset_for`.

    Simpler than Kafka: one lock replaces a read-write lock, because no look-up here takes long. On disk: see
    `LeaderEpochCheckpointFile`.
    Kafka: `LeaderEpochFileCache`.
    """

    def __init__(self, topic_partition: TopicPartition, checkpoint: LeaderEpochCheckpointFile, scheduler: Scheduler):
        """Start with the entries of the checkpoint file; raises `IllegalArgumentException` for a negative number."""
        self._topic_partition = topic_partition
        self._checkpoint = checkpoint
        # Writes the file after truncations.
        self._scheduler = scheduler
        # Held by every change and every look-up.
        self._lock = threading.RLock()
        # Whether the file is another log's, or nobody's, by now.
        self._is_let_go = False
        # The entries by epoch.
        self._epochs: SortedMap[EpochEntry] = SortedMap()
        for entry in checkpoint.read():
            self._assign(*entry)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` begins at `start_offset`, and write the file if that is new.

        Nothing changes when `epoch` is the latest one and is known to begin at or before `start_offset`. Entries that
        contradict the new one, because their epoch or start is not below, are dropped.
        Raises `IllegalArgumentException` for negative values.
        Kafka: `LeaderEpochFileCache.assign(int, long)`.
        """
        if self._assign(epoch, start_offset):
            self._write_to_file()

    @property
    def non_empty(self) -> bool:
        """True when any epoch is known. Kafka: `LeaderEpochFileCache.nonEmpty`."""
        return len(self._epochs) > 0

    @property
    def latest_entry(self) -> EpochEntry | None:
        """The newest epoch and its start. Kafka: `LeaderEpochFileCache.latestEntry`."""
        with self._lock:
            return self._epochs.last()

    @property
    def latest_epoch(self) -> int | None:
        """The newest epoch. Kafka: `LeaderEpochFileCache.latestEpoch`."""
        return _epoch_of(self.latest_entry)

    @property
    def earliest_entry(self) -> EpochEntry | None:
        """The oldest known epoch and its start. Kafka: `LeaderEpochFileCache.earliestEntry`."""
        with self._lock:
            return self._epochs.first()

    @property
    def epoch_entries(self) -> list[EpochEntry]:
        """All entries, oldest first. Kafka: `LeaderEpochFileCache.epochEntries`."""
        with self._lock:
            return self._epochs.values()

    def end_offset_for(self, requested_epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch ≤ `requested_epoch`, and its end offset (exclusive).

        An epoch ends where the next one starts; the latest ends at `log_end_offset`. For an epoch below all known ones
        the result is that epoch and the start of the first, where the follower must begin since the records are
        deleted. It is (-1, -1) for epoch -1 and for epochs above the latest.
        Kafka: `LeaderEpochFileCache.endOffsetFor`.
        """
        with self._lock:
            if requested_epoch == UNDEFINED_EPOCH:
                return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
            if requested_epoch == self.latest_epoch:
                return requested_epoch, log_end_offset
            higher = self._epochs.higher(requested_epoch)
            if higher is None:
                return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
            floor = self._epochs.floor(requested_epoch)
            return (requested_epoch if floor is None else floor.epoch), higher.start_offset

    def truncate_from_end_async_flush(self, end_offset: int) -> None:
        """Drop the epochs that begin at or after `end_offset`; the file is written in the background.

        Kafka: `LeaderEpochFileCache.truncateFromEndAsyncFlush`.
        """
        with self._lock:
            if _truncate_from_end(self._epochs, end_offset):
                self._schedule_flush()

    def truncate_from_start_async_flush(self, start_offset: int) -> None:
        """Drop the epochs that end at or before `start_offset`; the epoch of that offset now begins there.

        The file is written in the background. Kafka: `LeaderEpochFileCache.truncateFromStartAsyncFlush`.
        """
        with self._lock:
            if _truncate_from_start(self._epochs, start_offset):
                self._schedule_flush()

    def with_checkpoint(self, checkpoint: LeaderEpochCheckpointFile) -> "LeaderEpochFileCache":
        """A copy of this cache that is kept in another file, whose contents are not read.

        Kafka: `LeaderEpochFileCache.withCheckpoint`.
        """
        cache = LeaderEpochFileCache.__new__(LeaderEpochFileCache)
        cache._topic_partition = self._topic_partition
        cache._checkpoint = checkpoint
        cache._scheduler = self._scheduler
        cache._lock = threading.RLock()
        cache._is_let_go = False
        cache._epochs = SortedMap()
        for entry in self.epoch_entries:
            cache._epochs[entry.epoch] = entry
        return cache

    def clear_and_flush(self) -> None:
        """Drop all entries, also from the file. Kafka: `LeaderEpochFileCache.clearAndFlush`."""
        with self._lock:
            self._epochs.clear()
            self._write_to_file()

    def clear(self) -> None:
        """Drop all entries, but only in memory. Kafka: `LeaderEpochFileCache.clear`."""
        with self._lock:
            self._epochs.clear()

    def let_go(self) -> None:
        """Write no more in the background: the log's directory is deleted, or renamed for that.

        By the time at which a write is due, a topic that was made anew may have a directory of the old name. In Kafka
        that write takes place.
        """
        with self._lock:
            self._is_let_go = True

    def _assign(self, epoch: int, start_offset: int) -> bool:
        """Add the entry; False when it was known."""
        if epoch < 0 or start_offset < 0:
            raise IllegalArgumentException(
                f"Received invalid partition leader epoch entry EpochEntry[epoch={epoch}, startOffset={start_offset}]"
            )
        with self._lock:
            latest = self._epochs.last()
            if latest is not None and epoch == latest.epoch and start_offset >= latest.start_offset:
                return False
            entry = EpochEntry(epoch, start_offset)
            removed = _pop_last_while(self._epochs, lambda old: old.epoch >= epoch or old.start_offset >= start_offset)
            self._epochs[epoch] = entry
        if len(removed) > 1 or (removed and removed[0].start_offset != start_offset):
            logger.warning(
                "[LeaderEpochCache %s] New epoch entry %s caused truncation of conflicting entries %s. "
                "Cache now contains %s entries.",
                self._topic_partition,
                entry,
                removed,
                len(self._epochs),
            )
        return True

    def _schedule_flush(self) -> None:
        self._scheduler.schedule_once(f"leader-epoch-cache-flush-{self._topic_partition}", self._write_if_dir_exists)

    def _write_to_file(self) -> None:
        with self._lock:
            self._checkpoint.write(self._epochs.values())

    def _write_if_dir_exists(self) -> None:
        """Write the file in the background. Only the lock keeps an older state from overwriting a newer one."""
        with self._lock:
            if not self._is_let_go:
                self._checkpoint.write_if_dir_exists(self._epochs.values())


def _epoch_of(entry: EpochEntry | None) -> int | None:
    return None if entry is None else entry.epoch


def _pop_last_while(epochs: SortedMap[EpochEntry], condition: Callable[[EpochEntry], bool]) -> list[EpochEntry]:
    """Remove entries from the end while they meet `condition`; returns them, newest first."""
    removed = []
    while (last := epochs.last()) is not None and condition(last):
        epochs.pop(last.epoch)
        removed.append(last)
    return removed


def _truncate_from_end(epochs: SortedMap[EpochEntry], end_offset: int) -> list[EpochEntry]:
    if end_offset < 0:
        return []
    return _pop_last_while(epochs, lambda entry: entry.start_offset >= end_offset)


def _truncate_from_start(epochs: SortedMap[EpochEntry], start_offset: int) -> list[EpochEntry]:
    removed = []
    while (first := epochs.first()) is not None and first.start_offset <= start_offset:
        epochs.pop(first.epoch)
        removed.append(first)
    if removed:
        epochs[removed[-1].epoch] = EpochEntry(removed[-1].epoch, start_offset)
    return removed
