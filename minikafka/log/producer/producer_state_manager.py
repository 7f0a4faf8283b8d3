"""The producers of a log and their transactions, with snapshots that make it unnecessary to scan the whole log."""

import logging
from collections.abc import Collection
from pathlib import Path

from minikafka.common.errors import CorruptSnapshotException, IllegalArgumentException
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.java.java_numbers import to_long
from minikafka.common.sorted_map import SortedMap
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_file_utils import producer_snapshot_file
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_append_info import ProducerAppendInfo, TxnMetadata
from minikafka.log.producer.producer_state_entry import ProducerStateEntry
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.log.producer.snapshot_file import (
    SnapshotFile,
    load_snapshots,
    read_snapshot,
    write_snapshot,
)
from minikafka.log.producer.verification_state_entry import VerificationStateEntry
from minikafka.record.format.record_batch import NO_PRODUCER_ID

logger = logging.getLogger(__name__)

LATE_TRANSACTION_BUFFER_MS = 5 * 60 * 1000


class ProducerStateManager:
    """Every producer's state as of `map_end_offset`, and the snapshot files of earlier states.

    Invariants:

    - The state is that of the log below `map_end_offset` (exclusive): each append first updates producers, then moves
      this offset.
    - `ongoing_txns` holds the transactions without an end marker, `unreplicated_txns` those whose marker is not yet
      below the high watermark. The *first unstable offset* is the smallest first offset of both; readers of committed
      data may not see anything from there on.
    - A snapshot at offset N is the state before N. It holds only the last batch of each producer.
    - A snapshot is written only when `map_end_offset` has passed the last snapshot's offset.

    On disk: one file `N.snapshot` for each, see `snapshot_file`.

    Simpler than Kafka: there are no volatile mirrors of counters, because they only serve metrics, which are left out.
    The log's lock guards this class.
    Kafka: `ProducerStateManager`.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        log_dir: Path,
        *,
        max_transaction_timeout_ms: int,
        producer_state_manager_config: ProducerStateManagerConfig,
        time: Time,
        snapshots: SortedMap[SnapshotFile] | None = None,
    ):
        """`snapshots` are the snapshot files in `log_dir` by offset; if they are not given, the directory is listed."""
        self.topic_partition = topic_partition
        # A transaction that is open longer than this (and five minutes) is late.
        self.max_transaction_timeout_ms = max_transaction_timeout_ms
        self.producer_state_manager_config = producer_state_manager_config
        # Where the snapshots lie: the partition's directory.
        self._log_dir = log_dir
        self._time = time
        # The producers by id. Their order in a snapshot is that of Java's HashMap.
        self._producers: JavaHashMap[int, ProducerStateEntry] = JavaHashMap()
        # The guards of transactions that wait for verification, by producer id.
        self._verification_states: dict[int, VerificationStateEntry] = {}
        # Transactions by first offset: the open ones, and those whose marker is not yet below the high watermark.
        self._ongoing_txns: SortedMap[TxnMetadata] = SortedMap()
        self._unreplicated_txns: SortedMap[TxnMetadata] = SortedMap()
        # When the oldest open transaction had its last batch (ms), -1 without one.
        self._oldest_txn_last_timestamp = -1
        # The state is that of the log below this offset, …
        self._last_map_offset = 0
        # … and the newest snapshot is that of the log below this one.
        self._last_snap_offset = 0
        # The snapshot files by offset.
        self._snapshots = load_snapshots(self._log_dir) if snapshots is None else snapshots

    @property
    def map_end_offset(self) -> int:
        """The offset (exclusive) up to which the log has been applied. Kafka: `ProducerStateManager.mapEndOffset`."""
        return self._last_map_offset

    @property
    def is_empty(self) -> bool:
        """True without producers and unreplicated transactions. Kafka: `ProducerStateManager.isEmpty`."""
        return not len(self._producers) and not len(self._unreplicated_txns)

    @property
    def active_producers(self) -> dict[int, ProducerStateEntry]:
        """A copy of the map from producer id to state, in Kafka's order.

        Kafka: `ProducerStateManager.activeProducers`.
        """
        return dict(self._producers.items())

    @property
    def ongoing_txns(self) -> list[TxnMetadata]:
        """The open transactions by first offset, ascending. Kafka: `ProducerStateManager.ongoingTxns` (a field)."""
        return self._ongoing_txns.values()

    @property
    def unreplicated_txns(self) -> list[TxnMetadata]:
        """The completed transactions whose markers are not yet below the high watermark, by first offset.

        Kafka: `ProducerStateManager.unreplicatedTxns` (a field).
        """
        return self._unreplicated_txns.values()

    @property
    def first_unstable_offset(self) -> LogOffsetMetadata | None:
        """The first offset of the oldest transaction that is open or whose marker is not replicated yet, else None.

        Kafka: `ProducerStateManager.firstUnstableOffset`.
        """
        unreplicated = self._unreplicated_txns.first()
        undecided = self._ongoing_txns.first()
        if unreplicated is None:
            return None if undecided is None else undecided.first_offset
        if undecided is None or undecided.first_offset.message_offset >= unreplicated.first_offset.message_offset:
            return unreplicated.first_offset
        return undecided.first_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction, whatever is replicated; None without one.

        Kafka: `ProducerStateManager.firstUndecidedOffset`.
        """
        undecided = self._ongoing_txns.first()
        return None if undecided is None else undecided.first_offset.message_offset

    @property
    def latest_snapshot_offset(self) -> int | None:
        """The offset of the newest snapshot file. Kafka: `ProducerStateManager.latestSnapshotOffset`."""
        snapshot = self._snapshots.last()
        return None if snapshot is None else snapshot.offset

    def has_late_transaction(self, current_time_ms: int) -> bool:
        """True when the last batch of the oldest open transaction is older than any transaction may become.

        Kafka: `ProducerStateManager.hasLateTransaction`.
        """
        last_timestamp = self._oldest_txn_last_timestamp
        allowed_ms = self.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS
        return last_timestamp > 0 and current_time_ms - last_timestamp > allowed_ms

    def last_entry(self, producer_id: int) -> ProducerStateEntry | None:
        """The state of `producer_id`, None if it is unknown. Kafka: `ProducerStateManager.lastEntry`."""
        return self._producers.get(producer_id)

    # Appending

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppendInfo:
        """Start to collect what an append changes for `producer_id`. Kafka: `ProducerStateManager.prepareUpdate`."""
        current_entry = self._producers.get(producer_id) or ProducerStateEntry.empty(producer_id)
        verification = self._verification_states.get(producer_id)
        return ProducerAppendInfo(self.topic_partition, producer_id, current_entry, origin, verification)

    def update(self, append_info: ProducerAppendInfo) -> None:
        """Apply what an append changed. Raises `IllegalArgumentException` for an append without a producer id.

        Kafka: `ProducerStateManager.update`.
        """
        producer_id = append_info.producer_id
        if producer_id == NO_PRODUCER_ID:
            raise IllegalArgumentException(
                f"Invalid producer id {producer_id} passed to update for partition{self.topic_partition}"
            )
        updated_entry = append_info.to_entry()
        current_entry = self._producers.get(producer_id)
        if current_entry is not None:
            current_entry.update(updated_entry)
        else:
            self._producers[producer_id] = updated_entry
        for txn in append_info.started_transactions:
            self._ongoing_txns[txn.first_offset.message_offset] = txn
        self._update_oldest_txn_timestamp()

    def update_map_end_offset(self, last_offset: int) -> None:
        """Note that the log below `last_offset` has been applied. Kafka: `ProducerStateManager.updateMapEndOffset`."""
        self._last_map_offset = last_offset

    def last_stable_offset(self, completed_txn: CompletedTxn) -> int:
        """The last stable offset as it will be once `completed_txn` is done, for the transaction index.

        It is the first offset of the oldest open transaction of *another* producer, else the offset after the marker.
        Kafka: `ProducerStateManager.lastStableOffset`.
        """
        for txn in self._ongoing_txns.values():
            if txn.producer_id != completed_txn.producer_id:
                return txn.first_offset.message_offset
        return to_long(completed_txn.last_offset + 1)

    def complete_txn(self, completed_txn: CompletedTxn) -> None:
        """Move a transaction from the open ones to those that wait for replication.

        Raises `IllegalArgumentException` if it is not open. Kafka: `ProducerStateManager.completeTxn`.
        """
        txn = self._ongoing_txns.pop(completed_txn.first_offset)
        if txn is None:
            raise IllegalArgumentException(
                f"Attempted to complete transaction {completed_txn} on partition {self.topic_partition} "
                "which was not started"
            )
        txn.last_offset = completed_txn.last_offset
        self._unreplicated_txns[completed_txn.first_offset] = txn
        self._update_oldest_txn_timestamp()

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Forget transactions whose markers lie below the high watermark.

        Kafka: `ProducerStateManager.onHighWatermarkUpdated`.
        """
        self._remove_unreplicated_transactions(high_watermark)

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """Forget replicated transactions below the new log start, and raise `map_end_offset` to it.

        Kafka: `ProducerStateManager.onLogStartOffsetIncremented`.
        """
        self._remove_unreplicated_transactions(log_start_offset)
        self._last_map_offset = max(self._last_map_offset, log_start_offset)
        latest = self._snapshots.last()
        self._last_snap_offset = log_start_offset if latest is None else latest.offset

    # Verification of transactions

    def maybe_create_verification_state_entry(
        self, producer_id: int, *, sequence: int, epoch: int, supports_epoch_bump: bool
    ) -> VerificationStateEntry:
        """The entry of a producer whose transaction is to be verified; made if missing, updated with this sequence.

        Kafka: `ProducerStateManager.maybeCreateVerificationStateEntry`.
        """
        entry = self._verification_states.get(producer_id)
        if entry is None:
            entry = VerificationStateEntry(
                timestamp=self._time.milliseconds(),
                sequence=sequence,
                epoch=epoch,
                supports_epoch_bump=supports_epoch_bump,
            )
            self._verification_states[producer_id] = entry
        entry.maybe_update_lowest_sequence_and_epoch(sequence, epoch)
        return entry

    def verification_state_entry(self, producer_id: int) -> VerificationStateEntry | None:
        """The entry of a producer whose transaction waits for verification, or None.

        Kafka: `ProducerStateManager.verificationStateEntry`.
        """
        return self._verification_states.get(producer_id)

    def clear_verification_state_entry(self, producer_id: int) -> None:
        """Forget the producer's entry, since its transaction has been verified.

        Kafka: `ProducerStateManager.clearVerificationStateEntry`.
        """
        self._verification_states.pop(producer_id, None)

    # Expiry, truncation, loading

    def remove_expired_producers(self, current_time_ms: int) -> None:
        """Forget producers, and verifications, idle for `producer_id_expiration_ms` or longer.

        A producer with an open transaction stays. Kafka: `ProducerStateManager.removeExpiredProducers`.
        """
        for producer_id, entry in self._producers.items():
            if self._is_producer_expired(current_time_ms, entry):
                del self._producers[producer_id]
        for producer_id, verification in list(self._verification_states.items()):
            if current_time_ms - verification.timestamp >= self.producer_state_manager_config.producer_id_expiration_ms:
                del self._verification_states[producer_id]

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, current_time_ms: int) -> None:
        """Go back to the newest snapshot in (`log_start_offset`, `log_end_offset`], and delete snapshots outside it.

        When the state is already that of `log_end_offset`, only replicated transactions are forgotten.
        Producers that have expired at `current_time_ms` are not loaded.
        Kafka: `ProducerStateManager.truncateAndReload`.
        """
        for snapshot in self._snapshots.values_up_to(log_start_offset):
            self._remove_and_delete_snapshot(snapshot.offset)
        for snapshot in self._snapshots.values_above(log_end_offset):
            self._remove_and_delete_snapshot(snapshot.offset)

        if log_end_offset == self._last_map_offset:
            self.on_log_start_offset_incremented(log_start_offset)
            return
        self._producers.clear()
        self._ongoing_txns.clear()
        self._update_oldest_txn_timestamp()
        self._unreplicated_txns.clear()
        self._load_from_snapshot(log_start_offset, current_time_ms)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget all producers, delete all snapshots and start over at `offset`.

        Kafka: `ProducerStateManager.truncateFullyAndStartAt`.
        """
        self._producers.clear()
        self._ongoing_txns.clear()
        self._unreplicated_txns.clear()
        for snapshot in self._snapshots.values():
            self._remove_and_delete_snapshot(snapshot.offset)
        self._last_snap_offset = 0
        self._last_map_offset = offset
        self._update_oldest_txn_timestamp()

    def load_producer_entry(self, entry: ProducerStateEntry) -> None:
        """Add one entry of a snapshot and reopen its transaction.

        Kafka: `ProducerStateManager.loadProducerEntry`.
        """
        self._producers[entry.producer_id] = entry
        first_offset = entry.current_txn_first_offset
        if first_offset is not None:
            self._ongoing_txns[first_offset] = TxnMetadata(entry.producer_id, LogOffsetMetadata(first_offset))

    # Snapshots

    def take_snapshot(self, *, sync: bool = True) -> Path | None:
        """Write a snapshot at `map_end_offset` and return its file; None if that is not beyond the last snapshot.

        `sync` forces the file to the device. Kafka: `ProducerStateManager.takeSnapshot`.
        """
        if self._last_map_offset <= self._last_snap_offset:
            return None
        snapshot = SnapshotFile(producer_snapshot_file(self._log_dir, self._last_map_offset), self._last_map_offset)
        start_ms = self._time.hi_res_clock_ms()
        write_snapshot(snapshot.file, (entry for _, entry in self._producers.items()), sync=sync)
        logger.info(
            "[%s] Wrote producer snapshot at offset %s with %s producer ids in %s ms.",
            self.topic_partition,
            self._last_map_offset,
            len(self._producers),
            self._time.hi_res_clock_ms() - start_ms,
        )
        self._snapshots[snapshot.offset] = snapshot
        self._last_snap_offset = self._last_map_offset
        return snapshot.file

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `ProducerStateManager.updateParentDir`."""
        self._log_dir = parent_dir
        for snapshot in self._snapshots.values():
            snapshot.update_parent_dir(parent_dir)

    def remove_stray_snapshots(self, segment_base_offsets: Collection[int]) -> None:
        """Delete the snapshots at offsets where no segment begins.

        The latest of them stays if no segment begins above it: a clean shutdown writes one at the log end, where no
        segment begins yet. Kafka: `ProducerStateManager.removeStraySnapshots`.
        """
        base_offsets = set(segment_base_offsets)
        snapshots = load_snapshots(self._log_dir)
        strays = [snapshot for snapshot in snapshots.values() if snapshot.offset not in base_offsets]
        latest_stray = strays[-1] if strays else None
        for snapshot in strays:
            is_kept = snapshot is latest_stray and (not base_offsets or snapshot.offset >= max(base_offsets))
            if not is_kept:
                snapshots.pop(snapshot.offset)
                snapshot.delete_if_exists()
        self._snapshots = snapshots

    def remove_and_mark_snapshot_for_deletion(self, snapshot_offset: int) -> SnapshotFile | None:
        """Rename the snapshot at `snapshot_offset` to `.deleted` and forget it; None if there is none.

        A missing file is no error, because recovery uses other managers, which may have deleted it.
        Kafka: `ProducerStateManager.removeAndMarkSnapshotForDeletion`.
        """
        snapshot = self._snapshots.pop(snapshot_offset)
        if snapshot is None:
            return None
        try:
            snapshot.rename_to_delete()
        except FileNotFoundError:
            logger.info(
                "[%s] Failed to rename producer state snapshot %s with deletion suffix because it was already deleted",
                self.topic_partition,
                snapshot.file,
            )
            return None
        return snapshot

    # Helpers

    def _load_from_snapshot(self, log_start_offset: int, current_time_ms: int) -> None:
        """Load the newest good snapshot and delete damaged ones; without a good one, start at the log start."""
        while (snapshot := self._snapshots.last()) is not None:
            try:
                logger.info("[%s] Loading producer state from snapshot file '%s'", self.topic_partition, snapshot)
                entries = read_snapshot(snapshot.file)
            except CorruptSnapshotException as error:
                logger.warning(
                    "[%s] Failed to load producer snapshot from '%s': %s", self.topic_partition, snapshot.file, error
                )
                self._remove_and_delete_snapshot(snapshot.offset)
                continue
            for entry in entries:
                if not self._is_producer_expired(current_time_ms, entry):
                    self.load_producer_entry(entry)
            self._last_snap_offset = self._last_map_offset = snapshot.offset
            self._update_oldest_txn_timestamp()
            return
        self._last_snap_offset = self._last_map_offset = log_start_offset

    def _is_producer_expired(self, current_time_ms: int, entry: ProducerStateEntry) -> bool:
        idle_ms = to_long(current_time_ms - entry.last_timestamp)  # a damaged snapshot may hold any timestamp
        expiration_ms = self.producer_state_manager_config.producer_id_expiration_ms
        return entry.current_txn_first_offset is None and idle_ms >= expiration_ms

    def _remove_unreplicated_transactions(self, offset: int) -> None:
        if not len(self._unreplicated_txns):
            return
        for txn in self._unreplicated_txns.values():
            if txn.last_offset is not None and txn.last_offset < offset:
                self._unreplicated_txns.pop(txn.first_offset.message_offset)

    def _remove_and_delete_snapshot(self, snapshot_offset: int) -> None:
        snapshot = self._snapshots.pop(snapshot_offset)
        if snapshot is not None:
            snapshot.delete_if_exists()

    def _update_oldest_txn_timestamp(self) -> None:
        oldest = self._ongoing_txns.first()
        entry = None if oldest is None else self._producers.get(oldest.producer_id)
        self._oldest_txn_last_timestamp = -1 if entry is None else entry.last_timestamp
