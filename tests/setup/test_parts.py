"""Twenty runs of `make test` that pass have taken every part of the tests, also when they are run on one day."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import PARTS, next_part, note_passed

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_twenty_runs_take_twenty_parts(tmp_path):
    file = tmp_path / "cache" / "next"
    taken = []
    for _ in range(PARTS):
        taken.append(next_part(file))
        note_passed(file, str(taken[-1]))
    assert sorted(taken) == list(range(PARTS))
    assert next_part(file) == taken[0]


@pytest.mark.parametrize("passed", ["all", "7", "2", "20"])
def test_a_run_of_another_part_changes_nothing(tmp_path, passed):
    file = tmp_path / "next"
    file.write_text("3\n")
    note_passed(file, passed)
    assert next_part(file) == 3


@pytest.mark.parametrize("content", [None, b"", b"x", b"\xff"])
def test_without_a_note_the_day_decides(tmp_path, monkeypatch, content):
    file = tmp_path / "next"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setattr("time.time", lambda: 86_400.0 * 43 + 5)
    assert next_part(file) == 3


def test_where_nothing_can_be_written_nothing_is_noted(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    note_passed(blocked / "next", str(next_part(blocked / "next")))
    assert blocked.read_bytes() == b""


@pytest.mark.slow
def test_the_makefile_asks_for_the_part_and_notes_it_when_the_tests_have_passed(tmp_path):
    def parts(*options):
        environment = {**os.environ, "MINIKAFKA_CACHE": str(tmp_path)}
        command = [sys.executable, "-m", "tests.parts", *options]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    part = parts()
    assert parts("--passed", part.strip()) == ""
    assert int(parts()) == (int(part) + 1) % PARTS
    assert re.search(r"^PART \?= \$\(shell \$\(BIN\)/python -m tests\.parts\)$", MAKEFILE, re.M)
    recipe = re.search(r"^test: .*\n((?:\t.*\n)+)", MAKEFILE, re.M)[1].splitlines()
    assert "--ask-kafka --part $(PART) tests" in recipe[-2]
    assert recipe[-1] == "\t@$(BIN)/python -m tests.parts --passed $(PART)"
