"""Commands that are given in somebody else's directory run nothing that lies there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.common import working_directory
from minikafka.jvm import class_archive
from minikafka.lab.course import working_copy
from minikafka.lab.course.working_copy import lab_command
from minikafka.spark import spark_jvm
from minikafka.spark.spark_jvm import SparkDidNotStartError

COURSE = Path(__file__).parents[2] / "notebooks" / "data"
ROOT = Path(__file__).parents[2]
# Modules that Spark's workers, their packages or JupyterLab import.
MODULES = ("jupyterlab", "numpy", "pandas", "pyspark", "queue", "shlex", "socketserver", "a_module")
COMPILE = """
import numpy as np
from minikafka.record.kernels import record_columns
print(record_columns.use_compiled_kernel())
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch) -> Path:
    """The working directory, whose modules leave a file `ran` beside it."""
    directory = tmp_path / "foreign"
    directory.mkdir()
    for name in MODULES:
        (directory / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if os.path.realpath(each) != str(ROOT)])
    return directory


def require_nothing_ran(foreign: Path) -> None:
    assert not (foreign.parent / "ran").exists(), (foreign.parent / "ran").read_text()


def run(*command: object, **more: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, timeout=200)


@pytest.mark.slow
def test_jupyterlab_starts_from_there(foreign):
    done = run(*lab_command(foreign / "my-lessons"), "--version")
    require_nothing_ran(foreign)
    assert done.returncode == 0, done.stderr


def test_jupyterlab_works_elsewhere(foreign, monkeypatch):
    """It starts language servers out of `node_modules` in its working directory."""
    started = []
    monkeypatch.setattr(os, "execve", lambda _, command, __: started.append((os.getcwd(), command)))
    working_copy.open_lab()
    [(place, command)] = started
    assert place == os.path.realpath(sys.prefix) and f"--ServerApp.root_dir={foreign / 'my-lessons'}" in command


def test_the_archive_of_classes_is_made_from_there(foreign, monkeypatch):
    monkeypatch.setenv("MINIKAFKA_CACHE", str(foreign.parent / "cache"))
    assert not class_archive.make(foreign, ["a.jar"], "a_module")
    require_nothing_ran(foreign)


def test_the_process_of_a_broker_for_tests_starts_from_there(foreign):
    program = (
        "from minikafka.testing import Broker\nwith Broker(process=True) as broker: print(broker.bootstrap_servers)"
    )
    assert run(sys.executable, "-P", "-c", program).stdout.startswith("127.0.0.1:")
    require_nothing_ran(foreign)


@pytest.fixture
def variable_in_java(foreign, monkeypatch):
    """The variable PYTHONSAFEPATH as Spark's Java has it, and so its workers; Java here is a script."""
    java = foreign.parent / "instead-of-java"
    java.write_text(f'#!/bin/sh\necho "$PYTHONSAFEPATH" > {foreign.parent}/seen\nexit 1\n')
    java.chmod(0o755)
    monkeypatch.setattr(spark_jvm, "java_command", lambda: str(java))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)

    def seen() -> str:
        with pytest.raises(SparkDidNotStartError):
            spark_jvm.start(["a.jar"], [])
        return (foreign.parent / "seen").read_text().strip()

    return seen


def test_sparks_workers_do_not_import_from_there(variable_in_java):
    assert variable_in_java() == "1"


@pytest.mark.parametrize("entry", ["", "."])
def test_where_this_process_imports_from_there_workers_do_too(variable_in_java, monkeypatch, entry):
    monkeypatch.setattr(sys, "path", [*sys.path, entry])
    assert working_directory.is_on_the_path() and variable_in_java() == ""


@pytest.mark.slow
def test_numba_takes_no_settings_from_there(foreign):
    """They may name a cache, out of which numba unpickles."""
    told = run(sys.executable, "-P", "-c", COMPILE)
    assert told.stdout == "True\n", told.stderr
    cache = foreign / "cache"
    (foreign / ".numba_config.yaml").write_text(f"cache_dir: {cache}\ncache_locator_classes: ''\n")
    told = run(sys.executable, "-P", "-c", COMPILE)
    assert told.stdout == "False\n" and not cache.exists()
    later = "import os\nos.chdir('..')\n" + COMPILE + "os.chdir('foreign')\nimport numba\n"
    later += "numba.njit(lambda n: n + 1)(1)\nprint(numba.config.CACHE_DIR)"
    assert run(sys.executable, "-P", "-c", later).stdout == "True\n\n"


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_a_spark_job_runs_from_there(foreign):
    log_dir = foreign / "log-dir"
    os.symlink(COURSE, log_dir)
    command = [sys.executable, "-P", "-c", "from minikafka.cli import main; main()", "spark", "export", log_dir]
    done = run(*command, "--to", foreign / "out", "--master", "local[2]")
    require_nothing_ran(foreign)
    assert done.returncode == 0 and "orders" in done.stdout, done.stderr
