"""The largest timestamp in a log before a byte range, by the indexes and a few headers."""

import os

from minikafka.record.format.record_batch import NO_TIMESTAMP
from minikafka.spark.source.damage import DAMAGE, is_refused
from minikafka.spark.source.index_entries import time_entries
from minikafka.spark.source.log_segments_on_disk import DiskSegment, segments_in
from minikafka.spark.source.partition_bounds import largest_timestamp
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.segment_positions import SegmentPositions


class EarlierTimestamps:
    """Looks at each segment that ends before a range once, however many ranges are asked about."""

    def __init__(self) -> None:
        self._largest: dict[str, int] = {}
        self._segments: dict[str, tuple[DiskSegment, ...]] = {}

    def largest_before(self, byte_range: ByteRange) -> int:
        """The largest timestamp (ms) of the batches before the range that are still on the disk, -1 for none.

        What cannot be read counts as nothing.
        """
        directory = os.path.dirname(byte_range.segment.path)
        if directory not in self._segments:
            self._segments[directory] = segments_in(byte_range.segment.storage, directory) or ()
        earlier = [
            self._largest_in(segment)
            for segment in self._segments[directory]
            if segment.base_offset < byte_range.segment.base_offset
        ]
        return max([NO_TIMESTAMP, *earlier, _largest_in_beginning(byte_range)])

    def _largest_in(self, segment: DiskSegment) -> int:
        if segment.path not in self._largest:
            try:
                self._largest[segment.path] = largest_timestamp(segment)
            except DAMAGE as error:
                if is_refused(error):
                    raise
                self._largest[segment.path] = NO_TIMESTAMP
        return self._largest[segment.path]


def _largest_in_beginning(byte_range: ByteRange) -> int:
    """The largest timestamp of the range's segment before the range."""
    segment, end = byte_range.segment, byte_range.positions.start
    if end == 0:
        return NO_TIMESTAMP
    largest, position = NO_TIMESTAMP, 0
    try:
        with SegmentPositions(segment) as index:
            known = index.last_known_before(end)
            if known is not None:
                # When this entry was made, so was one of the time index, unless that had the largest timestamp already.
                offset, position = known
                timestamps, offsets = time_entries(segment)
                slot = int(offsets.searchsorted(offset, "right")) - 1
                largest = int(timestamps[slot]) if slot >= 0 else NO_TIMESTAMP
            for batch in index.batches_between(position, end):
                largest = max(largest, batch.max_timestamp)
    except DAMAGE as error:
        if is_refused(error):
            raise
    return largest
