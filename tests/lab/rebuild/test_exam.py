"""`minikafka exam`: a log that is right passes, each fault fails its question, and a file that is no log is told so."""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import minikafka.cli.exam as exam_command
from minikafka.cli import main
from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.course.places import COURSE
from minikafka.lab.rebuild import trial
from minikafka.lab.rebuild.exam import comparison, exam_questions, learners_log
from minikafka.lab.rebuild.exam.exam_questions import LADDER
from minikafka.lab.rebuild.exam.learners_file import source_of
from minikafka.lab.rebuild.exam.learners_log import LearnersLog
from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.sandbox.sandbox import SCRATCH

REFERENCE = Path(__file__).with_name("my_log_reference.py")


@pytest.fixture
def engine_judges(monkeypatch):
    """As on a machine without Kafka's jars."""
    for module in (trial, comparison, exam_questions):
        monkeypatch.setattr(module, "judge_name", lambda: trial.ENGINE)


def changed(tmp_path, old, new):
    """The reference with one change."""
    text = REFERENCE.read_text()
    assert text.count(old) == 1, old
    file = tmp_path / "my_log.py"
    file.write_text(text.replace(old, new))
    return file


def log_in(file, guard_s=5.0, **options):
    """The log in the file; a context manager."""
    return LearnersLog(source_of(file), str(file), guard_s, **options)


def asked(number, file, seed=20_260, **options):
    """How a question goes with the log in the file."""
    stories = LADDER[number].judged(seed)
    with log_in(file, **options) as my_log:
        return LADDER[number].ask(my_log, stories)


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("number", range(len(LADDER)))
@pytest.mark.parametrize("seed", [20_260, 5])
def test_the_reference_passes_beside_kafka(spark, seed, number):
    answer = asked(number, REFERENCE, seed)
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
    (
        "4.",
        'self.size > self.settings["segment.bytes"] - incoming',
        'self.size >= self.settings["segment.bytes"] - incoming',
    ),
    ("4.", "self.limit(12) - 1  #", "self.limit(12)  #"),
    ("5.", "fields[0] + fields[6] >= offset", "fields[0] >= offset"),
    ("5.", "max(max_bytes, len(batch))", "max_bytes"),
    ("5.", "max(max_bytes, len(batch))", "max(max_bytes, len(batch)) if max_bytes else 0"),
    ("6.", "if crc32c.crc32c(batch[21:]) != ", "if False and crc32c.crc32c(batch[21:]) != "),
    ("6.", "        self.log.truncate(valid)\n", ""),
    ("6.", "        self.since_entry = 0\n        self.log.truncate", "        self.log.truncate"),
    ("6.", "        self.note_time()\n        self.since_entry = 0", "        self.since_entry = 0"),
    ("7.", "leader_epoch > self.epochs[-1][0]", "leader_epoch >= self.epochs[-1][0]"),
    ("8.", "            self.take_snapshot()\n            self", "            self"),
    ("8.", "epoch, (sequence + delta) % 2**31,", "epoch, sequence,"),
    (
        "8.",
        "attributes, delta, _, time, producer, epoch, sequence, _ = ",
        "attributes, delta, time, _, producer, epoch, sequence, _ = ",
    ),
    ("8.", "known[:] = epoch, (seq", "known[:] = known[0], (seq"),
    ("8.", "if offset != strays[-1] or offset < bases[-1]:", "if False:"),
    ("8.", " or offset < bases[-1]:", ":"),
    ("8.", "if self.end > max(self.snapshots(), default=0):", "if True:"),
    ("8.", "if producer < 0:", "if producer <= 0:"),
    ("9.", "and known[6] < 0 else", "and known[6] <= 0 else"),
    ("9.", "known[4:] = time, 0, -1", "known[4:] = time, 0, known[6]"),
    ("9.", "min(others, default=self.end + 1)", "self.end + 1"),
    ("9.", "aborted=marker_of(batch) == 0", "aborted=True"),
]


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize(("question", "old", "new"), FAULTS, ids=[f"{q} {new.strip()[:40]}" for q, _, new in FAULTS])
def test_each_fault_fails_its_question(engine_judges, tmp_path, question, old, new):
    file = changed(tmp_path, old, new)
    number = next(number for number, each in enumerate(LADDER) if each.name.startswith(question))
    assert not asked(number, file).passed
    assert number == 0 or asked(number - 1, file).passed


@pytest.mark.slow
def test_the_first_difference_names_the_step_or_the_byte(engine_judges, tmp_path):
    by_bytes = asked(0, changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, fields[1], 7)"), 1)
    assert re.search(
        r"00000000000000000000\.log at byte 15: partition leader epoch of batch 0 .*\(your log: 7, .*: 0\)",
        str(by_bytes),
    )
    by_step = asked(4, changed(tmp_path, "max(max_bytes, len(batch))", "max_bytes"))
    assert re.search(r"At step \d+ \(read leo-\d+ .*\) read returned \d bytes; .* reads \d+ bytes from", str(by_step))


@pytest.mark.slow
def test_a_failed_story_can_be_kept(engine_judges, tmp_path):
    file = changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, fields[1], 7)")
    keep = tmp_path / "kept"
    keep.mkdir()
    answer = asked(0, file, 1)
    answer.difference.keep(keep, LADDER[0].suffixes)
    logs = [(keep / each / "topic-0" / "00000000000000000000.log").read_bytes() for each in ("yours", "right")]
    assert [log[12:16] for log in logs] == [b"\0\0\0\7", b"\0\0\0\0"]
    story = (keep / "story.txt").read_text()
    assert story.startswith("segment.bytes 1048576, ") and "files that end with .log;" in story
    assert "\n0. append_as_leader [" in story
    assert story.rstrip().endswith(answer.words.partition("\n")[0])
    again = CliRunner().invoke(main, ["exam", str(file), "--keep", str(keep)])
    assert (again.exit_code, len(again.stderr.splitlines())) == (2, 1) and "kept" in again.stderr


@pytest.mark.slow
def test_files_that_cannot_be_kept_are_told(engine_judges, tmp_path):
    old = "offset, fields[1], leader_epoch)"
    makes_a_pipe = "os.path.exists(self.directory + '/pipe') or os.mkfifo(self.directory + '/pipe') or 7"
    file = changed(tmp_path, old, f"offset, fields[1], {makes_a_pipe})")
    told = CliRunner().invoke(main, ["exam", str(file), "--up-to", "1", "--keep", str(tmp_path / "kept")])
    assert told.exit_code == 1 and f"{tmp_path}/kept/yours is empty: " in told.stderr and "pipe" in told.stderr
    assert "yours/ is empty: " in (tmp_path / "kept" / "story.txt").read_text()


@pytest.mark.slow
def test_a_log_that_passes_keeps_nothing(engine_judges, tmp_path):
    command = ["exam", str(REFERENCE), "--up-to", "1", "--keep", str(tmp_path / "kept")]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_errors_and_endless_loops_of_the_log_are_told(engine_judges, tmp_path):
    broken = asked(0, changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, none, leader_epoch)"), 1)
    assert "NameError: name 'none' is not defined" in str(broken)
    assert re.search(r"At step 0 \(append_as_leader .*\), in MyLog\.append:\n", str(broken))
    assert "batch = " in str(broken)
    endless = changed(
        tmp_path,
        "        offset, fields = self.end",
        "        while True:\n            pass\n        offset, fields = self.end",
    )
    assert "has not ended after 0.2 seconds" in str(asked(0, endless, 1, guard_s=0.2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class MyLog(:", "my_log.py, line 1 is no Python: invalid syntax"),
        (
            "\nimport numpy",
            "my_log.py cannot be imported, line 2: ModuleNotFoundError: No module named 'numpy'; "
            "there are the standard library and crc32c alone",
        ),
        ("from minikafka.log.log import Log", "line 1: ModuleNotFoundError: No module named 'minikafka'"),
        ("1 / 0", "cannot be imported, line 1: ZeroDivisionError"),
        ("import sys; sys.exit(0)", "cannot be imported, line 1: SystemExit"),
        ("MyLog = 3", "has no class MyLog"),
        ("class MyLog: pass", "MyLog.__init__ is missing; it must take (self, directory, settings, clean)"),
        ("\0", "is no Python"),
    ],
)
def test_a_file_that_is_no_log_is_told_in_one_line(tmp_path, text, told):
    file = tmp_path / "my_log.py"
    file.write_text(text)
    with pytest.raises(IllegalArgumentException, match=re.escape(told)), log_in(file):
        pass
    result = CliRunner().invoke(main, ["exam", str(file)])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class MyLog", "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n\n\nclass MyLog"),
        ("class MyLog", "if False:\n    from minikafka.log.log import Log\n\n\nclass MyLog"),
        ("class MyLog", "from functools import partialmethod\n\n\nclass Base:\n    pass\n\n\nclass MyLog(Base)"),
        (
            "    def append(self, batch",
            "    @lambda f: __import__('functools').wraps(f)(lambda *given: f(*given))\n    def append(self, batch",
        ),
        ("    def append(self, batch", "    @lambda f: lambda *given: f(*given)\n    def append(self, batch"),
        (
            "    def append(self, batch",
            "    @lambda f: lambda self, *given, **named: f(self, *given, **named)\n    def append(self, batch",
        ),
        ("    def append(self, batch", "    @__import__('functools').lru_cache(1)\n    def append(self, batch"),
        (
            "    def append(self, batch",
            "    @property\n    def three(self):\n        return 3\n\n    def append(self, batch",
        ),
        ("class MyLog", "@lambda kind: kind\nclass MyLog"),
        (
            "class MyLog",
            "from dataclasses import dataclass\n\n\n@dataclass\nclass End:\n    at: int = 0\n\n\nclass MyLog",
        ),
    ],
    ids=[
        *("a module that is tried", "for a type checker", "a base class", "a decorator", "a plain decorator"),
        *("a decorator that names self", "cached", "a property", "a class that is decorated", "a dataclass beside it"),
    ],
)
def test_a_log_may_be_written_in_any_honest_form(engine_judges, tmp_path, old, new):
    file = changed(tmp_path, old, new)
    assert asked(0, file, 1).passed


def test_no_file_and_a_directory_are_told(tmp_path):
    for path in (tmp_path / "gone.py", tmp_path):
        result = CliRunner().invoke(main, ["exam", str(path)])
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert (str(COURSE / "my_log.py") in result.stderr) == (path != tmp_path)


def test_what_is_no_regular_file_or_too_large_is_told_and_not_read(tmp_path):
    fifo, large = tmp_path / "fifo", tmp_path / "large.py"
    os.mkfifo(fifo)
    with open(large, "wb") as file:
        file.truncate(1 << 40)
    told = {fifo: "is no regular file", tmp_path: "is no regular file", large: "has more than 1048576 bytes"}
    for path, words in told.items():
        result = CliRunner().invoke(main, ["exam", str(path)])
        assert (result.exit_code, result.stderr) == (2, f"IOException: {path} {words}\n")
    (tmp_path / "linked.py").symlink_to(COURSE / "my_log.py")
    assert source_of(tmp_path / "linked.py") == (COURSE / "my_log.py").read_bytes()


@pytest.mark.slow
def test_what_a_log_prints_stays_out_of_the_answers(engine_judges, tmp_path):
    file = changed(
        tmp_path, "        offset, fields = self.end", "        print('mine')\n        offset, fields = self.end"
    )
    done = CliRunner().invoke(main, ["exam", str(file), "--up-to", "1", "--json"])
    assert [json.loads(line)["passed"] for line in done.stdout.splitlines()] == [True]
    assert set(done.stderr.splitlines()) == {"mine"}


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; os._exit(0)", "It ended its process (exit code 0)."),
        ("import os; os.kill(os.getpid(), 9)", "It ended its process (SIGKILL)."),
        ("import os; os.closerange(3, 10_000)", "It ended its process (exit code 1)."),
        (
            "import signal; signal.signal(14, signal.SIG_IGN)\n        while True: pass",
            "It has not ended after 0.5 seconds.",
        ),
        ("print('x' * 10**6); self.all = b'x' * 2**31", "Your function raised MemoryError"),
        ("open('here', 'wb').truncate(2**40)", "File too large"),
        ("[open(name, 'wb').write(bytes(3 << 20)) for name in 'abc']", "No space left"),
        ("import os; os.fork()", "Operation not permitted"),
        ("return IntEnum('E', {'A': 2**70}).A", "returned E, of the type E; the method returns int."),
        ("raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})", "Your function raised E\n"),
        ("raise Exception('\\x1b[2J\\n✓ 9.')", "Your function raised Exception: \ufffd[2J ✓ 9.\n"),
    ],
)
def test_whatever_a_log_does_to_its_process_is_told(tmp_path, capfd, monkeypatch, code, told):
    monkeypatch.setattr(learners_log, "PATIENCE_S", 2.0)
    monkeypatch.setattr(learners_log, "LIMITS", replace(learners_log.LIMITS, scratch_mb=8))
    file = changed(tmp_path, "        offset, fields = self.end", f"        {code}\n        offset, fields = self.end")
    file.write_text(f"from enum import IntEnum\n{file.read_text()}")
    with log_in(file, 0.5) as log:
        log.lay({})
        log.open({"index.interval.bytes": 1, "segment.bytes": 9, "segment.index.bytes": 99}, clean=True)
        with pytest.raises(LearnersError) as raised:
            log.append(b"", 0)
    assert told in str(raised.value) and log.method == "MyLog.append"
    printed = capfd.readouterr()
    assert printed.out == "" and len(printed.err) < 101_000


def test_a_log_that_ends_its_process_at_once_is_told(tmp_path):
    (tmp_path / "my_log.py").write_text("import os\nos._exit(3)")
    with (
        pytest.raises(IllegalArgumentException, match=r"my_log.py cannot be imported: It ended .* \(exit code 3\)"),
        log_in(tmp_path / "my_log.py"),
    ):
        pass


def only(tmp_path, init="", append="", close="", head=""):
    """A file with a log of these bodies; its directory is `self.directory`, and its first file `self.first`."""
    file = tmp_path / "my_log.py"
    file.write_text(
        f"import os, socket\n{head}\n"
        "class MyLog:\n"
        "    def __init__(self, directory, settings, clean):\n"
        "        self.directory, self.first = directory, os.path.join(directory, '0' * 20 + '.log')\n"
        f"        {init or 'pass'}\n"
        f"    def append(self, batch, leader_epoch):\n        {append or 'return 0'}\n"
        "    def roll(self): pass\n    def read(self, offset, max_bytes): return b''\n"
        f"    def close(self):\n        {close or 'pass'}\n"
    )
    return file


def test_a_kill_loses_what_a_file_has_buffered_and_what_the_process_knows(tmp_path):
    init = "global opened; opened += 1; self.file = open(self.first, 'ab')"
    file = only(tmp_path, init, "self.file.write(batch); return opened", head="opened = 0")
    with log_in(file) as log:
        log.lay({})
        for _ in range(2):
            log.open({}, clean=True)
        assert log.append(b"batch", 0) == 2
        left = log.kill()
        assert left == {"0" * 20 + ".log": b""}
        log.lay({"0" * 20 + ".log": b"torn"})
        log.open({}, clean=False)
        assert log.append(b"batch", 0) == 1
        assert log.files() == {"0" * 20 + ".log": b"torn"}


@pytest.mark.slow
def test_a_kill_of_a_log_that_has_no_file_is_told(engine_judges, tmp_path):
    stories = LADDER[5].judged(20_260)
    append = "self.end = self.__dict__.get('end', -1) + 1; return self.end"
    with log_in(only(tmp_path, append=append)) as my_log:
        steps = [step for step in stories[0].steps if isinstance(step.step, comparison.Damage)]
        told = comparison.first_difference(my_log, replace(stories[0], steps=steps[:1]), [".log"])
    assert "your log had no file that ends with .log" in told.words


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize(
    ("close", "told"),
    [
        (
            "os.symlink(self.first, self.first + '.link')",
            f"In the directory of your log {'0' * 20}.log.link is a link.",
        ),
        (f"os.rename(self.first, '{SCRATCH}/a'); os.symlink('{SCRATCH}/a', self.first)", "0.log is a link."),
        (f"os.link(self.first, '{SCRATCH}/a')", "0.log is a file that has a second name."),
        ("os.mkfifo(self.first + '.pipe')", "0.log.pipe is no regular file."),
        ("socket.socket(socket.AF_UNIX).bind('topic-0/socket')", "socket is no regular file."),
        ("os.mkdir(self.first + 's'); os.symlink('/', self.first + 's/root')", "0.logs/root is a link."),
        ("os.rename(self.directory, 'a'); os.symlink('a', self.directory)", "the log's directory is gone."),
        ("[os.truncate(os.open(self.first + n, 65), 200 << 20) for n in ('.log', '2.log')]", "more than 256 MiB"),
        ("[open(self.first + f'{n}.log', 'w').close() for n in range(2000)]", "more than 1000 files"),
        (
            "os.chdir(self.directory); [(os.mkdir('d'), os.chdir('d')) for n in range(3000)]",
            "directories are nested too deeply",
        ),
        ("os.chdir(self.directory); [(os.mkdir('d' * 255), os.chdir('d' * 255)) for n in range(30)]", "name too long"),
        ("os.mkdir(self.first + 's')", ""),
    ],
)
def test_a_log_leaves_files_and_directories_and_nothing_else(tmp_path, close, told):
    init = "open(self.first, 'wb').close()"
    with log_in(only(tmp_path, init, close=close)) as log:
        log.lay({})
        log.open({}, clean=True)
        log.close()
        if not told:
            assert log.files() == {"0" * 20 + ".log": b""}
            return
        with pytest.raises(LearnersError) as raised:
            log.files([".log"])
    assert told in str(raised.value)


HOSTILE = """
import sys
for module in list(sys.modules.values()):
    if hasattr(module, "_received"):
        module._module = None
    if hasattr(module, "MOST_BYTES"):
        module._left = lambda suffixes: {"files": ANSWER}
"""


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize(
    "answer",
    [
        "{'../../a': b''}",
        "{'/a': b''}",
        "{'': b''}",
        "{' /a': zlib.compress(b'')}",
        "{'\\t../a': zlib.compress(b'')}",
        "{'a': b'no zlib'}",
        "{3: b''}",
        "{'a': 'text'}",
        "3",
        "{'a': BOMB}",
    ],
)
def test_files_of_which_a_log_lies_harm_nobody(tmp_path, answer):
    bomb = "BOMB = zlib.compress(bytes(300 << 20), 1)"
    head = f"import zlib\n{bomb if 'BOMB' in answer else ''}\n{HOSTILE.replace('ANSWER', answer)}"
    with log_in(only(tmp_path, head=head)) as log:
        log.lay({})
        log.open({}, clean=True)
        with pytest.raises(LearnersError, match="Its process answers what no log answers"):
            log.files()


ATTACKS = {
    "minikafka by another name": "__import__('importlib').import_module('mini' + 'kafka.log.log')",
    "minikafka by its place": f"__import__('sys').path.insert(0, {str(Path(exam_command.__file__).parents[1])!r}); "
    "__import__('minikafka')",
    "the environment's packages": "__import__('numpy')",
    "the learner's other files": f"open({__file__!r})",
    "a process that goes on": "os.setsid(); os.fork()",
    "the network": "__import__('socket').create_connection(('127.0.0.1', 22), 1)",
    "a file elsewhere": "open('/usr/a', 'w')",
}


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_in_the_sandbox_there_is_nothing_to_gain(tmp_path, attack):
    with log_in(only(tmp_path, attack)) as log:
        log.lay({})
        with pytest.raises(LearnersError, match="Your function raised"):
            log.open({}, clean=True)


@pytest.mark.slow
def test_in_the_temporary_directory_a_log_finds_its_own_directory_alone(tmp_path):
    append = "return sum(len(names) for _, names, _ in os.walk(os.path.dirname(self.directory)))"
    with log_in(only(tmp_path, append=append)) as log:
        log.lay({})
        log.open({}, clean=True)
        assert log.append(b"", 0) == 1


@pytest.mark.slow
def test_when_the_log_begins_the_judge_has_left_nothing(engine_judges, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "desks"))
    (tmp_path / "desks").mkdir()
    LADDER[3].judged(1)
    assert list((tmp_path / "desks").iterdir()) == []


@pytest.mark.slow
def test_without_a_sandbox_one_line_says_what_holds(engine_judges, tmp_path, monkeypatch):
    monkeypatch.setattr(exam_command, "why_there_is_no_sandbox", lambda: "there is no bubblewrap")
    file = only(tmp_path, append="__import__('mini' + 'kafka')")
    done = CliRunner().invoke(main, ["exam", str(file), "--up-to", "1"])
    assert done.exit_code == 1 and "No module named 'minikafka'" in done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{file} runs unprotected: there is no bubblewrap. So it gets 1024 MiB of memory, ")


def test_the_help_names_all_questions():
    shown = " ".join(CliRunner().invoke(main, ["exam", "--help"]).stdout.split())
    assert all(question.name in shown for question in LADDER)


def test_the_template_names_all_questions():
    template = " ".join((COURSE / "my_log.py").read_text().split())
    assert all(question.name in template for question in LADDER)


def test_the_template_has_has_what_is_asked_for_and_fails_the_first_question(engine_judges):
    assert "NotImplementedError" in asked(0, COURSE / "my_log.py", 1).words


@pytest.mark.slow
def test_the_command_asks_up_to_the_first_that_fails(tmp_path, spark):
    file = changed(tmp_path, "offset, fields[1], leader_epoch)", "offset, fields[1], -1)")
    command = [sys.executable, "-m", "minikafka", "exam", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("✗ 1. the .log of one segment")
    assert "2." not in done.stdout
