"""The fixture `minikafka_broker`: pytest finds it, it costs nothing before it is used, and the page of it is true."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks.spark_connector import connector_jars
from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError
from tests.absent import in_ci
from tests.spark.quick_java import QUICK_JAVA

REPOSITORY = Path(__file__).parents[2]
SESSIONS = {"PYTHONPATH": str(REPOSITORY), "PYSPARK_PYTHON": sys.executable}
PAGE = (REPOSITORY / "docs/testing.md").read_text(encoding="utf-8")


def run_pytest(path, *options):
    """Run the tests in `path` in a process of their own, with the plugin by its name, and no other one."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "minikafka.pytest_plugin", *options, str(path)],
        env={**os.environ, **QUICK_JAVA, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", **SESSIONS},
        cwd=path.parent, capture_output=True, text=True,
    )  # fmt: skip


def test_the_package_tells_pytest_of_it():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {"minikafka": "minikafka.pytest_plugin"}


@pytest.mark.slow
def test_nothing_is_imported_before_it_is_used():
    code = (
        "import sys, pytest; known = set(sys.modules); import minikafka.pytest_plugin; print(*set(sys.modules) - known)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert set(loaded) <= {"minikafka", "minikafka.pytest_plugin", "logging", "string", "_string", "importlib"}


@pytest.mark.slow
def test_a_marker_says_how_it_is_made(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(
        """
import pytest

@pytest.mark.minikafka_broker(topics={"orders": 2}, records={"orders": [b"a"]}, settings={"message.max.bytes": "100"})
def test_marked(minikafka_broker):
    assert [record.value for record in minikafka_broker.records("orders", 0)] == [b"a"]
    with pytest.raises(Exception, match="larger"):
        minikafka_broker.append("orders", 1, bytes(1000))

def test_plain(minikafka_broker):
    minikafka_broker.create_topic("orders")
    assert minikafka_broker.records("orders", 0) == []
"""
    )
    process = run_pytest(path, "--strict-markers")
    assert process.returncode == 0 and "2 passed" in process.stdout, process.stdout


@pytest.mark.slow
def test_what_a_marker_says_by_place_is_not_dropped(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(
        """
import pytest

@pytest.mark.minikafka_broker("kept", topics={"orders": 1})
def test_directory(minikafka_broker):
    assert minikafka_broker.directory.name == "kept"

@pytest.mark.minikafka_broker({"orders": 2})
def test_topics(minikafka_broker):
    pass
"""
    )
    process = run_pytest(path)
    assert "1 passed, 1 error" in process.stdout, process.stdout


SESSION = """
import pytest
from benchmarks.spark_bench_session import session

@pytest.fixture
def spark():
    with session(2, {jars}) as spark:
        yield spark
"""


def run_examples(directory, *options):
    """Run those of the page; returns how it ended, and how many tests there are."""
    examples = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    path = directory / "test_examples.py"
    path.write_text("\n\n".join(examples))
    return run_pytest(path, *options), sum(len(re.findall("^def test_", each, re.MULTILINE)) for each in examples)


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path):
    process, count = run_examples(tmp_path, "-k", "not spark")
    assert process.returncode == 0 and f"{count - 1} passed, 1 deselected" in process.stdout, process.stdout
    assert count >= 7


@pytest.mark.in_parts(4)
@pytest.mark.spark
@pytest.mark.slow
def test_the_example_for_spark_runs(tmp_path):
    try:
        jars = connector_jars()
    except KafkaJarsUnavailableError as unavailable:
        (pytest.fail if in_ci() else pytest.skip)(str(unavailable))
    (tmp_path / "conftest.py").write_text(SESSION.format(jars=jars))
    process, _ = run_examples(tmp_path, "-k", "spark")
    assert process.returncode == 0 and "1 passed" in process.stdout, process.stdout
