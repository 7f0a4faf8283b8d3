"""Compaction of a log with ten records a key: minikafka against Kafka's own Cleaner, on copies of the same directory.

Each log is cleaned once as a whole, so one record in ten is kept. Both sides clean several copies, one after the other,
and the best counts: the first one warms up (the JVM's compiler, minikafka's kernel). What both leave behind is compared
byte by byte. A ratio above 1 means that minikafka is faster.

    python benchmarks/cleaner_bench.py [MEGABYTES]      the size of each log before it is cleaned, 100 by default
"""

import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jvm_peer import compile_peer, run_peer
from log_bench import timed

from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.throttler import Throttler
from minikafka.common.time import SystemTime
from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.batch_header import ATTRIBUTES_OFFSET, RECORD_BATCH_OVERHEAD
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.directory_diff import directory_diff

ROUNDS = 3
RECORDS_A_KEY = 10
KEY_SIZE = 16
MAP_MEMORY = 128 * 1024 * 1024
IO_BUFFER_SIZE = 256 * 1024
CONFIG = {"cleanup.policy": "compact", "segment.bytes": 64 * 1024 * 1024}
CONFIG_OF_PEER = {"max.message.bytes": 10_000_000}  # segments of 1 GiB: many become one


@dataclass(frozen=True)
class Shape:
    """Batches of `count` records, each of so many bytes with all that belongs to it."""

    name: str
    count: int
    record_size: int
    codec: str


SHAPES = (
    Shape("160 × 100 B", 160, 100, "none"),
    Shape("16 × 1 KB", 16, 1000, "none"),
    Shape("160 × 100 B, gzip", 160, 100, "gzip"),
    Shape("1 × 100 B", 1, 100, "none"),
)


def write_log(directory: Path, shape: Shape, size: int, scheduler: KafkaScheduler) -> None:
    """A log of about `size` bytes (before compression); its keys are drawn from a tenth as many as it has records."""
    draw = random.Random(5)
    records = [
        SimpleRecord(1000 + i, bytes(KEY_SIZE), draw.randbytes((shape.record_size - 26) // 2).hex().encode())
        for i in range(shape.count)
    ]
    template = MemoryRecords.with_records(Compression.NONE, *records)
    columns = template.first_batch().columns()
    places = np.asarray(columns.key_start)[:, None] + np.arange(KEY_SIZE)
    batches = max(1, size // template.size_in_bytes)
    keys = np.random.default_rng(5).integers(0, batches * shape.count // RECORDS_A_KEY + 1, (batches, shape.count))
    digits = 10 ** np.arange(KEY_SIZE - 1, -1, -1)
    buffer = np.frombuffer(bytearray(template.buffer), np.uint8).copy()
    log = Log.create(directory, LogConfig(CONFIG), scheduler=scheduler, time=SystemTime())
    for keys_of_batch in keys:
        buffer[places] = keys_of_batch[:, None] // digits % 10 + ord("0")
        log.append_as_leader(MemoryRecords.readable_records(sealed(buffer.tobytes(), shape.codec)), 0)
    log.roll()
    log.close()


def sealed(batch: bytes, codec: str) -> bytearray:
    """`batch` with its records compressed, and with the size and checksum that belong to it."""
    from crc32c import crc32c

    out = bytearray(batch)
    if codec != "none":
        compression = Compression.of(codec)
        out[RECORD_BATCH_OVERHEAD:] = compression.compress(batch[RECORD_BATCH_OVERHEAD:], 2)
        out[ATTRIBUTES_OFFSET + 1] |= compression.type.id
        out[8:12] = (len(out) - 12).to_bytes(4, "big")
    out[17:21] = crc32c(bytes(out[ATTRIBUTES_OFFSET:])).to_bytes(4, "big")
    return out


def clean(directory: Path, scheduler: KafkaScheduler) -> tuple[float, float]:
    """Clean the log; returns the seconds that it took, and those of it for the offset map."""
    log = Log.create(directory, LogConfig(CONFIG_OF_PEER), scheduler=scheduler, time=SystemTime())
    log.update_high_watermark(log.log_end_offset)
    time = SystemTime()
    cleaner = Cleaner(
        0,
        SkimpyOffsetMap(MAP_MEMORY),
        io_buffer_size=IO_BUFFER_SIZE,
        max_io_buffer_size=1 << 20,
        dup_buffer_load_factor=0.9,
        throttler=Throttler(1e18, 300, time),
        time=time,
        check_done=lambda _: None,
    )
    outcome = []
    seconds = timed(lambda: outcome.append(cleaner.clean(LogToClean(log, 0, log.log_end_offset))))
    log.close()
    return seconds, outcome[0][1].elapsed_index_secs


def main() -> None:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 100) * 1_000_000
    print(f"{'log':18} {'minikafka':>11} {'(map)':>7} {'Cleaner':>11} {'(map)':>7} {'ratio':>6}")
    scheduler = KafkaScheduler()
    scheduler.startup()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        class_path = compile_peer()
        for shape in SHAPES:
            source = Path(scratch) / "source" / "bench-0"
            write_log(source, shape, size, scheduler)
            bytes_of_log = sum(file.stat().st_size for file in source.glob("*.log"))
            ours = [Path(scratch) / f"ours-{number}" / "bench-0" for number in range(ROUNDS)]
            theirs = [Path(scratch) / f"theirs-{number}" / "bench-0" for number in range(ROUNDS)]
            mine = []
            for copy in ours:
                shutil.copytree(source, copy)
                mine.append(clean(copy, scheduler))
            for copy in theirs:
                shutil.copytree(source, copy)
            peer = run_peer(class_path, "clean", MAP_MEMORY, *theirs)
            directory_diff(ours[0], theirs[0], excluded={"*.deleted": "not yet gone"}).require()
            best, their_best = min(mine), min(zip(peer["clean"], peer["index"], strict=True))
            rates = [f"{bytes_of_log / seconds / 1e6:6.0f} MB/s" for seconds in (best[0], their_best[0])]
            maps = [f"{seconds:5.2f} s" for seconds in (best[1], their_best[1])]
            print(
                f"{shape.name:18} {rates[0]} {maps[0]} {rates[1]} {maps[1]} {their_best[0] / best[0]:6.2f}", flush=True
            )
            for directory in (source, *ours, *theirs):
                shutil.rmtree(directory.parent)
    scheduler.shutdown()


if __name__ == "__main__":
    main()
