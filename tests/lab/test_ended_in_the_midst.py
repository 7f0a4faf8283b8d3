"""`minikafka grade` and `exam`, ended by a signal in the midst: what is left, and what the next run removes.

A process that is killed removes nothing. Its children end by themselves, its directories and control groups go when the
next one begins.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from minikafka.common.locked_directory import remove_those_of_the_dead
from minikafka.lab.sandbox import control_group
from minikafka.lab.sandbox.control_group import ControlGroup

LESSON = "01-small.ipynb"
NEVER_ENDS = "while True: pass"
FUNCTION = "def updated(old, suggested, log_start, log_end):\n    "
HANDED_IN = f"""from minikafka.lab import ___, predict
from minikafka.lessons.high_watermark.exercises import clamp
predict("how-many", "How many?", 3, lambda: 3)
{FUNCTION}{{body}}
clamp.check(updated)"""
CLOSES = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


def a_notebook(directory: Path, *cells: str) -> None:
    directory.mkdir(parents=True)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, directory / LESSON)


def groups_of_the_dead() -> list[Path]:
    """Control groups that no process holds; other tests on this machine may hold some."""
    found: list[Path] = []
    for parent in control_group._parents():
        remove_those_of_the_dead(parent, control_group._PREFIX, found.append)
    return found


@pytest.fixture
def begun(tmp_path):
    """Start a command; gives the process, once it has started as many others as are asked for, and these."""
    started: list[psutil.Process] = []
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def begin(*command: str, until):
        # A command that is started in the background of a script ignores SIGINT, and under `nohup` SIGHUP.
        process = subprocess.Popen(
            [sys.executable, *command],
            env={**os.environ, "TMPDIR": str(temporary)},
            stdout=begin.told.open("wb"),
            stderr=subprocess.PIPE,
            preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in CLOSES],
        )
        started.append(psutil.Process(process.pid))
        deadline = time.monotonic() + 150
        while not until(others := started[0].children(recursive=True)):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline, [each.cmdline() for each in others]
            time.sleep(0.05)
        started.extend(others)
        process.others = others
        return process

    begin.temporary, begin.told = temporary, tmp_path / "told"
    yield begin
    for each in started:
        if each.is_running():
            each.kill()


def wait_for(done, seconds: float):
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
    return done()


def living(processes) -> list[psutil.Process]:
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def is_in_the_function(others) -> bool:
    """Whether the process in the sandbox has worked for longer than it takes to begin."""
    words = "learners_side.py", "log_in_sandbox.py"
    return any(is_busy(process) for process in others if any(word in " ".join(words_of(process)) for word in words))


def is_busy(process) -> bool:
    try:
        return process.cpu_times().user > 2
    except psutil.Error:
        return False


def words_of(process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def grading(tmp_path):
    """The command that grades a notebook with a function that never ends."""
    a_notebook(tmp_path / "course", HANDED_IN.format(body="return ___").replace("3, lambda", "___, lambda"))
    a_notebook(tmp_path / "eve", HANDED_IN.format(body=NEVER_ENDS))
    return ("-m", "minikafka", "grade", "--course", str(tmp_path / "course"), str(tmp_path / "eve"), "--seconds", "300")


@pytest.fixture
def examining(tmp_path):
    """The command that examines a log whose `append` never ends."""
    methods = {"__init__": "directory, settings, clean", "append": "batch, leader_epoch", "roll": "", "close": ""}
    methods["read"] = "offset, max_bytes"
    code = "class MyLog:\n"
    for name, arguments in methods.items():
        does = NEVER_ENDS if name == "append" else "pass"
        code += f"    def {name}(self, {arguments}):\n        {does}\n"
    (tmp_path / "my_log.py").write_text(code)
    return ("-c", EXAMINE, "exam", str(tmp_path / "my_log.py"))


# As `minikafka exam`, but with time for the signal to come.
EXAMINE = """
import minikafka.cli.exam
minikafka.cli.exam._GUARD_S = 300
from minikafka.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.in_parts(2)
@pytest.mark.parametrize(
    ("command", "number"),
    [("grading", signal.SIGTERM), ("examining", signal.SIGINT)],
)
def test_a_signal_ends_all_of_it_in_order(command, number, begun, request):
    process = begun(*request.getfixturevalue(command), until=is_in_the_function)
    process.send_signal(number)
    assert (process.wait(60), process.stderr.read()) == (128 + number, b"")
    require_nothing_left(process, begun)


def require_nothing_left(process, begun):
    assert wait_for(lambda: not living(process.others), 10), living(process.others)
    assert wait_for(lambda: not list(begun.temporary.iterdir()), 10), list(begun.temporary.iterdir())
    assert wait_for(lambda: not groups_of_the_dead(), 5), groups_of_the_dead()


@pytest.mark.in_parts(2)
@pytest.mark.slow
@pytest.mark.spark
def test_of_grading_that_is_ended_whole_submissions_are_told(begun, grading, tmp_path):
    """The first one is graded, the second never ends."""
    a_notebook(tmp_path / "ann", HANDED_IN.format(body="return max(log_start, min(suggested, log_end))"))
    process = begun(*grading[:-3], str(tmp_path / "ann"), *grading[-3:], "--json", until=is_in_the_function)
    assert wait_for(lambda: len(begun.told.read_bytes()) > 0, 60)
    process.send_signal(signal.SIGINT)
    assert (process.wait(60), process.stderr.read()) == (128 + signal.SIGINT, b"")
    require_nothing_left(process, begun)
    assert [json.loads(line)["points"] for line in begun.told.read_text().splitlines()] == [2]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.in_parts(2)
@pytest.mark.parametrize("command", ["grading", "examining"])
def test_of_a_killed_one_no_process_is_left_and_the_next_run_removes_the_rest(command, begun, request):
    process = begun(*request.getfixturevalue(command), until=is_in_the_function)
    process.kill()
    process.wait()
    assert wait_for(lambda: not living(process.others), 10), [each.cmdline() for each in living(process.others)]
    left = set(begun.temporary.glob("minikafka-*"))
    assert left
    next_one = textwrap.dedent("""
        import sys, time
        from minikafka.lab.sandbox.control_group import can_be_made
        from minikafka.common.own_directory import own_directory
        can_be_made(), own_directory()
    """)
    subprocess.run([sys.executable, "-c", next_one], env={**os.environ, "TMPDIR": str(begun.temporary)}, check=True)
    assert not left & set(begun.temporary.iterdir())
    assert wait_for(lambda: not groups_of_the_dead(), 5), groups_of_the_dead()


@pytest.mark.slow
@pytest.mark.in_parts(2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_of_the_course_s_own_notebook(number, begun, tmp_path):
    asked = 'from minikafka.lab import ___, predict\npredict("how-many", "How many?", {}, lambda: 3)'
    a_notebook(tmp_path / "course", NEVER_ENDS, asked.format("___"))
    a_notebook(tmp_path / "eve", asked.format("3"))
    command = ("-m", "minikafka", "grade", "--course", str(tmp_path / "course"), str(tmp_path / "eve"))
    process = begun(*command, until=lambda others: any(map(is_busy, others)))
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert wait_for(lambda: not living(process.others), 10), living(process.others)


@pytest.mark.slow
@pytest.mark.in_parts(2)
@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_sandbox_ends_with_the_process_that_opened_it_whatever_it_does(is_trusted, begun, tmp_path):
    program = tmp_path / "lasting.py"
    program.write_text("def answer(request):\n    while True:\n        pass\n")
    opens = textwrap.dedent(f"""
        from pathlib import Path
        from minikafka.lab.sandbox.sandbox import Sandbox
        with Sandbox(Path({str(program)!r}), is_trusted={is_trusted}) as sandbox:
            sandbox.ask("for ever", 300)
    """)
    process = begun("-c", opens, until=lambda others: any(map(is_busy, others)))
    process.kill()
    process.wait()
    assert wait_for(lambda: not living(process.others), 2), [each.cmdline() for each in living(process.others)]


def test_a_group_of_a_process_that_lives_is_left_alone():
    group = ControlGroup(64, 16)
    try:
        subprocess.run(
            [sys.executable, "-c", "from minikafka.lab.sandbox.control_group import can_be_made; can_be_made()"],
            check=True,
        )
        assert all(Path(file).exists() for file in group.files)
    finally:
        group.close()
    assert not any(Path(file).exists() for file in group.files)
