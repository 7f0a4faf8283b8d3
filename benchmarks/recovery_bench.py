"""Recovery of a log after an unclean stop: minikafka against Kafka's own UnifiedLog, in one run, on the same directory.

The recovery point is 0, so every batch is read and its CRC checked, and every index is made anew. A sound log is not
changed by that, so both sides recover one directory in turn. A ratio above 1 means that minikafka is faster.

Logs of many segments cost Kafka the square of their number (it lists the directory for each), so it recovers the
smaller of them only.
"""

import tempfile
from pathlib import Path

from jvm_peer import compile_peer, run_peer
from log_bench import SHAPES, Shape, append, one_batch, timed

from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import log_file

LOG_BYTES = 1_000_000_000
ROUNDS = 3
SEGMENTS = 500, 10_000
SEGMENTS_FOR_KAFKA = 500
CONFIG = {"max.message.bytes": 10_000_000}


def write_log(directory: Path, shape: Shape, scheduler: KafkaScheduler) -> int:
    """Fill a log with LOG_BYTES of batches of that shape; returns its size in bytes."""
    batch = one_batch(shape)
    log = Log.create(directory, LogConfig(CONFIG), scheduler=scheduler, time=SystemTime())
    append(log, batch, LOG_BYTES // len(batch))
    size = log.size
    log.close()
    return size


def write_segments(directory: Path, count: int) -> None:
    """A log of `count` segments with one batch each and without indexes."""
    directory.mkdir()
    batch = bytearray(one_batch(SHAPES[2]))
    for number in range(count):
        offset = number * SHAPES[2].count
        batch[:8] = offset.to_bytes(8, "big")
        log_file(directory, offset).write_bytes(batch)


def recover(directory: Path) -> None:
    """With the tasks that it leaves to others: the next recovery of the directory must not meet them."""
    scheduler = KafkaScheduler()
    scheduler.startup()
    log = Log.create(
        directory,
        LogConfig(CONFIG),
        scheduler=scheduler,
        time=SystemTime(),
        recovery_point=0,
        last_shutdown_clean=False,
    )
    log.close()
    scheduler.shutdown()


def main() -> None:
    print(f"{'log':14} {'minikafka':>13} {'UnifiedLog':>13} {'ratio':>8}")
    scheduler = KafkaScheduler()
    scheduler.startup()
    with tempfile.TemporaryDirectory() as scratch:
        class_path = compile_peer()
        for number, shape in enumerate((SHAPES[0], SHAPES[2])):
            directory = Path(scratch) / f"recovery-{number}"
            size = write_log(directory, shape, scheduler)
            mine = min(timed(lambda: recover(directory)) for _ in range(ROUNDS))
            theirs = min(run_peer(class_path, "recover", directory, ROUNDS)["recover"])
            figures = [f"{size / seconds / 1e9:8.2f} GB/s" for seconds in (mine, theirs)]
            print(f"{shape.name:14} {figures[0]} {figures[1]} {theirs / mine:8.2f}", flush=True)
        for count in SEGMENTS:
            directory = Path(scratch) / f"segments-{count}"
            write_segments(directory, count)
            mine = timed(lambda: recover(directory))
            line = f"{f'{count:,} segments':14} {mine:11.2f} s "
            if count <= SEGMENTS_FOR_KAFKA:
                (theirs,) = run_peer(class_path, "recover", directory, 1)["recover"]
                line += f"{theirs:11.2f} s {theirs / mine:10.2f}"
            print(line, flush=True)
    scheduler.shutdown()


if __name__ == "__main__":
    main()
