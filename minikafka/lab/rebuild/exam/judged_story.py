"""What the judge's log does in a story: all of it is known before a learner's log is asked anything."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.common.own_directory import own_memory
from minikafka.lab.rebuild.exam.stories import Damage, Step, Story
from minikafka.lab.rebuild.trial import judge_factory
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.witness.directory_diff import FilesOf
from minikafka.witness.log.operations import AppendAsLeader, Read, Reopen
from minikafka.witness.log.run import Runner
from minikafka.witness.log.workload import Workload


@dataclass(frozen=True)
class JudgedStep:
    """A step, the arguments of the method of a log that it calls, if it calls one with any, and what that returns."""

    step: Step
    arguments: tuple[Any, ...] = ()
    right: int | bytes | None = None


@dataclass(frozen=True)
class JudgedStory:
    """A story with what the judge's log returned, and files that it left when it was closed: their content by name."""

    story: Story
    steps: tuple[JudgedStep, ...]
    files: dict[str, bytes]


def judged(story: Story, suffixes: Sequence[str] = ("",)) -> JudgedStory:
    """Let the judge's log do the story, in a directory that is gone afterwards; kept are files with these suffixes."""
    with tempfile.TemporaryDirectory(prefix="judge-", dir=own_memory()) as desk:
        runner = Runner(judge_factory(), Path(desk, "topic-0"), Workload((), story.config))
        try:
            steps = tuple(_judged(runner, step) for step in story.steps)
        finally:
            if runner.log is not None:
                runner.log.flush(force_flush_active_segment=True)
                runner.log.close()
        left = FilesOf(runner.directory)
        return JudgedStory(story, steps, {name: left[name] for name in left if name.endswith(tuple(suffixes))})


def _judged(runner: Runner, step: Step) -> JudgedStep:
    if isinstance(step, Damage):
        runner.let_go()
        newest = max(runner.directory.glob(f"*{LOG_FILE_SUFFIX}"))
        newest.write_bytes(step.done_to(newest.read_bytes()))
        runner.checkpoints = {"recovery_point": 0, "log_start_offset": 0}  # all segments are recovered
        _apply(runner, Reopen(clean=False))
        return JudgedStep(step)
    if isinstance(step, AppendAsLeader):
        (batch,) = step.batches
        before = runner.log.log_end_offset
        data = bytes(batch.encode(runner.time.milliseconds(), 0, None))
        _apply(runner, step)
        return JudgedStep(step, (data, step.leader_epoch), before)
    if isinstance(step, Read):
        offset = max(0, step.offset.resolve(runner.places()))
        return JudgedStep(step, (offset, step.max_length), _bytes_read(runner, offset, step.max_length))
    _apply(runner, step)
    return JudgedStep(step)


def _apply(runner: Runner, step: Any) -> None:
    observed = runner.apply(step)
    assert not observed.error, observed


def _bytes_read(runner: Runner, offset: int, max_bytes: int) -> bytes:
    found: Any = runner.log.read(offset, max_bytes, FetchIsolation.LOG_END)
    place = found.fetch_offset_metadata
    size = found.records.size_in_bytes
    if not size:
        return b""
    segment = runner.directory / f"{place.segment_base_offset:020}{LOG_FILE_SUFFIX}"
    return segment.read_bytes()[place.relative_position_in_segment :][:size]
