"""Exercises and rungs are judged where as little is at hand as in a browser: right versions pass, wrong ones do not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.lab.exercises.task import CORRECT, NOT_ATTEMPTED, NOT_HERE, NOT_YET
from minikafka.lab.lesson_folders import REBUILD
from minikafka.lab.site.live_site import rebuilt

ROOT = Path(__file__).parents[2]
LESSONS = [name.removesuffix(REBUILD) for name in rebuilt()]


@pytest.mark.slow
@pytest.mark.in_parts(10)
@pytest.mark.parametrize("lesson", LESSONS)
def test_what_is_right_passes_and_what_is_wrong_does_not(lesson, tmp_path):
    command = [sys.executable, "-m", "tests.notebooks.checks_in_a_browser", lesson]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    tasks = json.loads(done.stdout)
    assert tasks
    for name, said in tasks.items():
        of_an_exercise = said["kind"] == "exercises"
        assert said["stub"][0] == NOT_ATTEMPTED, name
        assert said["solution"][0] == CORRECT or (of_an_exercise and said["solution"][0] == NOT_HERE), said["solution"]
        assert not of_an_exercise or said["answers"][0] == CORRECT, said["answers"]
        for (state, words), belief in said["wrong"]:
            judged = state == NOT_YET and words.endswith(belief)
            assert judged or (of_an_exercise and state == NOT_HERE), (name, words, belief)
