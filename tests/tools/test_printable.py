"""Words of others on a terminal: no command lets a name, a key or a message move the cursor or change a colour."""

import json
import logging
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka import Compression, Log, MemoryRecords, SimpleRecord
from minikafka.cli import main
from minikafka.tools.printable import PrintableFormatter, printable, tell

ROOT = Path(__file__).parents[2]
EVIL = "a\x1b[31m\x07\x9b2J\u202e\nb"
"""Red, a bell, a screen that is cleared in the way of eight bits, right to left, a second line."""
FIRST_LOG = f"{0:020}.log"


def run(*arguments: object):
    return CliRunner().invoke(main, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture
def log_dir(tmp_path):
    """A log directory with an evil name, and in it a partition with one, whose record is evil, too."""
    directory = tmp_path / EVIL / f"{EVIL}-0"
    directory.parent.mkdir()
    log = Log.open(directory, {"cleanup.policy": "compact"})
    record = SimpleRecord(timestamp=1, key=EVIL.encode(), value=f"{EVIL}\tend\n".encode())
    log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), leader_epoch=0)
    log.close()
    return directory.parent


def is_clean(text: str, keep: str = "\n") -> bool:
    return all(letter.isprintable() or letter in keep for letter in text)


def test_what_a_terminal_would_obey_is_replaced_and_nothing_else():
    assert printable("日本\u3000é -> x\xa0\u2009y") == "日本\u3000é -> x\xa0\u2009y"
    assert printable(EVIL) == "a\ufffd[31m\ufffd\ufffd2J\ufffd\ufffdb"
    assert printable("\udcff\x00\x7f\u2028\t\r\n", keep="\t") == "\ufffd" * 4 + "\t" + "\ufffd" * 2
    assert printable(EVIL, keep="\n").endswith("\ufffd\nb")


def test_a_line_that_is_told_is_one_line(capsys):
    tell("a\nb\x1bc")
    tell("wrong\r\n", err=True)
    assert capsys.readouterr() == ("a b\ufffdc\n", "wrong\n")


@pytest.mark.slow
def test_a_name_that_is_not_utf_8_keeps_its_bytes_unless_a_terminal_may_obey_them(tmp_path):
    (tmp_path / os.fsdecode(b"a\x9b\xa0\xff\xc2-0")).mkdir()
    log = tmp_path / os.fsdecode(b"a\x9b\xa0\xff\xc2-0") / FIRST_LOG
    log.write_bytes(b"torn")
    told = subprocess.run([sys.executable, "-m", "minikafka", "verify", log.parent], capture_output=True, cwd=ROOT)
    assert b"/a\xef\xbf\xbd\xa0\xff\xc2-0" in told.stdout


COMMANDS = {
    "verify": ["verify", "{log_dir}/{partition}"],
    "verify a log directory": ["verify", "{log_dir}"],
    "ls": ["ls", "{log_dir}"],
    "recover a partition": ["recover", "--dry-run", "{log_dir}/{partition}"],
    "recover a log directory": ["recover", "--dry-run", "{log_dir}"],
    "clean": ["clean", "--dry-run", "{log_dir}/{partition}"],
    "dump-log, where there is no file": ["dump-log", "--files", "{log_dir}/{partition}/1.log"],
    "a path that is not there": ["recover", "{log_dir}/nothing"],
    "too many arguments": ["ls", "{log_dir}", "{log_dir}"],
    "an option": ["--{partition}", "ls"],
    "a subcommand": ["{partition}"],
    "a setting": ["verify", "--config", "{partition}=1", "{log_dir}"],
    "a job": ["spark", "{partition}"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_what_a_terminal_would_obey(command, log_dir):
    (log_dir / f"{EVIL}-0" / f"{EVIL}.log.deleted").write_bytes(b"")
    (log_dir / f"{EVIL}-0" / EVIL).symlink_to(EVIL)
    (log_dir / EVIL).mkdir()
    for _ in range(2):  # with what is in the way, and without
        result = run(*(word.format(log_dir=log_dir, partition=f"{EVIL}-0") for word in COMMANDS[command]))
        assert "\ufffd" in result.output or repr(EVIL)[1:-1] in result.output  # click writes some words as Python does
        assert is_clean(result.stderr)
        assert is_clean(result.stdout) or command.startswith("dump-log")  # whose lines are for programs, too
        (log_dir / f"{EVIL}-0" / EVIL).unlink(missing_ok=True)
        if (log_dir / EVIL).exists():
            (log_dir / EVIL).rmdir()


def test_what_a_program_reads_has_the_names_as_they_are(log_dir):
    (log_dir / f"{EVIL}-0" / "x\x1b").write_bytes(b"")
    found = json.loads(run("verify", "--json", log_dir).stdout)
    assert found["partitions"] == [str(log_dir / f"{EVIL}-0")]
    assert [Path(each["file"]).name for each in found["findings"]] == [f"{EVIL}-0", "x\x1b"]


def test_warnings_are_printable():
    record = logging.LogRecord("minikafka", logging.WARNING, "", 0, "Deleting %s", (EVIL,), None)
    assert PrintableFormatter().format(record) == f"Deleting {printable(EVIL.replace(chr(10), ' '))}"
    try:
        raise RuntimeError(EVIL)
    except RuntimeError:
        record.exc_info = sys.exc_info()
    told = PrintableFormatter().format(record)
    assert is_clean(told) and len(told.splitlines()) > 3


def on_a_terminal(*arguments: object) -> str:
    """What appears on a terminal that is input, output and stderr of the command."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "minikafka", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        os.write(leader, b"n\n")
        shown = b""
        try:
            while chunk := os.read(leader, 65536):
                shown += chunk
        except OSError:
            pass  # the end of a terminal
        process.wait()
    os.close(leader)
    return shown.decode()


@pytest.mark.slow
def test_a_dump_has_the_bytes_as_they_are_except_on_a_terminal(log_dir):
    directory = log_dir.rename(log_dir.with_name("logs")) / f"{EVIL}-0"
    arguments = "dump-log", "--print-data-log", "--files", directory.rename(directory.with_name("t-0")) / FIRST_LOG
    assert f"payload: {EVIL}\tend\n" in run(*arguments).stdout
    shown = on_a_terminal(*arguments)
    assert is_clean(shown, keep="\r\n\t")
    evil = printable(EVIL, keep="\n").replace("\n", "\r\n")
    assert f"payload: {evil}\tend\r\n" in shown


@pytest.mark.slow
def test_a_question_names_the_directory_without_its_escapes(log_dir):
    shown = on_a_terminal("recover", log_dir / f"{EVIL}-0")
    assert "\ufffd[31m" in shown and "[y/N]" in shown and "Aborted!" in shown
    assert is_clean(shown, keep="\r\n")
