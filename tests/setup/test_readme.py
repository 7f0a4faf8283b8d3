"""The README tells the truth: its example runs, its commands and directories exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.cli import COMMANDS

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "printed", "logs"),
    [(0, "[b'value']", ["orders-0"]), (1, "True 1", [f"three-brokers/broker-{id}/orders-0" for id in range(3)])],
)
def test_the_examples_run(tmp_path, number, printed, logs):
    example = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[number]
    process = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, printed + "\n", "")
    assert all((tmp_path / log / "00000000000000000000.log").stat().st_size > 0 for log in logs)


def test_every_make_target_is_there_and_every_public_one_is_told():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    told = set(re.findall(r"`make ([a-z-]+)", README))
    assert told <= targets
    helped = set(re.findall(r'@echo "make ([a-z-]+)', makefile))
    assert {name for name in targets if not name.startswith("ready-")} - {"help"} == helped
    assert helped - told <= {"lock"}


def test_every_subcommand_is_told():
    assert set(re.findall(r"`minikafka ([a-z-]+)", README)) == set(COMMANDS)


def test_every_directory_of_the_contents_exists():
    contents = README.partition("## Contents")[2].partition("\n## ")[0]
    directories = re.findall(r"^\| `(\S+/)` \|", contents, re.MULTILINE)
    assert len(directories) >= 12
    for directory in directories:
        assert (REPOSITORY / directory).is_dir(), directory
    rooms = {path.parent.name for path in (REPOSITORY / "minikafka").glob("*/__init__.py")}
    assert rooms == {name.split("/")[1] for name in directories if name.startswith("minikafka/")}
