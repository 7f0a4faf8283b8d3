"""Where offsets lie: asked of a log that has been appended to, minikafka's or Kafka's own."""

from collections.abc import Sequence
from typing import Any

from minikafka.lab.stage.workbench import scratch
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import START_MS, Workload


def appended(counts: Sequence[int], segment_bytes: int) -> Workload:
    """A workload: a batch of each of `counts` records with values of 10 bytes."""
    lines = [f"config internal.segment.bytes={segment_bytes}", *(f"append_as_leader [{count}x10]" for count in counts)]
    return Workload.parse("\n".join(lines))


def places(factory: Any, workload: Workload, offsets: Sequence[int]) -> list[LogOffsetMetadata]:
    """Where a read from each of `offsets` begins, in a log of `factory` after `workload`: segment, and byte of the
    batch.
    """
    runner = Runner(factory, scratch(), workload)
    try:
        for operation in workload:
            observed = runner.apply(operation)
            assert not observed.error, observed
        return [runner.log.read(offset, 1, FetchIsolation.LOG_END).fetch_offset_metadata for offset in offsets]
    finally:
        runner.let_go()


def batches(counts: Sequence[int], segment_bytes: int) -> list[tuple[int, int, int]]:
    """Base offset of the segment, base offset and bytes of each batch that `appended` writes."""
    bases = [sum(counts[:number]) for number in range(len(counts))]
    found = places(minikafka_log, appended(counts, segment_bytes), bases)
    sizes = [Batch(count, 10).size_in_bytes(START_MS) for count in counts]
    return [(place.segment_base_offset, base, size) for place, base, size in zip(found, bases, sizes, strict=True)]
