"""Exercises and rungs are judged where as little is at hand as in a browser: right versions pass, wrong ones do not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.lab.lesson_folders import REBUILD
from minikafka.lab.site.live_site import rebuilt
from tests.notebooks.checks_in_a_browser import wrongly_judged

ROOT = Path(__file__).parents[2]
LESSONS = [name.removesuffix(REBUILD) for name in rebuilt()]
# minikafka finds out at its import what is at hand.
PROGRAM = """
import json, sys
from tests.notebooks import as_in_a_browser
as_in_a_browser.take_away()
from tests.notebooks.checks_in_a_browser import judged
console, sys.stdout = sys.stdout, sys.stderr
print(json.dumps(judged(sys.argv[1])), file=console)
"""


@pytest.mark.slow
@pytest.mark.in_parts(10)
@pytest.mark.parametrize("lesson", LESSONS)
def test_what_is_right_passes_and_what_is_wrong_does_not(lesson, tmp_path):
    command = [sys.executable, "-c", PROGRAM, lesson]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    tasks = json.loads(done.stdout)
    assert tasks and wrongly_judged(tasks) == []
