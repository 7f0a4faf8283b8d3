"""The table `groups`: what consumer groups have committed, out of the topic `__consumer_offsets`.

| column | meaning |
|---|---|
| `topic`, `partition`, `group` | who committed for what |
| `offset` | the next offset that the group will read |
| `leaderEpoch` | of the last record that it has read, null if it did not say |
| `metadata` | the text that it gave |
| `commitTimestamp` | when |
| `recordOffset` | where in `__consumer_offsets` this stands |

A later commit takes the place of an earlier one, and a tombstone (the group let go of the partition, or the commit
expired) removes it. Commits within a transaction count once that is committed, and then only if nothing later is known
already. Bounds are as for records; `read_committed` changes nothing. `subscribe` names topics that were committed for.
A directory that is named twice is read once. Two replicas of `__consumer_offsets` are told both, unless the option
`copies` says otherwise: a group that one of them has let go of, the other may still have.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, TimestampType

from minikafka.common.errors import NullPointerException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.record.format.control_record import ControlRecordType
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.batch_runs_on_disk import DecodedRun, decoded_runs
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.log_segments_on_disk import DiskPartition
from minikafka.spark.source.partition_bounds import Bounds
from minikafka.spark.source.read_task import ByteRange, byte_ranges
from minikafka.spark.source.record_rows import CORRUPT, damage_row, timestamps_of
from minikafka.spark.source.source_options import SourceOptions
from minikafka.tools.dump_log.coordinator_messages import CoordinatorMessages

GROUPS = "groups"
OFFSETS_TOPIC = "__consumer_offsets"
GROUP_COLUMNS: dict[str, DataType] = {
    "group": StringType(),
    "offset": LongType(),
    "leaderEpoch": IntegerType(),
    "metadata": StringType(),
    "commitTimestamp": TimestampType(),
    "recordOffset": LongType(),
}
"""The columns of `groups` behind topic and partition."""

_COMMITS = (0, 1)
"""The types of records that say what was committed; 0 is that of Kafka 0.8."""
_NO_PRODUCER_ID = -1
_messages = CoordinatorMessages("consumer-offsets")


class _Key(NamedTuple):
    group: str
    topic: str
    partition: int


class _Commit(NamedTuple):
    """A commit as it was written; it is decoded if it counts in the end. `file` and `position`: its batch's."""

    record_offset: int
    record_type: int
    value: bytes
    file: str
    position: int


class CommittedOffsets:
    """What the commits so far have led to. Kafka: `OffsetMetadataManager`."""

    def __init__(self) -> None:
        self.commits: dict[_Key, _Commit] = {}
        self._pending: dict[int, dict[_Key, _Commit]] = {}  # by the producer id of the open transaction

    def replay(self, producer_id: int, key: _Key, commit: _Commit | None) -> None:
        """A commit, or a tombstone; the producer id is that of its transaction, or -1.

        Kafka: `OffsetMetadataManager.replay`.
        """
        if commit is None:
            self.commits.pop(key, None)
            for pending in self._pending.values():
                pending.pop(key, None)
        elif producer_id == _NO_PRODUCER_ID:
            self.commits[key] = commit
        else:
            self._pending.setdefault(producer_id, {})[key] = commit

    def replay_end_transaction_marker(self, producer_id: int, marker: ControlRecordType) -> None:
        """The end of a transaction. Kafka: `OffsetMetadataManager.replayEndTransactionMarker`."""
        pending = self._pending.pop(producer_id, {})
        if marker is ControlRecordType.COMMIT:
            for key, commit in pending.items():
                present = self.commits.get(key)
                if present is None or commit.record_offset > present.record_offset:
                    self.commits[key] = commit


class GroupRows:
    """Makes the rows of `groups`, with the columns of `schema` and no others."""

    def __init__(self, schema: pa.Schema, options: SourceOptions):
        self._schema = schema
        self._options = options._replace(isolation=IsolationLevel.READ_UNCOMMITTED)

    def of(self, partition: DiskPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition of `__consumer_offsets`. Raises CorruptRecordException for damage, in FAILFAST."""
        damages: list[Damage] = []
        offsets = self._replayed(partition, damages)
        columns: dict[str, list[object]] = {name: [] for name in self._schema.names}
        for key, commit in sorted(offsets.commits.items()):
            if not self._options.subscription.includes(TopicPartition(key.topic, key.partition)):
                continue
            try:
                _, _, value = _messages.value(commit.record_type, commit.value)
            except DAMAGE as error:
                damages.append(Damage.of(commit.file, commit.position, error))
                continue
            leader_epoch = getattr(value, "leader_epoch", -1)
            row = {
                **key._asdict(),
                "offset": value.offset,
                "leaderEpoch": leader_epoch if leader_epoch >= 0 else None,
                "metadata": value.metadata,
                "commitTimestamp": value.commit_timestamp,
                "recordOffset": commit.record_offset,
                CORRUPT: None,
            }
            for name, column in columns.items():
                column.append(row[name])
        for damage in damages:
            yield from damage_row(self._schema, self._options.on_damage, partition.topic_partition, damage)
        if any(columns.values()):
            arrays = [
                timestamps_of(np.array(columns[field.name], np.int64))
                if pa.types.is_timestamp(field.type)
                else pa.array(columns[field.name], field.type)
                for field in self._schema
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _replayed(self, partition: DiskPartition, damages: list[Damage]) -> CommittedOffsets:
        offsets, bounds = CommittedOffsets(), Bounds(self._options)
        readable = bounds.readable(partition)
        damages += bounds.damages
        for found in byte_ranges(partition, readable, INT_MAX, None):
            if not isinstance(found, ByteRange):
                damages.append(found[1])
                continue
            for run in decoded_runs(found, _all, check_crcs=self._options.check_crcs):
                if isinstance(run, Damage):
                    damages.append(run)
                else:
                    _replay(run, found, offsets, damages)
        return offsets


def _all(batches: BatchColumns) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.ones(len(batches), np.bool_)


def _replay(run: DecodedRun, byte_range: ByteRange, offsets: CommittedOffsets, damages: list[Damage]) -> None:
    columns, file, place = run.columns, byte_range.segment.path, 0
    record_offsets = np.asarray(columns.offsets).tolist()
    for batch, count in zip(run.batches, run.counts.tolist(), strict=True):
        producer_id = batch.producer_id if batch.transactional else _NO_PRODUCER_ID
        for index in range(place, place + count):
            if not byte_range.start_offset <= record_offsets[index] < byte_range.end_offset:
                continue
            try:
                key, value = columns.key(index), columns.value(index)
                if key is None:
                    raise NullPointerException("a record without a key")
                if batch.control:
                    offsets.replay_end_transaction_marker(batch.producer_id, ControlRecordType.parse(key))
                elif (found := _key_of(bytes(key))) is not None:
                    record_type, names = found
                    commit = _Commit(record_offsets[index], record_type, bytes(value or b""), file, batch.position)
                    offsets.replay(producer_id, names, None if value is None else commit)
            except DAMAGE as error:
                damages.append(Damage.of(file, batch.position, error))
        place += count


@lru_cache(maxsize=1 << 16)
def _key_of(key: bytes) -> tuple[int, _Key] | None:
    """The type and key of a commit, None for another record. Raises RuntimeException."""
    record_type, message = _messages.key(key)
    if record_type not in _COMMITS or message is None:
        return None
    return record_type, _Key(message.group, message.topic, message.partition)
