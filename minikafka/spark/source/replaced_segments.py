"""What a task reads where compaction has put other segments in the place of those that were planned."""

import os
from collections.abc import Iterable, Iterator

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.spark.source.damage import DAMAGE
from minikafka.spark.source.file_identity import are_of_one_log
from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.log_segments_on_disk import segments_in
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.segment_positions import PositionRange, SegmentPositions


def as_they_are_now(ranges: Iterable[ByteRange]) -> Iterator[ByteRange]:
    """The ranges; in the place of one whose segment was replaced, those of its offsets in what stands there now.

    A broker keeps a replaced file for `file.delete.delay.ms`, and then it is opened as it was planned. But two
    compactions of the same segment give both old files the same name, so that the first is gone at once. A range whose
    records were deleted stays, and is a damage when it is read; what is left of them comes after it. So it is where the
    topic was deleted and made anew, or the log was written anew.
    """
    for each in ranges:
        if not each.size or _is_there(each):
            yield each
        else:
            yield from _successors(each)


def _is_there(byte_range: ByteRange) -> bool:
    """False when the file is gone; what else may be wrong with it is told by reading.

    Brokers compact on their disks alone: an object of a store that changes is a damage.
    """
    if not isinstance(byte_range.segment.storage, LocalStorage):
        return True
    try:
        byte_range.segment.open().close()
    except FileNotFoundError:
        return False
    except DAMAGE:
        pass
    return True


def _successors(gone: ByteRange) -> Iterator[ByteRange]:
    first = max(gone.start_offset, gone.segment.base_offset)
    segments = segments_in(gone.segment.storage, os.path.dirname(gone.segment.path)) or ()
    found = [
        segment
        for segment in segments
        if are_of_one_log(segment.identity, gone.segment.identity)
        and segment.base_offset < gone.end_offset
        and (segment.end_offset is None or segment.end_offset > first)
    ]
    if not found or found[0].base_offset > first:
        yield gone
    for segment in found:
        try:
            with SegmentPositions(segment) as positions:
                start = positions.at_or_before(first)
        except DAMAGE:  # told by reading
            start = 0
        yield gone._replace(
            segment=segment,
            positions=PositionRange(start, segment.size),
            start_offset=max(first, segment.base_offset),
            end_offset=min(gone.end_offset, LONG_MAX if segment.end_offset is None else segment.end_offset),
            ends_open=segment.is_last,
        )
