"""Whatever a shell hands over as standard streams, and whatever fails: one line and an exit code."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.errors import CorruptSnapshotException, IOException
from minikafka.tools.failure import describe, naming

ORDERS = Path(__file__).parents[2] / "notebooks/data/orders-0"
LOG = ORDERS / "00000000000000000000.log"


def shell(line: str, **names: object) -> subprocess.CompletedProcess:
    """Runs a line of sh with `minikafka` in it; bytes come back."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **{n: os.fsdecode(v) for n, v in names.items()}}
    line = line.replace("minikafka ", f"'{sys.executable}' -m minikafka ")
    return subprocess.run(["sh", "-c", line], env=env, capture_output=True, timeout=60)


COMMANDS = {
    "dump-log --files $LOG": 1,
    "verify $DIR": 2,
    "recover --dry-run $DIR": 1,
    "clean --dry-run --config cleanup.policy=compact $DIR": 1,
    "ls $DIR": 1,
    "ls --json $DIR": 1,
    "doctor": 1,
    "coverage": 2,
    "source-map": 2,
    "spark --help": 1,
    "verify --help": 1,
    "--version": 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "output, why", [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")], ids=["full", "closed"]
)
def test_an_output_that_takes_nothing_is_one_line(command, output, why):
    run = shell(f"minikafka {command} {output}", LOG=LOG, DIR=ORDERS)
    assert (run.returncode, run.stderr.decode()) == (COMMANDS[command], f"IOException: {why}: standard output\n")


@pytest.mark.slow
def test_a_closed_input_or_stderr_changes_nothing():
    expected = shell("minikafka verify $DIR", DIR=ORDERS)
    assert expected.returncode == 0
    for closed in ("<&-", "2>&-", "<&- 2>&-", "2>/dev/full"):
        run = shell(f"minikafka verify $DIR {closed}", DIR=ORDERS)
        assert (run.returncode, run.stdout, run.stderr) == (0, expected.stdout, b""), closed


@pytest.mark.slow
@pytest.mark.parametrize("streams", [">&- 2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_nobody_to_be_told_is_an_exit_code(streams):
    assert shell(f"minikafka verify $DIR {streams}", DIR=ORDERS).returncode == 2


@pytest.mark.parametrize("command", ["verify", "ls"])
def test_ctrl_c_ends_a_command_as_in_a_shell_whatever_it_is_about(command, monkeypatch):
    """Also before it has begun its work."""

    def interrupted(*_):
        raise KeyboardInterrupt

    for place in ("minikafka.cli.verify.partitions_of", "minikafka.cli.ls.entries_of"):
        monkeypatch.setattr(place, interrupted)
    result = CliRunner().invoke(main, [command, str(ORDERS)])
    assert (result.exit_code, result.stderr) == (130, "Aborted!\n")


@pytest.mark.slow
def test_a_reader_who_leaves_ends_a_dump_without_a_word():
    run = shell("(minikafka dump-log --files $LOG,$LOG,$LOG,$LOG; echo $? >&2) | head -n 1", LOG=LOG)
    assert (run.stdout, run.stderr) == (f"Dumping {LOG}\n".encode(), b"0\n")


@pytest.mark.slow
def test_a_name_that_is_not_utf_8_is_opened_and_printed_as_it_is(tmp_path):
    directory = os.fsencode(tmp_path) + b"/p\xff-0"
    shutil.copytree(os.fsencode(ORDERS), directory)
    log = directory + b"/" + LOG.name.encode()
    for encoding in ("utf-8", "ascii"):
        run = shell(f"PYTHONIOENCODING={encoding} minikafka dump-log --files $LOG", LOG=log)
        assert (run.returncode, run.stderr) == (0, b"")
        assert run.stdout.startswith(b"Dumping " + log + b"\n")


def test_half_a_pair_becomes_a_question_mark():
    text = "a\ud800b\udcffc"
    assert text.encode("utf-8", "minikafka.as_it_came") == b"a?b\xffc"


@pytest.mark.parametrize(
    "error, line",
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "/a"), "NoSuchFileException: /a"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/a", None, "/b"), "NoSuchFileException: /a -> /b"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "/a/b"), "IOException: Not a directory: /a/b"),
        (OSError(errno.EIO, "Input/output error"), "IOException: Input/output error"),
        (OSError("broken"), "OSError: broken"),
        (shutil.Error([("/a", "/b", "no space"), ("/c", "/d", "no space")]), "IOException: no space: /a"),
        (MemoryError(), "OutOfMemoryError: there is not enough memory"),
        (CorruptSnapshotException("first\nsecond"), "CorruptSnapshotException: first second"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "/a\nb"), "IOException: Is a directory: /a b"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_is_one_line(error, line):
    assert describe(error) == line


@pytest.mark.parametrize(
    "error, line",
    [
        (OSError(errno.EIO, "Input/output error"), "IOException: Input/output error: /log"),
        (OSError(errno.EIO, "Input/output error", "/index"), "IOException: Input/output error: /index"),
        (MemoryError(), "OutOfMemoryError: there is not enough memory: /log"),
        (IOException("said already"), "IOException: said already"),
    ],
)
def test_an_error_without_a_file_gets_the_one_that_is_worked_on(error, line):
    with pytest.raises(type(error)) as raised, naming("/log"):
        raise error
    assert describe(raised.value) == line
