"""The types of the lower rooms, as mypy checks them with every strictness (`[tool.mypy]` in pyproject.toml)."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
def test_mypy_finds_nothing():
    check = subprocess.run([sys.executable, "-m", "mypy"], cwd=REPOSITORY, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr
