"""Producer state brought up to an offset of the log: batch by batch while appending, from snapshots while loading.

Kafka: the static methods of `UnifiedLog` that `LogLoader` shares.
"""

import logging
from collections.abc import Collection

from minikafka.log.append_origin import AppendOrigin
from minikafka.log.completed_txn import CompletedTxn
from minikafka.log.java_hash_map import JavaHashMap
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_segment import LogSegment
from minikafka.log.log_segments import LogSegments
from minikafka.log.maybe_handle_io_exception import maybe_handle_io_exception
from minikafka.log.producer_append_info import ProducerAppendInfo
from minikafka.log.producer_state_manager import ProducerStateManager
from minikafka.log.segment_files import SegmentOwner

logger = logging.getLogger(__name__)

_MAX_INT = 2**31 - 1


def rebuild_producer_state(
    producer_state_manager: ProducerStateManager,
    segments: LogSegments,
    log_start_offset: int,
    last_offset: int,
    time,
    reload_from_clean_shutdown: bool,
    log_prefix: str,
) -> None:
    """Bring `producer_state_manager` to the state before `last_offset` (exclusive), from the newest snapshot on.

    Changes nothing but that manager and snapshot files. Without any snapshot after a clean shutdown nothing is read:
    empty snapshots are written instead (an upgrade looks like this; open transactions are forgotten).

    Raises OSError and what reading segments raises. Kafka: `UnifiedLog.rebuildProducerState`.
    """
    # 1. A later load or truncation should find snapshots at the last two segments and at the end.
    offsets_to_snapshot = [segment.base_offset for segment in list(segments.values())[-2:]] + [last_offset]
    logger.info("%sLoading producer state till offset %s", log_prefix, last_offset)

    # 2. No snapshot and nothing to fear: leave empty ones and be done.
    if producer_state_manager.latest_snapshot_offset is None and reload_from_clean_shutdown:
        for offset in offsets_to_snapshot:
            producer_state_manager.update_map_end_offset(offset)
            producer_state_manager.take_snapshot()
        return

    # 3. Go back to the newest usable snapshot between log start and `last_offset`.
    logger.info(
        "%sReloading from producer snapshot and rebuilding producer state from offset %s", log_prefix, last_offset
    )
    is_empty_before_truncation = (
        producer_state_manager.is_empty and producer_state_manager.map_end_offset >= last_offset
    )
    load_start_ms = time.milliseconds()
    producer_state_manager.truncate_and_reload(log_start_offset, last_offset, load_start_ms)

    # 4. Read what lies between it and `last_offset`; where no producer was known before, none can be below either.
    recovery_start_ms = time.milliseconds()
    if last_offset > producer_state_manager.map_end_offset and not is_empty_before_truncation:
        segment_of_last_offset = segments.floor_segment(last_offset)
        for segment in segments.values(producer_state_manager.map_end_offset, last_offset):
            start_offset = max(segment.base_offset, producer_state_manager.map_end_offset, log_start_offset)
            producer_state_manager.update_map_end_offset(start_offset)
            if segment.base_offset in offsets_to_snapshot:
                producer_state_manager.take_snapshot()

            max_position = segment.size
            if segment is segment_of_last_offset:
                found = segment.translate_offset(last_offset)
                if found is not None:
                    max_position = found.position
            fetch_data_info = segment.read(start_offset, _MAX_INT, max_position, False)
            if fetch_data_info is not None:
                _load_producers_from_records(producer_state_manager, fetch_data_info.records)

    # 5. This is the state before `last_offset`; keep it.
    producer_state_manager.update_map_end_offset(last_offset)
    producer_state_manager.take_snapshot()
    logger.info(
        "%sProducer state recovery took %sms for snapshot load and %sms for segment recovery from offset %s",
        log_prefix,
        recovery_start_ms - load_start_ms,
        time.milliseconds() - recovery_start_ms,
        last_offset,
    )


def update_producers(
    producer_state_manager: ProducerStateManager,
    batch,
    producers: dict[int, ProducerAppendInfo],
    first_offset_metadata: LogOffsetMetadata | None,
    origin: AppendOrigin,
    transaction_version: int,
) -> CompletedTxn | None:
    """Check `batch`, which has a producer id, and collect in `producers` what it changes.

    Returns the transaction that it completes, if it is a marker of an open one. Raises what `ProducerAppendInfo.append`
    raises. Kafka: `UnifiedLog.updateProducers`.
    """
    producer_id = batch.producer_id
    append_info = producers.get(producer_id)
    if append_info is None:
        append_info = producers[producer_id] = producer_state_manager.prepare_update(producer_id, origin)
    completed_txn = append_info.append(batch, first_offset_metadata, transaction_version)
    # The transaction has a first offset now, or it is over: what verified it has done its work. A marker of
    # transactions v2 with the epoch that waits for verification is the exception, that is the next transaction's.
    if batch.is_transactional:
        entry = producer_state_manager.verification_state_entry(producer_id)
        is_v2_next_transaction_started = (
            entry is not None
            and entry.supports_epoch_bump
            and batch.is_control_batch
            and batch.producer_epoch == entry.epoch
        )
        if not is_v2_next_transaction_started:
            producer_state_manager.clear_verification_state_entry(producer_id)
    return completed_txn


def in_kafkas_order(producers: dict[int, ProducerAppendInfo]) -> Collection[ProducerAppendInfo]:
    """The values in the order in which Kafka's HashMap gives them: it decides the order of entries in a snapshot."""
    if len(producers) <= 1:
        return producers.values()
    ordered = JavaHashMap()
    for producer_id in producers:
        ordered.compute_if_absent(producer_id, producers.__getitem__)
    return [append_info for _, append_info in ordered.items()]


def delete_producer_snapshots(
    owner: SegmentOwner,
    producer_state_manager: ProducerStateManager,
    segments: Collection[LogSegment],
    async_delete: bool,
) -> None:
    """Rename the snapshots at the base offsets of `segments` to `.deleted` and delete them: later if `async_delete`.

    Raises OSError. Kafka: `UnifiedLog.deleteProducerSnapshots`.
    """
    marked = [producer_state_manager.remove_and_mark_snapshot_for_deletion(s.base_offset) for s in segments]
    snapshots = [snapshot for snapshot in marked if snapshot is not None]
    parent_dir = str(owner.dir.parent)

    def delete_snapshots() -> None:
        with maybe_handle_io_exception(
            owner.log_dir_failure_channel,
            parent_dir,
            lambda: f"Error while deleting producer state snapshots for {owner.topic_partition} in dir {parent_dir}",
        ):
            for snapshot in snapshots:
                snapshot.delete_if_exists()

    if async_delete:
        owner.scheduler.schedule_once("delete-producer-snapshot", delete_snapshots, owner.config.file_delete_delay_ms)
    else:
        delete_snapshots()


def _load_producers_from_records(producer_state_manager: ProducerStateManager, records) -> None:
    loaded_producers: dict[int, ProducerAppendInfo] = {}
    completed_txns = []
    for batch in records.batches():
        if batch.has_producer_id:
            completed_txn = update_producers(
                producer_state_manager, batch, loaded_producers, None, AppendOrigin.REPLICATION, 0
            )
            if completed_txn is not None:
                completed_txns.append(completed_txn)
    for append_info in in_kafkas_order(loaded_producers):
        producer_state_manager.update(append_info)
    for completed_txn in completed_txns:
        producer_state_manager.complete_txn(completed_txn)
