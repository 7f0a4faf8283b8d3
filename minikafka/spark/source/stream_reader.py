"""A stream of the records that a broker writes into a directory, followed without the broker."""

import logging
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.errors import IllegalArgumentException, UnknownTopicOrPartitionException
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_from_string
from minikafka.spark.source.damage import DAMAGE, Damage, warn_of_losses
from minikafka.spark.source.json_option import partition_numbers
from minikafka.spark.source.log_identity import LastBatch, are_different, batch_at, is_another_log, topic_id_of
from minikafka.spark.source.log_segments_on_disk import DiskPartition
from minikafka.spark.source.partition_bounds import Bounds, PartitionBounds, log_end_of, offsets_gone
from minikafka.spark.source.read_task import ByteRange, Found, ReadTask, byte_ranges, parts_of, tasks_of
from minikafka.spark.source.record_rows import RecordRows, RowFilter
from minikafka.spark.source.settled_partitions import settled_partitions
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.storage import joined

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition

T = TypeVar("T")
Offsets = dict[TopicPartition, int]
Told = dict[str, dict[str, Any]]
"""What Spark notes: `{"topic": {"0": 23}, "topic ids": {"topic": {"0": "J8qnbwG1TxCm_0gfHbKf_A"}}, "last batches": …}`.

The last batch, in which offset 22 lies, is a list of `LastBatch`'s fields. `"started at"` has the offsets at which the
query's first micro-batch begins.
"""

# No topic has a space in its name.
_TOPIC_IDS, _LAST_BATCHES, _STARTED_AT = "topic ids", "last batches", "started at"

_logger = logging.getLogger(__name__)

_LOOKS = 20
_PAUSE_S = 0.01


class KafkaLogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says where micro-batches end, plans them in the driver's Python, and reads a task in a worker's.

    The offsets that Spark notes in its checkpoint are those of its Kafka connector, `{"topic": {"0": 23}}`: the next
    offset of each partition. Beside them, as `"topic ids"`, stands which topic each was of, where `partition.metadata`
    says so, and as `"last batches"` what tells the batch that was read last from another one. They make each record
    part of one micro-batch, also when Spark runs it again: it then has the same offsets. Spark notes where each
    micro-batch ends, and asks anew where the first one begins: so that stands beside its end, as `"started at"`.
    What the broker does to the directory, and what the stream does:

    - *Records are appended, segments rolled*: they are read once they are below the high watermark in the checkpoint
      file, which a broker writes every 5 s and when it stops. With `bounds=log_end` they are read at once, up to the
      last whole batch. After a kill, what is above that high watermark waits until the broker runs again.
    - *A topic or partition appears*: its log start offset is noted in a micro-batch of its own, and reading begins
      there. Until the checkpoint file has its high watermark, there is nothing to read.
    - *Retention or DeleteRecords delete what was read*: nothing. *What was not read*: damage, "offsets … are asked for,
      and there are …"; the stream goes on behind the gap.
    - *Compaction*: what is left is read; a micro-batch that is run again lacks what was removed meanwhile.
    - *A segment is deleted while a task is to read it*: the task reads the old file, which the broker keeps for
      `file.delete.delay.ms`, a minute by default; a task that begins later meets damage. Smaller micro-batches
      (`maxOffsetsPerTrigger`) begin in time. *Where compaction has replaced it*, the task reads what stands there.
    - *A new leader truncates the log above the high watermark*: nothing. With `bounds=log_end` it is the next case.
    - *A topic is deleted and made anew*: records were lost, "its topic was deleted and made anew"; unless that ends the
      query, the stream goes on with the new topic's start. A checkpoint without topic ids, which an earlier minikafka
      wrote, gets them with the next micro-batch; until then, and for a topic without an id, this is the next case.
    - *A topic is replaced and keeps its id*, as by `write_log_dir`: as before, "its topic was replaced", once it has an
      offset that was read. A shorter one, and one whose leader epoch is larger, is taken for the next case.
    - *A log ends before what was read*, because it was truncated there: with `failOnDataLoss` the query ends, "it was
      truncated"; without, it warns, waits until the log is longer again, and reads on. So it is if the log is longer
      already when the stream looks, and has a larger leader epoch there: what stands in the place of what was read is
      not read, unless a micro-batch that was planned before is run again. *A log ends below its high watermark*, as
      after a loss of power: the query ends, too, "records are lost".
    - *A partition goes away*: with `failOnDataLoss` the query ends, "the partition is gone", as with the connector,
      since nobody can say whether all of it was read; without, it warns and forgets the partition, and one that later
      has its name is a new one. A topic that `subscribe` or `assign` names must be there: without it the query ends.
    - *A path that was given goes away*, or a glob finds what a batch query refuses, such as a directory that is no log
      directory: the query ends. A log directory without a topic, which has `meta.properties`, has nothing to read.
    - *A directory is renamed* because a broker moves it to another log directory that is read, too: the stream looks
      again.

    `mode` says what becomes of a damage, as in a batch query, and `failOnDataLoss` whether what is gone ends the query.
    It ends before the micro-batch, and ends again when it is restarted; the same checkpoint with another mode, or with
    `failOnDataLoss=false`, goes on behind the damage.
    """

    def __init__(self, schema: StructType, options: SourceOptions):
        self._schema = schema
        self._options = options
        self._last: Offsets | None = None  # where a query of the trigger availableNow ends
        self._triggered: float | None = None  # when `minOffsetsPerTrigger` last let a micro-batch begin, ms
        self._too_short: set[TopicPartition] = set()  # which end before what was read, and were warned of

    def initialOffset(self) -> Told:
        """Where the query's first micro-batch starts. Raises CorruptRecordException for a damaged checkpoint file."""
        bounds, found = Bounds(self._options), self._found()
        self._options.starting.require_partitions(found, "starting")
        partitions = {name: each for name, each in found.items() if each.segments}
        starts = {name: bounds.first(each) for name, each in partitions.items()}
        ids = {name: _topic_id(each, bounds) for name, each in partitions.items()}
        self._demand_sound(bounds.damages)
        for damage in bounds.damages:
            _logger.warning("%s, position %d: %s", *damage)
        return _told(starts, ids, {}, starts)

    def prepareForTriggerAvailableNow(self) -> None:
        """Note where the partitions end now: the query reads no further."""
        self._last = {name: bounds.end for name, (_, bounds, _) in self._readable().items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        """`maxOffsetsPerTrigger`, or else `minOffsetsPerTrigger`, of which a limit cannot say both."""
        most, least = self._options.max_offsets_per_trigger, self._options.min_offsets_per_trigger
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def latestOffset(self, start: Told, limit: ReadLimit) -> Told:
        """Where the micro-batch from `start` on ends; a limit is shared by the partitions (`_limited`).

        Raises CorruptRecordException, where a loss ends the query, for a log that is gone, ends before `start` or is
        another topic's.
        """
        before, ids, ends = _offsets(start), _topic_ids(start), dict[TopicPartition, int]()
        batches, readable = _last_batches(start), self._readable(frozenset(before))
        gone = {name: before.pop(name) for name in sorted(before.keys() - readable.keys())}
        self._demand_sound(_gone(name, read_to) for name, read_to in gone.items())
        for name, (partition, bounds, topic_id) in readable.items():
            if name not in before:
                before[name] = bounds.start  # noted before it is read: a second run starts there, too
            elif damage := _another_topic(partition, ids.get(name), topic_id, batches.get(name), before[name]):
                self._tell_of_another_topic(damage)
                before[name], ends[name] = bounds.start, self._end(name, bounds)
                batches.pop(name, None)
            else:
                self._demand_not_truncated(partition, bounds, before[name], batches.get(name))
                ends[name] = self._end(name, bounds)
            ids[name] = topic_id or ids.get(name)
        # A query never goes back.
        ends = {name: max(ends.get(name, first), first) for name, first in before.items()}
        if not isinstance(limit, ReadAllAvailable) and self._waits_for_more(before, ends):
            return start
        if isinstance(limit, ReadMaxRows):
            ends = _limited(before, ends, limit.max_rows)
        for name, (partition, _, _) in readable.items():
            if name not in batches or ends[name] != before[name]:
                batches[name] = batch_at(partition.segments, ends[name] - 1)
        for name in gone:
            ids.pop(name, None)
            batches.pop(name, None)
        return _told(ends, ids, batches, _started_at(start))

    def partitions(self, start: Told, end: Told) -> list[ReadTask]:
        """The tasks of a micro-batch, at least one; among them what of it is gone.

        Raises CorruptRecordException for that where it ends the query; elsewhere it is warned of.
        """
        before, ids_before, ids = _begin(start, end), _topic_ids(start), _topic_ids(end)
        batches_before, batches = _last_batches(start), _last_batches(end)
        ends = _offsets(end)
        asked = {
            name: last
            for name, last in ends.items()
            if name in before
            and (before[name], batches_before.get(name)) != (last, batches.get(name) or batches_before.get(name))
            or are_different(ids_before.get(name), ids.get(name))
        }
        # The end was below the high watermark when it was chosen, and that does not matter any more.
        bounds = Bounds(self._options._replace(to_log_end=True))
        there = self._found(frozenset(asked))
        parts: list[Found] = [[(name, _gone(name, before[name]))] for name in sorted(before.keys() - ends.keys())]
        for name, last in asked.items():
            partition = there.get(name)
            if partition is None or not partition.segments:
                parts.append([(name, _gone(name, before[name]))])
                continue
            is_of_another = _another_topic(
                partition, ids.get(name), _topic_id(partition, bounds), batches.get(name), last
            )
            is_renewed = _another_topic(
                partition, ids_before.get(name), ids.get(name), batches_before.get(name), before[name]
            )
            if is_renewed or is_of_another:
                parts.append([(name, is_renewed or is_of_another)])
            elif truncated := (
                _truncated(partition, batches_before.get(name), before[name])
                or _truncated(partition, batches.get(name), last)
            ):
                parts.append([(name, truncated)])
            if is_of_another:
                continue
            readable = bounds.readable(partition)
            first = readable.start if is_renewed else before[name]
            if first < readable.start or last > readable.end:
                parts.append([(name, offsets_gone(partition, first, last, readable))])
            wanted = PartitionBounds(max(first, readable.start), min(last, readable.end), readable.aborted, whole=False)
            for part in parts_of(wanted, self._options.max_records_per_partition):
                parts.append([*byte_ranges(partition, part, self._options.max_bytes_per_task, None)])
        damages = [each[1] for part in parts for each in part if not isinstance(each, ByteRange)]
        self._demand_sound([*damages, *bounds.damages])
        warn_of_losses(damages)
        return tasks_of(parts, self._options)

    def read(self, partition: "InputPartition") -> "Iterator[pa.RecordBatch]":
        """The rows of a task. Raises CorruptRecordException for damage in mode FAILFAST."""
        assert isinstance(partition, ReadTask)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        return RecordRows(schema, RowFilter(), self._options.on_damage, check_crcs=self._options.check_crcs).of(
            partition
        )

    def _found(self, asked: frozenset[TopicPartition] = frozenset()) -> dict[TopicPartition, DiskPartition]:
        """All partitions.

        While a broker renames a directory, one may be found twice, or one of `asked` not at all, or without a segment:
        then it looks again.
        """
        found: dict[TopicPartition, DiskPartition] = {}
        for looks_left in reversed(range(_LOOKS)):
            try:
                partitions = self._find()
            except UnknownTopicOrPartitionException:
                if not looks_left:
                    raise
                time.sleep(_PAUSE_S)
                continue
            found = {each.topic_partition: each for each in partitions}
            if len(found) == len(partitions) and all(name in found and found[name].segments for name in asked):
                return found
            if looks_left:
                time.sleep(_PAUSE_S)
        for each in partitions:
            if each is not (other := found[each.topic_partition]):
                raise IllegalArgumentException(
                    f"A stream follows one copy of {each.topic_partition}, but there are {each.directory} and "
                    f"{other.directory}"
                )
        return found

    def _find(self) -> list[DiskPartition]:
        return settled_partitions(self._options, self._options.subscription)

    def _waits_for_more(self, before: Offsets, ends: Offsets) -> bool:
        """Whether there are too few offsets for a micro-batch, and the last one was not `maxTriggerDelay` ago."""
        least, now = self._options.min_offsets_per_trigger, time.monotonic() * 1000
        if least is None:
            return False
        is_due = self._triggered is None or now - self._triggered >= self._options.max_trigger_delay
        if not is_due and sum(ends[name] - before[name] for name in ends) < least:
            return True
        self._triggered = now
        return False

    def _readable(
        self, asked: frozenset[TopicPartition] = frozenset()
    ) -> dict[TopicPartition, tuple[DiskPartition, PartitionBounds, str | None]]:
        """The partitions that have a segment, what can be read of each, which is nothing until the broker notes its
        high watermark, and the topic's id if there is one. `asked` as for `_found`.
        """
        bounds, readable = Bounds(self._options), {}
        for name, partition in self._found(asked).items():
            if partition.segments:
                of_it = bounds.readable(partition)
                bounds.damages += [] if of_it.unstable is None else [of_it.unstable]
                is_new = bounds.awaits_high_watermark(partition)
                of_it = of_it._replace(end=of_it.start) if is_new else of_it
                readable[name] = partition, of_it, _topic_id(partition, bounds)
        self._demand_sound(bounds.damages)
        return readable

    def _end(self, name: TopicPartition, bounds: PartitionBounds) -> int:
        return bounds.end if self._last is None else min(bounds.end, self._last.get(name, bounds.start))

    def _demand_sound(self, damages: Iterable[Damage]) -> None:
        for damage in damages:
            if self._options.on_damage.fails_at(damage):
                raise damage.exception_to_raise()

    def _demand_not_truncated(
        self, partition: DiskPartition, bounds: PartitionBounds, read_to: int, last_batch: LastBatch | None
    ) -> None:
        self._demand_sound([] if bounds.lost is None else [bounds.lost])
        name, too_short = partition.topic_partition, None
        if bounds.end < read_to:
            log_end = log_end_of(partition.segments[-1])
            if log_end is not None and log_end < read_to:
                told = f"the log ends at offset {log_end} and was read to {read_to}: it was truncated"
                too_short = Damage(partition.directory, 0, f"OffsetOutOfRangeException: {told}")
        if self._options.on_damage.fails_on_loss:
            self._demand_sound(each for each in (_truncated(partition, last_batch, read_to), too_short) if each)
        elif too_short is None:
            self._too_short.discard(name)
        elif name not in self._too_short:
            self._too_short.add(name)
            _logger.warning("%s: %s; the stream waits until it is longer", too_short.file, too_short.told)

    def _tell_of_another_topic(self, damage: Damage) -> None:
        self._demand_sound([damage])
        _logger.warning("%s: %s; the stream goes on at its start", damage.file, damage.told)


def _limited(before: Offsets, ends: Offsets, limit: int) -> Offsets:
    """`ends` brought closer to `before`: the partitions share `limit` offsets in proportion to what each of them has.

    A share is rounded down; but a partition that has an offset gets one, so that none starves, and there may be a few
    more than `limit`. Spark: `KafkaMicroBatchStream.rateLimit`, with its arithmetic.
    """
    total = float(sum(ends[name] - before[name] for name in ends))
    if total < 1:
        return ends

    def share(available: int) -> int:
        prorated = limit * (available / total)
        return math.ceil(prorated) if prorated < 1 else math.floor(prorated)

    return {name: min(end, before[name] + share(end - before[name])) for name, end in ends.items()}


def _another_topic(
    partition: DiskPartition, id_before: str | None, topic_id: str | None, last_batch: LastBatch | None, read_to: int
) -> Damage | None:
    """That the partition is another topic's than the one that was read up to `read_to` (exclusive); None if it is not,
    or nobody can tell."""
    if are_different(id_before, topic_id):
        told = "its topic was deleted and made anew: partition.metadata has another topic id than the one that was read"
        return Damage(partition.directory, 0, f"InconsistentTopicIdException: {told}")
    if last_batch is not None and is_another_log(partition.segments, read_to - 1, last_batch):
        told = f"its topic was replaced: offset {read_to - 1} lies in another batch than the one that was read"
        return Damage(partition.directory, 0, f"OffsetOutOfRangeException: {told}")
    return None


def _truncated(partition: DiskPartition, last_batch: LastBatch | None, read_to: int) -> Damage | None:
    """That a later leader's records stand where `last_batch` was, the last one below `read_to`; None if they do not."""
    there = batch_at(partition.segments, read_to - 1)
    if last_batch is None or there is None or there.leader_epoch <= last_batch.leader_epoch:
        return None
    if last_batch.has_the_content_of(there) or batch_at(partition.segments, read_to - 1, check_crc=True) is None:
        return None  # damage, which whoever reads it is told of
    told = (
        f"offset {read_to - 1} was read in leader epoch {last_batch.leader_epoch} and is now of epoch "
        f"{there.leader_epoch}: it was truncated"
    )
    return Damage(partition.directory, 0, f"OffsetOutOfRangeException: {told}")


def _gone(name: TopicPartition, read_to: int) -> Damage:
    """That there is no such partition any more, of which the stream has read what is below offset `read_to`."""
    told = f"the partition is gone, which was read to offset {read_to}: some records may have been missed"
    return Damage(str(name), 0, f"OffsetOutOfRangeException: {told}")


def _topic_id(partition: DiskPartition, bounds: Bounds) -> str | None:
    """The id of the partition's topic, None without one; a damaged file is noted among the damages of `bounds`."""
    try:
        return topic_id_of(partition.storage, partition.directory)
    except DAMAGE as error:
        bounds.damages.append(Damage.of(joined(partition.directory, PARTITION_METADATA_FILE_NAME), 0, error))
        return None


def _told(
    offsets: Offsets,
    ids: Mapping[TopicPartition, str | None],
    batches: Mapping[TopicPartition, LastBatch | None],
    started_at: Offsets,
) -> Told:
    told = _by_topic(offsets)
    as_lists = {partition: None if batch is None else list(batch) for partition, batch in batches.items()}
    for name, values in ((_TOPIC_IDS, ids), (_LAST_BATCHES, as_lists), (_STARTED_AT, started_at)):
        known = _by_topic({partition: value for partition, value in values.items() if value is not None})
        told |= {name: known} if known else {}
    return told


def _by_topic(values: Mapping[TopicPartition, Any]) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, Any]] = {}
    for (topic, partition), value in sorted(values.items()):
        told.setdefault(topic, {})[str(partition)] = value
    return told


def _offsets(told: Told) -> Offsets:
    """What a checkpoint, or the micro-batch before, says. Raises IllegalArgumentException for anything else."""
    if isinstance(told, Mapping):
        told = {topic: partitions for topic, partitions in told.items() if " " not in topic}
    offsets = partition_numbers("The offset in the stream's checkpoint", told)
    for partition, offset in offsets.items():
        if offset < 0 or partition.partition < 0:
            raise IllegalArgumentException(f"The stream's checkpoint has the offset {offset} for {partition}")
    return offsets


def _started_at(told: Told) -> Offsets:
    """Where the query's first micro-batch begins, and raises, as `_offsets`."""
    return _offsets(told.get(_STARTED_AT, {}))


def _begin(start: Told, end: Told) -> Offsets:
    """Where the micro-batch from `start` to `end` begins.

    When Spark runs a query's first one again it asks `initialOffset` again, which has another answer by then.
    """
    first = _offsets(start)
    if first != _started_at(start):
        return first
    # An earlier minikafka did not note it.
    return _started_at(end) if _STARTED_AT in end else {name: first[name] for name in _offsets(end) if name in first}


def _topic_ids(told: Told) -> dict[TopicPartition, str | None]:
    """The ids of topics beside these offsets. Raises IllegalArgumentException for anything else."""
    return _beside(told, _TOPIC_IDS, uuid_from_string)


def _last_batches(told: Told) -> dict[TopicPartition, LastBatch | None]:
    """The batches beside these offsets, and raises, as `_topic_ids`."""
    return _beside(told, _LAST_BATCHES, lambda fields: LastBatch(*(operator.index(field) for field in fields)))


def _beside(told: Told, name: str, understood: Callable[[Any], T]) -> dict[TopicPartition, T | None]:
    try:
        return {
            TopicPartition(topic, int(partition)): understood(value)
            for topic, partitions in told.get(name, {}).items()
            for partition, value in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise IllegalArgumentException(f"The stream's checkpoint has {name!r} that are none") from None
