"""The world stops after each single effect on disk; minikafka and Apache Kafka open what is left, and end equal."""

import shutil

import pytest

from minikafka.common import file_ops
from minikafka.log.segment_files import create_new_cleaned_segment
from minikafka.witness.operations import parse_operation

FLUSHED = "flush force_flush_active_segment=true"
BEFORE = [
    "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=0]",
    "append_as_leader leader_epoch=1 [3x30 pid=8 epoch=0 seq=0 txn]",
    *[f"append_as_leader leader_epoch=2 [3x60 pid=7 epoch=0 seq={seq}]" for seq in (3, 6, 9)],
    "append_as_leader leader_epoch=2 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]",
    "update_high_watermark leo",
    FLUSHED,
    "checkpoint",
]
LIVES = {
    "append and roll": [
        "append_as_leader leader_epoch=3 [3x60 pid=7 epoch=0 seq=12]",
        "append_as_leader leader_epoch=3 [3x60 pid=9 epoch=0 seq=0 txn]",
        "append_as_leader leader_epoch=3 [3x60]",
        "append_as_leader leader_epoch=3 origin=coordinator transaction_version=0 [abort pid=9 epoch=0]",
        "tick 0",
    ],
    "retention": ["maybe_increment_log_start_offset 7", "delete_old_segments", "tick 60000"],
    "retention of everything": ["maybe_increment_log_start_offset leo", "delete_old_segments", "tick 60000"],
    "truncation": ["truncate_to 8", "tick 60000", "append_as_follower leader_epoch=3 [3x60 leader_epoch=3]"],
    "full truncation": ["truncate_fully_and_start_at 40", "tick 60000", "append_as_leader leader_epoch=3 [3x60]"],
    "clean close and load": ["append_as_leader leader_epoch=3 [3x60]", "reopen"],
    "recovery": ["append_as_leader leader_epoch=3 [3x60]", "reopen clean=false"],
    "recovery after recovery": ["reopen clean=false", "truncate_to 12", "reopen clean=false", "reopen clean=false"],
}


def apply(*lines):
    def act(runner):
        for line in lines:
            observation = runner.apply(parse_operation(line))
            assert not observation.error, observation

    return act


def compact(runner):
    """Put one segment in the place of the first two, and one in the place of the third, as compaction does."""
    log = runner.log
    first, second, third, *_ = log.log_segments
    cleaned = []
    for sources in ([first, second], [third]):
        segment = create_new_cleaned_segment(log.dir, log.config, sources[0].base_offset)
        for source in sources:
            segment.append_from_file(source.log, 0)
        segment.on_become_inactive_segment()
        segment.flush()
        cleaned.append(segment)
    log.replace_segments(cleaned, [first, second, third])
    apply("tick 60000")(runner)


LIVES = {name: apply(*lines) for name, lines in LIVES.items()} | {"replacing segments": compact}


@pytest.mark.parametrize("name", LIVES)
def test_whatever_is_left_is_opened_equally(two_logs, name):
    lived = two_logs()
    lived.do(*BEFORE)
    left = stopped_after_each_effect(lived.minikafka, LIVES[name])
    assert len(left) > 5
    for effect, directory, checkpoints in left:
        logs = two_logs()
        logs.kill()
        for runner in logs.runners:
            shutil.rmtree(runner.directory)
            shutil.copytree(directory, runner.directory)
            runner.checkpoints = checkpoints
        observation = logs.do("reopen clean=false")
        assert not observation.error, f"after {effect}: {observation}"
        if "truncation" not in name and "after" not in name:
            assert observation.log_end_offset >= checkpoints["recovery_point"], f"flushed records lost after {effect}"


def stopped_after_each_effect(runner, act):
    """What the directory looks like after each effect of `act(runner)`: (effect, copy, checkpoints), no two equal."""
    left, seen = [], set()

    def stop_the_world(operation, path):
        content = tuple((file.name, file.read_bytes()) for file in sorted(runner.directory.iterdir()))
        if runner.directory in path.parents and content not in seen:
            seen.add(content)
            copy = runner.directory.parent / f"stopped-{len(left)}"
            shutil.copytree(runner.directory, copy)
            left.append((f"{operation} {path.name}", copy, dict(runner.checkpoints)))

    with file_ops.observe(stop_the_world):
        act(runner)
    return left
