"""Which offsets of a log may be cleaned, and how urgent that is."""

import logging
from typing import NamedTuple

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.log.log import Log

logger = logging.getLogger(__name__)


class OffsetsToClean(NamedTuple):
    """What may be cleaned lies from `first_dirty_offset` up to `first_uncleanable_dirty_offset` (exclusive).

    `force_update_checkpoint`: the checkpoint named an impossible offset, which the first dirty offset must replace.
    Kafka: `LogCleanerManager.OffsetsToClean`.
    """

    first_dirty_offset: int
    first_uncleanable_dirty_offset: int
    force_update_checkpoint: bool


def cleanable_offsets(log: Log, last_clean_offset: int | None, now: int) -> OffsetsToClean:
    """Which part of `log` may be cleaned at the time `now` (ms), given the checkpoint's offset, None if it has none.

    Kafka: `LogCleanerManager.cleanableOffsets`.
    """
    # 1. The dirty part begins where the last cleaning ended.
    log_start_offset = log.log_start_offset
    first_dirty_offset = log_start_offset if last_clean_offset is None else last_clean_offset

    # 2. Below the log start nothing is left to clean; beyond the log end nothing can have been cleaned: start over.
    force_update_checkpoint = True
    if first_dirty_offset < log_start_offset:
        if not (log.config.compact and log.config.delete):
            logger.warning(
                "Resetting first dirty offset of %s to log start offset %d, since the checkpoint says %d.",
                log.name, log_start_offset, first_dirty_offset,
            )  # fmt: skip
        first_dirty_offset = log_start_offset
    elif first_dirty_offset > log.log_end_offset:
        logger.warning(
            "The last checkpoint dirty offset for partition %s is %d, which is larger than the log end offset %d. "
            "Resetting to the log start offset %d.",
            log.name, first_dirty_offset, log.log_end_offset, log_start_offset,
        )  # fmt: skip
        first_dirty_offset = log_start_offset
    else:
        force_update_checkpoint = False

    # 3. It ends at the last stable offset, or at the active segment if that comes first.
    first_uncleanable_offset = min(log.last_stable_offset, log.active_segment.base_offset)

    # 4. It also ends before the first segment that has a record younger than min.compaction.lag.ms.
    min_compaction_lag_ms = max(log.config.compaction_lag_ms, 0)
    if min_compaction_lag_ms > 0:
        for segment in log.non_active_log_segments_from(first_dirty_offset):
            if segment.largest_timestamp > now - min_compaction_lag_ms:
                first_uncleanable_offset = min(first_uncleanable_offset, segment.base_offset)
                break

    # 5. It never ends before it begins.
    return OffsetsToClean(
        first_dirty_offset, max(first_dirty_offset, first_uncleanable_offset), force_update_checkpoint
    )


def max_compaction_delay(log: Log, first_dirty_offset: int, now: int) -> int:
    """By how many ms the oldest dirty record of `log` has waited longer than `max.compaction.lag.ms`, 0 if it has not.

    Kafka: `LogCleanerManager.maxCompactionDelay`.
    """
    dirty_non_active_segments = log.non_active_log_segments_from(first_dirty_offset)
    first_batch_timestamps = (segment.get_first_batch_timestamp() for segment in dirty_non_active_segments)
    earliest = min((timestamp for timestamp in first_batch_timestamps if timestamp > 0), default=LONG_MAX)
    clean_until_time = now - max(log.config.max_compaction_lag_ms, 0)
    return clean_until_time - earliest if earliest < clean_until_time else 0
