"""With the core's packages alone each command works, or names the extra that it needs in one line."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from minikafka.cli import COMMANDS
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.spark.jobs.registry import JOBS

REPOSITORY = Path(__file__).parents[2]
CORE_LOCK = REPOSITORY / "requirements" / "core.txt"

# Reads a list of commands and runs each; what escapes from one counts as a part of what it prints.
RUN = """
import json, sys
from click.testing import CliRunner
from minikafka.cli import main

for command in json.load(sys.stdin):
    result = CliRunner().invoke(main, command)
    ended = result.exception is None or isinstance(result.exception, SystemExit)
    print(json.dumps([result.exit_code, result.output + ("" if ended else f"Traceback: {result.exception!r}")]))
"""
NAMES_THE_EXTRA = re.compile(r".*\b(\w+) is not installed: pip install 'minikafka\[lab\]'\.?\n")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """`run(*commands)` gives each command's exit code and all that it prints, where only the core's packages are."""
    packages = tmp_path_factory.mktemp("packages")
    for name in re.findall(r"^([a-z0-9._-]+)==", CORE_LOCK.read_text(encoding="utf-8"), re.MULTILINE):
        installed = distribution(name)
        for top in {file.parts[0] for file in installed.files} - {".."}:
            (packages / top).symlink_to(installed.locate_file(top))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (packages, REPOSITORY))),
        "MINIKAFKA_CACHE": str(tmp_path_factory.mktemp("cache")),
    }

    def run(*commands):
        process = subprocess.run(
            [sys.executable, "-S", "-c", RUN],
            input=json.dumps(commands),
            capture_output=True,
            text=True,
            cwd=tmp_path_factory.mktemp("empty"),
            env=environment,
        )
        assert process.returncode == 0, process.stderr
        told = [tuple(json.loads(line)) for line in process.stdout.splitlines()]
        return dict(zip(map(" ".join, commands), told, strict=True))

    return run


def test_each_command_says_what_it_does_or_which_extra_it_needs(run):
    for command, (exit_code, output) in run(
        *([name, "--help"] for name in COMMANDS), *(["spark", name, "--help"] for name in JOBS)
    ).items():
        in_one_line = exit_code == 2 and NAMES_THE_EXTRA.fullmatch(output)
        assert in_one_line or (exit_code == 0 and output.startswith("Usage: ")), (command, output)


def test_what_needs_more_than_the_core_names_the_extra(run, tmp_path):
    (tmp_path / "my_log.py").touch()
    plain_jobs = [name for name, job in JOBS.items() if not any(option.required for option in job.options)]
    asked = [["fetch"], ["lab"], ["exam", str(tmp_path / "my_log.py")], ["grade", str(tmp_path)]]
    asked += [["drift", "--kafka", KAFKA_VERSION], *(["spark", name, str(tmp_path)] for name in plain_jobs)]
    for command, (exit_code, output) in run(*asked).items():
        told = output.removeprefix(f"Fetching Kafka {KAFKA_VERSION}, storage (55 MB in all) ...\n")
        assert exit_code and NAMES_THE_EXTRA.fullmatch(told), (command, output)


def test_the_tools_need_nothing_but_the_core(run, tmp_path):
    told = run(["ls", str(tmp_path)], ["verify", str(tmp_path)], ["coverage"], ["source-map"], ["doctor"])
    assert "pip install 'minikafka[lab]'" in told.pop("doctor")[1]
    for command, (_, output) in told.items():
        assert not NAMES_THE_EXTRA.search(output) and "Traceback" not in output, (command, output)
