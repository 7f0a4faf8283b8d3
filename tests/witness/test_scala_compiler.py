"""Scala is compiled once, and kept."""

import os

import pytest

from minikafka.jvm import cache, scala_compiler
from minikafka.jvm.kafka_jars import spark_jars
from minikafka.jvm.scala_compiler import CompilationError, compiled_classes

pytestmark = pytest.mark.slow


@pytest.fixture
def source(tmp_path, monkeypatch):
    for module in (cache, scala_compiler):
        monkeypatch.setattr(module, "cache_dir", lambda: tmp_path / "cache")
    return tmp_path / "Hello.scala"


@pytest.fixture
def class_path():
    return [str(next(spark_jars().glob("scala-library-2.13*")))]


def test_a_source_is_compiled_once_and_again_when_it_changes(source, class_path, tmp_path):
    source.write_text("object Hello")
    classes = compiled_classes(source, class_path)
    assert (classes / "Hello.class").exists()
    made = (classes / "Hello.class").stat().st_mtime_ns
    assert (compiled_classes(source, class_path) / "Hello.class").stat().st_mtime_ns == made
    source.write_text("object Hello2")
    assert (compiled_classes(source, class_path) / "Hello2.class").exists()
    assert classes.exists()


def test_classes_that_nobody_has_used_for_long_go(source, class_path):
    source.write_text("object Hello")
    classes = compiled_classes(source, class_path)
    os.utime(classes, (0, 0))
    source.write_text("object Hello2")
    compiled_classes(source, class_path)
    assert not classes.exists()


def test_what_the_compiler_refuses_is_said(source, class_path):
    source.write_text("object Hello extends Nothing2")
    with pytest.raises(CompilationError, match="not found: type Nothing2"):
        compiled_classes(source, class_path)
