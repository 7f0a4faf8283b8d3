"""Compiles Scala with the compiler that comes with Spark, so that a machine without javac or scalac will do."""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from minikafka.jvm.cache import cache_dir, scratch_in_cache
from minikafka.jvm.java_home import java_command
from minikafka.jvm.kafka_jars import spark_jars

_KEPT_S = 7 * 24 * 3600  # after its last use: another checkout, with another source, may still be using it


class CompilationError(Exception):
    """The compiler refused a source; the message is what it printed."""


def was_compiled(source: Path, class_path: Sequence[str]) -> bool:
    """Whether the cache has the classes of this source for this class path."""
    return _directory(source, class_path, _compiler()).is_dir()


def compiled_classes(source: Path, class_path: Sequence[str]) -> Path:
    """The directory of the classes of one Scala source, compiled once (4–10 s) and then kept in the cache.

    It is named after a hash of the source and of `class_path`, the jars that it needs. Raises CompilationError, and
    what `java_command` and `spark_jars` raise.
    """
    compiler = _compiler()
    directory = _directory(source, class_path, compiler)
    if directory.is_dir():
        with suppress(OSError):  # a cache that cannot be written is used as it is
            os.utime(directory)
        return directory
    with scratch_in_cache() as scratch:
        classes = scratch / "classes"
        classes.mkdir()
        done = subprocess.run(
            [java_command(), "-Xss8m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(compiler)]
            + ["scala.tools.nsc.Main", "-d", str(classes), "-cp", os.pathsep.join(class_path), str(source)],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CompilationError(done.stdout + done.stderr)
        _forget_older(source)
        try:
            classes.rename(directory)
        except OSError:  # another process was faster: its classes are the same
            if not directory.is_dir():
                raise
    return directory


def _compiler() -> list[str]:
    names = ("compiler", "library", "reflect")
    return [str(jar) for name in names for jar in spark_jars().glob(f"scala-{name}-2.13*")]


def _directory(source: Path, class_path: Sequence[str], compiler: Sequence[str]) -> Path:
    key = hashlib.sha256("\n".join([source.read_text(encoding="utf-8"), *compiler, *class_path]).encode()).hexdigest()
    return cache_dir() / f"scala-{source.stem}-{key[:12]}"


def _forget_older(source: Path) -> None:
    """Remove what was compiled of this source before it changed, and has not been used for long."""
    for old in cache_dir().glob(f"scala-{source.stem}-*"):
        if time.time() - old.stat().st_mtime > _KEPT_S:
            shutil.rmtree(old, ignore_errors=True)
