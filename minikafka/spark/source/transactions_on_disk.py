"""Which transactions of a partition are open or aborted, out of its snapshots, transaction indexes and markers."""

from typing import NamedTuple

from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex
from minikafka.log.log_file_utils import (
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    filename_prefix_from_offset,
    offset_from_file_name,
)
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.record.files.file_channel_record_batch import FileChannelRecordBatch
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.record_batch import CURRENT_MAGIC_VALUE
from minikafka.spark.source.damage import DAMAGE, Damage
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
    `damage`: what kept the look from reaching the bound, None for nothing.
    """

    last_stable_offset: int
    aborted: tuple[Aborted, ...]
    damage: Damage | None


def transactions_before(partition: DiskPartition, bound: int) -> Transactions:
    """The transactions of the partition as they were when its log, or its high watermark, reached `bound`.

    The last snapshot of producers before `bound` says which were open there; batches and markers behind it say the
    rest, of which only headers and markers are read. Damaged bytes end that look: what lies behind them cannot be told
    to be stable. Where a transaction index is damaged, all markers are read.
    Kafka: `UnifiedLog.lastStableOffset`, `UnifiedLog.collectAbortedTransactions`.
    """
    open_since, scanned_from = _newest_snapshot(partition, bound)
    aborted = set()
    for segment in partition.segments:
        try:
            aborted |= {Aborted(entry.producer_id, *entry[1:3]) for entry in aborted_in(segment)}
        except FileNotFoundError:  # as most segments have none
            continue
        except DAMAGE:
            open_since, scanned_from = {}, 0
    reached, damage = max(partition.segments[0].base_offset, scanned_from), None
    for segment in partition.segments:
        if segment.base_offset >= bound or (segment.end_offset or LONG_MAX) <= scanned_from:
            continue
        reached, position = max(reached, segment.base_offset), 0
        try:
            for batch in batches_from(segment, scanned_from):
                if batch.base_offset >= bound:
                    break
                position = batch.position
                if (since := _since(batch, open_since)) is not None:
                    aborted.add(Aborted(batch.producer_id, since, batch.last_offset))
                reached, position = max(reached, batch.next_offset), batch.position + batch.size_in_bytes
            else:
                if position < segment.size and not (segment.is_last and reached >= bound):
                    raise CorruptRecordException("the file ends within a batch")
        except DAMAGE as error:
            if reached < bound:  # otherwise it is what follows the log's last batch
                damage = Damage.of(segment.path, position, error)
                bound = reached
            break
    return Transactions(min([bound, *open_since.values()]), tuple(sorted(aborted)), damage)


def _since(batch: FileChannelRecordBatch, open_since: dict[int, int]) -> int | None:
    """Note what the batch begins or ends; returns where a transaction began that it aborts. Raises for damage."""
    if batch.magic > CURRENT_MAGIC_VALUE:
        raise CorruptRecordException(f"Invalid magic found in record: {batch.magic}")
    if not batch.is_transactional:
        return None
    if not batch.is_control_batch:
        open_since.setdefault(batch.producer_id, batch.base_offset)
        return None
    marker = ControlRecordType.parse(next(iter(batch)).key)
    if marker not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        raise CorruptRecordException(f"A control record of the type {marker.name} ends no transaction")
    since = open_since.pop(batch.producer_id, None)
    return since if marker is ControlRecordType.ABORT else None


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


def aborted_in(segment: DiskSegment) -> list[AbortedTxn]:
    """The entries of the segment's transaction index. Raises OSError, and KafkaException for damage."""
    with segment.storage.on_disk(beside(segment.path, TXN_INDEX_FILE_SUFFIX)) as path:
        index = TransactionIndex(segment.base_offset, path, writable=False)
        try:
            return index.all_aborted_txns()
        finally:
            index.close()
