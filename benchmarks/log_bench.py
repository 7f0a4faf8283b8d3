"""Append, sequential read, random read and index look-up: minikafka against Kafka's own UnifiedLog, in one run.

Both sides do the same rounds on the same batches, one thread each, one after the other; the first round warms up (the
JVM's compiler, minikafka's kernel) and the best of the others counts. A ratio above 1 means that minikafka is faster.
"""

import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from jvm_peer import compile_peer, run_peer

from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

ROUNDS = 4


@dataclass(frozen=True)
class Shape:
    """Batches of one kind: `count` records of `size` value bytes; how many appends, random reads and look-ups a
    round.
    """

    name: str
    count: int
    size: int
    appends: int
    random_reads: int


SHAPES = (
    Shape("1,000 × 1 KB", 1000, 1000, 300, 20_000),
    Shape("8,000 × 100 B", 8000, 100, 300, 20_000),
    Shape("10 × 100 B", 10, 100, 100_000, 50_000),
)


def one_batch(shape: Shape) -> bytes:
    """A batch as a client sends it: base offset 0, incompressible values, no keys."""
    values = random.Random(1)
    records = [SimpleRecord(1000, None, values.randbytes(shape.size)) for _ in range(shape.count)]
    return bytes(MemoryRecords.with_records(Compression.NONE, *records).buffer)


def minikafka_rounds(directory: Path, batch: bytes, shape: Shape) -> dict[str, list[float]]:
    """The seconds of each round for each measurement, by name: what `LogBench.rounds` does."""
    seconds = {"append": [], "read": [], "random_read": [], "lookup": []}
    scheduler = KafkaScheduler()
    scheduler.startup()
    for number in range(ROUNDS):
        log_dir = directory / f"bench-{number}"
        log = Log.create(log_dir, LogConfig({"max.message.bytes": 10_000_000}), scheduler=scheduler, time=SystemTime())
        seconds["append"].append(timed(lambda: append(log, batch, shape.appends)))
        log.update_high_watermark(log.log_end_offset)
        seconds["read"].append(timed(lambda: read_through(log)))
        seconds["random_read"].append(timed(lambda: read_at_random(log, shape.random_reads)))
        seconds["lookup"].append(timed(lambda: look_up(log, shape.random_reads)))
        log.close()
        shutil.rmtree(log_dir)
    scheduler.shutdown()
    return seconds


def append(log: Log, batch: bytes, appends: int) -> None:
    buffer = bytearray(batch)
    for _ in range(appends):
        buffer[:8] = bytes(8)  # a client's batch begins at offset 0; the append before left its own there
        log.append_as_leader(MemoryRecords.readable_records(buffer), 0)


def read_through(log: Log) -> None:
    """Every byte is fetched, each batch's CRC checked and each record decoded."""
    offset = 0
    while offset < log.log_end_offset:
        fetched = log.read(offset, 1 << 20, FetchIsolation.HIGH_WATERMARK).records
        for batch in fetched.to_memory_records().batches():
            batch.ensure_valid()
            batch.columns()
            offset = batch.next_offset


def read_at_random(log: Log, reads: int) -> None:
    offsets, end = random.Random(7), log.log_end_offset
    for _ in range(reads):
        log.read(int(offsets.random() * end), 4096, FetchIsolation.HIGH_WATERMARK)


def look_up(log: Log, look_ups: int) -> None:
    offsets, end = random.Random(7), log.log_end_offset
    index = log.log_segments[0].offset_index
    for _ in range(look_ups):
        index.lookup(int(offsets.random() * end))


def timed(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(shape: Shape, batch: bytes, ours: dict[str, list[float]], kafkas: dict[str, list[float]]) -> None:
    """A line for each measurement: minikafka's figure, the JVM's, and the ratio of the speeds."""
    for name in ("append", "read", "random_read", "lookup"):
        mine, theirs = (min(seconds[name][1:]) for seconds in (ours, kafkas))
        whole = name in ("append", "read")
        times = shape.appends if whole else shape.random_reads
        if whole and len(batch) > 100_000:
            figures = [f"{len(batch) * times / s / 1e9:8.2f} GB/s" for s in (mine, theirs)]
        else:
            figures = [f"{s / times * 1e6:8.2f} µs  " for s in (mine, theirs)]
        print(f"{shape.name:14} {name:12} {figures[0]} {figures[1]} {theirs / mine:8.2f}", flush=True)


def main() -> None:
    print(f"{'batch':14} {'':12} {'minikafka':>13} {'UnifiedLog':>13} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        class_path = compile_peer()
        for shape in SHAPES:
            batch = one_batch(shape)
            batch_file = directory / "batch"
            batch_file.write_bytes(batch)
            ours = minikafka_rounds(directory, batch, shape)
            kafkas = run_peer(class_path, directory, batch_file, shape.appends, shape.random_reads, ROUNDS)
            report(shape, batch, ours, kafkas)


if __name__ == "__main__":
    main()
