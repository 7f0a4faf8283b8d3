"""The world stops after each single effect on disk; minikafka and Apache Kafka open what is left, and end equal.

Three ways to stop: the process is killed (all that was written is there), within a write (its first bytes are there),
or the power fails (what was never forced down to the device is gone). `MINIKAFKA_CRASH=4 pytest tests/crash` looks at
four times as many torn writes.
"""

import logging
import os
import shutil
from pathlib import Path

import pytest

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common import file_ops
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.segment_files import create_new_cleaned_segment
from minikafka.record.memory_records import MemoryRecords
from minikafka.tools.recover import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    checkpointed_offset,
)
from minikafka.witness.batch import Batch
from minikafka.witness.kafka_errors import kafka_errors
from minikafka.witness.operations import parse_operation
from minikafka.witness.runner import Runner, minikafka_log
from minikafka.witness.workload import START_MS, Workload

THOROUGHNESS = int(os.environ.get("MINIKAFKA_CRASH", "1"))
PARTITION = TopicPartition("topic", 0)
CHECKPOINTS = "org.apache.kafka.storage.internals.checkpoint."
CONFIG = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200, "retention.ms": -1}


@pytest.fixture(autouse=True, scope="module")
def silent():
    """Warnings of thousands of recoveries would hide what a failure says."""
    logger = logging.getLogger("minikafka")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)


# What happens while the world may stop: functions of the runner.


def do(*lines):
    def act(runner):
        for line in lines:
            if line == "checkpoint":
                checkpoint(runner)
                continue
            observation = runner.apply(parse_operation(line))
            assert not observation.error, (line, observation)

    return act


def checkpoint(runner):
    """Write the log.dir's two checkpoint files, as Kafka's `LogManager` does every minute and at the end."""
    log, log_dir = runner.log, runner.directory.parent
    first = log.log_segments[0].base_offset
    runner.apply(parse_operation("checkpoint"))
    start = {PARTITION: log.log_start_offset} if log.log_start_offset > first else {}
    OffsetCheckpointFile(log_dir / RECOVERY_POINT_CHECKPOINT_FILE).write({PARTITION: log.recovery_point})
    OffsetCheckpointFile(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE).write(start)


def stop_and_start(runner):
    """A broker's clean end, and its next beginning: the marker goes before the log is loaded."""
    marker = CleanShutdownFileHandler(runner.directory.parent)
    runner.log.flush(True)
    runner.log.close()
    checkpoint(runner)
    marker.write(3)
    runner.log = None
    marker.delete()
    do("reopen clean=true", "tick 0")(runner)


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
    do("tick 60000")(runner)


def crash_within_a_replacement(when):
    """Compact, be killed at the first moment at which `when` says so of the directory, and be loaded."""

    class Killed(BaseException):
        pass

    def prepare(runner):
        def kill(_operation, _path):
            if when({path.suffix for path in runner.directory.iterdir()}):
                raise Killed

        with pytest.raises(Killed), file_ops.observe(kill):
            compact(runner)
        runner.let_go()

    return prepare


def overflow(runner):
    """A segment whose offsets are further apart than one segment can say, all of it flushed."""
    runner.let_go()
    shutil.rmtree(runner.directory)
    runner.directory.mkdir()
    offsets = [0, 10, 2_147_483_647, 2_147_483_648, 9_000_000_000]
    data = b"".join(Batch(2, (60,)).encode(START_MS, offset) for offset in offsets)
    (runner.directory / "00000000000000000000.log").write_bytes(data)
    runner.checkpoints["recovery_point"] = offsets[-1] + 2
    OffsetCheckpointFile(runner.directory.parent / RECOVERY_POINT_CHECKPOINT_FILE).write({PARTITION: offsets[-1] + 2})


def disappear(runner):
    """There is no partition yet."""
    runner.let_go()
    shutil.rmtree(runner.directory)
    for path in runner.directory.parent.iterdir():
        path.unlink()


def create(runner):
    runner.directory.mkdir()
    do("reopen clean=true", "tick 0", "append_as_leader leader_epoch=1 [3x30]")(runner)


def some_life(runner):
    """Segments with producers, an aborted and an open transaction, epochs; flushed, and checkpointed halfway."""
    do(
        "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=0]",
        "append_as_leader leader_epoch=1 [3x30 pid=8 epoch=0 seq=0 txn]",
        *[f"append_as_leader leader_epoch=2 [3x60 pid=7 epoch=0 seq={seq}]" for seq in (3, 6, 9)],
        "append_as_leader leader_epoch=2 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]",
        "flush force_flush_active_segment=true",
        "checkpoint",
        "append_as_leader leader_epoch=2 [3x60 pid=7 epoch=0 seq=12]",
        "append_as_leader leader_epoch=2 [3x60 pid=8 epoch=0 seq=3 txn]",
        "update_high_watermark leo",
    )(runner)


APPEND_AND_ROLL = do(
    "append_as_leader leader_epoch=3 [3x60 pid=7 epoch=0 seq=15]",
    "append_as_leader leader_epoch=3 [3x60 pid=9 epoch=0 seq=0 txn]",
    "tick 0",
    "checkpoint",
    "append_as_leader leader_epoch=3 [3x60]",
    "append_as_leader leader_epoch=3 origin=coordinator transaction_version=0 [abort pid=9 epoch=0]",
    "roll",
    "append_as_leader leader_epoch=4 [3x60]",
    "flush force_flush_active_segment=true",
    "checkpoint",
)
FLUSH = do("flush force_flush_active_segment=true", "checkpoint")
RECOVER = do("reopen clean=false", "tick 60000")

LIVES = {
    "append and roll": (some_life, APPEND_AND_ROLL, {}),
    "append and roll, preallocated": (some_life, APPEND_AND_ROLL, {"preallocate": True}),
    "every batch flushed": (some_life, do("append_as_leader [3x60]", "append_as_leader [3x90]"), {"flush.messages": 1}),
    "retention": (some_life, do("maybe_increment_log_start_offset 7", "checkpoint", "delete_old_segments", "tick 60000", "checkpoint"), {}),
    "retention of everything": (some_life, do("maybe_increment_log_start_offset leo", "delete_old_segments", "checkpoint", "tick 60000"), {}),
    "truncation": (some_life, do("truncate_to 8", "checkpoint", "tick 60000", "append_as_follower leader_epoch=3 [3x60 leader_epoch=3]"), {}),
    "full truncation": (some_life, do("truncate_fully_and_start_at 40", "checkpoint", "tick 60000", "append_as_leader leader_epoch=3 [3x60]"), {}),
    "clean stop and start": (some_life, stop_and_start, {}),
    "flush and checkpoint": (some_life, do("assign_epoch_start_offset 9", "take_producer_snapshot", "flush force_flush_active_segment=true", "checkpoint", "checkpoint"), {}),
    "recovery": (some_life, RECOVER, {}),
    "recovery of a torn log": ((some_life, lambda runner: tear(runner)), RECOVER, {}),
    "recovery after recovery": (some_life, do("reopen clean=false", "truncate_to 12", "checkpoint", "reopen clean=false", "reopen clean=false"), {}),
    "replacing segments": (some_life, compact, {}),
    "recovery with cleaned files": ((some_life, crash_within_a_replacement(lambda kinds: {".cleaned", ".swap"} <= kinds)), RECOVER, {}),
    "recovery with swap files": ((some_life, crash_within_a_replacement(lambda kinds: ".deleted" in kinds)), RECOVER, {}),
    "splitting a segment": (overflow, do("reopen clean=true", "tick 60000"), {}),
    "splitting in recovery": (overflow, RECOVER, {}),
    "a new partition": (disappear, create, {}),
}  # fmt: skip


def tear(runner):
    """Killed within the last write, with garbage in a segment before."""
    runner.let_go()
    *_, earlier, last = sorted(runner.directory.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-9])
    with earlier.open("ab") as file:
        file.write(bytes(9))


@pytest.mark.parametrize("name", LIVES)
def test_whatever_is_left_is_opened_equally(kafka, two_logs, name):
    before, act, config = LIVES[name]
    logs = two_logs()
    living = live_until(before, logs, config)
    stopped = StoppedWorlds(living)
    stopped.live(act)
    assert len(stopped.worlds) > 10
    stopped.open_all(kafka, logs)


@pytest.mark.parametrize("name", ["append and roll", "truncation", "replacing segments", "splitting a segment"])
def test_a_recovery_that_stops_is_recovered(kafka, two_logs, name):
    """The world stops in some of the lives' worlds again, while minikafka recovers."""
    before, act, config = LIVES[name]
    logs = two_logs()
    living = live_until(before, logs, config)
    stopped = StoppedWorlds(living)
    stopped.live(act)
    living.let_go()
    for when, world, _ in stopped.worlds[:: -(-len(stopped.worlds) // (5 * THOROUGHNESS))]:
        put(world, living.directory.parent)
        known, _ = known_of(kafka, living.directory.parent)
        living.checkpoints = known
        again = StoppedWorlds(living, when)
        again.live(RECOVER)
        again.open_all(kafka, logs)


def live_until(before, logs, config):
    """A runner of minikafka's log in a directory beside those of `logs`, prepared by `before`."""
    living = Runner(
        minikafka_log, logs.directories[0].parents[1] / "living" / "topic-0", Workload(config={**CONFIG, **config})
    )
    for prepare in before if isinstance(before, tuple) else (before,):
        prepare(living)
    return living


def open_both(kafka, logs, log_dir, config, now_ms):
    """Open the world left in `log_dir` with both; the batches that it had after it was loaded."""
    known, clean = known_of(kafka, log_dir)
    (log_dir / "topic-0").mkdir(exist_ok=True)
    logs.stand_on(log_dir / "topic-0", known, config, now_ms)
    observation = logs.do(f"reopen clean={str(clean).lower()}")
    if observation.error == "CorruptRecordException" and config.get("preallocate") == "true":
        return None  # The power failed before a rolled segment's new length was on the device: Kafka does not open it.
    assert not observation.error, observation
    opened = batches(logs.directories[0])
    logs.do("tick 60000")
    logs.observe("append_as_leader leader_epoch=20 [2x20 pid=70 epoch=0 seq=0]")
    for runner in logs.runners:
        runner.log.close()
    logs.compare("close")
    return opened


def known_of(kafka, log_dir):
    """Checkpointed offsets and the marker, read by minikafka, and as Kafka reads them."""
    channel = kafka.log_class("LogDirFailureChannel")(1)
    known = {}
    for name, file in (
        ("recovery_point", log_dir / RECOVERY_POINT_CHECKPOINT_FILE),
        ("log_start_offset", log_dir / LOG_START_OFFSET_CHECKPOINT_FILE),
    ):
        known[name] = checkpointed_offset(file, PARTITION)
        if file.exists():
            with kafka_errors():
                theirs = kafka.find_class(CHECKPOINTS + "OffsetCheckpointFile")(kafka.file(file), channel).read()
            assert [entry.getValue() for entry in theirs.entrySet()] in ([known[name]], [])
    marker = CleanShutdownFileHandler(log_dir)
    if marker.exists():
        theirs = kafka.find_class(CHECKPOINTS + "CleanShutdownFileHandler")(str(log_dir))
        epoch = theirs.read()
        assert (epoch.getAsLong() if epoch.isPresent() else None) == marker.read()
    return known, marker.exists()


def batches(directory):
    """(base offset, next offset, bytes) of all batches in the segments of a directory."""
    found = set()
    for path in directory.glob("*.log"):
        records = MemoryRecords.readable_records(path.read_bytes().rstrip(b"\0"))
        found |= {(batch.base_offset, batch.next_offset, bytes(batch.buffer)) for batch in records.batches()}
    return found


class StoppedWorlds:
    """All that a log.dir may look like when the world stops during a life of the runner's log, no two alike.

    `worlds`: (when, {relative path: content}, the batches below the recovery point at that moment).
    """

    def __init__(self, runner: Runner, before: str = ""):
        self.runner = runner
        self.before = before
        self.log_dir = runner.directory.parent
        self.worlds = []
        self._seen = set()
        self._last = self._look()
        self._on_device = {self._inode(name): content for name, content in self._last.items()}  # outlives renames
        self._recovery_point = runner.checkpoints["recovery_point"]
        self._flushed = {batch for batch in batches(runner.directory) if batch[1] <= self._recovery_point}

    def live(self, act) -> None:
        """Let `act` happen to the runner, noting the world after each effect."""
        with file_ops.observe(self._after):
            act(self.runner)

    def open_all(self, kafka, logs) -> None:
        """Let the life end, and demand that each of its worlds is opened equally, with all that had been flushed."""
        kept = batches(self.runner.directory)
        now_ms = self.runner.time.milliseconds()
        self.runner.let_go()
        log_dir = logs.directories[0].parents[1] / "stopped"
        for when, world, flushed in self.worlds:
            put(world, log_dir)
            try:
                opened = open_both(kafka, logs, log_dir, self.runner.config, now_ms)
            except AssertionError as difference:
                raise AssertionError(f"stopped {self.before}, {when}: {difference}") from None
            assert opened is None or flushed & kept <= opened, (
                f"stopped {self.before}, {when}: flushed records are lost"
            )

    def _after(self, operation: str, path: Path) -> None:
        if self.log_dir not in path.parents:
            return
        now, name = self._look(), path.relative_to(self.log_dir).as_posix()
        self._note_flushed()
        if operation == "fsync" and name in now:
            self._on_device[self._inode(name)] = now[name]
        if operation == "write":
            for size, content in torn(self._last.get(name, b""), now[name]):
                self._note(f"{size} bytes into the write of {name}", {**now, name: content})
        self._note(f"after {operation} of {name}", now)
        on_device = {name: self._on_device.get(self._inode(name), b"") for name in now}
        self._note(f"by a power cut after {operation} of {name}", on_device)
        self._last = now

    def _note(self, when: str, world: dict) -> None:
        key = hash(tuple(sorted(world.items())))
        if key not in self._seen:
            self._seen.add(key)
            self.worlds.append((when, world, self._flushed))

    def _note_flushed(self) -> None:
        log = self.runner.log
        if log is not None and log.recovery_point != self._recovery_point:
            self._recovery_point = log.recovery_point
            self._flushed = {batch for batch in batches(log.dir) if batch[1] <= log.recovery_point}

    def _look(self) -> dict[str, bytes]:
        paths = sorted(path for path in self.log_dir.rglob("*") if path.is_file())
        return {path.relative_to(self.log_dir).as_posix(): path.read_bytes() for path in paths}

    def _inode(self, name: str) -> int:
        return (self.log_dir / name).stat().st_ino


def put(world: dict[str, bytes], directory: Path) -> None:
    """Make `directory` look like that world."""
    shutil.rmtree(directory, ignore_errors=True)
    for name, content in world.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def torn(old: bytes, new: bytes):
    """(size, content) of a file after the first bytes only of the write that made `old` into `new`."""
    first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    end = (
        len(new) if len(new) > len(old) else max((i + 1 for i in range(first, len(new)) if old[i] != new[i]), default=0)
    )
    size = end - first
    steps = 2 * THOROUGHNESS
    for done in sorted({size * step // steps for step in range(1, steps)} | {size - 1}):
        if 0 < done < size:
            yield done, new[: first + done] + old[first + done :]


def test_every_write_goes_through_the_seam(tmp_path):
    """Between two effects that the seam reports nothing changes on disk: no write to a file or a map goes past it."""
    runner = Runner(minikafka_log, tmp_path / "log.dir" / "topic-0", Workload(config=CONFIG))
    seen = {}

    def look():
        return {path: path.read_bytes() for path in runner.directory.parent.rglob("*") if path.is_file()}

    def note(operation, path):
        now = look()
        changed = {name for name in seen.keys() | now.keys() if seen.get(name) != now.get(name)}
        allowed = {path} if operation not in ("rename", "create_directory") else changed
        assert changed <= allowed, f"{operation} of {path.name}, but {changed} changed"
        assert operation != "rename" or len(changed) <= 3, changed
        seen.clear()
        seen.update(now)

    seen.update(look())
    with file_ops.observe(note):
        some_life(runner)
        APPEND_AND_ROLL(runner)
        compact(runner)
        do("truncate_to 20", "tick 60000", "reopen clean=false", "truncate_fully_and_start_at 5", "tick 60000")(runner)
        stop_and_start(runner)
        runner.log.close()
    assert seen == look()
