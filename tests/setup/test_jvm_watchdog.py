"""A test that waits for Java for ever fails and shows where Java stands; the next file has a fresh JVM."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
HANGS = """
def test_waits(kafka):
    kafka.find_class("java.lang.Thread").sleep(600_000)
"""
GOES_ON = """
def test_goes_on(kafka):
    assert kafka.find_class("java.lang.Integer").valueOf("7") == 7
"""


@pytest.mark.slow
@pytest.mark.kafka
def test_a_test_that_hangs_fails_and_the_next_file_goes_on(tmp_path):
    (tmp_path / "test_1.py").write_text(HANGS)
    (tmp_path / "test_2.py").write_text(GOES_ON)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull, "--patience", "1", tmp_path]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=100)
    assert "1 failed, 1 passed" in run.stdout, run.stdout + run.stderr
    assert "After 1 s the test still runs." in run.stdout and "java.lang.Thread.sleep(" in run.stdout
