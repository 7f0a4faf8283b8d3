"""The batches of a byte range, read piece by piece, checked, and decoded into columns."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from crc32c import crc32c

from minikafka.common.errors import CorruptRecordException
from minikafka.record.batch_header import (
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    DELETE_HORIZON_FLAG_MASK,
    HEADER,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
)
from minikafka.record.legacy_record_batch import LegacyRecordBatch
from minikafka.record.log_input_stream import next_batch_size
from minikafka.record.record_batch import ATTRIBUTES_OFFSET, RecordBatch
from minikafka.record.record_columns import RecordColumns, decode_run
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.segment_positions import SegmentPositions

PIECE_SIZE = 8 << 20
"""How many bytes are read at a time; more only for a larger batch."""

RECORDS_A_RUN = 1 << 17
"""How many records are decoded at a time, unless a single batch has more. Their columns have 10 MB."""

_ZEROS = bytes(17)


class BatchFacts(NamedTuple):
    """What a batch's header says; -1 stands for none. `position`: bytes from the beginning of the file.

    `delete_horizon`: from when on (ms) a compaction drops the batch's tombstones.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    max_timestamp: int
    timestamp_type: int
    transactional: bool
    control: bool
    codec: int
    records: int
    delete_horizon: int


class DecodedRun(NamedTuple):
    """The records of neighbouring batches, and the facts of each batch; `counts[i]` records belong to batch i."""

    columns: RecordColumns
    batches: list[BatchFacts]
    counts: list[int]


class Wanted(Protocol):
    """Which batches are decoded, as far as their headers tell."""

    def __call__(self, batch: BatchFacts, /) -> bool: ...


def decoded_runs(byte_range: ByteRange, wanted: Wanted, *, check_crcs: bool) -> Iterator[DecodedRun | Damage]:
    """The wanted batches of the range, as many as possible in one run, and what is damaged, in the order of the file.

    A damaged batch gives none of its records. Where not even its size can be trusted, the walk goes on with the next
    batch that the segment's index knows, or ends.
    """
    for view, position, batches in batch_pieces(byte_range, check_crcs=check_crcs):
        if isinstance(batches, Damage):
            yield batches
            continue
        start = 0
        while start < len(batches):
            end = start
            while end < len(batches) and _runs_on(batches[start], batches[end]) and wanted(batches[end]):
                end += 1
            if end == start:
                batch = batches[start]
                if wanted(batch):
                    yield _decoded(view, position, batch, byte_range)
                start += 1
            else:
                yield from _decoded_run(view, position, batches[start:end], byte_range)
                start = end


def batch_pieces(
    byte_range: ByteRange, *, check_crcs: bool
) -> Iterator[tuple[memoryview, int, list[BatchFacts] | Damage]]:
    """Pieces of the range: their bytes, where they begin in the file, and their whole batches in order, or a damage.

    Between the batches of a piece there may be gaps, where damage was met.
    """
    path, (position, end) = byte_range.segment.path, byte_range.positions
    try:
        index = SegmentPositions(byte_range.segment)
    except DAMAGE as error:
        yield memoryview(b""), position, Damage.of(path, position, error)
        return
    with index:
        size = PIECE_SIZE
        while position < end:
            try:
                view = memoryview(index.read(position, min(size, end - position)))
                batches, used = _whole_batches(view, position)
            except DAMAGE as error:  # of the device
                yield memoryview(b""), position, Damage.of(path, position, error)
                return
            sound = []
            for batch in batches:
                objection = _objection(view[batch.position - position :], batch) if check_crcs else None
                if objection is None:
                    sound.append(batch)
                    continue
                yield view, position, sound
                sound = []
                yield view, position, Damage.of(path, batch.position, objection)
            yield view, position, sound
            if used:
                position, size = position + used, PIECE_SIZE
                continue
            # No whole batch begins here: because the piece is too small, the file ends, or the batch is damaged.
            needed = _size_at(view)
            if (
                isinstance(needed, int)
                and len(view) == min(size, end - position)
                and len(view) < needed <= end - position
            ):
                size = needed
                continue
            if byte_range.ends_open and (not isinstance(needed, Exception) or view[:17] == _ZEROS[: len(view)]):
                return
            damage = needed if isinstance(needed, Exception) else CorruptRecordException("the file ends within a batch")
            yield memoryview(b""), position, Damage.of(path, position, damage)
            known = index.next_known(position)
            if known is None or known >= end:
                return
            position, size = known, PIECE_SIZE


def _whole_batches(view: memoryview, position: int) -> tuple[list[BatchFacts], int]:
    """The whole batches at the beginning of `view`, and how many bytes they have; what is not well framed ends them."""
    batches: list[BatchFacts] = []
    at = 0
    while True:
        size = _size_at(view[at : at + RECORD_BATCH_OVERHEAD])
        if not isinstance(size, int) or size > len(view) - at:
            return batches, at
        try:
            batches.append(_facts(view[at : at + size], position + at))
        except DAMAGE:
            return batches, at
        at += size


def _size_at(view: memoryview) -> int | None | Exception:
    """The size of the batch at the beginning of `view`; None when too little of it is there to say."""
    try:
        size = next_batch_size(view)
        if size is not None and view[16] == 2 and size < RECORD_BATCH_OVERHEAD:
            raise CorruptRecordException(f"Record batch is corrupt (the size {size} is too small)")
        return size
    except DAMAGE as error:
        return error


def _facts(batch: memoryview, position: int) -> BatchFacts:
    if batch[16] < 2:
        legacy = LegacyRecordBatch(batch)
        codec = legacy.attributes & COMPRESSION_CODEC_MASK
        return BatchFacts(
            position, len(batch), legacy.magic, legacy.offset, legacy.last_offset, -1, -1, -1, -1,
            legacy.max_timestamp, legacy.timestamp_type.id, False, False, codec, -1, -1,
        )  # fmt: skip
    (
        base_offset, _, leader_epoch, magic, _, attributes, last_offset_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, count,
    ) = HEADER.unpack_from(batch)  # fmt: skip
    return BatchFacts(
        position, len(batch), magic, base_offset, base_offset + last_offset_delta, leader_epoch,
        producer_id, producer_epoch, base_sequence, max_timestamp,
        1 if attributes & TIMESTAMP_TYPE_MASK else 0, bool(attributes & TRANSACTIONAL_FLAG_MASK),
        bool(attributes & CONTROL_FLAG_MASK), attributes & COMPRESSION_CODEC_MASK, count,
        base_timestamp if attributes & DELETE_HORIZON_FLAG_MASK else -1,
    )  # fmt: skip


def _objection(view: memoryview, batch: BatchFacts) -> Exception | None:
    """What Kafka says of the batch's checksum, None for a right one."""
    if batch.magic == 2:
        stored = HEADER.unpack_from(view)[4]
        computed = crc32c(view[ATTRIBUTES_OFFSET : batch.size])
        if stored == computed:
            return None
        return CorruptRecordException(f"Record is corrupt (stored crc = {stored}, computed crc = {computed})")
    try:
        LegacyRecordBatch(view[: batch.size]).ensure_valid()
        return None
    except DAMAGE as error:
        return error


def _runs_on(first: BatchFacts, batch: BatchFacts) -> bool:
    """Whether the batch can be decoded together with `first` and those between them."""
    return batch.magic == 2 and not batch.codec and not batch.control and batch.timestamp_type == first.timestamp_type


def _decoded_run(
    view: memoryview, position: int, batches: list[BatchFacts], byte_range: ByteRange
) -> Iterator[DecodedRun | Damage]:
    """Runs of uncompressed batches, which may have gaps between them."""
    start = 0
    while start < len(batches):
        end, records, run_end = start, 0, batches[start].position
        while end < len(batches) and batches[end].position == run_end and (records < RECORDS_A_RUN or end == start):
            records += max(0, batches[end].records)
            run_end += batches[end].size
            end += 1
        first = batches[start].position - position
        columns, reached = decode_run(view[: run_end - position], first, records + 1)
        done = [batch for batch in batches[start:end] if batch.position + batch.size <= position + reached]
        if columns.count:
            yield DecodedRun(columns, done, [batch.records for batch in done])
        start += len(done)
        if start < end:  # the next batch is damaged, though its checksum is right
            yield _decoded(view, position, batches[start], byte_range)
            start += 1


def _decoded(view: memoryview, position: int, batch: BatchFacts, byte_range: ByteRange) -> DecodedRun | Damage:
    """A batch by itself: compressed, of an old format, or damaged."""
    data = view[batch.position - position :][: batch.size]
    try:
        columns = (RecordBatch(data) if batch.magic == 2 else LegacyRecordBatch(data)).columns()
    except DAMAGE as error:
        return Damage.of(byte_range.segment.path, batch.position, error)
    return DecodedRun(columns, [batch], [len(columns)])
