"""Which segments are compacted into one."""

from minikafka.common.java.java_numbers import INT_MAX
from minikafka.log.log_segment import LogSegment


def group_segments_by_size(
    segments: list[LogSegment], max_size: int, max_index_size: int, first_uncleanable_offset: int
) -> list[list[LogSegment]]:
    """Neighbouring segments in groups, each of which fits into one segment.

    A group fits if the sums of its sizes before compaction do: batches (`max_size`), offset indexes and time indexes
    (`max_index_size`), all in bytes; and if its offsets fit the indexes. A segment that is too large by itself is a
    group of its own. Without groups, compaction would leave ever more, ever smaller segments.
    Kafka: `Cleaner.groupSegmentsBySize`.
    """
    grouped: list[list[LogSegment]] = []
    log_size = index_size = time_index_size = 0
    for number, segment in enumerate(segments):
        sizes = segment.size, segment.offset_index.size_in_bytes, segment.time_index.size_in_bytes
        # An empty segment spans no offsets, so it may join whatever its base is.
        joins = bool(grouped) and (
            log_size + sizes[0] <= max_size
            and index_size + sizes[1] <= max_index_size
            and time_index_size + sizes[2] <= max_index_size
            and (
                segment.size == 0
                or _last_offset(segments, number, first_uncleanable_offset) - grouped[-1][0].base_offset <= INT_MAX
            )
        )
        if joins:
            grouped[-1].append(segment)
            log_size, index_size, time_index_size = (
                log_size + sizes[0],
                index_size + sizes[1],
                time_index_size + sizes[2],
            )
        else:
            grouped.append([segment])
            log_size, index_size, time_index_size = sizes
    return grouped


def _last_offset(segments: list[LogSegment], number: int, first_uncleanable_offset: int) -> int:
    """An offset at or above the last one in segment `number`; to find that one, the segment would have to be read.

    Kafka: `Cleaner.lastOffsetForFirstSegment`.
    """
    if number + 1 < len(segments):
        return segments[number + 1].base_offset - 1
    return first_uncleanable_offset - 1
