"""Which transactions of a partition are open or aborted, out of its snapshots, transaction indexes and markers."""

from collections.abc import Iterator
from typing import NamedTuple

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java_numbers import LONG_MAX
from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.log.log_file_utils import (
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    filename_prefix_from_offset,
    offset_from_file_name,
)
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.record.control_record import ControlRecordType
from minikafka.record.file_channel_record_batch import FileChannelRecordBatch
from minikafka.spark.source.damage import DAMAGE
from minikafka.spark.source.log_segments_on_disk import DiskPartition, DiskSegment
from minikafka.spark.source.segment_positions import batches_from
from minikafka.spark.source.storage import beside, joined


class Aborted(NamedTuple):
    """An aborted transaction: its records lie from `first_offset` to `last_offset`, its marker (both inclusive)."""

    producer_id: int
    first_offset: int
    last_offset: int


class Transactions(NamedTuple):
    """What a consumer with `read_committed` must know of a partition.

    `last_stable_offset`: no transaction before it was open at the bound (exclusive). `aborted`: by their markers.
    """

    last_stable_offset: int
    aborted: tuple[Aborted, ...]


def transactions_before(partition: DiskPartition, bound: int) -> Transactions:
    """The transactions of the partition as they were when its log, or its high watermark, reached `bound`.

    The last snapshot of producers before `bound` says which were open there; batches and markers behind it say the
    rest, of which only headers and markers are read. Damaged bytes end that look: what lies behind them cannot be told
    to be stable. Kafka: `UnifiedLog.lastStableOffset`, `UnifiedLog.collectAbortedTransactions`.
    """
    open_since, scanned_from = _newest_snapshot(partition, bound)
    aborted = {each for segment in partition.segments for each in _indexed(segment)}
    seen_to = bound
    try:
        for batch in _batches(partition, scanned_from, bound):
            if not batch.is_control_batch:
                if batch.is_transactional:
                    open_since.setdefault(batch.producer_id, batch.base_offset)
            elif batch.is_transactional:
                since = open_since.pop(batch.producer_id, None)
                marker = next(iter(batch))
                if since is not None and ControlRecordType.parse(marker.key) is ControlRecordType.ABORT:
                    aborted.add(Aborted(batch.producer_id, since, batch.last_offset))
    except DAMAGE:
        if open_since:
            seen_to = min(open_since.values())
    last_stable_offset = min(open_since.values(), default=seen_to)
    return Transactions(min(last_stable_offset, bound), tuple(sorted(aborted)))


def _newest_snapshot(partition: DiskPartition, bound: int) -> tuple[dict[int, int], int]:
    """The transactions open at the newest sound snapshot, as producer id -> first offset, and the snapshot's offset."""
    for offset, file in reversed(snapshots_of(partition)):
        if offset > bound:
            continue
        try:
            with partition.storage.on_disk(file) as path:
                entries = read_snapshot(path)
        except DAMAGE:
            continue
        opened = {
            entry.producer_id: entry.current_txn_first_offset
            for entry in entries
            if entry.current_txn_first_offset is not None
        }
        return opened, offset
    return {}, 0


def snapshots_of(partition: DiskPartition) -> list[tuple[int, str]]:
    """The snapshots of the partition's producers as (offset, file), by offset.

    Files with names that no broker gives are none; tiered storage's, which has them by other names, are left out.
    """
    try:
        names = [entry.name for entry in partition.storage.entries(partition.directory)]
    except FileNotFoundError:  # it went away after it was found
        return []
    found = []
    for name in names:
        if name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX):
            try:
                offset = offset_from_file_name(name)
            except IllegalArgumentException:
                continue
            if name == filename_prefix_from_offset(offset) + PRODUCER_SNAPSHOT_FILE_SUFFIX:
                found.append((offset, joined(partition.directory, name)))
    return sorted(found)


def _indexed(segment: DiskSegment) -> Iterator[Aborted]:
    """The transactions whose abort markers lie in the segment; an index that cannot be read has none."""
    try:
        for entry in aborted_in(segment):
            yield Aborted(entry.producer_id, entry.first_offset, entry.last_offset)
    except DAMAGE:
        return


def aborted_in(segment: DiskSegment) -> list[AbortedTxn]:
    """The entries of the segment's transaction index. Raises OSError, and KafkaException for damage."""
    with segment.storage.on_disk(beside(segment.path, TXN_INDEX_FILE_SUFFIX)) as path:
        index = TransactionIndex(segment.base_offset, path, writable=False)
        try:
            return index.all_aborted_txns()
        finally:
            index.close()


def _batches(partition: DiskPartition, start: int, end: int) -> Iterator[FileChannelRecordBatch]:
    """The batches with offsets from `start` on, up to `end` (exclusive)."""
    for segment in partition.segments:
        if segment.base_offset >= end or (segment.end_offset or LONG_MAX) <= start:
            continue
        for batch in batches_from(segment, start):
            if batch.base_offset >= end:
                return
            yield batch
