"""The job `replicas`: whether two copies of a partition, on two brokers' disks, are equal as far as both are committed.

The copies are compared in blocks of offsets. A task reads a part of one copy and gives a digest of each block's
batches; Spark brings the digests of both copies together, so that only a few bytes cross for many that are read. Blocks
with unequal digests are then read again, from both copies by one task, and compared batch by batch, and record by
record where batches differ.

The digest of a block is the exclusive or of a 128-bit hash (XXH3) of each of its batches, so it does not matter which
task saw which batch. Two different blocks with one digest would be taken for equal; by chance that does not happen.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from functools import partial
from os.path import dirname
from typing import Any, NamedTuple

import pyarrow as pa
import xxhash
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.record.format.record import AnyRecord
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, for_each_directory, for_each_task
from minikafka.spark.jobs.row_type import batch_of_rows, schema_of_rows
from minikafka.spark.source.batch_columns import BatchFacts
from minikafka.spark.source.batch_runs_on_disk import batch_pieces
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.log_segments_on_disk import DiskPartition, find_partitions
from minikafka.spark.source.partition_bounds import Bounds
from minikafka.spark.source.range_rows import carried_settings
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.segment_positions import PositionRange, SegmentPositions
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.storage import joined
from minikafka.tools.checkpoints import checkpointed_offsets

BLOCK = 1 << 16
"""How many offsets are compared at a time."""

EQUAL = "equal"
SEGMENTS_DIFFER = "segments differ"
CLEANED = "cleaned differently"
DIFFERENT = "different"
DAMAGED = "damaged"
ALONE = "alone"
_WORST_FIRST = (DAMAGED, DIFFERENT, CLEANED, SEGMENTS_DIFFER, EQUAL)


def replicas(ranges: DataFrame, partitions: DataFrame, *, block: int = BLOCK) -> DataFrame:
    """A row for each pair of copies: of a partition with several directories, the first one and each other.

    | column | type | meaning |
    |---|---|---|
    | `topic`, `partition` | string, int | |
    | `first`, `second` | string | the directories, in the order of their names; `second` is null for a single copy |
    | `start`, `end` | bigint | the offsets that were compared, `end` exclusive |
    | `verdict` | string | see below |
    | `batches` | bigint | the first copy's in the blocks that were compared, which may reach beyond both offsets |
    | `offset` | bigint | the first offset with a difference; null without one |
    | `firstFile`, `firstPosition` | string, bigint | the batch there, or else the next one, in the first copy |
    | `secondFile`, `secondPosition` | string, bigint | the same in the second copy |
    | `difference` | string | what differs there |

    Compared is what both copies hold and both have below their high watermarks (or their ends, with `bounds=log_end`,
    and where there is no checkpoint). The verdicts, of which the worst one counts: `equal`, byte by byte; `segments
    differ`: the same bytes in other segments; `cleaned differently`: records are missing in a copy, or lie in other
    batches, only where that copy's cleaner has been (`cleaner-offset-checkpoint`), and all records that both have are
    equal; `different`; `damaged`: one of both cannot be read there, or ends below the high watermark that its broker
    noted, so that it has lost records; `alone`: there is only one copy.

    `ranges` and `partitions` are tables of the data source with the same paths and options; `block`: how many offsets
    are compared at a time. A segment that cannot even be opened ends the query, in mode FAILFAST; so does a copy that
    has lost records, unless `failOnDataLoss` is false, as for the command. A record is equal with its offset,
    timestamp, key, value and headers, its leader epoch, and its producer's id, epoch and sequence.
    """

    def of(copy: str, aggregate: Any, column: str) -> Column:
        return aggregate(F.when(F.col("directory") == F.col(copy), F.col(column)))

    pairs = (
        partitions.groupBy("topic", "partition")
        .agg(F.array_sort(F.collect_list("directory")).alias("copies"))
        .select("topic", F.col("partition").cast("bigint"), F.col("copies")[0].alias("first"), "copies")
        .select("topic", "partition", "first", F.explode_outer(F.expr("slice(copies, 2, 1000000)")).alias("second"))
    )
    digests = for_each_task(ranges, partial(_digests, block=block), schema_of_rows(_Digest))
    whole = Window.partitionBy(*_PAIR)
    blocks = (
        pairs.where("second IS NOT NULL")
        .join(digests, ["topic", "partition"])
        .where("directory IN (first, second)")
        .groupBy(*_PAIR, "block")
        .agg(
            *(of(copy, F.bit_xor, half).alias(f"{half} of {copy}") for copy in _COPIES for half in _DIGEST),
            *(of(copy, F.max, "start").alias(f"start of {copy}") for copy in _COPIES),
            *(F.least(of(c, F.max, "end"), of(c, F.max, "reach")).alias(f"end of {c}") for c in _COPIES),
            F.coalesce(of("first", F.sum, "batches"), F.lit(0)).alias("batches"),
        )
        .withColumn("start", F.greatest(*(F.max(f"start of {copy}").over(whole) for copy in _COPIES)))
        .withColumn("end", F.least(*(F.coalesce(F.max(f"end of {c}").over(whole), F.lit(0)) for c in _COPIES)))
        .withColumn("end", F.greatest("start", "end"))
        .withColumn("equalBytes", F.expr(" AND ".join(f"`{h} of first` <=> `{h} of second`" for h in _DIGEST[:2])))
        .withColumn("equalSegments", F.expr("`segments of first` <=> `segments of second`"))
        .select(*_PAIR, "block", "start", "end", "batches", "equalBytes", "equalSegments")
    )
    verdicts = blocks.mapInArrow(
        partial(_verdicts, block=block, settings=carried_settings(ranges.schema)), schema_of_rows(_Verdict)
    )
    losses = for_each_directory(partitions, _losses, schema_of_rows(_Loss))
    of_losses = (
        pairs.where("second IS NOT NULL")
        .join(losses, ["topic", "partition"])
        .where("directory IN (first, second)")
        .select(
            *_PAIR,
            F.lit(_rank(DAMAGED)).alias("rank"),
            *(F.when(F.col("directory") == F.col(copy), F.col("file")).alias(f"{copy}File") for copy in _COPIES),
            "difference",
        )
    )
    verdicts = verdicts.unionByName(of_losses, allowMissingColumns=True)
    worst = F.min(F.struct("rank", *_FOUND))
    summed = verdicts.groupBy(*_PAIR).agg(
        F.max("start").alias("start"),
        F.max("end").alias("end"),
        F.sum("batches").alias("batches"),
        worst.alias("worst"),
    )
    rank = F.col("worst.rank").cast("int")  # null without any block: there is no batch to compare
    named = F.element_at(F.lit(list(_WORST_FIRST)), rank)
    verdict = F.when(F.col("second").isNull(), ALONE).when(rank.isNull(), EQUAL).otherwise(named)
    return (
        pairs.join(summed, _PAIR, "left")
        .select(
            "topic", F.col("partition").cast("int"), "first", "second", "start", "end",
            verdict.alias("verdict"),
            F.coalesce("batches", F.lit(0)).alias("batches"),
            *(F.col(f"worst.{name}") for name in _FOUND),
        )
        .orderBy("topic", "partition", "first", "second")
    )  # fmt: skip


class _Digest(NamedTuple):
    """What a task saw of a block in one range: the digest of its batches, in two halves, and of where segments begin.

    `start`, `end`: the offsets of the copy that count; `reach`: the offset behind the last batch, or behind what a
    damage hides.
    """

    topic: str
    partition: int
    directory: str
    block: int
    low: int
    high: int
    segments: int
    batches: int
    start: int
    end: int
    reach: int


class _Loss(NamedTuple):
    """A copy that ends below its high watermark, with the words that tell it, and the file of its end."""

    topic: str
    partition: int
    directory: str
    file: str
    difference: str


class _Verdict(NamedTuple):
    """What became of a block; `rank` is the number of the verdict among `_WORST_FIRST`, from 1 on."""

    topic: str
    partition: int
    first: str
    second: str
    start: int
    end: int
    batches: int
    rank: int
    offset: int | None = None
    firstFile: str | None = None
    firstPosition: int | None = None
    secondFile: str | None = None
    secondPosition: int | None = None
    difference: str | None = None


_PAIR = ["topic", "partition", "first", "second"]
_COPIES = ("first", "second")
_DIGEST = ("low", "high", "segments")
_FOUND = ("offset", "firstFile", "firstPosition", "secondFile", "secondPosition", "difference")
_HALVES = struct.Struct(">qq")
_LONG = struct.Struct(">q")


# ---- digests


def _digests(ranges: Iterator[ByteRange], block: int) -> Iterator[pa.RecordBatch]:
    for each in ranges:
        yield batch_of_rows(_Digest, _digests_of(each, block))


def _digests_of(byte_range: ByteRange, block: int) -> list[_Digest]:
    path, start, end = byte_range.segment.path, byte_range.start_offset, byte_range.end_offset
    reach = max(start, byte_range.segment.base_offset)
    sums: dict[int, list[int]] = {}
    for view, position, batches in batch_pieces(byte_range, check_crcs=True):
        if isinstance(batches, Damage):  # makes the block unequal, so that it is looked at
            low, high = _HALVES.unpack(xxhash.xxh3_128_digest(os.fsencode(f"{path}:{batches.position}")))
            # What it hides counts as held, up to where the copy, or the segment, ends: or nobody would look there.
            ends = end, byte_range.segment.end_offset or LONG_MAX
            hidden_to = min(ends) if min(ends) < LONG_MAX else reach + 1  # where no end is known, one offset at least
            for number in {reach // block, max(reach, hidden_to - 1) // block}:
                _add(sums.setdefault(number, [0] * 4), low, high, 0)
            reach = max(reach, hidden_to)
            continue
        for batch in batches:
            if batch.last_offset < start or batch.base_offset >= end:
                continue
            at = batch.position - position
            low, high = _HALVES.unpack(xxhash.xxh3_128_digest(view[at : at + batch.size]))
            begins = 0
            if batch.position == 0:
                (begins,) = _LONG.unpack(xxhash.xxh3_64_digest(_LONG.pack(batch.base_offset)))
            _add(sums.setdefault(batch.base_offset // block, [0] * 4), low, high, begins)
            reach = max(reach, batch.last_offset + 1)
    topic, partition = byte_range.topic_partition
    return [_Digest(topic, partition, dirname(path), number, *sums[number], start, end, reach) for number in sums]


def _add(sums: list[int], low: int, high: int, segments: int) -> None:
    sums[0] ^= low
    sums[1] ^= high
    sums[2] ^= segments
    sums[3] += 1


def _losses(directories: Iterator[PartitionDirectory]) -> Iterator[pa.RecordBatch]:
    for topic_partition, directory, settings in directories:
        for copy in find_partitions([directory], settings=settings):
            lost = Bounds(SourceOptions.of({"path": directory})).readable(copy).lost if copy.segments else None
            if lost is not None:
                yield batch_of_rows(_Loss, [_Loss(*topic_partition, directory, lost.file, lost.exception)])


# ---- blocks with unequal digests, once more


def _verdicts(batches: Iterator[pa.RecordBatch], block: int, settings: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    copies = _Copies(settings)
    for each in batches:
        yield batch_of_rows(_Verdict, [_verdict(row, block, copies) for row in each.to_pylist()])


def _verdict(row: dict[str, Any], block: int, copies: "_Copies") -> _Verdict:
    start, end = max(row["start"], row["block"] * block), min(row["end"], (row["block"] + 1) * block)
    about = _Verdict(*(row[name] for name in (*_PAIR, "start", "end")), 0, _rank(EQUAL))
    if start >= end:
        return about
    about = about._replace(batches=row["batches"])
    if row["equalBytes"]:
        return (
            about if row["equalSegments"] else about._replace(rank=_rank(SEGMENTS_DIFFER), difference=_OTHER_SEGMENTS)
        )
    comparison = _Comparison(copies.of(row["first"]), copies.of(row["second"]), start, row["end"])
    return comparison.verdict(about, until=end)


def _rank(verdict: str) -> int:
    return _WORST_FIRST.index(verdict) + 1


class _Copy(NamedTuple):
    """A copy as it lies on the disk, and the offset up to which its cleaner has been (exclusive)."""

    partition: DiskPartition
    cleaned_to: int


class _Copies:
    """The copies that a task has met; `settings` as for `storage_of`."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._of: dict[str, _Copy] = {}

    def of(self, directory: str) -> _Copy:
        """The copy in that directory. Raises OSError, IllegalArgumentException when it is gone."""
        if directory not in self._of:
            (partition,) = find_partitions([directory], settings=self._settings)
            self._of[directory] = _Copy(partition, _cleaned_to(partition))
        return self._of[directory]


def _cleaned_to(partition: DiskPartition) -> int:
    try:
        with partition.storage.on_disk(joined(dirname(partition.directory), OFFSET_CHECKPOINT_FILE)) as checkpoint:
            return checkpointed_offsets(checkpoint).get(partition.topic_partition, 0)
    except FileNotFoundError:
        return 0


class _Found(NamedTuple):
    """A batch of a copy."""

    facts: BatchFacts
    data: bytes
    file: str

    def records(self) -> Iterator[AnyRecord]:
        """Its records; raises what damage raises."""
        batch = RecordBatch(self.data) if self.facts.magic == 2 else LegacyRecordBatch(self.data)
        return iter(batch)


class _Comparison:
    """Two copies, batch by batch, with offsets from `start` up to `end` (exclusive)."""

    def __init__(self, first: _Copy, second: _Copy, start: int, end: int):
        self._copies = first, second
        self._start = start
        self._end = end

    def verdict(self, about: _Verdict, until: int) -> _Verdict:
        """The first of the worst differences that begin below `until`, put into `about`."""
        try:
            found = self._differences(about, until)
            return min(found, key=lambda each: each.rank, default=about)
        except _DamagedCopyError as error:
            damage, is_second = error.args
            where = {"secondFile" if is_second else "firstFile": damage.file}
            where |= {"secondPosition" if is_second else "firstPosition": damage.position}
            return about._replace(rank=_rank(DAMAGED), difference=damage.exception, **where)

    def _differences(self, about: _Verdict, until: int) -> Iterator[_Verdict]:
        walks = [_Walk(_batches(copy.partition, self._start, self._end, is_second=number == 1))
                 for number, copy in enumerate(self._copies)]  # fmt: skip
        first, second = walks
        while min(first.next_offset, second.next_offset) < until:
            one, other = first.next, second.next
            if one is not None and other is not None and one.data == other.data:
                if (one.facts.position == 0) != (other.facts.position == 0) and one.facts.base_offset > self._start:
                    yield about._replace(rank=_rank(SEGMENTS_DIFFER), difference=_OTHER_SEGMENTS)
                first.step()
                second.step()
                continue
            yield from self._of_cluster(about, *_cluster(first, second))

    def _of_cluster(self, about: _Verdict, first: list[_Found], second: list[_Found]) -> Iterator[_Verdict]:
        """What differs in batches that have the same offsets, or whose offsets only one copy has."""
        one, other = self._records(first, is_second=False), self._records(second, is_second=True)
        cleaned = [copy.cleaned_to for copy in self._copies]
        for offset in sorted(one.keys() | other.keys()):
            ours, theirs = one.get(offset), other.get(offset)
            if ours == theirs:
                continue
            if ours is None or theirs is None:
                missing, has = (0, "second") if ours is None else (1, "first")
                verdict = CLEANED if offset < cleaned[missing] else DIFFERENT
                difference = f"only the {has} copy has this record"
            else:
                verdict = DIFFERENT
                names = [name for name, a, b in zip(_FIELDS, ours, theirs, strict=True) if a != b]
                difference = f"the records differ in: {', '.join(names)}"
            yield _at(about, verdict, offset, difference, first, second)
            if verdict == DIFFERENT:
                return
        if one.keys() == other.keys() and (one or other):
            offset = min(one)
            extents = [
                [(batch.facts.base_offset, batch.facts.last_offset) for batch in copy] for copy in (first, second)
            ]
            kind = "in batches with other bytes" if extents[0] == extents[1] else "in other batches"
            verdict = CLEANED if max(one) < max(cleaned) else DIFFERENT
            yield _at(about, verdict, offset, f"the same records {kind}", first, second)

    def _records(self, batches: list[_Found], *, is_second: bool) -> dict[int, tuple[Any, ...]]:
        records = {}
        for batch in batches:
            facts = batch.facts
            try:
                for record in batch.records():
                    if self._start <= record.offset < self._end:
                        headers = tuple((header.key, header.value) for header in record.headers)
                        sequence = facts.base_sequence
                        if sequence >= 0:
                            sequence = (sequence + record.offset - facts.base_offset) & 0x7FFFFFFF
                        records[record.offset] = (
                            record.timestamp, record.key, record.value, headers,
                            facts.leader_epoch, facts.producer_id, facts.producer_epoch, sequence,
                        )  # fmt: skip
            except DAMAGE as error:
                raise _DamagedCopyError(Damage.of(batch.file, facts.position, error), is_second) from error
        return records


_FIELDS = ("timestamp", "key", "value", "headers", "leader epoch", "producer id", "producer epoch", "sequence")
_OTHER_SEGMENTS = "the same batches in other segments"


class _DamagedCopyError(Exception):
    """A copy that cannot be read: its `Damage`, and whether it is the second one."""


class _Walk:
    """Batches with one seen ahead."""

    def __init__(self, batches: Iterator[_Found]):
        self._batches = batches
        self.next: _Found | None = None
        self.step()

    def step(self) -> None:
        """Go on to the next batch, or to None behind the last one."""
        self.next = next(self._batches, None)

    @property
    def next_offset(self) -> int:
        """Where the next batch begins; beyond every offset behind the last one."""
        return 1 << 63 if self.next is None else self.next.facts.base_offset

    def take_up_to(self, limit: int) -> list[_Found]:
        """The batches that begin at `limit` or before."""
        taken = []
        while self.next is not None and self.next_offset <= limit:
            taken.append(self.next)
            self.step()
        return taken


def _cluster(first: _Walk, second: _Walk) -> tuple[list[_Found], list[_Found]]:
    """The next batches of both, up to an offset where batches of both end."""
    taken: tuple[list[_Found], list[_Found]] = [], []
    limit = min(first.next_offset, second.next_offset)
    while True:
        before = len(taken[0]) + len(taken[1])
        for walk, mine in zip((first, second), taken, strict=True):
            mine += walk.take_up_to(limit)
            limit = max([limit, *(batch.facts.last_offset for batch in mine)])
        if len(taken[0]) + len(taken[1]) == before:
            return taken


def _batches(partition: DiskPartition, start: int, end: int, *, is_second: bool) -> Iterator[_Found]:
    """The batches with offsets from `start` up to `end` (exclusive). Raises _DamagedCopyError."""
    for segment in partition.segments:
        if segment.base_offset >= end or (segment.end_offset is not None and segment.end_offset <= start):
            continue
        try:
            with SegmentPositions(segment) as index:
                positions = PositionRange(index.at_or_before(start), index.behind(end))
        except DAMAGE as error:
            raise _DamagedCopyError(Damage.of(segment.path, 0, error), is_second) from error
        byte_range = ByteRange(partition.topic_partition, segment, positions, start, end, (), segment.is_last)
        for view, position, batches in batch_pieces(byte_range, check_crcs=True):
            if isinstance(batches, Damage):
                raise _DamagedCopyError(batches, is_second)
            for facts in batches:
                if facts.last_offset >= start and facts.base_offset < end:
                    at = facts.position - position
                    yield _Found(facts, bytes(view[at : at + facts.size]), segment.path)


def _at(
    about: _Verdict, verdict: str, offset: int, difference: str, first: list[_Found], second: list[_Found]
) -> _Verdict:
    """The verdict with the batches that hold the offset in both copies, or that come behind it."""
    holders = [next((batch for batch in copy if batch.facts.last_offset >= offset), None) for copy in (first, second)]
    files = [None if batch is None else batch.file for batch in holders]
    positions = [None if batch is None else batch.facts.position for batch in holders]
    return about._replace(
        rank=_rank(verdict), offset=offset, difference=difference,
        firstFile=files[0], firstPosition=positions[0], secondFile=files[1], secondPosition=positions[1],
    )  # fmt: skip
