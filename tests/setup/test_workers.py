"""A process of `make test` that dies fails the run at once: it names the test that ran, and shows where it stood."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DIES = """
import os, signal, subprocess
import pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    if {number} == number:
        # A child outlives it, as a JVM may.
        subprocess.Popen(["sleep", "30"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_a_process_that_dies_ends_the_run(tmp_path):
    [options] = re.findall(r"^WORKERS := (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    for number in (1, 2, 3):
        (tmp_path / f"test_{number}.py").write_text(DIES.format(number=1 if number == 2 else None))
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, *options.split(), "--dist", "loadfile", tmp_path]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=150)
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.search(r"crashed while running '.*test_2.py::test_it\[1]'", run.stdout), run.stdout


STANDS_STILL = """
import threading

def test_it():
    the_place()

def the_place():
    threading.Event().wait()
"""


@pytest.mark.slow
def test_the_end_of_the_run_shows_where_a_process_stood_that_died(tmp_path):
    (tmp_path / "test_still.py").write_text(STANDS_STILL)
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\nfaulthandler_timeout = 1\nfaulthandler_exit_on_timeout = true\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", settings, "-n1", "--max-worker-restart=0"]
    run = subprocess.run([*command, tmp_path], cwd=REPOSITORY, capture_output=True, text=True, timeout=100)
    assert run.returncode == 1, run.stdout + run.stderr
    summary = run.stdout.partition("where the process gw0 stood when it died")[2]
    assert re.search(r"Timeout .*in wait\n.*in the_place\n.*in test_it\n", summary, re.DOTALL), run.stdout


LARGE_VALUES = """
import os

def test_it():
    assert os.urandom(1_000_000) == os.urandom(1_000_000)
"""


@pytest.mark.slow
def test_in_ci_a_difference_of_large_values_is_told_at_once(tmp_path):
    (tmp_path / "test_large.py").write_text(LARGE_VALUES)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull, "--quick", tmp_path]
    environment = {**os.environ, "CI": "true"}
    run = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "At index 0 diff" in run.stdout, run.stdout + run.stderr
