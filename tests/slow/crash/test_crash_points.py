"""Work stops after each single effect on disk; minikafka and Apache Kafka open what is left, and end equal.

Three ways to stop: the process is killed (all that was written is there), within a write (its first bytes are there),
or the power fails (bytes and names that were never forced down to the device are gone, all of them; test_power_cuts.py
loses some). `MINIKAFKA_CRASH=4 pytest tests/slow/crash` looks at four times as many torn writes.
"""

import os
from pathlib import Path

import pytest

from minikafka.common import file_ops
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from tests.slow.crash.disk_states import batches, known_of, latest_values, look, open_both, put
from tests.slow.crash.simulated_disk import SimulatedDisk
from tests.slow.crash.steps import perform

THOROUGHNESS = int(os.environ.get("MINIKAFKA_CRASH", "1"))
CONFIG = {"internal.segment.bytes": 600, "index.interval.bytes": 100, "segment.index.bytes": 1200, "retention.ms": -1}


pytestmark = pytest.mark.usefixtures("silent")


# What is done while work may stop: functions of the runner.


def do(*lines):
    def step(runner):
        for line in lines:
            perform(runner, line)

    return step


def crash_within_a_cleaning(when):
    """Clean, be killed at the first moment at which `when` says so of the suffixes in the directory, and be loaded."""

    class Killed(BaseException):
        pass

    def prepare(runner):
        def kill(_operation, _path):
            if when({path.suffix for path in runner.directory.iterdir()}):
                raise Killed

        with pytest.raises(Killed), file_ops.observe(kill):
            CLEAN(runner)
        runner.let_go()

    return prepare


def some_segments(runner):
    """Segments with producers, an aborted and an open transaction, epochs; flushed, and checkpointed halfway."""
    do(
        "append_as_leader leader_epoch=1 [3x30 pid=7 epoch=0 seq=0]",
        "append_as_leader leader_epoch=1 [3x30 pid=8 epoch=0 seq=0 txn]",
        *[f"append_as_leader leader_epoch=2 [3x60 pid=7 epoch=0 seq={seq}]" for seq in (3, 6, 9)],
        "append_as_leader leader_epoch=2 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]",
        "flush force_flush_active_segment=true",
        "write_checkpoints",
        "append_as_leader leader_epoch=2 [3x60 pid=7 epoch=0 seq=12]",
        "append_as_leader leader_epoch=2 [3x60 pid=8 epoch=0 seq=3 txn]",
        "update_high_watermark leo",
    )(runner)


def segments_with_keys(runner):
    """Segments with keys, tombstones, two compression codecs, aborted and committed records; all of it flushed."""
    do(
        "append_as_leader leader_epoch=1 [3x30 keys=4 pid=7 epoch=0 seq=0]",
        "append_as_leader leader_epoch=1 [3x30,null,30 keys=4 data=1 pid=8 epoch=0 seq=0 txn]",
        "append_as_leader leader_epoch=1 [3x60 keys=4 data=2 pid=9 epoch=0 seq=0 txn]",
        "append_as_leader leader_epoch=1 origin=coordinator transaction_version=0 [abort pid=8 epoch=0]",
        "append_as_leader leader_epoch=2 [4x60,60,null keys=9 data=2 codec=gzip]",
        "append_as_leader leader_epoch=2 origin=coordinator transaction_version=0 [commit pid=9 epoch=0]",
        "append_as_leader leader_epoch=2 [3x90 keys=4 data=3 pid=7 epoch=0 seq=3]",
        "append_as_leader leader_epoch=2 [3x90 keys=5 data=4]",
        "append_as_leader leader_epoch=3 [3x99 keys=99 data=50]",
        "append_as_leader leader_epoch=3 [3x60 keys=3]",
        "append_as_leader leader_epoch=3 [3x60 keys=3]",
        "update_high_watermark leo",
        "flush force_flush_active_segment=true",
        "tick 0",
        "write_checkpoints",
    )(runner)


COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0, "delete.retention.ms": 1000}
CLEAN = do("clean", "tick 60000")
APPEND_AND_ROLL = do(
    "append_as_leader leader_epoch=3 [3x60 pid=7 epoch=0 seq=15]",
    "append_as_leader leader_epoch=3 [3x60 pid=9 epoch=0 seq=0 txn]",
    "tick 0",
    "write_checkpoints",
    "append_as_leader leader_epoch=3 [3x60]",
    "append_as_leader leader_epoch=3 origin=coordinator transaction_version=0 [abort pid=9 epoch=0]",
    "roll",
    "append_as_leader leader_epoch=4 [3x60]",
    "flush force_flush_active_segment=true",
    "write_checkpoints",
)
FLUSH = do("flush force_flush_active_segment=true", "write_checkpoints")
RECOVER = do("reopen clean=false", "tick 60000")
LOADED = do("reopen clean=false", "tick 60000", "update_high_watermark leo", "write_checkpoints")
MORE_KEYS = do(
    "append_as_leader leader_epoch=3 [3x60 keys=4 data=1]",
    "append_as_leader leader_epoch=3 [3x60 keys=4 data=1]",
    "update_high_watermark leo",
    "flush force_flush_active_segment=true",
    "tick 0",
    "write_checkpoints",
)

CASES = {
    "append and roll": (some_segments, APPEND_AND_ROLL, {}),
    "append and roll, preallocated": (some_segments, APPEND_AND_ROLL, {"preallocate": True}),
    "every batch flushed": (some_segments, do("append_as_leader [3x60]", "append_as_leader [3x90]"), {"flush.messages": 1}),
    "retention": (some_segments, do("maybe_increment_log_start_offset 7", "write_checkpoints", "delete_old_segments", "tick 60000", "write_checkpoints"), {}),
    "retention of everything": (some_segments, do("maybe_increment_log_start_offset leo", "delete_old_segments", "write_checkpoints", "tick 60000"), {}),
    "truncation": (some_segments, do("truncate_to 8", "write_checkpoints", "tick 60000", "append_as_follower leader_epoch=3 [3x60 leader_epoch=3]"), {}),
    "full truncation": (some_segments, do("truncate_fully_and_start_at 40", "write_checkpoints", "tick 60000", "append_as_leader leader_epoch=3 [3x60]"), {}),
    "clean stop and start": (some_segments, do("stop_cleanly", "start_after_clean_stop", "tick 0"), {}),
    "flush and checkpoint": (some_segments, do("assign_epoch_start_offset 9", "take_producer_snapshot", "flush force_flush_active_segment=true", "write_checkpoints", "write_checkpoints"), {}),
    "recovery": (some_segments, RECOVER, {}),
    "recovery of a torn log": ((some_segments, do("tear")), RECOVER, {}),
    "recovery after recovery": (some_segments, do("reopen clean=false", "truncate_to 12", "write_checkpoints", "reopen clean=false", "reopen clean=false"), {}),
    "cleaning": (segments_with_keys, CLEAN, COMPACTED),
    "cleaning, preallocated": (segments_with_keys, CLEAN, {**COMPACTED, "preallocate": True}),
    "cleaning with a map for two keys": (segments_with_keys, CLEAN, {**COMPACTED, "log.cleaner.dedupe.buffer.size": 72}),
    "cleaning what was clean": ((segments_with_keys, CLEAN, MORE_KEYS), CLEAN, COMPACTED),
    "cleaning and deleting": ((segments_with_keys, do("maybe_increment_log_start_offset 12", "write_checkpoints")), CLEAN, COMPACTED),
    "cleaning after a crash": ((segments_with_keys, crash_within_a_cleaning(lambda kinds: ".cleaned" in kinds), LOADED), CLEAN, COMPACTED),
    "recovery with cleaned files": ((segments_with_keys, crash_within_a_cleaning(lambda kinds: {".cleaned", ".swap"} <= kinds)), RECOVER, COMPACTED),
    "recovery with swap files": ((segments_with_keys, crash_within_a_cleaning(lambda kinds: ".deleted" in kinds)), RECOVER, COMPACTED),
    "splitting a segment": (do("overflow"), do("reopen clean=true", "tick 60000"), {}),
    "splitting in recovery": (do("overflow"), RECOVER, {}),
    "a new partition": (do("vanish"), do("reopen clean=true", "tick 0", "append_as_leader leader_epoch=1 [3x30]"), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_left_is_opened_equally(kafka, two_live_logs, name, share):
    """A run opens a quarter of the disk states of each case."""
    before, step, config = CASES[name]
    logs = two_live_logs()
    runner = prepared_runner(before, logs, config)
    stopped = DiskStates(runner)
    stopped.do(step)
    assert len(stopped.disk_states) > 10
    stopped.open_all(kafka, logs, share(stopped.disk_states, 4))


@pytest.mark.parametrize("name", ["append and roll", "truncation", "cleaning", "splitting a segment"])
def test_a_recovery_that_stops_is_recovered(kafka, two_live_logs, name, share):
    """In some of the disk states work stops again, while minikafka recovers."""
    before, step, config = CASES[name]
    logs = two_live_logs()
    runner = prepared_runner(before, logs, config)
    stopped = DiskStates(runner)
    stopped.do(step)
    runner.let_go()
    for when, disk_state, _ in stopped.disk_states[:: -(-len(stopped.disk_states) // (5 * THOROUGHNESS))]:
        put(disk_state, runner.directory.parent)
        known, _ = known_of(kafka, runner.directory.parent)
        runner.checkpoints = known
        again = DiskStates(runner, when, stopped.values)
        again.do(RECOVER)
        again.open_all(kafka, logs, share(again.disk_states, 4))


def prepared_runner(before, logs, config):
    """A runner of minikafka's log in a directory beside those of `logs`, prepared by `before`."""
    runner = Runner(
        minikafka_log, logs.directories[0].parents[1] / "before" / "topic-0", Workload(config={**CONFIG, **config})
    )
    for prepare in before if isinstance(before, tuple) else (before,):
        prepare(runner)
    return runner


class DiskStates:
    """All that a log.dir may look like when work on the runner's log stops, no two alike.

    `disk_states`: (when, {relative path: content}, the batches below the recovery point at that moment). `values`: what
    must be there of each key of a compacted log, in all of them (None: what is there at the beginning).
    """

    def __init__(self, runner: Runner, before: str = "", values: dict | None = None):
        self.runner = runner
        self.before = before
        self.log_dir = runner.directory.parent
        self.disk_states = []
        self._seen = set()
        self._last = look(self.log_dir)
        self._disk = SimulatedDisk(self.log_dir)
        self._recovery_point = runner.checkpoints["recovery_point"]
        self._flushed = {batch for batch in batches(runner.directory) if batch[1] <= self._recovery_point}
        self.values = values
        if is_compacted(runner) and values is None:
            self.values = latest_values(batches(runner.directory))

    def do(self, step) -> None:
        """Do `step` with the runner, noting the disk state after each effect."""
        with file_ops.observe(self._after):
            step(self.runner)

    def open_all(self, kafka, logs, disk_states) -> None:
        """Let the log go, and demand that each of these disk states is opened equally, with all that had been flushed."""
        kept = batches(self.runner.directory)
        now_ms = self.runner.time.milliseconds()
        self.runner.let_go()
        log_dir = logs.directories[0].parents[1] / "stopped"
        for when, disk_state, flushed in disk_states:
            put(disk_state, log_dir)
            try:
                observation, opened = open_both(kafka, logs, log_dir, self.runner.config, now_ms)
            except AssertionError as difference:
                raise AssertionError(f"stopped {self.before}, {when}: {difference}") from None
            # A preallocated segment of which the cut is not on the device ends with zeros: Kafka does not open it.
            unopened = "CorruptRecordException" if self.runner.config.get("preallocate") == "true" else ""
            assert observation.error in ("", unopened), f"stopped {self.before}, {when}: {observation}"
            assert observation.error or flushed & kept <= opened, (
                f"stopped {self.before}, {when}: flushed records are lost"
            )
            if is_compacted(self.runner):
                assert latest_values(opened) == self.values, f"stopped {self.before}, {when}: a live key is lost"

    def _after(self, operation: str, path: Path) -> None:
        if self.log_dir not in path.parents:
            return
        now, name = look(self.log_dir), path.relative_to(self.log_dir).as_posix()
        self._note_flushed()
        self._disk.effect(operation, path)
        if operation == "write":
            for size, content in torn(self._last.get(name, b""), now[name]):
                self._note(f"{size} bytes into the write of {name}", {**now, name: content})
        self._note(f"after {operation} of {name}", now)
        self._note(f"by a power cut after {operation} of {name}", self._disk.synced())
        self._last = now

    def _note(self, when: str, disk_state: dict) -> None:
        key = hash(tuple(sorted(disk_state.items())))
        if key not in self._seen:
            self._seen.add(key)
            self.disk_states.append((when, disk_state, self._flushed))

    def _note_flushed(self) -> None:
        log = self.runner.log
        if log is not None and log.recovery_point != self._recovery_point:
            self._recovery_point = log.recovery_point
            self._flushed = {batch for batch in batches(log.dir) if batch[1] <= log.recovery_point}


def is_compacted(runner):
    return runner.config.get("cleanup.policy") == "compact"


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


def test_the_latest_values_are_those_of_committed_records(tmp_path):
    runner = Runner(minikafka_log, tmp_path / "topic-0", Workload(config=CONFIG))
    do(
        "append_as_leader [3x1 keys=3]",
        "append_as_leader [1x2 keys=3 pid=7 epoch=0 seq=0 txn]",
        "append_as_leader [1x3 keys=3 data=1 pid=8 epoch=0 seq=0 txn]",
        "append_as_leader [1x4 keys=5 data=4 pid=9 epoch=0 seq=0 txn]",
        "append_as_leader origin=coordinator transaction_version=0 [abort pid=8 epoch=0]",
        "append_as_leader [2x5,null keys=4 data=1]",
        "append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]",
    )(runner)
    values = latest_values(batches(runner.directory))
    assert {key: len(value) for key, value in values.items()} == {b"key-0": 2, b"key-1": 5}
    runner.let_go()


@pytest.mark.slow
def test_every_write_goes_through_the_seam(tmp_path):
    """Between two effects that the seam reports nothing changes on disk: no write to a file or a map goes past it."""
    runner = Runner(minikafka_log, tmp_path / "log.dir" / "topic-0", Workload(config=CONFIG))
    log_dir, seen = runner.directory.parent, {}

    def files():
        return {log_dir / name: data for name, data in look(log_dir).items()}

    def note(operation, path):
        now = files()
        changed = {name for name in seen.keys() | now.keys() if seen.get(name) != now.get(name)}
        allowed = {path} if operation not in ("rename", "create_directory") else changed
        assert changed <= allowed, f"{operation} of {path.name}, but {changed} changed"
        assert operation != "rename" or len(changed) <= 3, changed
        seen.clear()
        seen.update(now)

    seen.update(files())
    with file_ops.observe(note):
        some_segments(runner)
        APPEND_AND_ROLL(runner)
        do("update_config cleanup.policy=compact min.cleanable.dirty.ratio=0", "clean", "tick 60000")(runner)
        do("truncate_to 20", "tick 60000", "reopen clean=false", "truncate_fully_and_start_at 5", "tick 60000")(runner)
        do("stop_cleanly", "start_after_clean_stop", "close")(runner)
    assert seen == files()
