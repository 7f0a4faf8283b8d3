"""What `register` asks of the workers' Python, and that our own line stands first in what Spark raises."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from minikafka.spark import register
from minikafka.spark.our_line_first import put_our_line_first, raised_by_us
from tests.golden.places import GOLDEN
from tests.spark.jobs.clusters import python_without_minikafka
from tests.spark.quick_java import QUICK_JAVA

ROOT = Path(__file__).parents[2]
REGISTER = """
from pyspark.sql import SparkSession
from minikafka.spark import register
settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
try:
    register(SparkSession.builder.master("local[1]").config(map=settings).getOrCreate())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_last_exception_of_ours_is_found():
    message = (
        "x\nminikafka.common.errors.OneException: a\n  File y\nminikafka.common.errors.OtherException: b c SQLSTATE: 1"
    )
    assert raised_by_us(message) == ("OtherException", "b c")
    assert raised_by_us("java.lang.IllegalStateException: z") is None


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_a_python_without_minikafka_is_named(tmp_path):
    python = python_without_minikafka(tmp_path / "venv")
    environment = {**os.environ, **QUICK_JAVA, "PYSPARK_PYTHON": str(python)}
    environment.pop("PYTHONPATH", None)
    code = f"import sys; sys.path.append({str(ROOT)!r})\n{REGISTER}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=220
    )
    assert done.stdout.startswith(f"WorkersPythonError The workers' Python, {python}, has no minikafka: "), done
    assert f"PYSPARK_PYTHON name one that has, such as {sys.executable}" in done.stdout


@pytest.mark.slow
def test_a_python_that_does_not_work_is_named_as_it_was_found(tmp_path):
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "python3").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **QUICK_JAVA, "PATH": path, "PYTHONPATH": str(ROOT)}
    environment.pop("PYSPARK_PYTHON", None)
    done = subprocess.run(
        [sys.executable, "-c", REGISTER], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=220
    )
    assert done.stdout.startswith("WorkersPythonError The workers' Python, python3, does not work: "), done
    assert f"PYSPARK_PYTHON name one that does, such as {sys.executable}" in done.stdout


@pytest.mark.slow
def test_our_line_is_the_first(spark, tmp_path):
    register(spark)
    put_our_line_first()  # once more: no line is told twice
    damaged = Path(shutil.copytree(GOLDEN, tmp_path / "data"))
    log = min(damaged.glob("mixed-0/*.log"))
    log.write_bytes(log.read_bytes()[:70] + b"?" + log.read_bytes()[71:])

    def first_line(**options: str) -> str:
        with pytest.raises(PySparkException) as raised:
            spark.read.format("minikafka").options(**options).load(str(damaged)).collect()
        first, empty, *others = str(raised.value).splitlines()
        assert empty == "" and others and first not in others
        return first

    nearest = "IllegalArgumentException: There is no option 'startingoffset'; the nearest is startingOffsets"
    assert first_line(startingOffset="latest") == nearest
    assert first_line(subscribe="mixd").startswith("UnknownTopicOrPartitionException: There is no topic mixd in ")
    assert first_line().startswith(f"CorruptRecordException: {log}, position 0: CorruptRecordException: ")
    with pytest.raises(PySparkException, match="^.UNRESOLVED_COLUMN"):
        spark.range(1).select("nothing")
