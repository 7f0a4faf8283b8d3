"""Rebuilds the producers' state as of an offset, from the newest usable snapshot and the batches behind it.

Kafka: `UnifiedLog.rebuildProducerState`, which `LogLoader` and truncation share.
"""

import logging

from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.time import Time
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_segments import LogSegments
from minikafka.log.producer.producer_append_info import ProducerAppendInfo
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.producer_updates import in_kafkas_order, update_producers
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords

logger = logging.getLogger(__name__)


def rebuild_producer_state(
    producer_state_manager: ProducerStateManager,
    segments: LogSegments,
    *,
    log_start_offset: int,
    last_offset: int,
    time: Time,
    reload_from_clean_shutdown: bool,
    log_prefix: str,
) -> None:
    """Bring `producer_state_manager` to the state before `last_offset` (exclusive), from the newest snapshot on.

    Only that manager and snapshot files change. If there is no snapshot after a clean shutdown, as after an upgrade
    from an old version, nothing is read: empty snapshots are written, and open transactions are forgotten.

    Raises OSError and what reading segments raises. Kafka: `UnifiedLog.rebuildProducerState`.
    """
    # 1. Later loads and truncations want snapshots at the last two segments and at the end.
    offsets_to_snapshot = [segment.base_offset for segment in segments.values()[-2:]] + [last_offset]
    logger.info("%sLoading producer state till offset %s", log_prefix, last_offset)

    # 2. No snapshot after a clean shutdown: write empty ones and stop here.
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

    # 4. Read what lies between it and `last_offset`, unless the state was empty and already reached that far.
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
            fetch_data_info = segment.read(start_offset, INT_MAX, max_position)
            if fetch_data_info is not None:
                _load_producers_from_records(producer_state_manager, fetch_data_info.records)

    # 5. This is the state before `last_offset`, and worth a snapshot.
    producer_state_manager.update_map_end_offset(last_offset)
    producer_state_manager.take_snapshot()
    logger.info(
        "%sProducer state recovery took %sms for snapshot load and %sms for segment recovery from offset %s",
        log_prefix,
        recovery_start_ms - load_start_ms,
        time.milliseconds() - recovery_start_ms,
        last_offset,
    )


def _load_producers_from_records(
    producer_state_manager: ProducerStateManager, records: FileRecords | MemoryRecords
) -> None:
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
