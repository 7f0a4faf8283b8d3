"""A follower whose log has batches of the formats before Kafka 0.11 (magic 0 and 1): the same as Kafka."""

import random
from dataclasses import dataclass, fields

import pytest

from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.differ import compare
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.operations import AppendAsFollower

WORKLOADS = 12
SIZE = 50


@dataclass(frozen=True)
class OldBatch(Batch):
    """A batch of magic 0 or 1. Without a codec it is one message for each record, each with an offset of its own."""

    magic: int = 1

    def encode(self, now, base_offset=0, *_):
        compression = Compression(CompressionType[self.codec.upper()])
        builder = MemoryRecordsBuilder(compression, magic=self.magic, base_offset=base_offset)
        for i, timestamp in enumerate(self.timestamps(now)):
            timestamp = -1 if self.magic == 0 else timestamp
            builder.append_with_offset(base_offset + i, timestamp, self.key(i), self.value(i))
        return bytes(builder.build().buffer)


def aged(operation, rand):
    """The operation with some of its batches in an old format."""
    if not isinstance(operation, AppendAsFollower):
        return operation
    return AppendAsFollower(tuple(_aged(batch, rand) for batch in operation.batches), operation.leader_epoch)


def _aged(batch, rand):
    magic = rand.choice([0, 1, 1, 2])
    if magic == 2 or batch.pid >= 0 or batch.damage or (magic == 0 and batch.codec == "lz4"):
        return batch
    kept = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return OldBatch(**{**kept, "headers": 0, "last": None}, magic=magic)


@pytest.mark.parametrize("seed", range(WORKLOADS))
def test_same_observations_and_same_bytes(kafka, seed):
    rand = random.Random(seed)
    codecs = ("none", "none", "gzip", "snappy", "lz4")
    drawn = draw_workload(seed, SIZE, follower=True, epochs=True, unclean=seed % 2 == 1, codecs=codecs)
    workload = drawn.with_operations(aged(operation, rand) for operation in drawn)
    batches = [batch for _, append in workload.appends for batch in append.batches]
    assert sum(isinstance(batch, OldBatch) for batch in batches) > 5
    comparison = compare(kafka, workload)
    assert comparison.same, comparison


@pytest.mark.parametrize("seed", range(WORKLOADS))
def test_compaction_writes_them_anew(kafka, seed):
    """Old tombstones go by the times at which files were changed, which are the machine's: so none is old enough."""
    rand = random.Random(seed)
    drawn = draw_workload(
        seed,
        SIZE,
        compaction=True,
        follower=True,
        codecs=("none", "none", "gzip", "snappy", "lz4"),
        settings={"delete.retention.ms": 3_600_000},
        weights={"update_config": 0},
    )
    workload = drawn.with_operations(aged(operation, rand) for operation in drawn)
    comparison = compare(kafka, workload)
    assert comparison.same, comparison
