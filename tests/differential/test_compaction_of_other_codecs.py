"""A batch that loses records is compressed anew, by another library than Kafka's: other bytes, but the same records.

Batches of other sizes make other segments, so that a workload is compared up to its first cleaning that changes some.
"""

import pytest

from minikafka.record.file_records import FileRecords
from minikafka.witness.kafka_log import kafka_log
from minikafka.witness.observation import QUANTITIES
from minikafka.witness.runner import Runner, minikafka_log
from minikafka.witness.workload_drawer import draw_workload

SEEDS = range(6)
OF_BYTES = ("result", "segments", "index_entries")
"""What is observed that depends on the sizes of batches."""


def batches(directory):
    """Of each batch in the segments: where it lies, its header but for length and CRC, and its records."""
    found = []
    for path in sorted(directory.glob("*.log")):
        records = FileRecords.open(path, mutable=False)
        for batch in records.batches():
            header = path.read_bytes()[batch.position : batch.position + 61]
            found.append((path.name, header[:8], header[12:17], header[21:61], [str(record) for record in batch]))
        records.close()
    return found


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd"])
def test_the_same_records_in_the_same_batches(kafka, tmp_path, codec):
    changed = 0
    for seed in SEEDS:
        settings = {"preallocate": "false"}
        workload = draw_workload(seed, 60, compaction=True, producers=seed % 2 * 2, codecs=(codec,), settings=settings)
        home = tmp_path / str(seed)
        runners = [
            Runner(factory, home / factory.name / "topic-0", workload) for factory in (minikafka_log, kafka_log(kafka))
        ]
        for operation in workload:
            ours, theirs = (runner.apply(operation) for runner in runners)
            uncompared = OF_BYTES if operation.kind == "clean" else ()
            for quantity in set(QUANTITIES) - {"message", *uncompared}:
                assert getattr(ours, quantity) == getattr(theirs, quantity), (operation, quantity)
            if operation.kind == "clean":
                here, there = (batches(runner.directory) for runner in runners)
                assert here == there
                if any(getattr(ours, quantity) != getattr(theirs, quantity) for quantity in OF_BYTES):
                    changed += 1
                    break
        for runner in runners:
            runner.let_go()
    assert changed
