"""`minikafka exam`: a log that is right passes, each fault fails its question, and a file that is no log is told so."""

import gc
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.course.places import COURSE
from minikafka.lab.rebuild import trial
from minikafka.lab.rebuild.exam import learners_process, questions, stories
from minikafka.lab.rebuild.exam.learners_log import ALLOWED, LearnersLog, load
from minikafka.lab.rebuild.exam.learners_process import LearnersProcess
from minikafka.lab.rebuild.exam.questions import LADDER
from minikafka.lab.rebuild.learners_code import LearnersError

REFERENCE = Path(__file__).with_name("my_log_reference.py")


@pytest.fixture
def engine_judges(monkeypatch):
    """As on a machine without Kafka's jars."""
    for module in (trial, stories, questions):
        monkeypatch.setattr(module, "judge_name", lambda: trial.ENGINE)


def changed(tmp_path, old, new):
    """The reference with one change."""
    text = REFERENCE.read_text()
    assert text.count(old) == 1, old
    file = tmp_path / "my_log.py"
    file.write_text(text.replace(old, new))
    return file


def log_in(file):
    """The log in the file, in this process, as long as it behaves."""
    return LearnersLog(load(file), 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20_260, 5])
def test_the_reference_passes_beside_kafka(spark, seed):
    my_log = log_in(REFERENCE)
    for question in LADDER:
        answer = question.ask(my_log, seed)
        assert answer.passed, answer
        assert "as Apache Kafka does them" in str(answer)


FAULTS = [
    ("1.", "offset, fields[1], leader_epoch)", "offset, fields[1], -1)"),
    ("1.", "self.end = offset + fields[6] + 1\n        return", "self.end = offset + fields[6]\n        return"),
    ("2.", 'self.since_entry > self.settings["', 'self.since_entry >= self.settings["'),
    ("2.", "self.entries.append((last - self.base", "self.entries.append((fields[0] - self.base"),
    ("3.", "        self.note_time()\n        with open(self.path", "        with open(self.path"),
    ("3.", "time > self.largest[0]", "time >= self.largest[0]"),
    ("4.", 'self.size > self.settings["segment.bytes"] - incoming', 'self.size >= self.settings["segment.bytes"]'),
    ("4.", "self.limit(12) - 1  #", "self.limit(12)  #"),
    ("5.", "fields[0] + fields[6] >= offset", "fields[0] >= offset"),
    ("5.", "max(max_bytes, len(batch))", "max_bytes"),
    ("6.", "if crc32c.crc32c(batch[21:]) != ", "if False and crc32c.crc32c(batch[21:]) != "),
    ("6.", "        self.log.truncate(valid)\n", ""),
    ("7.", "leader_epoch > self.epochs[-1][0]", "leader_epoch >= self.epochs[-1][0]"),
    ("8.", "            self.take_snapshot()\n            self", "            self"),
    ("8.", "epoch, sequence + delta,", "epoch, sequence,"),
    ("8.", "if offset != strays[-1] or offset < bases[-1]:", "if False:"),
    ("9.", "known[4:] = time, 0, -1", "known[4:] = time, 0, known[6]"),
    ("9.", "min(others, default=self.end + 1)", "self.end + 1"),
    ("9.", "aborted=marker_of(batch) == 0", "aborted=True"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("question", "old", "new"), FAULTS, ids=[f"{q} {new.strip()[:40]}" for q, _, new in FAULTS])
def test_each_fault_fails_its_question(engine_judges, tmp_path, question, old, new):
    my_log = log_in(changed(tmp_path, old, new))
    number = next(number for number, each in enumerate(LADDER) if each.name.startswith(question))
    assert not LADDER[number].ask(my_log, 20_260).passed
    assert number == 0 or LADDER[number - 1].ask(my_log, 20_260).passed


def test_the_first_difference_names_the_step_or_the_byte(engine_judges, tmp_path):
    by_bytes = LADDER[0].ask(log_in(changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, fields[1], 7)")), 1)
    assert re.search(
        r"00000000000000000000\.log at byte 15: partition leader epoch of batch 0 .*\(your log: 7, .*: 0\)",
        str(by_bytes),
    )
    by_step = LADDER[4].ask(log_in(changed(tmp_path, "max(max_bytes, len(batch))", "max_bytes")), 20_260)
    assert re.search(r"At step \d+ \(read leo-\d+ .*\) read returned 1 bytes; .* reads \d+ bytes from", str(by_step))


def test_a_failed_story_can_be_kept(engine_judges, tmp_path):
    file = changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, fields[1], 7)")
    keep = tmp_path / "kept"
    keep.mkdir()
    answer = LADDER[0].ask(log_in(file), 1, keep)
    logs = [(keep / each / "topic-0" / "00000000000000000000.log").read_bytes() for each in ("yours", "right")]
    assert [log[12:16] for log in logs] == [b"\0\0\0\7", b"\0\0\0\0"]
    story = (keep / "story.txt").read_text()
    assert story.startswith("segment.bytes 1048576, ") and "files that end with .log;" in story
    assert "\n0. append_as_leader [" in story
    assert story.rstrip().endswith(answer.difference.partition("\n")[0])
    again = CliRunner().invoke(main, ["exam", str(file), "--keep", str(keep)])
    assert (again.exit_code, len(again.stderr.splitlines())) == (2, 1) and "kept" in again.stderr


def test_a_log_that_passes_keeps_nothing(engine_judges, tmp_path):
    command = ["exam", str(REFERENCE), "--up-to", "1", "--keep", str(tmp_path / "kept")]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_errors_and_endless_loops_of_the_log_are_told(engine_judges, tmp_path):
    broken = LADDER[0].ask(
        log_in(changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, none, leader_epoch)")), 1
    )
    assert "NameError: name 'none' is not defined" in str(broken)
    assert re.search(r"At step 0 \(append_as_leader .*\), in MyLog\.append:\n", str(broken))
    assert "batch = " in str(broken)
    endless = changed(
        tmp_path,
        "        offset, fields = self.end",
        "        while True:\n            pass\n        offset, fields = self.end",
    )
    assert "has not ended after 0.2 seconds" in str(LADDER[0].ask(LearnersLog(load(endless), 0.2), 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class MyLog(:", "my_log.py, line 1 is no Python: invalid syntax"),
        ("import numpy", "my_log.py, line 1: import numpy: only the standard library and crc32c are allowed"),
        ("def f():\n    from minikafka.log.log import Log", "line 2: import minikafka.log.log"),
        ("1 / 0", "cannot be imported: ZeroDivisionError"),
        ("import sys; sys.exit(0)", "cannot be imported: SystemExit"),
        ("MyLog = 3", "has no class MyLog"),
        ("class MyLog: pass", "MyLog.__init__ is missing; it must take (self, directory, settings, clean)"),
        ("\0", "is no Python"),
    ],
)
def test_a_file_that_is_no_log_is_told_in_one_line(tmp_path, text, told):
    file = tmp_path / "my_log.py"
    file.write_text(text)
    with pytest.raises(IllegalArgumentException, match=re.escape(told)):
        load(file)
    result = CliRunner().invoke(main, ["exam", str(file)])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_no_file_and_a_directory_are_told(tmp_path):
    for path in (tmp_path / "gone.py", tmp_path):
        result = CliRunner().invoke(main, ["exam", str(path)])
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert (str(COURSE / "my_log.py") in result.stderr) == (path != tmp_path)


def test_what_a_log_prints_stays_out_of_the_answers(engine_judges, tmp_path):
    file = changed(
        tmp_path, "        offset, fields = self.end", "        print('mine')\n        offset, fields = self.end"
    )
    done = CliRunner().invoke(main, ["exam", str(file), "--up-to", "1", "--json"])
    assert [json.loads(line)["passed"] for line in done.stdout.splitlines()] == [True]
    assert set(done.stderr.splitlines()) == {"mine"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; os._exit(0)", "It ended the process in which it runs (exit code 0)."),
        ("import os; os.kill(os.getpid(), 9)", "It ended the process in which it runs (SIGKILL)."),
        ("import os; os.closerange(3, 99)", ""),  # it fails by what it misses first
        (
            "import signal; signal.signal(14, signal.SIG_IGN)\n        while True: pass",
            "It has not ended after 0.5 seconds.",
        ),
        ("print('x' * 10**6); self.all = b'x' * 2**31", "Your function raised MemoryError"),
        ("open('here', 'wb').truncate(2**40)", "File too large"),
    ],
)
def test_whatever_a_log_does_to_its_process_is_told(tmp_path, capfd, monkeypatch, code, told):
    monkeypatch.setattr(learners_process, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "desks"))
    (tmp_path / "desks").mkdir()
    start = "import subprocess; self.child = subprocess.Popen(['sleep', '60']).pid; return self.child"
    file = changed(
        tmp_path,
        "        offset, fields = self.end",
        f"        if leader_epoch == 7: {start}\n        {code}\n        offset, fields = self.end",
    )
    (tmp_path / "log").mkdir()
    with LearnersProcess(file, 0.5) as log:
        log.open(
            tmp_path / "log", {"index.interval.bytes": 1, "segment.bytes": 9, "segment.index.bytes": 99}, clean=True
        )
        child = log.append(b"", 7)
        with pytest.raises(LearnersError) as raised:
            log.append(b"", 0)
    assert told in str(raised.value) and log.method == "MyLog.append"
    assert _has_ended(child)
    assert list((tmp_path / "desks").iterdir()) == []
    printed = capfd.readouterr()
    assert printed.out == "" and len(printed.err) < 101_000 and "Traceback" not in printed.err


def _has_ended(pid: int, patience_s: float = 10) -> bool:
    """Whether the process ends by and by: one that was killed does so when the system gives it its next turn."""
    deadline = time.monotonic() + patience_s
    try:
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
    except psutil.NoSuchProcess:
        pass
    return True


def test_a_log_that_ends_its_process_at_once_is_told(tmp_path):
    (tmp_path / "my_log.py").write_text("import os\nif os.fork():\n    os._exit(3)")
    said = r"my_log.py cannot be imported: It ended .* \(exit code 3\)"
    with pytest.raises(IllegalArgumentException, match=said), LearnersProcess(tmp_path / "my_log.py", 1.0):
        pass


def test_a_kill_loses_what_a_file_has_buffered(tmp_path):
    class Buffering:
        def __init__(self, directory, settings, clean):
            self.file = open(Path(directory) / "log", "ab")  # noqa: SIM115

        def append(self, batch, leader_epoch):
            return self.file.write(batch)

    log = LearnersLog(Buffering, 1.0)
    log.open(tmp_path, {}, clean=True)
    log.append(b"batch", 0)
    log.kill()
    gc.collect()
    assert (tmp_path / "log").read_bytes() == b""


def test_the_help_names_all_questions():
    shown = " ".join(CliRunner().invoke(main, ["exam", "--help"]).stdout.split())
    assert all(question.name in shown for question in LADDER)


def test_the_template_names_all_questions():
    template = " ".join((COURSE / "my_log.py").read_text().split())
    assert all(question.name in template for question in LADDER)


def test_the_template_has_has_what_is_asked_for_and_fails_the_first_question(engine_judges):
    template = log_in(COURSE / "my_log.py")
    assert "NotImplementedError" in LADDER[0].ask(template, 1).difference
    assert "crc32c" in ALLOWED


@pytest.mark.slow
def test_the_command_asks_up_to_the_first_that_fails(tmp_path, spark):
    file = changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, fields[1], -1)")
    command = [sys.executable, "-m", "minikafka", "exam", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("✗ 1. the .log of one segment")
    assert "2." not in done.stdout
