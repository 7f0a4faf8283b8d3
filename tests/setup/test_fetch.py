"""`minikafka fetch` makes once what a lesson would wait for, and says so."""

import errno
import os
import threading
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import fetch as command
from minikafka.jvm import class_archive, kafka_jars
from minikafka.jvm.scala_compiler import CompilationError
from minikafka.witness.kafka.scala_objects import SCALA_CLASSES, compile_once, to_compile


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled; the jars and the archive of classes are there already."""
    compiled = []
    monkeypatch.setattr(command, "cached_classpath", lambda part: ["a.jar"])
    monkeypatch.setattr(command, "wrong_jars", lambda jars: [])
    monkeypatch.setattr(command, "jars_for_spark", lambda: ["a.jar"])
    monkeypatch.setattr(command, "java_home", lambda: None)
    monkeypatch.setattr(class_archive, "was_made", lambda home, jars: True)
    monkeypatch.setattr(command, "to_compile", lambda: [name for name in SCALA_CLASSES if name not in compiled])
    monkeypatch.setattr(command, "compile_once", compiled.append)
    return compiled


def test_what_asks_kafka_is_compiled_once(compiled):
    said = [CliRunner().invoke(command.fetch).output for _ in range(2)]
    assert compiled == list(SCALA_CLASSES)
    assert [each.count("Compiling") for each in said] == [len(SCALA_CLASSES), 0]


def test_a_refusal_of_the_compiler_is_one_error(compiled, monkeypatch):
    def refuse(_name):
        raise CompilationError("error: no such method")

    monkeypatch.setattr(command, "compile_once", refuse)
    done = CliRunner().invoke(command.fetch)
    assert done.exit_code == 1 and "Error: error: no such method" in done.output


def test_a_full_disk_is_one_line(compiled, monkeypatch):
    def full(_name):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/cache/scratch")

    monkeypatch.setattr(command, "compile_once", full)
    done = CliRunner().invoke(command.fetch)
    assert done.exit_code == 1 and done.stderr == "IOException: No space left on device: /cache/scratch\n"


def test_a_wrong_jar_in_the_cache_is_fetched_anew(compiled, monkeypatch):
    monkeypatch.setattr(command, "wrong_jars", lambda jars: [Path("a.jar")])
    fetched = []
    monkeypatch.setattr(command, "fetch_jars", lambda part: fetched.append(part) or ["a.jar"])
    assert CliRunner().invoke(command.fetch).exit_code == 0 and fetched == ["storage", "broker"]


@pytest.mark.parametrize("again", [False, True])
def test_two_fetches_at_once_run_one_after_the_other(tmp_path, monkeypatch, again):
    """And the second takes what the first has fetched, unless it is to fetch again."""
    monkeypatch.setenv("MINIKAFKA_CACHE", str(tmp_path))
    with zipfile.ZipFile(tmp_path / "a.jar", "w"):
        pass
    monkeypatch.setattr(kafka_jars, "is_as_published", lambda jar: True)
    monkeypatch.setattr(kafka_jars, "jars_of", lambda part: {"a.jar"})
    at_work, overlaps, resolved = threading.Semaphore(1), [], []

    def resolve(coordinates):
        overlaps.append(not at_work.acquire(blocking=False))
        time.sleep(0.1)
        resolved.append(coordinates)
        at_work.release()
        return [str(tmp_path / "a.jar")]

    monkeypatch.setattr(kafka_jars, "_resolve", resolve)
    get = kafka_jars.fetch if again else kafka_jars.kafka_classpath
    threads = [threading.Thread(target=get, args=["storage"]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(overlaps) and len(resolved) == 1 + again


@pytest.mark.slow
def test_the_classes_are_those_that_the_lessons_use(kafka):
    for name in SCALA_CLASSES:
        compile_once(name)
    assert to_compile() == []
