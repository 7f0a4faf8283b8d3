"""The types of the rooms up to the broker, as mypy checks them with every strictness (`[tool.mypy]` in pyproject)."""

import subprocess
import sys
from pathlib import Path

import pytest

import minikafka

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
def test_mypy_finds_nothing():
    check = subprocess.run([sys.executable, "-m", "mypy"], cwd=REPOSITORY, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.slow
def test_the_names_of_the_package_have_their_types(tmp_path):
    file = tmp_path / "user.py"
    lines = ["import minikafka", *(f"minikafka.{name}.is_not_there" for name in minikafka.__all__)]
    file.write_text("\n".join(lines))
    check = subprocess.run([sys.executable, "-m", "mypy", str(file)], cwd=REPOSITORY, capture_output=True, text=True)
    assert check.stdout.count("[attr-defined]") == len(minikafka.__all__), check.stdout
