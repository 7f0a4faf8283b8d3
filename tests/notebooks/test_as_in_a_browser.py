"""The live lessons show what is stored, where as little is at hand as in a browser."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lab.rebuild.harnesses import ENGINE
from minikafka.lab.site.live_site import WHOLE, is_live, rebuilt, why_not_live
from tests.notebooks.outputs import code_cells, shown

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.in_parts(4)
@pytest.mark.parametrize("lesson", [*WHOLE, "zh/03-high-watermark"])
def test_a_lesson_shows_what_is_stored(lesson, tmp_path):
    for source, stored, found in _run(lesson, tmp_path):
        assert found == stored, source


@pytest.mark.slow
@pytest.mark.in_parts(10)
@pytest.mark.parametrize("notebook", rebuilt())
def test_a_notebook_to_rebuild_shows_what_is_stored_but_who_the_judge_of_rungs_is(notebook, tmp_path):
    for source, stored, found in _run(notebook, tmp_path):
        if "sql" in source and "def " not in source:  # the page on windows of *Start here*
            continue
        named = [(kind, words.replace("Kafka is the judge.", f"{ENGINE} is the judge.")) for kind, words in stored]
        assert found == named, source


def _run(lesson, tmp_path):
    """Of each code cell its source, what is stored, and what it shows now."""
    notebook = COURSE / f"{lesson}.ipynb"
    command = [sys.executable, "-m", "tests.notebooks.as_in_a_browser", str(notebook)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    for (source, stored), outputs in zip(code_cells(notebook), json.loads(done.stdout), strict=True):
        yield source, stored, shown(outputs)


def test_every_lesson_runs_whole_or_says_why_it_does_not():
    for folder in lesson_folders():
        assert is_live(folder.name) != bool(why_not_live(folder.name)), folder.name
