"""`minikafka recover` leaves the directory, and tells the state, that Kafka's own load and close leave."""

import fcntl
import io
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_log import KafkaLog
from tests.golden.places import GOLDEN
from tests.slow.fuzz.tool_runs import tree

NOW_MS = 1_795_240_760_000  # shortly after the golden directory was written: its producer has not expired


@pytest.fixture
def log_dir(tmp_path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "ours")
    return tmp_path / "ours"


def recover(directory: Path, *options: str, code: int = 0) -> str:
    consent = () if {"--dry-run", "--json"} & set(options) else ("--yes",)
    result = CliRunner().invoke(main, ["recover", str(directory), *consent, *options], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def loaded_by_kafka(kafka, directory: Path, **arguments) -> dict:
    """Kafka's log in `directory`, loaded, looked at and closed."""
    time = ManualTime(NOW_MS)
    scheduler = ManualScheduler(time)
    log = KafkaLog.create(kafka, directory, {}, scheduler=scheduler, time=time, **arguments)
    scheduler.run_due_tasks()
    state = {
        name: getattr(log, name)
        for name in ("log_start_offset", "log_end_offset", "high_watermark", "last_stable_offset", "recovery_point")
    }
    state["segments"] = [[segment.base_offset, segment.size] for segment in log.log_segments]
    log.close()
    scheduler.run_due_tasks()
    return state


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {"recovery_point": 69}),
        (["--unclean-shutdown"], {"recovery_point": 69, "last_shutdown_clean": False}),
        (["--unclean-shutdown", "--recovery-point", "0"], {"last_shutdown_clean": False}),
        (["--log-start-offset", "50"], {"log_start_offset": 50, "recovery_point": 69}),
        (["--log-start-offset", "99"], {"log_start_offset": 99, "recovery_point": 69}),
    ],
)
@pytest.mark.parametrize("damage", ["none", "torn tail", "no index", "flipped bit"])
def test_same_state_and_same_files_as_kafka(kafka, log_dir, tmp_path, options, arguments, damage):
    directory = log_dir / "mixed-0"
    last = directory / f"{64:020d}.log"
    if damage == "torn tail":
        last.write_bytes(last.read_bytes()[:-5])
    elif damage == "no index":
        (directory / f"{46:020d}.index").unlink()
    elif damage == "flipped bit":
        data = bytearray(last.read_bytes())
        data[random.Random(1).randrange(61, len(data))] ^= 4
        last.write_bytes(data)
    theirs = tmp_path / "theirs"
    shutil.copytree(log_dir, theirs)
    told = json.loads(recover(directory, "--json", "--now-ms", str(NOW_MS), *options))
    state = loaded_by_kafka(kafka, theirs / "mixed-0", **arguments)
    assert {name: told[name] for name in state} == state
    assert {"producers", "epochs"} <= told.keys()
    directory_diff(directory, theirs / "mixed-0").require()


def test_a_dry_run_changes_nothing(log_dir, tmp_path):
    told = recover(log_dir / "mixed-0", "--dry-run", "--unclean-shutdown", "--recovery-point", "0")
    assert "on a copy" in told and "log end offset     69" in told
    directory_diff(log_dir / "mixed-0", GOLDEN / "mixed-0").require()


def test_kafkas_exception_is_one_line(log_dir):
    (log_dir / "mixed-0/leader-epoch-checkpoint").write_text("0\n7\n0 0\n")
    told = recover(log_dir / "mixed-0", "--json", code=1)
    assert told.startswith("KafkaStorageException: ") and told.count("\n") == 1


def test_a_damaged_checkpoint_counts_as_empty(log_dir):
    (log_dir / "recovery-point-offset-checkpoint").write_text("nonsense\n")
    assert json.loads(recover(log_dir / "mixed-0", "--json"))["recovery_point"] == 69


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """Another process holds the lock, as a broker does."""
    holder = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True);"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield
        process.stdin.close()


def test_a_running_broker_keeps_it_out(log_dir):
    lock = log_dir / ".lock"
    with held(lock):
        assert "a broker is running" in recover(log_dir / "mixed-0", "--json", code=1)
    recover(log_dir / "mixed-0", "--json")
    with open(lock, "rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_wrong_arguments(log_dir, tmp_path):
    assert recover(log_dir / "mixed-0", "--config", "segment.bytes=x", code=1).startswith("ConfigException: ")
    told = recover(log_dir / "mixed-0", "--config", "segment.bytes", code=1)
    assert told.startswith("IllegalArgumentException: ") and "name=value" in told
    (tmp_path / "nopartition").mkdir()
    told = recover(tmp_path / "nopartition", code=1)
    assert told.startswith("KafkaException: ") and told.count("\n") == 1
    for option in ("--log-start-offset", "--recovery-point", "--now-ms"):
        assert "not in the range" in recover(log_dir / "mixed-0", "--json", option, str(2**63), code=2)


def test_a_bar_counts_the_segments_recovered(log_dir):
    from rich.console import Console

    from minikafka.log.log import Log
    from minikafka.log.log_config import LogConfig
    from minikafka.tools.recover.recovery_progress import RecoveryProgress

    time = ManualTime(NOW_MS)
    drawn = io.StringIO()
    with RecoveryProgress("mixed-0", Console(file=drawn, force_terminal=True, width=80)) as remaining:
        Log.create(
            log_dir / "mixed-0", LogConfig({}), scheduler=ManualScheduler(time), time=time, last_shutdown_clean=False,
            num_remaining_segments=remaining,
        ).close()  # fmt: skip
    assert list(remaining.values()) == [0]
    assert "recovering mixed-0" in drawn.getvalue() and "5/5" in drawn.getvalue()
    with RecoveryProgress("mixed-0", Console(file=(unused := io.StringIO()), force_terminal=True)):
        pass
    assert unused.getvalue() == ""


@pytest.mark.parametrize("command", ["recover", "clean"])
def test_a_partition_that_is_a_link_is_as_its_own_log_directory_would_have_it(log_dir, tmp_path, command):
    """Whoever gives a partition by a link may not know that another broker works where it leads."""
    link = tmp_path / "other" / "mixed-0"
    link.parent.mkdir()
    link.symlink_to(log_dir / "mixed-0")
    (log_dir / ".lock").touch()
    before = tree(log_dir)

    def refused(*options: str) -> str:
        arguments = [command, str(link), "--yes", "--config", "cleanup.policy=compact", *options]
        result = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert result.exit_code == 1, result.output
        return result.stderr

    assert f"{link} is a symbolic link" in refused() and "--follow-links" in refused()
    with held(log_dir / ".lock"):
        assert f"{log_dir / '.lock'} is held" in refused("--follow-links")
    assert tree(log_dir) == before
