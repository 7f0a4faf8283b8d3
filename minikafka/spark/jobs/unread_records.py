"""How far the consumers of a partition are behind: its bounds, and the first record that each has not read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from minikafka.spark.jobs.byte_ranges import sound
from minikafka.spark.jobs.row_type import batch_of_rows
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.log_segments_on_disk import DiskPartition, find_partitions
from minikafka.spark.source.partition_bounds import Bounds, PartitionBounds
from minikafka.spark.source.segment_positions import batches_from
from minikafka.spark.source.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class Unread(NamedTuple):
    """What a consumer that has committed `committed` finds in the log in `directory`.

    `readableEnd`: the high watermark, or with `read_committed` the last stable offset. `hasUnread`: whether there is a
    record that it has not read, None where damage hides that. `oldestUnread`: the timestamp of the first one (ms), None
    for none.
    """

    directory: str
    committed: int
    logStart: int
    readableEnd: int
    logEnd: int
    hasUnread: bool | None
    oldestUnread: int | None


def unread_records(
    batches: "Iterable[pa.RecordBatch]", *, settings: Mapping[str, str], isolation_level: str, mode: str
) -> "Iterator[pa.RecordBatch]":
    """Of rows with a `directory` and different `offsets`, an `Unread` for each offset; `settings` as for `storage_of`.

    Raises CorruptRecordException, in mode FAILFAST, for what cannot be read.
    """
    for row in (row for batch in batches for row in batch.to_pylist()):
        for partition in find_partitions([row["directory"]], settings=settings):
            if partition.segments:
                yield batch_of_rows(Unread, list(_unread(partition, row["offsets"], isolation_level, mode)))


def _unread(partition: DiskPartition, offsets: list[int], isolation_level: str, mode: str) -> Iterator[Unread]:
    bounds = Bounds(SourceOptions.of({"path": partition.directory, "isolation.level": isolation_level}))
    readable = bounds.readable(partition)
    last = partition.segments[-1]
    log_end = bounds.log_end(last)
    list(sound(bounds.damages, mode))
    end = last.base_offset if log_end is None else log_end
    for offset in offsets:
        has_unread = timestamp = None
        try:
            timestamp = timestamp_from(partition, max(offset, readable.start), readable)
            has_unread = timestamp is not None
        except DAMAGE as error:
            list(sound([Damage.of(partition.directory, 0, error)], mode))
        oldest = None if timestamp is None or timestamp < 0 else timestamp
        yield Unread(partition.directory, offset, readable.start, readable.end, end, has_unread, oldest)


def timestamp_from(partition: DiskPartition, offset: int, bounds: PartitionBounds) -> int | None:
    """The timestamp (ms, -1 for none) of the first record from `offset` on that a consumer sees; None without a record.

    The index leads to its batch. Raises KafkaException for damage.
    """
    for segment in partition.segments:
        if segment.end_offset is not None and segment.end_offset <= offset:
            continue
        if segment.base_offset >= bounds.end:
            break
        for batch in batches_from(segment, offset):
            if batch.is_control_batch or _is_aborted(bounds, batch.producer_id, batch.base_offset):
                continue
            for record in batch:
                if record.offset >= bounds.end:
                    return None
                if record.offset >= offset:
                    return record.timestamp
    return None


def _is_aborted(bounds: PartitionBounds, producer_id: int, base_offset: int) -> bool:
    return any(
        each.producer_id == producer_id and each.first_offset <= base_offset <= each.last_offset
        for each in bounds.aborted
    )
