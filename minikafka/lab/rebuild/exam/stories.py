"""A story: what is done to a learner's log and to Kafka's, and the first thing in which they differ."""

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.lab.rebuild.exam.learners_log import LearnersLog
from minikafka.lab.rebuild.exam.learners_process import LearnersProcess
from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.rebuild.trial import YOURS, judge_factory, judge_name
from minikafka.lab.stage.workbench import scratch
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.operations import AppendAsLeader, Operation, Read, Reopen, Roll, parse_operation
from minikafka.witness.runner import Runner
from minikafka.witness.workload import Workload

AnyLearnersLog = LearnersLog | LearnersProcess
_LEGEND = """\
The steps follow, and after the last one the log is closed. Compared are what append and read return, and then the
files that end with {suffixes}; the others in right/ are not asked for here.
[3x30 ts=now-500 keys=3] is a batch of 3 records with values of 30 bytes, made 500 ms ago, with keys drawn from 3."""
_NAMES = {"internal.segment.bytes": "segment.bytes"}  # a topic's own setting has a lower bound of a megabyte


class Damage(NamedTuple):
    """A kill, and then damage to the newest segment's `.log`: bytes cut off its end, or a byte changed (counted from
    the end), or bytes of garbage added.
    """

    cut: int = 0
    changed: int = 0
    garbage: int = 0

    def __str__(self) -> str:
        done = {"cut off": self.cut, "from the end changed": self.changed, "of garbage added": self.garbage}
        return "killed; " + ", ".join(f"{count} bytes {words}" for words, count in done.items() if count)

    def do_to(self, directory: Path) -> None:
        """Damage the newest `.log` of the directory."""
        file = max(directory.glob(f"*{LOG_FILE_SUFFIX}"))
        data = bytearray(file.read_bytes())
        if self.changed and self.changed <= len(data):
            data[-self.changed] ^= 1
        file.write_bytes(bytes(data[: max(0, len(data) - self.cut)]) + b"\0" * self.garbage)


@dataclass(frozen=True)
class Story:
    """Settings (Kafka's names) and steps: operations of a workload, and damages. Afterwards the log is closed."""

    config: dict[str, str]
    steps: tuple[Operation | Damage, ...]

    @property
    def settings(self) -> dict[str, int]:
        """The settings as a learner's log gets them."""
        return {_NAMES.get(name, name): int(value) for name, value in self.config.items()}

    @property
    def settings_in_words(self) -> str:
        """The settings in one line."""
        return ", ".join(f"{name} {value}" for name, value in self.settings.items())


def first_difference(mine: AnyLearnersLog, story: Story, suffixes: Sequence[str], keep: Path | None = None) -> str:
    """Do the story with a learner's log and with the judge's; where they differ first, in words, "" for nowhere.

    Compared are the offsets that appends return, the bytes that reads return, and after the close all files that end
    with one of `suffixes`, byte by byte. Errors of the learner's code are differences.

    If there is one, both directories as they stood then, and the story, are laid into the directory `keep`.
    """
    runner = Runner(judge_factory(), scratch("topic-0"), Workload((), story.config))
    directory = scratch("topic-0")
    directory.mkdir()
    told = _first_difference(runner, mine, directory, story, suffixes)
    if told and keep is not None:
        shutil.copytree(directory, keep / "yours" / directory.name)
        shutil.copytree(runner.directory, keep / "right" / directory.name)
        steps = [f"{number}. {step}" for number, step in enumerate(story.steps)]
        lines = [story.settings_in_words, _LEGEND.format(suffixes=", ".join(suffixes)), *steps, told, ""]
        (keep / "story.txt").write_text("\n".join(lines), encoding="utf-8")
    return told


def _first_difference(
    runner: Runner, mine: AnyLearnersLog, directory: Path, story: Story, suffixes: Sequence[str]
) -> str:
    when = "Before step 0"
    try:
        mine.open(directory, story.settings, clean=True)
        for number, step in enumerate(story.steps):
            when = f"At step {number} ({step})"
            if told := _told_apart(runner, mine, directory, story, step):
                return f"{when} {told}"
        when = "After the last step"
        mine.close()
    except LearnersError as error:
        return f"{when}, in {mine.method}:\n{error}"
    finally:
        if runner.log is not None:
            runner.log.flush(force_flush_active_segment=True)
            runner.log.close()
            runner.log = None
    left_out = {
        f"*{suffix}": "not asked for" for suffix in _suffixes_of(directory, runner.directory) if suffix not in suffixes
    }
    files = directory_diff(directory, runner.directory, (YOURS.replace("function", "log"), judge_name()), left_out)
    return "" if files.equal else f"After the close: {files.differences[0]}"


def _told_apart(runner: Runner, mine: AnyLearnersLog, directory: Path, story: Story, step: Operation | Damage) -> str:
    """Do one step to both; what tells them apart, "" for nothing."""
    if isinstance(step, Damage):
        mine.kill()
        runner.let_go()
        for each in (directory, runner.directory):
            step.do_to(each)
        runner.checkpoints = {"recovery_point": 0, "log_start_offset": 0}  # all segments are recovered
        observed = runner.apply(Reopen(clean=False))
        assert not observed.error, observed
        mine.open(directory, story.settings, clean=False)
        return ""
    if isinstance(step, AppendAsLeader):
        (batch,) = step.batches
        before = runner.log.log_end_offset
        data = bytes(batch.encode(runner.time.milliseconds(), 0, None))
        observed = runner.apply(step)
        assert not observed.error, observed
        given = mine.append(data, step.leader_epoch)
        return "" if given == before else f"append returned {given}; the batch begins at offset {before}."
    if isinstance(step, Read):
        offset = max(0, step.offset.resolve(runner.places()))
        right, given = _bytes_read(runner, offset, step.max_length), mine.read(offset, step.max_length)
        return "" if given == right else f"read returned {_said(given)}; {judge_name()} reads {_said(right)}."
    runner.apply(step)
    if isinstance(step, Roll):
        mine.roll()
    elif isinstance(step, Reopen):
        mine.close()
        mine.open(directory, story.settings, clean=True)
    return ""


def _bytes_read(runner: Runner, offset: int, max_bytes: int) -> bytes:
    found: Any = runner.log.read(offset, max_bytes, FetchIsolation.LOG_END)
    place = found.fetch_offset_metadata
    size = found.records.size_in_bytes
    if not size:
        return b""
    segment = runner.directory / f"{place.segment_base_offset:020}{LOG_FILE_SUFFIX}"
    return segment.read_bytes()[place.relative_position_in_segment :][:size]


def _said(data: bytes) -> str:
    if len(data) < 8:
        return f"{len(data)} bytes"
    return f"{len(data)} bytes from base offset {int.from_bytes(data[:8], 'big', signed=True)} on"


def _suffixes_of(*directories: Path) -> set[str]:
    return {path.suffix or path.name for directory in directories for path in directory.iterdir()}


def drawn_story(seed: object, config: dict[str, str], steps: int, kinds: Sequence[str]) -> Story:
    """A story of `steps` steps of these kinds, drawn from `seed`; three appends come first.

    The kinds: append, epoch (an append by the next leader), produce (an append by an idempotent producer), transact (by
    a transactional one), end (a marker that ends a transaction, if one is open), roll, read, reopen, tick, damage.
    """
    rand = random.Random(str(seed))
    producers = _Producers(rand)
    drawn: list[Operation | Damage] = []
    leader_epoch = 0
    for number in range(steps):
        kind = "append" if number < 3 else rand.choice(kinds)
        leader_epoch += kind == "epoch"
        step = producers.step(kind) if kind in producers.KINDS else _DRAWERS[kind](rand)
        drawn.append(replace(step, leader_epoch=leader_epoch) if isinstance(step, AppendAsLeader) else step)
    return Story(config, tuple(drawn))


class _Producers:
    """Producers that number their records and send nothing twice: some idempotent, some transactional."""

    KINDS = ("produce", "transact", "end")
    _IDEMPOTENT, _TRANSACTIONAL = (1, 2, 3), (4, 5, 6)  # small ids: then Java's HashMap has them in ascending order

    def __init__(self, rand: random.Random):
        self._rand = rand
        self._next_sequence = dict.fromkeys((*self._IDEMPOTENT, *self._TRANSACTIONAL), 0)
        self._open: set[int] = set()

    def step(self, kind: str) -> Operation:
        """A step of one of KINDS."""
        if kind == "end" and self._open:
            return self._marker(self._rand.choice(sorted(self._open)))
        if kind == "produce":
            return self._batch(self._rand.choice(self._IDEMPOTENT))
        producer_id = self._rand.choice(self._TRANSACTIONAL)
        self._open.add(producer_id)
        return self._batch(producer_id, " txn")

    def _batch(self, producer_id: int, more: str = "") -> Operation:
        count, sequence = self._rand.randint(1, 4), self._next_sequence[producer_id]
        self._next_sequence[producer_id] += count
        time = self._rand.choice(["", " ts=now-500"])
        return parse_operation(
            f"append_as_leader [{count}x30{time} data={sequence} pid={producer_id} epoch=0 seq={sequence}{more}]"
        )

    def _marker(self, producer_id: int) -> Operation:
        self._open.remove(producer_id)
        kind = self._rand.choice(["commit", "abort", "abort"])
        return parse_operation(
            f"append_as_leader origin=coordinator transaction_version=0 [{kind} pid={producer_id} epoch=0]"
        )


def _append(rand: random.Random) -> Operation:
    count, size = rand.randint(1, 5), rand.choice([0, 1, 30, 90])
    time = rand.choice(["", "", " ts=now+500", " ts=now-500,now+3", " ts=now-1000"])
    keys = rand.choice(["", " keys=3"])
    return parse_operation(f"append_as_leader [{count}x{size}{time}{keys} data={rand.randint(0, 99)}]")


def _damage(rand: random.Random) -> Damage:
    return rand.choice([Damage(cut=rand.randint(1, 60)), Damage(changed=rand.randint(1, 40)), Damage(garbage=30)])


def _read(rand: random.Random) -> Operation:
    back, size = rand.randint(0, 12), rand.choice([1, 100, 400, 5000])
    return parse_operation(f"read leo-{back} max_length={size} isolation=log_end")


def _parsed(line: str) -> Any:
    return lambda rand: parse_operation(line)


_DRAWERS = {
    "append": _append,
    "epoch": _append,
    "damage": _damage,
    "read": _read,
    "roll": _parsed("roll leo"),
    "reopen": _parsed("reopen"),
    "tick": _parsed("tick 700"),
}
