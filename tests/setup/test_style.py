"""The source as ruff wants it."""

import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_ruff_finds_nothing():
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    check = subprocess.run(
        [ruff, "check", "--output-format=concise", "."], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout


def test_ruff_would_format_nothing():
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    check = subprocess.run([ruff, "format", "--check", "."], cwd=REPOSITORY, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout
