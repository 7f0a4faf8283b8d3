"""A machine with nothing but Python: no java, no dot. The wheels must do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.absent import in_ci

REPOSITORY = Path(__file__).parents[2]
LACKING = {"java", "javac", "dot"}


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> dict[str, str]:
    """An environment whose PATH has all programs of this machine but the `LACKING`."""
    programs = tmp_path_factory.mktemp("programs")
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in sorted(Path(directory).glob("*")) if directory else ():
            link = programs / program.name
            if program.name not in LACKING and not link.is_symlink():
                link.symlink_to(program)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PYTEST_ADDOPTS")}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_XDIST")}
    return {**environment, "PATH": str(programs)}


def test_there_is_neither_java_nor_dot(bare):
    code = "import shutil; print([shutil.which(name) for name in ('java', 'dot', 'sh')])"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=bare).stdout
    assert said.startswith("[None, None, '")


@pytest.mark.in_parts(4)
@pytest.mark.kafka
@pytest.mark.spark
def test_the_slice_of_the_tests_passes(bare):
    """The tests marked `bare`: Spark with Kafka's classes, Kafka in a JVM of its own, diagrams."""
    modules = (REPOSITORY / "tests").rglob("test_*.py")  # all of them would take long to collect
    marked = [str(module) for module in modules if "pytest.mark.bare" in module.read_text()]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "bare", "-p", "no:cacheprovider"]
    run = subprocess.run(command + marked, capture_output=True, text=True, env=bare, cwd=REPOSITORY)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert " skipped" not in run.stdout or not in_ci()
    assert " passed" in run.stdout
