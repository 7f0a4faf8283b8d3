"""`minikafka fetch` makes once what a lesson would wait for, and says so."""

import pytest
from click.testing import CliRunner

from minikafka.cli import fetch as command
from minikafka.jvm import class_archive
from minikafka.jvm.scala_compiler import CompilationError
from minikafka.witness.kafka.scala_objects import SCALA_CLASSES, compile_once, to_compile


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled; the jars and the archive of classes are there already."""
    compiled = []
    monkeypatch.setattr(command, "cached_classpath", lambda part: ["a.jar"])
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


@pytest.mark.slow
def test_the_classes_are_those_that_the_lessons_use(kafka):
    for name in SCALA_CLASSES:
        compile_once(name)
    assert to_compile() == []
