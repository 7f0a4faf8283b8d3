"""Tools that change a directory in place are killed at each of their changes, or told to end: the next run, given the
same time, leaves what an undisturbed run leaves, and a start of Kafka in between finds nothing that it could not mend.
"""

import errno
import io
import json
import os
import random
import shutil
import signal
import stat
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from minikafka import Compression, Log, MemoryRecords, SimpleRecord
from minikafka.cli import clean, main, recover  # noqa: F401 - once, instead of in each child
from minikafka.common import file_ops
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.directory_lock import DirectoryLock
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.tools import tool_command
from minikafka.tools.recover import undo
from minikafka.tools.recover.undo import CHECKPOINTS, KEPT_IN, NOT_OF_A_RUN_HERE, UNDO, take_back
from minikafka.tools.tool_command import NOT_REPORTED

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOW = "1700001000000"
SMALL = {
    "internal.segment.bytes": "1500",
    "index.interval.bytes": "300",
    "cleanup.policy": "compact",
    "delete.retention.ms": "0",
}
SETTINGS = [word for name, value in SMALL.items() for word in ("--config", f"{name}={value}")]
TOPIC_SETTINGS = [word for n, v in SMALL.items() for word in ("--topic-config", f"topic:{n}={v}")]
MARK = ".kafka_cleanshutdown"
EPOCH = '{"version":0,"brokerEpoch":42}'
BROKER = 65534
"""A user."""
UNKNOWN_EPOCH = b'{"version":0,"brokerEpoch":-1}'
COMMANDS = {
    "recover": ["recover", "topic-0", "--yes", "--now-ms", NOW, *SETTINGS],
    "clean": ["clean", "topic-0", "--yes", "--even-damaged", "--now-ms", NOW, "--map-memory", "24000", *SETTINGS],
    "recover the log directory": ["recover", ".", "--yes", "--now-ms", NOW, "--threads", "1", *TOPIC_SETTINGS],
}


def write_partition(directory: Path) -> None:
    """Segments of a log that was opened several times, so that no recovery would make the same indexes."""
    timestamp = int(NOW) - 1_000_000
    for opening in range(3):
        log = Log.open(directory, SMALL)
        for batch in range(8):
            records = [
                SimpleRecord(timestamp=timestamp, key=b"k%d" % (number % 5), value=None if number == 3 else b"v" * 30)
                for number in range(batch % 5, batch % 5 + 4)
            ]
            log.append_as_leader(MemoryRecords.with_records(Compression.NONE, *records), leader_epoch=opening)
            timestamp += 1000
        log.close()


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory) -> Path:
    """A log directory with two partitions, as a clean stop left it."""
    directory = tmp_path_factory.mktemp("log")
    for partition in (0, 1):
        write_partition(directory / f"topic-{partition}")
    (directory / MARK).write_text(EPOCH)
    end = 3 * 8 * 4
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (directory / name).write_text(f"0\n2\ntopic 0 {end}\ntopic 1 {end}\n")
    (directory / "cleaner-offset-checkpoint").write_text("0\n0\n")
    return directory


def torn(log_dir: Path) -> None:
    """The state after an unclean stop: a torn segment with others behind it, and what a deletion has left."""
    (log_dir / MARK).unlink()
    (log_dir / "recovery-point-offset-checkpoint").unlink()
    first, second, *_ = sorted((log_dir / "topic-0").glob("*.log"))
    with second.open("r+b") as log:
        log.truncate(second.stat().st_size - 9)
    (log_dir / "topic-0" / "00000000000000000007.log.deleted").write_bytes(b"x")
    first.with_suffix(".index").unlink()


def without_an_index(log_dir: Path) -> None:
    first, second, *_ = sorted((log_dir / "topic-0").glob("*.log"))
    second.with_suffix(".index").unlink()


def as_it_is(log_dir: Path) -> None:
    pass


STATES: dict[str, Callable[[Path], None]] = {"clean": as_it_is, "torn": torn, "no index": without_an_index}


def disk_state(directory: Path) -> dict[str, bytes]:
    """The files below the directory, except a lock's."""
    found = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


UNDO_IS_COMPLETE = b"U"


class Everywhere(dict):
    """Observers of all threads."""

    def __init__(self, callback):
        self._callback = callback

    def __bool__(self):
        return True

    def get(self, thread, default=None):
        return self._callback


class Run(NamedTuple):
    """A command's exit code (below 0 for the signal that killed it), how many changes it made, on copies and in place,
    and whether its undo file was complete: from then on it works in place.
    """

    code: int
    changes: int
    had_begun: bool


def run(place: Path, command: list[str], signal_at: tuple[int, int] | None = None) -> Run:
    """Run the command in a child process, which gets a signal right after a change of that number (from 1)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            changes = told.read()
        return Run(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(changes), UNDO_IS_COMPLETE in changes)
    code = 70  # a traceback
    try:
        os.chdir(place)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.default_int_handler if each is signal.SIGINT else signal.SIG_DFL)

        def changed(operation, path):
            if operation in ("fsync", "flush_dir"):
                return
            os.write(writer, UNDO_IS_COMPLETE if (operation, path.name) == ("rename", UNDO) else b".")
            changed.count += 1
            if signal_at is not None and changed.count == signal_at[0]:
                os.kill(os.getpid(), signal_at[1])

        changed.count = 0
        file_ops._observers = Everywhere(changed)
        code = CliRunner().invoke(main, command).exit_code
    finally:
        os._exit(code)


@pytest.fixture
def most(request) -> int:
    """At how many changes each command is killed; all of them for a large `--disk-states`."""
    return request.config.getoption("--disk-states")


@pytest.fixture
def seed(request) -> int:
    return request.config.getoption("--seed") or 0


def some_of(changes: int, most: int, seed: int) -> list[int]:
    """The first and the last changes (from 1), and others between them that the seed draws."""
    ends = [*range(1, changes + 1)]
    drawn = random.Random(seed).sample(ends[3:-3], k=min(max(most - 6, 0), changes - 6))
    return ends[:3] + sorted(drawn) + ends[-3:]


def case(tmp_path: Path, log_dir: Path, state: str) -> Callable[[], Path]:
    numbers = iter(range(1 << 20))

    def fresh() -> Path:
        place = tmp_path / str(next(numbers))
        shutil.copytree(log_dir, place)
        STATES[state](place)
        give_to_a_broker(place)
        return place

    return fresh


def give_to_a_broker(place: Path) -> None:
    """Where root runs the tests: let all belong to a user of a broker's own, and other users read nothing of it."""
    if os.geteuid() == 0:
        for path in (place, *place.rglob("*")):
            os.chown(path, BROKER, BROKER)
            path.chmod(0o750 if path.is_dir() else 0o640)


def require_all_is_the_brokers(place: Path) -> None:
    """See that a broker can open what there is, and that no others can than before."""
    for path in place.rglob("*"):
        status = path.stat()
        assert (status.st_uid, status.st_gid) == (place.stat().st_uid, place.stat().st_gid), path
        assert os.geteuid() != 0 or path.is_dir() or stat.S_IMODE(status.st_mode) == 0o640, path


def undisturbed(fresh: Callable[[], Path], command: list[str]) -> tuple[dict[str, bytes], dict[str, bytes], int]:
    """What the command leaves, what a second run after it leaves, and how many changes the first one makes."""
    place = fresh()
    code, changes, had_begun = run(place, command)
    assert code == 0 and changes > 5 and had_begun
    once = disk_state(place)
    assert not list(place.rglob(f"*{UNDO}*"))
    require_all_is_the_brokers(place)
    assert run(place, command).code == 0
    return once, disk_state(place), changes


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("command", COMMANDS)
def test_after_a_kill_at_any_change_the_next_run_ends_as_an_undisturbed_one(
    tmp_path, log_dir, command, state, most, seed, share
):
    fresh = case(tmp_path, log_dir, state)
    expected, twice, changes = undisturbed(fresh, COMMANDS[command])
    for number in share(some_of(changes, most, seed), 4):
        place = fresh()
        before = disk_state(place)
        killed = run(place, COMMANDS[command], (number, signal.SIGKILL))
        assert killed.code == -signal.SIGKILL
        left, can_be_undone = without_undo(place), (place / UNDO).exists()
        is_done = as_a_start_takes_it(left) == expected
        if MARK in left:  # nothing may have changed yet, or everything must be done
            assert is_done or as_a_start_takes_it(left) == before, number
        if killed.had_begun and not can_be_undone:  # what is left to do is to clear up
            assert left == expected, number
        had_ended = killed.had_begun and (not can_be_undone or (MARK in left and is_done))
        assert run(place, COMMANDS[command]).code == 0
        assert disk_state(place) == (twice if had_ended else expected), number
        require_all_is_the_brokers(place)
        shutil.rmtree(place)


def as_a_start_takes_it(left: dict[str, bytes]) -> dict[str, bytes]:
    """What is left, without empty checkpoints, and with an unknown epoch in an empty mark. A start of Kafka ends the
    same with both (`test_a_start_takes_empty_checkpoints_as_none_and_an_empty_mark_as_a_mark`).

    A kill leaves such files, also of a broker: its start makes missing checkpoints before the mark goes, and its stop
    makes the mark before it writes into it.
    """
    taken = {name: content for name, content in left.items() if content or not name.endswith("-offset-checkpoint")}
    if left.get(MARK) == b"":
        taken[MARK] = UNKNOWN_EPOCH
    return taken


def without_undo(place: Path) -> dict[str, bytes]:
    return {name: content for name, content in disk_state(place).items() if UNDO not in name}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_at_any_change_leaves_the_directory_as_it_was_or_as_it_shall_be(
    tmp_path, log_dir, command, number, most, seed, share
):
    fresh = case(tmp_path, log_dir, "clean")
    before = disk_state(fresh())
    expected, twice, changes = undisturbed(fresh, COMMANDS[command])
    for at in share(some_of(changes, most, seed), 4):
        place = fresh()
        code = run(place, COMMANDS[command], (at, number)).code
        assert (code, disk_state(place)) in ((128 + number, before), (NOT_REPORTED, expected)), at
        assert run(place, COMMANDS[command]).code == 0
        assert disk_state(place) in (expected, twice), at
        require_all_is_the_brokers(place)
        shutil.rmtree(place)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("moment", [UNDO, f"topic-0/{UNDO}", KEPT_IN, "the report"])
def test_a_signal_when_the_change_is_done_is_told_and_leaves_nothing_to_clear_up(
    tmp_path, log_dir, monkeypatch, command, moment
):
    fresh = case(tmp_path, log_dir, "torn")
    undisturbed, place = fresh(), fresh()
    rerun(undisturbed, command)
    let_signals_in, delete = tool_command.let_signals_in, file_ops.delete_if_exists

    def interrupt_report():
        let_signals_in()
        if moment == "the report":
            os.kill(os.getpid(), signal.SIGTERM)

    def interrupt_clean_up(path):
        if path == place / moment:
            os.kill(os.getpid(), signal.SIGTERM)
        return delete(path)

    monkeypatch.setattr(tool_command, "let_signals_in", interrupt_report)
    monkeypatch.setattr(file_ops, "delete_if_exists", interrupt_clean_up)
    result = rerun(place, command)
    told = f"what was to be done in {told_of(place, command)} is done, and stays; its report was stopped: SIGTERM"
    assert (result.exit_code, result.stdout, result.stderr) == (NOT_REPORTED, "", f"Warning: {told}\n")
    assert disk_state(place) == disk_state(undisturbed)


def told_of(place: Path, command: str) -> Path:
    """The directory that the command was given."""
    return place if command == "recover the log directory" else place / "topic-0"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_while_a_run_that_failed_is_undone_does_not_stop_that(tmp_path, log_dir, monkeypatch, command):
    place = case(tmp_path, log_dir, "clean")()
    before = disk_state(place)
    close, put_back = Log.close, undo._put_back

    def fail(log):
        close(log)
        if log.dir.parent == place:
            raise OSError(errno.EIO, "Input/output error", str(log.dir))

    def interrupt(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        put_back(*arguments, **options)

    monkeypatch.setattr(Log, "close", fail)
    monkeypatch.setattr(undo, "_put_back", interrupt)
    assert rerun(place, command).exit_code == 1
    assert disk_state(place) == before


class Output(io.StringIO):
    """Raises an error when something is printed."""

    def __init__(self, error: OSError):
        super().__init__()
        self._error = error

    def flush(self):
        if self.getvalue():
            self.truncate(0)
            raise self._error


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_report_that_cannot_be_printed_says_that_all_is_done(tmp_path, log_dir, command, as_json):
    fresh = case(tmp_path, log_dir, "torn")
    undisturbed, place = fresh(), fresh()
    rerun(undisturbed, command)
    full = OSError(errno.ENOSPC, "No space left on device", "standard output")
    left = BrokenPipeError(errno.EPIPE, "Broken pipe", "standard output")
    words = [str(place / word) if word in ("topic-0", ".") else word for word in COMMANDS[command]]
    words += ["--json"] if as_json else []
    with redirect_stdout(Output(full)), redirect_stderr(io.StringIO()) as stderr, pytest.raises(SystemExit) as ended:
        main(words)
    assert (ended.value.code, stderr.getvalue()) == (
        NOT_REPORTED,
        f"Warning: what was to be done in {told_of(place, command)} is done, and stays; its report was stopped: "
        "IOException: No space left on device: standard output\n",
    )
    assert disk_state(place) == disk_state(undisturbed)
    with redirect_stdout(Output(left)), redirect_stderr(io.StringIO()) as stderr, pytest.raises(SystemExit) as ended:
        main(words)
    assert (ended.value.code, stderr.getvalue()) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_kill_while_another_one_is_undone(tmp_path, log_dir, command):
    fresh = case(tmp_path, log_dir, "clean")
    expected, _, changes = undisturbed(fresh, COMMANDS[command])
    interrupted = fresh()
    assert run(interrupted, COMMANDS[command], (changes // 2, signal.SIGKILL)).code == -signal.SIGKILL
    assert not (interrupted / MARK).exists() and (interrupted / UNDO).exists()
    for number in (1, 2, 4, 7, 12, 20):
        place = tmp_path / f"again-{number}"
        shutil.copytree(interrupted, place)
        for kept in place.glob(f"*/{UNDO}/*.log"):  # copies are no links
            if (kept.parents[1] / kept.name).exists():
                kept.unlink()
                os.link(kept.parents[1] / kept.name, kept)
        assert run(place, COMMANDS[command], (number, signal.SIGKILL)).code == -signal.SIGKILL
        assert run(place, COMMANDS[command]).code == 0
        assert disk_state(place) == expected, number
        shutil.rmtree(place)


def interrupted_run(tmp_path: Path, log_dir: Path) -> Path:
    """A log directory in which `clean` was killed half-way."""
    place = case(tmp_path, log_dir, "clean")()
    assert run(place, COMMANDS["clean"], (100, signal.SIGKILL)).code == -signal.SIGKILL
    assert (place / UNDO).exists() and not (place / MARK).exists()
    return place


def rerun(place: Path, command: str):
    words = [str(place / word) if word in ("topic-0", ".") else word for word in COMMANDS[command]]
    return CliRunner().invoke(main, words, catch_exceptions=False)


def test_an_interrupted_run_is_undone_and_that_is_told(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    result = rerun(place, "clean")
    assert (result.exit_code, result.stderr) == (
        0,
        f"Warning: an earlier run in {place} was interrupted; it is undone\n",
    )
    assert (place / MARK).read_text() == EPOCH and not list(place.rglob(f"*{UNDO}*"))


def test_ls_and_verify_tell_of_an_interrupted_run(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    what = "a run of recover or clean was interrupted, or is under way: the next one undoes it"
    for told in (place, place / "topic-0"):
        result = CliRunner().invoke(main, ["ls", "--json", str(told)], catch_exceptions=False)
        for each in json.loads(result.stdout)["partitions"]:
            assert (what in each["findings"]) == (each["directory"] == "topic-0")
        result = CliRunner().invoke(main, ["verify", "--json", str(told)], catch_exceptions=False)
        assert [each["file"] for each in json.loads(result.stdout)["findings"] if each["what"] == what] == [
            str(place / UNDO)
        ]


@pytest.mark.parametrize("left", [f"topic-0/{UNDO}", UNDO], ids=["directory", "file"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_that_is_done_and_cannot_clear_up_says_so(tmp_path, log_dir, monkeypatch, command, left):
    fresh = case(tmp_path, log_dir, "torn")
    undisturbed, place = fresh(), fresh()
    rerun(undisturbed, command)
    delete = file_ops.delete_if_exists

    def refuse(path):
        if path == place / left and path.exists():
            raise PermissionError(1, "Operation not permitted", str(path))
        return delete(path)

    monkeypatch.setattr(file_ops, "delete_if_exists", refuse)
    result = rerun(place, command)
    assert (result.exit_code, result.stderr) == (
        0,
        f"Warning: the run in {place} is done, and could not remove what it kept (IOException: Operation not permitted:"
        f" {place / left}): remove {place / left}{', or the next run may undo this one' if left == UNDO else ''}\n",
    )
    assert without_undo(place) == disk_state(undisturbed)


def test_what_was_appended_after_an_interruption_stays(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    log = Log.open(place / "topic-0", SMALL)
    end = log.log_end_offset
    record = SimpleRecord(timestamp=int(NOW), key=b"new", value=b"new")
    log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), leader_epoch=9)
    log.close()
    result = rerun(place, "recover")
    assert result.exit_code == 0 and "is not undone" in result.stderr and not list(place.rglob(f"*{UNDO}*"))
    assert not (place / MARK).exists()
    assert Log.open(place / "topic-0", SMALL).log_end_offset == end + 1


def test_what_a_broker_noted_of_other_partitions_after_an_interruption_stays(tmp_path, log_dir):
    """Where DeleteRecords had moved the start of another log, records that were deleted would come back."""
    place = interrupted_run(tmp_path, log_dir)
    noted = {
        "recovery-point-offset-checkpoint": "0\n2\ntopic 0 96\ntopic 1 100\n",
        "log-start-offset-checkpoint": "0\n1\ntopic 1 50\n",
        "cleaner-offset-checkpoint": "0\n1\ntopic 1 60\n",
    }
    for name, text in noted.items():
        (place / name).write_text(text)
    take_back(place, [], follow_links=False)
    assert {name: (place / name).read_text() for name in noted} == {
        "recovery-point-offset-checkpoint": "0\n2\ntopic 0 96\ntopic 1 100\n",
        "log-start-offset-checkpoint": "0\n1\ntopic 1 50\n",
        "cleaner-offset-checkpoint": "0\n1\ntopic 1 60\n",
    }
    assert not (place / MARK).exists()


def interrupted_recover(tmp_path: Path, log_dir: Path) -> Path:
    """A log directory in which `recover` of all of it was killed when it had begun."""
    fresh = case(tmp_path, log_dir, "clean")
    _, _, changes = undisturbed(fresh, COMMANDS["recover the log directory"])
    place = fresh()
    assert run(place, COMMANDS["recover the log directory"], (changes // 2, signal.SIGKILL)).code == -signal.SIGKILL
    assert (place / UNDO).exists() and not (place / MARK).exists()
    return place


@pytest.mark.parametrize("interrupted", [interrupted_run, interrupted_recover], ids=["clean", "recover"])
def test_records_that_a_broker_deleted_after_an_interruption_stay_deleted(tmp_path, log_dir, interrupted):
    place = interrupted(tmp_path, log_dir)
    clock = ManualTime(int(NOW))
    scheduler = ManualScheduler(clock)
    log = Log.create(
        place / "topic-0", LogConfig({**SMALL, "cleanup.policy": "delete"}), scheduler=scheduler, time=clock
    )
    log.update_high_watermark(log.log_end_offset)
    log.maybe_increment_log_start_offset(50, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    assert log.delete_old_segments() > 0
    log.close_handlers()
    left = without_undo(place)
    assert "is not undone" in rerun(place, "recover").stderr
    segments = {name for name in without_undo(place) if name.endswith(".log")}
    assert segments <= left.keys() and not list(place.rglob(f"*{UNDO}*")) and not (place / MARK).exists()


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"])
def test_what_a_broker_noted_of_the_partition_itself_after_an_interruption_stays(tmp_path, log_dir, name):
    place = interrupted_recover(tmp_path, log_dir)
    (place / name).write_text("0\n1\ntopic 0 30\n")
    before = without_undo(place)
    take_back(place, [], follow_links=False)
    assert without_undo(place) == before and not list(place.rglob(f"*{UNDO}*"))


@pytest.mark.parametrize("command", ["recover", "recover the log directory"])
@pytest.mark.parametrize("interrupted", [interrupted_run, interrupted_recover], ids=["clean", "recover"])
def test_a_topic_that_was_made_anew_after_an_interruption_stays(tmp_path, log_dir, interrupted, command):
    """Nothing proves that the broker stopped in order, so the mark of a clean stop does not come back."""
    place = interrupted(tmp_path, log_dir)
    shutil.rmtree(place / "topic-0")
    log = Log.open(place / "topic-0", SMALL)
    record = SimpleRecord(timestamp=int(NOW), key=b"new", value=b"new")
    log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), leader_epoch=9)
    log.close()
    segment = place / "topic-0" / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes() + b"torn")
    assert "is not undone" in rerun(place, command).stderr
    assert Log.open(place / "topic-0", SMALL).log_end_offset == 1
    assert not segment.read_bytes().endswith(b"torn")  # the load was one after an unclean stop


def test_what_a_broker_noted_of_high_watermarks_shows_that_it_did_not_stop_in_order(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    (place / "replication-offset-checkpoint").write_text("0\n0\n")
    assert "it is undone" in rerun(place, "clean").stderr
    assert not (place / MARK).exists()


def test_after_a_broker_that_was_killed_an_undone_run_tells_of_no_clean_stop(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    log = Log.open(place / "topic-1", SMALL)
    record = SimpleRecord(timestamp=int(NOW), key=b"new", value=b"new")
    log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), leader_epoch=9)
    log.close()
    assert "it is undone" in rerun(place, "clean").stderr
    assert not (place / MARK).exists()


def test_a_clean_stop_after_an_interruption_stays(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    (place / MARK).write_text("{}")
    before = without_undo(place)
    assert "had ended, or not begun" in rerun(place, "recover").stderr
    assert (place / MARK).read_text() == "{}" and without_undo(place)[MARK] == before[MARK]


def test_what_a_power_failure_has_damaged_is_not_put_back(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    next((place / "topic-0" / UNDO).glob("*.index")).write_bytes(b"")
    assert "is not undone" in rerun(place, "recover").stderr
    assert not (place / MARK).exists()


NOT_WRITTEN = {
    UNDO: [
        b"",
        b"[]",
        b'{"beside": {}, "partitions": []}',
        b"[" * 100_000,
        b'{"beside": {}, "partitions": {}}',
        b'{"beside": {".kafka_cleanshutdown": null}, "partitions": {"../x": {}}}',
    ],
    KEPT_IN: [b"", b"{}", b"[" * 100_000, b'["topic"]', b'["../topic-0"]', b"[1]", b"3"],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in NOT_WRITTEN.items() for text in texts], ids=len
)
def test_a_file_that_no_run_has_written_is_refused(tmp_path, log_dir, name, text):
    place = case(tmp_path, log_dir, "clean")()
    (place / name).write_bytes(text)
    before = disk_state(place)
    result = rerun(place, "recover")
    assert result.exit_code == 1 and result.stderr.startswith(f"IOException: {place / name} is not what")
    assert disk_state(place) == before


def test_names_that_lead_out_of_the_directory_are_refused(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    told = json.loads((place / UNDO).read_text())
    kept = told["partitions"].pop("topic-0")
    for partition, entry in (("../topic-0", "x"), ("topic-0", "../x"), ("topic-0", ".."), ("..", "x"), ("topic", "x")):
        told["partitions"] = {partition: {**kept, "files": {entry: next(iter(kept["files"].values()))}}}
        (place / UNDO).write_text(json.dumps(told))
        assert rerun(place, "recover").exit_code == 1


def forged(place: Path, partition: str) -> None:
    """Write the mark of a run that knew but one segment of the partition, the last one."""
    facts = {"size": 0, "changed": 0, "copied": False, "crc": 0, "link": None, "stays": False}
    beside = dict.fromkeys((MARK, *CHECKPOINTS))
    told = {"files": {"99999999999999999999.log": facts}, "made": [], "noted": {}}
    (place / UNDO).write_text(json.dumps({"beside": beside, "partitions": {partition: told}}))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("linked", ["topic-0", "topic-1", "other-0"])
def test_a_mark_reaches_no_partition_elsewhere(tmp_path, log_dir, command, linked):
    """A directory may lie: it names a partition that is a link to one where an honest run was interrupted."""
    honest = interrupted_run(tmp_path, log_dir)
    place = case(tmp_path / "foreign", log_dir, "clean")()
    shutil.rmtree(place / linked, ignore_errors=True)
    (place / linked).symlink_to(honest / "topic-0")
    (place / MARK).unlink()
    forged(place, linked)
    before = disk_state(honest)
    result = rerun(place, command)
    assert result.exit_code == 1 and "--follow-links" in result.stderr
    assert disk_state(honest) == before
    words = [str(place / word) if word in ("topic-0", ".") else word for word in COMMANDS[command]]
    result = CliRunner().invoke(main, [*words, "--follow-links"], catch_exceptions=False)
    assert result.exit_code == 1 and f"leads to where a run was interrupted: recover {honest} first" in result.stderr
    assert disk_state(honest) == before
    assert "is undone" in rerun(honest, "recover").stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("linked", ["topic-1", "other-0"])
@pytest.mark.parametrize("mark", [KEPT_IN, UNDO])
def test_what_was_kept_of_a_partition_that_was_moved_since_is_not_deleted_through_a_link(
    tmp_path, log_dir, command, linked, mark
):
    """No mark lies beside it any more, and one that lies beside a link to it may say anything."""
    honest, moved = interrupted_run(tmp_path, log_dir), tmp_path / "moved" / "topic-0"
    moved.parent.mkdir()
    (honest / "topic-0").rename(moved)
    place = case(tmp_path / "foreign", log_dir, "clean")()
    shutil.rmtree(place / linked, ignore_errors=True)
    (place / linked).symlink_to(moved)
    if mark == UNDO:
        forged(place, linked)
    else:
        (place / KEPT_IN).write_text(json.dumps([linked]))
    before = disk_state(moved), disk_state(place)
    result = rerun(place, command)
    assert result.exit_code == 1 and "--follow-links" in result.stderr
    assert (disk_state(moved), disk_state(place)) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_is_not_followed_to_where_a_run_was_interrupted(tmp_path, log_dir, command):
    """What that run kept lies in the partition, and a run that begins there would delete it."""
    honest = interrupted_run(tmp_path, log_dir)
    place = case(tmp_path / "foreign", log_dir, "clean")()
    shutil.rmtree(place / "topic-0")
    (place / "topic-0").symlink_to(honest / "topic-0")
    before = disk_state(honest)
    words = [str(place / word) if word in ("topic-0", ".") else word for word in COMMANDS[command]]
    result = CliRunner().invoke(main, [*words, "--follow-links"], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (
        1,
        f"IOException: {place}/topic-0 leads to where a run was interrupted: recover {honest} first\n",
    )
    assert disk_state(honest) == before


@pytest.mark.parametrize("subdirectory", ["none", "empty"])
def test_nothing_is_deleted_for_a_mark_that_proves_nothing(tmp_path, log_dir, subdirectory):
    place = case(tmp_path, log_dir, "clean")()
    (place / MARK).unlink()
    if subdirectory == "empty":
        (place / "topic-0" / UNDO).mkdir()
    before = without_undo(place)
    forged(place, "topic-0")
    take_back(place, [], follow_links=False)
    assert without_undo(place) == before and not list(place.rglob(f"*{UNDO}*"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("killed_at", ["half-way", "the end"])
def test_what_was_kept_of_a_partition_that_was_moved_since_is_not_deleted(tmp_path, log_dir, command, killed_at):
    """It may be the only copy of what the killed run had cut; moved back, it is undone."""
    there, here = interrupted_run(tmp_path, log_dir), case(tmp_path / "other", log_dir, "clean")()
    if killed_at == "the end":
        (there / UNDO).unlink()
    shutil.rmtree(here / "topic-0")
    (there / "topic-0").rename(here / "topic-0")
    before = disk_state(here)
    result = rerun(here, command)
    assert (result.exit_code, result.stderr) == (1, f"IOException: {here}/topic-0/{UNDO} {NOT_OF_A_RUN_HERE}\n")
    assert disk_state(here) == before
    for told in (here, here / "topic-0"):
        result = CliRunner().invoke(main, ["verify", "--json", str(told)], catch_exceptions=False)
        assert [
            each["file"] for each in json.loads(result.stdout)["findings"] if each["what"] == NOT_OF_A_RUN_HERE
        ] == [f"{here}/topic-0/{UNDO}"]
        result = CliRunner().invoke(main, ["ls", "--json", str(told)], catch_exceptions=False)
        for each in json.loads(result.stdout)["partitions"]:
            assert (f"{UNDO} {NOT_OF_A_RUN_HERE}" in each["findings"]) == (each["directory"] == "topic-0")
    (here / "topic-0").rename(there / "topic-0")
    outcome = "is undone" if killed_at == "half-way" else "had ended, or not begun"
    result = rerun(there, command)
    assert (result.exit_code, result.stderr) == (
        0,
        f"Warning: an earlier run in {there} was interrupted; it {outcome}\n",
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["a directory", "a file", "a link"])
@pytest.mark.parametrize("noted", ["no mark", "a mark of another partition", "a mark of this one"])
def test_a_foreign_entry_with_the_name_of_what_a_run_keeps_is_not_deleted(tmp_path, log_dir, command, kind, noted):
    place = case(tmp_path, log_dir, "clean")()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "mine").write_bytes(b"not to be touched")
    kept = place / "topic-0" / UNDO
    if kind == "a link":
        kept.symlink_to(foreign)
    elif kind == "a file":
        kept.write_bytes(b"not to be touched")
    else:
        shutil.copytree(foreign, kept)
    if noted != "no mark":
        forged(place, "topic-0" if noted.endswith("one") else "topic-1")
    before = disk_state(place)
    result = rerun(place, command)
    told = f"{kept} {NOT_OF_A_RUN_HERE}"
    if kind == "a directory" and noted.endswith("one"):
        told = f"{kept / 'mine'} is not of a run of recover or clean: move it out of there"
    assert (result.exit_code, result.stderr) == (1, f"IOException: {told}\n")
    assert disk_state(place) == before and kept.is_symlink() == (kind == "a link")
    assert (foreign / "mine").read_bytes() == b"not to be touched"
    if not noted.endswith("one") and kind != "a link":  # a link is not read, and that is told
        result = CliRunner().invoke(main, ["verify", str(place / "topic-0")], catch_exceptions=False)
        assert [line for line in result.stdout.splitlines() if line.startswith(f"{kept}:")] == [
            f"{kept}: {NOT_OF_A_RUN_HERE}; at the next start: it stays"
        ]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_that_was_killed_before_it_began_or_after_its_end_is_cleared_up_after(tmp_path, log_dir, command):
    fresh = case(tmp_path, log_dir, "torn")
    _, twice, changes = undisturbed(fresh, COMMANDS[command])
    place = fresh()
    assert run(place, COMMANDS[command], (changes - 1, signal.SIGKILL)).code == -signal.SIGKILL
    assert (place / KEPT_IN).exists() and not (place / UNDO).exists()
    result = CliRunner().invoke(main, ["verify", str(place)], catch_exceptions=False)
    assert f"{place / KEPT_IN}: a run of recover or clean was interrupted" in result.stdout
    told = f"Warning: an earlier run in {place} was interrupted; it had ended, or not begun\n"
    assert rerun(place, command).stderr == told
    assert disk_state(place) == twice


def test_nothing_is_deleted_unless_all_that_was_kept_is_there(tmp_path, log_dir):
    place = interrupted_run(tmp_path, log_dir)
    next((place / "topic-0" / UNDO).glob("*.log")).unlink()
    before = without_undo(place)
    take_back(place, [], follow_links=False)
    assert without_undo(place) == before


def test_a_file_of_nobody_knows_whom_stays_as_it_is(tmp_path, log_dir):
    fresh = case(tmp_path, log_dir, "clean")
    place = fresh()
    (place / "topic-0" / "notes.txt").write_text("old")
    assert run(place, COMMANDS["clean"], (100, signal.SIGKILL)).code == -signal.SIGKILL
    (place / "topic-0" / "notes.txt").unlink()
    (place / "topic-0" / "notes.txt").write_text("new")
    (place / "topic-0" / "more.txt").write_text("more")
    assert "it is undone" in rerun(place, "clean").stderr
    assert [(place / "topic-0" / f"{name}.txt").read_text() for name in ("notes", "more")] == ["new", "more"]


def test_only_one_tool_changes_a_log_directory_at_a_time(tmp_path, log_dir):
    place = case(tmp_path, log_dir, "clean")()
    with DirectoryLock(place):
        for command in COMMANDS:
            result = rerun(place, command)
            assert result.exit_code == 1 and "in use" in result.stderr


@pytest.mark.parametrize("kind", ["link", "second name"])
def test_what_is_kept_is_not_written_into_a_file_elsewhere(tmp_path, log_dir, kind):
    """A directory may lie: an index in it is a file of somebody else's, and what was kept says to write into it."""
    place = interrupted_run(tmp_path, log_dir)
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"not to be touched")
    told = json.loads((place / UNDO).read_text())
    name, facts = next(
        (name, facts) for name, facts in told["partitions"]["topic-0"]["files"].items() if facts["copied"]
    )
    (place / "topic-0" / name).unlink(missing_ok=True)
    if kind == "link":
        os.symlink(foreign, place / "topic-0" / name)
        facts["link"] = str(foreign)
        (place / UNDO).write_text(json.dumps(told))
    else:
        os.link(foreign, place / "topic-0" / name)
    for command in ("recover", "clean", "recover the log directory"):
        result = rerun(place, command)
        assert foreign.read_bytes() == b"not to be touched"
        assert kind != "link" or (result.exit_code == 1 and "--follow-links" in result.stderr)


@pytest.mark.parametrize("name", [MARK, "cleaner-offset-checkpoint", "recovery-point-offset-checkpoint"])
def test_what_is_put_back_is_not_written_through_a_link(tmp_path, log_dir, name):
    """A directory may lie: the draft of a checkpoint leads to a file of somebody else's."""
    place = interrupted_run(tmp_path, log_dir)
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"not to be touched")
    (place / f"{name}.tmp").symlink_to(foreign)
    for command in ("clean", "recover", "recover the log directory"):
        rerun(place, command)
        assert foreign.read_bytes() == b"not to be touched"
    assert not (place / name).is_symlink()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", [MARK, *CHECKPOINTS])
def test_a_link_among_what_a_run_may_replace_beside_partitions_is_refused(tmp_path, log_dir, command, name):
    """Its place would be taken by a file, and what it leads to would keep what it said."""
    place = case(tmp_path, log_dir, "clean")()
    foreign = tmp_path / "foreign"
    foreign.write_text((place / name).read_text() if (place / name).exists() else "0\n0\n")
    (place / name).unlink(missing_ok=True)
    (place / name).symlink_to(foreign)
    before = disk_state(place)
    words = [str(place / word) if word in ("topic-0", ".") else word for word in COMMANDS[command]]
    for options in ([], ["--follow-links"]):
        result = CliRunner().invoke(main, [*words, *options], catch_exceptions=False)
        told = f"IOException: {place / name} is a symbolic link to {foreign}\n"
        assert (result.exit_code, result.stderr) == (1, told)
    assert disk_state(place) == before and (place / name).is_symlink()


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_kept_is_not_written_through_a_link(tmp_path, log_dir, command):
    place = case(tmp_path, log_dir, "clean")()
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"not to be touched")
    (place / f"{UNDO}.tmp").symlink_to(foreign)
    assert rerun(place, command).exit_code == 0
    assert foreign.read_bytes() == b"not to be touched"
