"""The batches of a byte range, read piece by piece, checked, and decoded into columns."""

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from crc32c import crc32c

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.record.codecs.compression import CompressionType, decompress_at_once
from minikafka.record.format.batch_header import COMPRESSION_CODEC_MASK, LOG_OVERHEAD, RECORD_BATCH_OVERHEAD
from minikafka.record.format.log_input_stream import next_batch_size
from minikafka.record.format.record_batch import ATTRIBUTES_OFFSET, CURRENT_MAGIC_VALUE, MAGIC_OFFSET, RecordBatch
from minikafka.record.kernels.record_columns import RecordColumns, decode_run
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch
from minikafka.spark.source.batch_columns import BatchColumns, BatchFacts
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.offset_order import OffsetOrder, following_offset
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.segment_positions import PositionRange, SegmentPositions

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE_SIZE = 4 << 20
"""How many bytes are read at a time; more only for a larger batch. 8 MB would leave the processor's caches."""

RECORDS_A_RUN = 1 << 17
"""How many records are decoded at a time, unless a single batch has more. Their columns have 10 MB."""

DECOMPRESSED_A_RUN = 16 << 20
"""How many decompressed bytes are decoded at a time, unless a single batch has more."""

_FAR_APART = 128 << 10
"""Headers that lie so many bytes apart are read one by one. A disk reads smaller batches faster from end to end."""

_HEADERS_AT_ONCE = 32
"""How many headers are read one by one before it is seen whether they lie far enough apart."""

_ZEROS = bytes(17)
_LENGTH_AND_MAGIC = struct.Struct(">8xi4xb")
_LENGTH = struct.Struct(">i")


class DecodedRun(NamedTuple):
    """The records of neighbouring batches, and what each batch's header says; `counts[i]` records belong to batch i.

    The batches of a run have the same magic, codec and kind of timestamp. A control batch is a run by itself.
    """

    columns: RecordColumns
    batches: BatchColumns
    counts: "NDArray[np.int64]"


Wanted = Callable[[BatchColumns], "NDArray[np.bool_]"]
"""Which batches are decoded, as far as their headers tell."""


Piece = tuple[memoryview, int, BatchColumns | Damage]
"""See `batch_pieces`."""


def decoded_runs(byte_range: ByteRange, wanted: Wanted, *, check_crcs: bool) -> Iterator[DecodedRun | Damage]:
    """The wanted batches of the range, as many as possible in one run, and what is damaged, in the order of the file.

    A damaged batch gives none of its records. Where not even its size can be trusted, the walk goes on with the next
    batch that the segment's index knows, or ends. Damage that cannot have taken a record of the range is left out.
    """
    for view, position, batches in _that_concern(byte_range, batch_pieces(byte_range, check_crcs=check_crcs)):
        # 1. Is it a damage? Then it is handed on in its place.
        if isinstance(batches, Damage):
            yield batches
            continue
        # 2. Batches without a wanted record are left out: their headers tell.
        chosen = batches[wanted(batches)]
        # 3. Batches of the same kind are decoded together into columns.
        for start, end in _alike(chosen):
            yield from _decoded_batches(view, position, chosen[start:end], byte_range)


def batch_pieces(byte_range: ByteRange, *, check_crcs: bool, order: OffsetOrder | None = None) -> Iterator[Piece]:
    """Pieces of the range: their bytes, where they begin in the file, and their whole batches in order, or a damage.

    Between the batches of a piece there may be gaps, where damage was met. A piece has PIECE_SIZE bytes, or those of a
    larger batch. The next one takes its place in memory: fresh memory for each would cost as much as reading it.
    `order` knows the batches before the range, if any were looked at.
    """
    order = order or OffsetOrder(byte_range.segment)
    path, (position, end) = byte_range.segment.path, byte_range.positions
    try:
        index = SegmentPositions(byte_range.segment)
    except DAMAGE as error:
        yield memoryview(b""), position, Damage.of(path, position, error)
        return
    with index:
        size = PIECE_SIZE
        room = memoryview(bytearray(min(size, end - position)))
        while position < end:
            try:
                asked = min(size, end - position)
                if asked > len(room):
                    room = memoryview(bytearray(asked))
                view = room[: index.read_into(room[:asked], position)].toreadonly()
                batches, used = _whole_batches(view, position)
            except DAMAGE as error:  # of the device
                yield memoryview(b""), position, Damage.of(path, position, error)
                return
            try:
                following = following_offset(_header_at(index, position + used, view[used:]))
            except DAMAGE:  # of the device, which is told when the bytes are read
                following = None
            objections = dict(_objections(view, position, batches)) if check_crcs else {}
            if objections:
                numbers = np.setdiff1d(np.arange(len(batches)), list(objections))
                others = order.objections(batches[numbers], following)
                objections |= {int(numbers[number]): told for number, told in others.items()}
            else:
                objections |= order.objections(batches, following)
            start = 0
            for number, objection in sorted(objections.items()):
                yield view, position, batches[start:number]
                yield view, position, Damage.of(path, int(batches.position[number]), objection)
                start = number + 1
            yield view, position, batches[start:]
            if used:
                position, size = position + used, PIECE_SIZE
                last_offset = int(batches.last_offset[-1]) if len(batches) else -1
                if position == byte_range.segment.size and (gone := index.records_gone(last_offset)) is not None:
                    yield memoryview(b""), position, Damage.of(path, position, CorruptRecordException(gone))
                continue
            # No whole batch begins here: because the piece is too small, the file ends, or the batch is damaged.
            needed = _size_at(view)
            if isinstance(needed, int) and len(view) == asked and asked < needed <= end - position:
                size = needed
                continue
            known = index.next_known(position)
            may_be_torn = byte_range.ends_open and known is None and end == byte_range.segment.size
            if may_be_torn and (not isinstance(needed, Exception) or view[:17] == _ZEROS[: len(view)]):
                return
            damage = needed if isinstance(needed, Exception) else CorruptRecordException("the file ends within a batch")
            yield memoryview(b""), position, Damage.of(path, position, damage)
            if known is None or known >= end:
                return
            position, size = known, PIECE_SIZE


def _that_concern(byte_range: ByteRange, pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces without the damage of batches whose offsets all lie outside the range, as the batches around it tell.

    An index entry leads to bytes in front of what is asked for, and a range ends at the next entry: so the ranges of
    two queries, or of two micro-batches, may share bytes, and only one of them lacks the records.
    """
    is_cut_short = byte_range.end_offset != byte_range.segment.end_offset  # what lies behind the segment is told
    behind: int | None = None  # the offset behind the sound batches so far
    held: list[tuple[Piece, bool]] = []  # damage; and whether it can only lie before what follows
    for piece in pieces:
        view, position, found = piece
        if isinstance(found, Damage):
            if not is_cut_short or behind is None or behind < byte_range.end_offset:
                is_between = behind is not None or _claims_less(view, found.position - position, byte_range)
                held.append((piece, is_between))
        elif len(found):
            is_before = found.base_offset[0] <= byte_range.start_offset
            yield from (damage for damage, is_between in held if not (is_between and is_before))
            held.clear()
            behind = int(found.last_offset[-1]) + 1
            yield piece
    yield from (damage for damage, _ in held)


def _claims_less(view: memoryview, start: int, byte_range: ByteRange) -> bool:
    """Whether a damaged batch of magic 2, whose frame is sound, says that it ends before the range; `view` is empty
    for one without a frame."""
    if len(view) - start < RECORD_BATCH_OVERHEAD or view[start + MAGIC_OFFSET] != CURRENT_MAGIC_VALUE:
        return False
    header = BatchColumns.of_headers(view, np.array([start], np.int64), np.array([start], np.int64))
    return bool(header.last_offset[0] < byte_range.start_offset)


def batch_headers(byte_range: ByteRange, *, check_crcs: bool) -> Iterator[BatchColumns | Damage]:
    """The whole batches of the range, and what is damaged, as `batch_pieces` finds them, without their bytes.

    Where no checksum asks for them, the bytes between the headers of large batches on a local disk are not read.
    """
    position, end = byte_range.positions
    order = OffsetOrder(byte_range.segment)
    if not check_crcs and byte_range.segment.storage.is_local:
        try:
            for batches, position in _headers_far_apart(byte_range, order):
                yield batches
        except DAMAGE:  # `batch_pieces` meets it, too, and says what it is
            pass
    if position < end:
        rest = byte_range._replace(positions=PositionRange(position, end))
        for _, _, found in _that_concern(byte_range, batch_pieces(rest, check_crcs=check_crcs, order=order)):
            yield found


def are_within(batches: BatchColumns, byte_range: ByteRange) -> "NDArray[np.bool_]":
    """Which batches may hold an offset of the range; of an old compressed one only the last offset is known."""
    starts_behind = (batches.base_offset >= byte_range.end_offset) & ((batches.magic == 2) | (batches.codec == 0))
    within: NDArray[np.bool_] = (batches.last_offset >= byte_range.start_offset) & ~starts_behind
    return within


def _headers_far_apart(byte_range: ByteRange, order: OffsetOrder) -> Iterator[tuple[BatchColumns, int]]:
    """The first batches of the range while they are large, well framed, of magic 2, and in order; where each lot ends.

    Raises what opening and reading the file raises.
    """
    start, end = byte_range.positions
    with closing(byte_range.segment.open()) as file:
        is_far = True
        while is_far:
            headers, at = bytearray(), start
            positions: list[int] = []
            while len(positions) < _HEADERS_AT_ONCE and at < end:
                header = file.read(at, RECORD_BATCH_OVERHEAD)
                size = _size_at(memoryview(header))
                if not isinstance(size, int) or len(header) < RECORD_BATCH_OVERHEAD or header[16] != 2:
                    break
                if size > end - at:
                    break
                headers += header
                positions.append(at)
                at += size
            # A file may have been cut since it was found: then the last batch is not whole.
            if not positions or not file.read(at - 1, 1):
                return
            places = np.arange(len(positions)) * RECORD_BATCH_OVERHEAD
            batches = BatchColumns.of_headers(memoryview(headers), places, np.array(positions, np.int64))
            if not order.ascends(batches, following_offset(file.read(at, RECORD_BATCH_OVERHEAD))):
                return
            yield batches, at
            is_far = at - start >= len(positions) * _FAR_APART
            start = at


def _header_at(index: SegmentPositions, position: int, view: memoryview) -> memoryview:
    """The header of the batch at `position`, or what there is of it; `view` has the bytes there, or some of them."""
    if len(view) >= RECORD_BATCH_OVERHEAD:
        return view[:RECORD_BATCH_OVERHEAD]
    header = memoryview(bytearray(max(0, min(RECORD_BATCH_OVERHEAD, index.size - position))))
    return header[: index.read_into(header, position)] if header else header


def _whole_batches(view: memoryview, position: int) -> tuple[BatchColumns, int]:
    """The whole batches at the beginning of `view`, and how many bytes they have; what is not well framed ends them."""
    found: list[BatchColumns] = []
    at = 0
    while True:
        starts, end = _framed(view, at)
        if starts:
            places = np.array(starts, np.int64)
            found.append(BatchColumns.of_headers(view, places, places + position))
        old, at = _old_batches(view, end, position)
        if old:
            found.append(BatchColumns.of(old))
        else:
            return BatchColumns.joined(found), at


def _framed(view: memoryview, at: int) -> tuple[list[int], int]:
    """Where the whole batches of magic 2 from `at` on begin, and where they end."""
    starts, end = [], len(view)
    while end - at >= RECORD_BATCH_OVERHEAD:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(view, at)
        size = length + LOG_OVERHEAD
        if magic != 2 or not RECORD_BATCH_OVERHEAD <= size <= end - at:
            break
        starts.append(at)
        at += size
    return starts, at


def _old_batches(view: memoryview, at: int, position: int) -> tuple[list[BatchFacts], int]:
    """The whole batches of older magics from `at` on, and where they end."""
    batches: list[BatchFacts] = []
    while True:
        size = _size_at(view[at : at + RECORD_BATCH_OVERHEAD])
        if not isinstance(size, int) or size > len(view) - at or view[at + 16] == 2:
            return batches, at
        try:
            batches.append(_old_facts(view[at : at + size], position + at))
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


def _old_facts(batch: memoryview, position: int) -> BatchFacts:
    legacy = LegacyRecordBatch(batch)
    return BatchFacts(
        position, len(batch), legacy.magic, legacy.offset, legacy.last_offset, -1, -1, -1, -1, legacy.max_timestamp,
        legacy.timestamp_type.id, False, False, legacy.attributes & COMPRESSION_CODEC_MASK, -1, -1, -1,
    )  # fmt: skip


def _objections(view: memoryview, position: int, batches: BatchColumns) -> Iterator[tuple[int, Exception]]:
    """The numbers of the batches whose checksums are wrong, and what Kafka says of each."""
    starts = (batches.position - position).tolist()
    computed = [
        crc32c(view[start + ATTRIBUTES_OFFSET : start + size]) if magic == 2 else -1
        for start, size, magic in zip(starts, batches.size.tolist(), batches.magic.tolist(), strict=True)
    ]
    for number in np.flatnonzero((batches.crc != computed) | (batches.magic < 2)).tolist():
        if batches.magic[number] == 2:
            told = f"(stored crc = {batches.crc[number]}, computed crc = {computed[number]})"
            yield number, CorruptRecordException(f"Record is corrupt {told}")
            continue
        try:
            LegacyRecordBatch(view[starts[number] :][: batches.size[number]]).ensure_valid()
        except DAMAGE as error:
            yield number, error


def _alike(batches: BatchColumns) -> Iterator[tuple[int, int]]:
    """Stretches of batches that can be decoded together: first and last (exclusive)."""
    alone = batches.control | (batches.magic < 2)
    breaks = (
        alone[1:]
        | alone[:-1]
        | (batches.codec[1:] != batches.codec[:-1])
        | (batches.timestamp_type[1:] != batches.timestamp_type[:-1])
    )
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(batches)]
    return ((start, end) for start, end in zip(edges, edges[1:], strict=False) if start < end)


def _decoded_batches(
    view: memoryview, position: int, batches: BatchColumns, byte_range: ByteRange
) -> Iterator[DecodedRun | Damage]:
    """Runs of batches that are alike; there may be gaps between them."""
    can_run = batches.magic[0] == 2 and not batches.control[0]
    start = 0
    while start < len(batches):
        if can_run:
            rest = batches[start:]
            run = _compressed_run(view, position, rest) if batches.codec[0] else _plain_run(view, position, rest)
            if run.columns.count:
                yield run
            start += len(run.batches)
        # The next batch is damaged, though its checksum is right; or it must be decoded by itself.
        if start < len(batches) and (not can_run or not len(run.batches)):
            yield _decoded(view, position, batches[start], byte_range)
            start += 1


def _plain_run(view: memoryview, position: int, batches: BatchColumns) -> DecodedRun:
    """The first of these batches, which are not compressed, up to a gap, to damage, or to enough records."""
    ends = batches.position + batches.size
    gaps = np.flatnonzero(batches.position[1:] != ends[:-1])
    stop = min(int(gaps[0]) + 1 if len(gaps) else len(batches), _enough(batches))
    first, end = int(batches.position[0]) - position, int(ends[stop - 1]) - position
    columns, reached = decode_run(view[:end], first, _most_records(batches[:stop]))
    done = int(ends[:stop].searchsorted(position + reached, "right"))
    return DecodedRun(columns, batches[:done], batches.records[:done])


def _compressed_run(view: memoryview, position: int, batches: BatchColumns) -> DecodedRun:
    """The first of these batches, which are compressed, up to damage or to enough records.

    Each is decompressed behind its header, which then says that it is not compressed: one run for the kernel.
    """
    parts: list[BytesLike] = []
    sizes: list[int] = []
    room = DECOMPRESSED_A_RUN
    try:
        codec = CompressionType.for_id(int(batches.codec[0]))
    except IllegalArgumentException:
        return DecodedRun(decode_run(b"", 0, 0)[0], batches[:0], batches.records[:0])
    stop = _enough(batches)
    for at, size in zip((batches.position[:stop] - position).tolist(), batches.size[:stop].tolist(), strict=True):
        data = decompress_at_once(codec, view[at + RECORD_BATCH_OVERHEAD : at + size], 2, DECOMPRESSED_A_RUN)
        if data is None:
            break
        header = bytearray(view[at : at + RECORD_BATCH_OVERHEAD])
        _LENGTH.pack_into(header, 8, RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(data))
        header[ATTRIBUTES_OFFSET + 1] &= ~COMPRESSION_CODEC_MASK
        parts += (header, data)
        sizes.append(RECORD_BATCH_OVERHEAD + len(data))
        room -= sizes[-1]
        if room < 0:
            break
    columns, reached = decode_run(b"".join(parts), 0, _most_records(batches[: len(sizes)]))
    done = bisect_right(list(accumulate(sizes)), reached)
    return DecodedRun(columns, batches[:done], batches.records[:done])


def _enough(batches: BatchColumns) -> int:
    """How many of these batches are decoded together, at least one."""
    return 1 + int(batches.records[:-1].clip(0).cumsum().searchsorted(RECORDS_A_RUN))


def _most_records(batches: BatchColumns) -> int:
    """A number that the records of these batches do not reach."""
    return int(batches.records.clip(0).sum()) + 1


def _decoded(view: memoryview, position: int, batch: BatchFacts, byte_range: ByteRange) -> DecodedRun | Damage:
    """A batch by itself: of an old format, a control batch, one that decompresses to very much, or a damaged one."""
    data = view[batch.position - position :][: batch.size]
    try:
        columns = (RecordBatch(data) if batch.magic == 2 else LegacyRecordBatch(data)).columns()
    except DAMAGE as error:
        return Damage.of(byte_range.segment.path, batch.position, error)
    return DecodedRun(columns, BatchColumns.of([batch]), np.array([len(columns)]))
