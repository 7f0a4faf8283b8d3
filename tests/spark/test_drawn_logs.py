"""At any point of a drawn workload, the rows are what the log's consumers see: here the log itself tells what."""

import random
from pathlib import Path

import pytest

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.topic_partition import TopicPartition
from minikafka.witness.log.differ import PROFILES
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.operations import parse_operation
from minikafka.witness.log.run import Runner, minikafka_log
from tests.slow.differential.test_old_formats import aged
from tests.spark.rows import rows

LOOKS = 5
"""How often a log is looked at."""


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_log_that_is_being_written(tmp_path, seed, silent):
    live_and_look(tmp_path, seed, operations=40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 132))
def test_rows_of_more_logs(tmp_path, seed, silent):
    live_and_look(tmp_path, seed, operations=120)


def live_and_look(home: Path, seed: int, operations: int) -> None:
    draw = random.Random(seed)
    profile = list(PROFILES)[seed % len(PROFILES)]
    knobs = {"codecs": ("none", "gzip", "snappy", "lz4", "zstd"), **PROFILES[profile], "refused": 0.0}
    workload = draw_workload(seed, operations, **knobs)
    if "follower" in profile and seed % 2:
        workload = workload.with_operations(aged(operation, random.Random(seed)) for operation in workload)
    runner = Runner(minikafka_log, home / "topic-0", workload)
    looks = sorted(draw.sample(range(len(list(workload))), LOOKS - 1)) + [len(list(workload)) - 1]
    for number, operation in enumerate(workload):
        runner.apply(operation)
        if number in looks and runner.log is not None:
            demand_the_same(runner, draw)
    runner.let_go()


def demand_the_same(runner: Runner, draw: random.Random) -> None:
    log_dir, partition = runner.directory.parent, TopicPartition("topic", 0)
    high_watermark = runner.log.high_watermark
    batches = [batch for segment in runner.log.log_segments for batch in segment.log.batches()]
    if any(batch.base_offset < high_watermark <= batch.last_offset for batch in batches):
        return  # as in no cluster: followers have whole batches
    if not ascend(runner.log):
        return  # as in no cluster: what a leader sends ascends; the source tells it
    for name, offset in (
        ("replication-offset-checkpoint", high_watermark),
        ("log-start-offset-checkpoint", runner.log.log_start_offset),
    ):
        OffsetCheckpointFile(log_dir / name).write({partition: offset})
    # A log that was truncated inside a gap ends above its last batch until the next one comes: its directory alone
    # looks as if records were lost.
    cut_in_a_gap = high_watermark > (batches[-1].next_offset if batches else runner.log.active_segment.base_offset)
    loss = {"failOnDataLoss": False} if cut_in_a_gap else {}
    for level, option in (("read_uncommitted", ""), ("read_committed", " read_committed=true")):
        seen = runner.apply(parse_operation(f"consume start{option}")).result
        size = draw.choice((100, 1000, 1 << 20))
        told = [row["offset"] for row in rows(log_dir, isolation__level=level, maxBytesPerTask=size, **loss)]
        assert told == expanded(seen), level


def ascend(log) -> bool:
    """Whether the batches' offsets ascend; a workload's follower is sent others, too, and only asks for their ends."""
    due = 0
    for segment in log.log_segments:
        due = max(due, segment.base_offset)
        for batch in segment.log.batches():
            first = batch.base_offset if batch.magic == 2 else batch.last_offset
            if first < due:
                return False
            due = batch.next_offset
    return True


def expanded(offsets: str) -> list[int]:
    """`1 3..5` as 1, 3, 4, 5."""
    found = []
    for part in offsets.split() if offsets[:1].isdigit() else ():
        first, _, last = part.partition("..")
        found += range(int(first), int(last or first) + 1)
    return found
