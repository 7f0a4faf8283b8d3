"""With which options Spark's JVM is started."""

import importlib
import sys
from pathlib import Path

import pytest

session = importlib.import_module("minikafka.spark.session")


class Started(Exception):
    """Instead of a JVM."""


@pytest.mark.parametrize(
    ("option", "given"), [("-XX:SharedArchiveFile=a.jsa", ["-XX:SharedArchiveFile=a.jsa"]), ("", [])]
)
def test_java_gets_the_archive_of_classes_where_there_is_one(monkeypatch, option, given):
    """Without it a session takes twice as long to start; an empty option is one that Java does not know."""

    def start(jars, options):
        raise Started(jars, options)

    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, sys.executable)
    monkeypatch.setattr(session, "java_home", lambda: Path("java"))
    monkeypatch.setattr(session, "jars_for_spark", lambda: ["a.jar"])
    archives = {(Path("java"), ("a.jar",)): option}
    monkeypatch.setattr(session.class_archive, "java_option", lambda home, jars: archives[home, tuple(jars)])
    monkeypatch.setattr(session.jvm, "start", start)
    with pytest.raises(Started) as started:
        session.start()
    assert started.value.args == (["a.jar"], given)
