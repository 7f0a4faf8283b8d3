"""The three rules by which a log forgets its oldest segments.

A rule is asked about each segment from the oldest on, until it says no; see `Log.deletable_segments`.

Kafka: `UnifiedLog.deleteLogStartOffsetBreachedSegments`, `deleteRetentionSizeBreachedSegments`,
`deleteRetentionMsBreachedSegments`.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from minikafka.log.local_log import SegmentDeletionReason
from minikafka.log.log_segment import LogSegment

logger = logging.getLogger(__name__)

DeletionCondition = Callable[[LogSegment, LogSegment | None], bool]
"""True when a segment may go; the second argument is the next segment or None. Kafka: `DeletionCondition`."""


class RetentionRule(NamedTuple):
    """`should_delete(segment, next_segment)`, and `reason`, which logs why segments go."""

    should_delete: DeletionCondition
    reason: SegmentDeletionReason


def log_start_offset_breached(log_start_offset: int, log_ident: str) -> RetentionRule:
    """The rule for segments that lie below the log start offset: the next one begins at or below it."""

    def should_delete(_segment: LogSegment, next_segment: LogSegment | None) -> bool:
        return next_segment is not None and next_segment.base_offset <= log_start_offset

    def reason(to_delete: list[LogSegment]) -> None:
        logger.info(
            "%sDeleting segments due to log start offset %s breach: %s",
            log_ident,
            log_start_offset,
            ",".join(map(str, to_delete)),
        )

    return RetentionRule(should_delete, reason)


def retention_size_breached(log_size: int, retention_size: int, log_ident: str) -> RetentionRule | None:
    """The rule for segments without which the log still has `retention_size` bytes or more.

    None when there is no limit or when the log has not reached it.
    """
    if retention_size < 0 or log_size < retention_size:
        return None
    surplus = log_size - retention_size

    def should_delete(segment: LogSegment, _next_segment: LogSegment | None) -> bool:
        nonlocal surplus
        if surplus - segment.size < 0:
            return False
        surplus -= segment.size
        return True

    def reason(to_delete: list[LogSegment]) -> None:
        size = log_size
        for segment in to_delete:
            size -= segment.size
            logger.info(
                "%sDeleting segment %s due to log retention size %s breach. Log size after deletion will be %s.",
                log_ident,
                segment,
                retention_size,
                size,
            )

    return RetentionRule(should_delete, reason)


def retention_ms_breached(now_ms: int, retention_ms: int, log_ident: str) -> RetentionRule | None:
    """The rule for segments whose largest timestamp, or file if they have none, is more than `retention_ms` old.

    None when there is no limit.
    """
    if retention_ms < 0:
        return None

    def should_delete(segment: LogSegment, _next_segment: LogSegment | None) -> bool:
        largest_timestamp = segment.largest_timestamp
        if now_ms < largest_timestamp:
            logger.warning("%s%s contains future timestamp(s), making it ineligible to be deleted", log_ident, segment)
        return now_ms - largest_timestamp > retention_ms

    def reason(to_delete: list[LogSegment]) -> None:
        for segment in to_delete:
            has_timestamp = segment.largest_record_timestamp is not None
            age_of = "largest record timestamp in" if has_timestamp else "last modified time of"
            logger.info(
                "%sDeleting segment %s due to log retention time %sms breach based on the %s the segment",
                log_ident,
                segment,
                retention_ms,
                age_of,
            )

    return RetentionRule(should_delete, reason)
