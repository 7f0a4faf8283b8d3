"""The segments of a log, ordered by base offset."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path

from minikafka.common.errors import IllegalArgumentException, NoSuchElementException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_segment import LogSegment


class LogSegments:
    """A sorted map from base offset to segment.

    Readers need no lock: a change replaces the pair of lists by a new pair, and every method looks at one pair only.
    The exception is a segment added at the end, by a load or a roll: the lists themselves grow, base offsets last, so
    that a reader that finds an offset also finds its segment.

    Simpler than Kafka: two lists stand for a ConcurrentSkipListMap, because bisecting a list of thousands is fast and
    segments are rarely removed. Collections that are returned never change, where Kafka's are live views.

    Kafka: `LogSegments`.
    """

    def __init__(self, topic_partition: TopicPartition):
        self._topic_partition = topic_partition
        # The base offsets, ascending, and the segments in the same order. A change other than one at the end makes a
        # new pair.
        self._base_offsets_and_segments: tuple[list[int], list[LogSegment]] = ([], [])

    @property
    def is_empty(self) -> bool:
        """True when there is no segment. Kafka: `LogSegments.isEmpty`."""
        return not self._base_offsets_and_segments[0]

    @property
    def non_empty(self) -> bool:
        """True when there is a segment. Kafka: `LogSegments.nonEmpty`."""
        return not self.is_empty

    @property
    def number_of_segments(self) -> int:
        """How many segments there are. Kafka: `LogSegments.numberOfSegments`."""
        return len(self._base_offsets_and_segments[0])

    @property
    def base_offsets(self) -> list[int]:
        """The base offsets, ascending. Kafka: `LogSegments.baseOffsets`."""
        return self._base_offsets_and_segments[0].copy()

    @property
    def size_in_bytes(self) -> int:
        """Bytes of batches in all segments. Kafka: `LogSegments.sizeInBytes`."""
        return size_in_bytes(self._base_offsets_and_segments[1])

    def add(self, segment: LogSegment) -> LogSegment | None:
        """Add `segment` and return the one that it replaces, of the same base offset. Kafka: `LogSegments.add`."""
        base_offsets, segments = self._base_offsets_and_segments
        if not base_offsets or segment.base_offset > base_offsets[-1]:
            segments.append(segment)
            base_offsets.append(segment.base_offset)
            return None
        base_offsets, segments = base_offsets.copy(), segments.copy()
        index = bisect_left(base_offsets, segment.base_offset)
        replaced = None
        if index < len(base_offsets) and base_offsets[index] == segment.base_offset:
            replaced = segments[index]
            segments[index] = segment
        else:
            base_offsets.insert(index, segment.base_offset)
            segments.insert(index, segment)
        self._base_offsets_and_segments = (base_offsets, segments)
        return replaced

    def remove(self, offset: int) -> None:
        """Remove the segment with this base offset, if there is one. Kafka: `LogSegments.remove`."""
        base_offsets, segments = self._base_offsets_and_segments
        base_offsets, segments = base_offsets.copy(), segments.copy()
        index = bisect_left(base_offsets, offset)
        if index < len(base_offsets) and base_offsets[index] == offset:
            del base_offsets[index], segments[index]
            self._base_offsets_and_segments = (base_offsets, segments)

    def clear(self) -> None:
        """Remove all segments. Kafka: `LogSegments.clear`."""
        self._base_offsets_and_segments = ([], [])

    def close(self) -> None:
        """Close each segment even if another one fails; the first OSError is raised. Kafka: `LogSegments.close`."""
        first_error = None
        for segment in self.values():
            try:
                segment.close()
            except OSError as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def close_handlers(self) -> None:
        """Close all files without writing to them. Kafka: `LogSegments.closeHandlers`."""
        for segment in self.values():
            segment.close_handlers()

    def update_parent_dir(self, directory: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `LogSegments.updateParentDir`."""
        for segment in self.values():
            segment.update_parent_dir(directory)

    def contains(self, offset: int) -> bool:
        """True when a segment has exactly this base offset. Kafka: `LogSegments.contains`."""
        return self.get(offset) is not None

    def get(self, offset: int) -> LogSegment | None:
        """The segment with exactly this base offset. Kafka: `LogSegments.get`."""
        base_offsets, segments = self._base_offsets_and_segments
        index = bisect_left(base_offsets, offset)
        return segments[index] if index < len(base_offsets) and base_offsets[index] == offset else None

    def values(self, from_offset: int | None = None, to_offset: int = LONG_MAX) -> list[LogSegment]:
        """All segments, or those from the one that holds `from_offset` to the last that begins below `to_offset`.

        Raises IllegalArgumentException when `to_offset` is below `from_offset`. Kafka: `LogSegments.values`.
        """
        base_offsets, segments = self._base_offsets_and_segments
        if from_offset is None:
            return segments.copy()
        if to_offset < from_offset:
            raise IllegalArgumentException(
                f"Invalid log segment range: requested segments in {self._topic_partition} from offset {from_offset}"
                f" which is greater than limit offset {to_offset}"
            )
        if from_offset == to_offset:
            return []
        return segments[max(bisect_right(base_offsets, from_offset) - 1, 0) : bisect_left(base_offsets, to_offset)]

    def non_active_log_segments_from(self, from_offset: int) -> list[LogSegment]:
        """The segments from the one that holds `from_offset` on, without the active one.

        Kafka: `LogSegments.nonActiveLogSegmentsFrom`.
        """
        active_base_offset = self.active_segment.base_offset
        return [] if from_offset > active_base_offset else self.values(from_offset, active_base_offset)

    def floor_segment(self, offset: int) -> LogSegment | None:
        """The last segment with base ≤ `offset`. Kafka: `LogSegments.floorSegment`."""
        base_offsets, segments = self._base_offsets_and_segments
        index = bisect_right(base_offsets, offset)
        return segments[index - 1] if index else None

    def lower_segment(self, offset: int) -> LogSegment | None:
        """The last segment with base < `offset`. Kafka: `LogSegments.lowerSegment`."""
        base_offsets, segments = self._base_offsets_and_segments
        index = bisect_left(base_offsets, offset)
        return segments[index - 1] if index else None

    def higher_segment(self, offset: int) -> LogSegment | None:
        """The first segment with base > `offset`. Kafka: `LogSegments.higherSegment`."""
        base_offsets, segments = self._base_offsets_and_segments
        index = bisect_right(base_offsets, offset)
        return segments[index] if index < len(base_offsets) else None

    def higher_segments(self, base_offset: int) -> list[LogSegment]:
        """All segments with base > `base_offset`. Kafka: `LogSegments.higherSegments`."""
        base_offsets, segments = self._base_offsets_and_segments
        return segments[bisect_right(base_offsets, base_offset) :]

    @property
    def first_segment(self) -> LogSegment | None:
        """The oldest segment. Kafka: `LogSegments.firstSegment`."""
        segments = self._base_offsets_and_segments[1]
        return segments[0] if segments else None

    @property
    def last_segment(self) -> LogSegment | None:
        """The newest segment. Kafka: `LogSegments.lastSegment`."""
        segments = self._base_offsets_and_segments[1]
        return segments[-1] if segments else None

    @property
    def active_segment(self) -> LogSegment:
        """The newest segment, which is appended to. Raises NoSuchElementException without one.

        Kafka: `LogSegments.activeSegment`.
        """
        segments = self._base_offsets_and_segments[1]
        if not segments:
            raise NoSuchElementException("No value present")
        return segments[-1]

    def filter(self, predicate: Callable[[LogSegment], bool]) -> list[LogSegment]:
        """The segments for which `predicate` is true. Kafka: `LogSegments.filter`."""
        return [segment for segment in self._base_offsets_and_segments[1] if predicate(segment)]


def size_in_bytes(segments: Iterable[LogSegment]) -> int:
    """Bytes of batches in `segments`. Kafka: the static `LogSegments.sizeInBytes`."""
    return sum(segment.size for segment in segments)
