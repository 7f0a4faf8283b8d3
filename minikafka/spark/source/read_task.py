"""What one task of Spark reads, and how a query's bytes become tasks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pyspark.sql.datasource import InputPartition

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.log_segments_on_disk import DiskPartition, DiskSegment
from minikafka.spark.source.partition_bounds import PartitionBounds, is_older
from minikafka.spark.source.segment_positions import PositionRange, SegmentPositions
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.transactions_on_disk import Aborted

T = TypeVar("T")

_COST_OF_A_RANGE = 1 << 18  # bytes that could be read while a file is opened
_MOST_PARTS = 100_000


class ByteRange(NamedTuple):
    """Whole batches of one segment, whose records lie before the next segment.

    Of these records those with offsets from `start_offset` to `end_offset` (exclusive) count, but for the `aborted`.
    `ends_open`: the file may end with a batch that is not whole yet.
    """

    topic_partition: TopicPartition
    segment: DiskSegment
    positions: PositionRange
    start_offset: int
    end_offset: int
    aborted: tuple[Aborted, ...]
    ends_open: bool

    @property
    def size(self) -> int:
        """Bytes."""
        return self.positions.end - self.positions.start


@dataclass
class ReadTask(InputPartition):
    """The ranges of one task, damage that was met while they were planned, and which of the query's tasks it is."""

    ranges: list[ByteRange]
    damages: list[tuple[TopicPartition, Damage]]
    number: int


@dataclass
class PartitionTask(InputPartition):
    """Partitions whose smaller files one task reads."""

    partitions: list[DiskPartition]


def byte_ranges(
    partition: DiskPartition, bounds: PartitionBounds, max_bytes: int, min_timestamp: int | None
) -> Iterator[ByteRange | tuple[TopicPartition, Damage]]:
    """The ranges, of at most `max_bytes` where the index allows, that hold the partition's records within `bounds`.

    The ranges of one segment are of about the same size. Segments without a record of `min_timestamp` (ms; None for
    any) or later are left out. A segment that cannot be opened, or lacks bytes that its index knows, gives a damage.
    """
    if bounds.start > bounds.end:  # two filters that nothing passes
        return
    first_behind = next((each for each in partition.chosen if each.base_offset >= bounds.end), None)
    for segment in partition.chosen:
        # 1. Does the segment end before the bounds begin? The next file's name tells. Then it is left out.
        end_offset = segment.end_offset
        if end_offset is not None and end_offset <= bounds.start:
            continue
        # 2. Does it begin after the bounds end? Then it is left out.
        is_behind = segment.base_offset >= bounds.end and not (bounds.whole and segment.is_last)
        if is_behind and not (segment is first_behind and _begins_before(segment, bounds.end)):
            continue
        try:
            # 3. Is all of it older than the query asks for? Then it is left out.
            if min_timestamp is not None and is_older(segment, min_timestamp):
                continue
            # 4. The offset index tells the bytes: from a batch at or before the first offset to the end of the bounds.
            with SegmentPositions(segment) as index:
                start = index.at_or_before(bounds.start)
                is_whole = bounds.whole or (end_offset is not None and end_offset <= bounds.end)
                end = segment.size if is_whole else index.behind(bounds.end)
                gone = index.bytes_gone()
                pieces, firsts = _pieces(index, PositionRange(start, end), _even_size(end - start, max_bytes))
            # 5. These bytes are a byte range; too many for one task become several.
            last = _smaller(LONG_MAX if bounds.whole else bounds.end, end_offset)
            edges = [bounds.start, *(max(bounds.start, min(first, last)) for first in firsts), last]
            for positions, first, behind in zip(pieces, edges[:-1], edges[1:], strict=True):
                if positions.end > positions.start:
                    yield ByteRange(
                        partition.topic_partition, segment, positions, first, behind,
                        _within(bounds.aborted, segment), segment.is_last,
                    )  # fmt: skip
            if gone is not None:
                yield partition.topic_partition, Damage(segment.path, segment.size, f"CorruptRecordException: {gone}")
        except FileNotFoundError:  # it was replaced or deleted: the task will see which
            yield ByteRange(
                partition.topic_partition, segment, PositionRange(0, segment.size),
                bounds.start, _smaller(LONG_MAX if bounds.whole else bounds.end, end_offset),
                _within(bounds.aborted, segment), segment.is_last,
            )  # fmt: skip
        except DAMAGE as error:
            yield partition.topic_partition, Damage.of(segment.path, 0, error)


def empty_range(partition: DiskPartition, bounds: PartitionBounds) -> ByteRange:
    """What stands for a partition of which there is nothing to read within `bounds`: no byte of its last segment."""
    last = partition.chosen[-1]
    return ByteRange(partition.topic_partition, last, PositionRange(0, 0), bounds.start, bounds.end, (), last.is_last)


def parts_of(bounds: PartitionBounds, max_records: int | None) -> list[PartitionBounds]:
    """The bounds in parts of even length that have at most `max_records` offsets each; None for no limit.

    Raises IllegalArgumentException where these would be more parts than anybody can plan.
    """
    count = 1 if max_records is None else max(1, -(-(bounds.end - bounds.start) // max_records))
    if count > _MOST_PARTS:
        raise IllegalArgumentException(
            f"maxRecordsPerPartition={max_records} would make {count} tasks of the offsets {bounds.start} to "
            f"{bounds.end}; {_MOST_PARTS} are the most"
        )
    edges = [bounds.start + (bounds.end - bounds.start) * part // count for part in range(count + 1)]
    return [
        bounds._replace(start=first, end=end, whole=bounds.whole and end == bounds.end)
        for first, end in zip(edges[:-1], edges[1:], strict=True)
    ]


Found = list[ByteRange | tuple[TopicPartition, Damage]]


def tasks_of(parts: list[Found], options: SourceOptions) -> list[ReadTask]:
    """Tasks of neighbouring ranges, at least one: as large as the options allow, and smaller ones if few are asked for.

    With `maxRecordsPerPartition` no two of the `parts` (see `parts_of`) share a task.
    """
    damages = [each for part in parts for each in part if not isinstance(each, ByteRange)]
    ranges = [[each for each in part if isinstance(each, ByteRange)] for part in parts]
    if options.max_records_per_partition is None:
        ranges = [[each for part in ranges for each in part]]
    ranges = [part for part in ranges if part] or [[]]
    least = -(-options.min_partitions // len(ranges))
    groups = [
        group
        for part in ranges
        for group in neighbours(part, [each.size for each in part], options.max_bytes_per_task, least)
    ]
    return [ReadTask(group, [] if number else damages, number) for number, group in enumerate(groups)]


def partition_tasks_of(partitions: list[DiskPartition], max_bytes: int, min_tasks: int) -> list[PartitionTask]:
    """As `tasks_of`, for work on whole directories: a partition is not split, whatever its segments have."""
    sizes = [sum(segment.size for segment in partition.segments) for partition in partitions]
    return [PartitionTask(group) for group in neighbours(partitions, sizes, max_bytes, min_tasks)]


def neighbours(items: list[T], sizes: list[int], max_bytes: int, min_groups: int) -> list[list[T]]:
    """The items (sizes in bytes) in groups of neighbours of about the same size, at least one group: see `tasks_of`."""
    costs = [size + _COST_OF_A_RANGE for size in sizes]
    total = sum(costs)
    count = max(1, min_groups, -(-total // max_bytes))
    groups: list[list[T]] = [[]]
    filled = before = at = 0
    for item, cost in zip(items, costs, strict=True):
        # An item goes where its middle lies.
        goes_to = (2 * before + cost) * count // (2 * total)
        if groups[-1] and (goes_to > at or filled + cost > max_bytes):
            groups.append([])
            filled = 0
        at = goes_to
        groups[-1].append(item)
        filled += cost
        before += cost
    return groups


def _even_size(size: int, max_bytes: int) -> int:
    """How large the parts of `size` bytes are, if they are to be even and have at most `max_bytes` each.

    The index does not know a batch at every byte, so they may be somewhat larger than a whole part: no crumb is left.
    """
    even = -(-size // max(1, -(-size // max_bytes)))
    return min(max_bytes, even + even // 16)


def _pieces(index: SegmentPositions, whole: PositionRange, size: int) -> tuple[list[PositionRange], list[int]]:
    """`whole` in pieces, and the offsets with which all but the first begin, should the file be replaced meanwhile."""
    pieces = index.split(whole, size)
    try:
        firsts = [index.base_offset_at(piece.start) for piece in pieces[1:]]
    except DAMAGE:  # in a batch of an old format, whose header does not have its first offset
        return [whole], []
    return (pieces, firsts) if firsts == sorted(firsts) else ([whole], [])


def _begins_before(segment: DiskSegment, offset: int) -> bool:
    """Whether a segment begins with a batch of smaller offsets than its name, which is damage of what is asked for."""
    try:
        with SegmentPositions(segment) as index:
            return index.base_offset_at(0) < offset
    except DAMAGE:  # it matters to those who read it
        return False


def _smaller(bound: int, end_offset: int | None) -> int:
    """In the middle of a compaction, a new segment may have the records of old ones that still stand behind it."""
    return bound if end_offset is None else min(bound, end_offset)


def _within(aborted: tuple[Aborted, ...], segment: DiskSegment) -> tuple[Aborted, ...]:
    """The transactions that have records in the segment."""
    return tuple(
        each
        for each in aborted
        if each.last_offset >= segment.base_offset
        and (segment.end_offset is None or each.first_offset < segment.end_offset)
    )
