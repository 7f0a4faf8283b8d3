"""The types of the lower rooms, as mypy checks them with every strictness (`[tool.mypy]` in pyproject.toml)."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TYPED_ROOMS = ("common", "record", "checkpoint", "log")


@pytest.mark.slow
def test_mypy_finds_nothing_in_the_typed_rooms():
    rooms = [f"minikafka/{room}" for room in TYPED_ROOMS]
    # What other rooms have wrong is their own: only the typed ones are told.
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary", *rooms]
    check = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr
