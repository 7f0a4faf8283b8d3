"""A broker's log directory is opened and closed: minikafka's LogManager against Kafka's own, on copies of one tree.

1,000 partitions of three small segments after a clean stop and after an unclean one; 50 partitions of larger ones after
an unclean one. After an unclean stop without recovery points every batch is read and every index made anew. Both sides
do the same rounds, with one thread and with Kafka's default of two, and the best counts. What both leave behind is
compared byte by byte. A ratio above 1 means that minikafka is faster.

    python benchmarks/log_manager_bench.py [PARTITIONS]      of the first tree, 1,000 by default
"""

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from jvm_peer import compile_peer, run_peer
from log_bench import SHAPES, append, one_batch, timed

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import RECOVERY_POINT_CHECKPOINT_FILE, OffsetCheckpointFile
from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.witness.directory_diff import directory_diff

ROUNDS = 3
SEGMENTS = 3
THREADS = 1, 2
UNFINISHED = {"*.tmp": "Kafka's scheduler may still be at work when the process ends"}


@dataclass(frozen=True)
class Tree:
    """`partitions` logs of `SEGMENTS` segments of `batches` batches each (of `LogBench`'s third shape)."""

    name: str
    partitions: int
    batches: int
    clean: bool


def write_tree(log_dir: Path, tree: Tree, scheduler: KafkaScheduler) -> None:
    """A log directory as a clean stop leaves it; all partitions have the same bytes."""
    log = Log.create(log_dir / "bench-0", LogConfig(), scheduler=scheduler, time=SystemTime())
    batch = one_batch(SHAPES[2])
    for number in range(SEGMENTS):
        if number:
            log.roll()
        append(log, batch, tree.batches)
    log.close()
    for number in range(1, tree.partitions):
        shutil.copytree(log_dir / "bench-0", log_dir / f"bench-{number}")
    ends = {TopicPartition("bench", number): log.log_end_offset for number in range(tree.partitions)}
    OffsetCheckpointFile(log_dir / RECOVERY_POINT_CHECKPOINT_FILE).write(ends)
    CleanShutdownFileHandler(log_dir).write()


def manage(log_dir: Path, tree: Tree, threads: int) -> tuple[float, float]:
    """Seconds of a start and of a shutdown: what `LogBench.manage` does."""
    if not tree.clean:
        CleanShutdownFileHandler(log_dir).delete()
        OffsetCheckpointFile(log_dir / RECOVERY_POINT_CHECKPOINT_FILE).write({})
    scheduler = KafkaScheduler()
    scheduler.startup()
    manager = LogManager(
        [log_dir],
        config_repository=MapConfigRepository(),
        initial_default_config=LogConfig(),
        scheduler=scheduler,
        time=SystemTime(),
        cleaner_config=CleanerConfig(enable_cleaner=False),
        recovery_threads_per_data_dir=threads,
    )
    startup = timed(manager.startup)
    scheduler.shutdown()
    return startup, timed(manager.shutdown)


def main() -> None:
    partitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    trees = (
        Tree(f"{partitions:,} partitions, clean", partitions, 20, clean=True),
        Tree(f"{partitions:,} partitions, unclean", partitions, 20, clean=False),
        Tree(f"{partitions // 20:,} larger ones, unclean", partitions // 20, 1500, clean=False),
    )
    print(f"{'':28} {'threads':>7} {'minikafka':>12} {'LogManager':>12} {'ratio':>7}   {'shutdowns':>18}")
    writer = KafkaScheduler()
    writer.startup()
    with tempfile.TemporaryDirectory() as scratch:
        class_path = compile_peer()
        for tree in trees:
            mine, theirs = Path(scratch, "minikafka"), Path(scratch, "kafka")
            write_tree(mine, tree, writer)
            shutil.copytree(mine, theirs)
            for threads in THREADS:
                startup, shutdown = (min(each) for each in zip(*(manage(mine, tree, threads) for _ in range(ROUNDS))))
                peer = run_peer(class_path, "manage", theirs, threads, str(tree.clean).lower(), ROUNDS)
                figures = f"{startup:10.2f} s {min(peer['startup']):10.2f} s {min(peer['startup']) / startup:7.2f}"
                ends = f"{shutdown:8.2f} s {min(peer['shutdown']):6.2f} s"
                print(f"{tree.name:28} {threads:7} {figures}   {ends}", flush=True)
            directory_diff(mine, theirs, excluded=UNFINISHED).require()
            shutil.rmtree(mine)
            shutil.rmtree(theirs)
    writer.shutdown()


if __name__ == "__main__":
    main()
