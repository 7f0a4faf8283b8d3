"""The archive of Spark's classes: used where it fits, never needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.jvm import class_archive
from minikafka.jvm.cache import scratch_in_cache
from minikafka.jvm.java_home import java_home
from minikafka.spark.session import jars_for_spark


@pytest.fixture
def cache(monkeypatch, tmp_path):
    directory = tmp_path / "with a space"
    directory.mkdir()
    monkeypatch.setenv("MINIKAFKA_CACHE", str(directory))
    return directory


def test_without_an_archive_java_gets_no_option(cache):
    assert class_archive.java_option(java_home(), ["a.jar"]) == ""


@pytest.fixture
def java_writes(monkeypatch):
    """A Java that writes an empty archive at once."""
    monkeypatch.setattr(class_archive.subprocess, "run", lambda command, **_: open(command[-1], "wb").close())


def test_an_archive_is_given_to_the_java_and_the_jars_that_it_was_made_with(cache, java_writes):
    assert class_archive.make(java_home(), ["a.jar"], "a.module")
    (archive,) = cache.glob("spark-classes-*.jsa")
    assert class_archive.java_option(java_home(), ["a.jar"]) == f"-XX:SharedArchiveFile={archive}"
    assert class_archive.java_option(java_home(), ["a.jar", "b.jar"]) == ""
    assert class_archive.java_option(cache, ["a.jar"]) == ""
    archive.unlink()
    assert class_archive.java_option(java_home(), ["a.jar"]) == ""


def test_environments_beside_each_other_have_an_archive_each_and_the_oldest_goes(cache, java_writes):
    for number in range(4):
        assert class_archive.make(java_home(), [f"{number}.jar"], "a.module")
        for age, path in enumerate(sorted(cache.iterdir(), key=lambda path: -path.stat().st_mtime_ns)):
            os.utime(path, ns=(10**18 - 10**9 * age, 10**18 - 10**9 * age))
    options = [class_archive.java_option(java_home(), [f"{number}.jar"]) for number in range(4)]
    assert options[0] == "" and all(options[1:])
    assert len(list(cache.iterdir())) == 6


def test_where_java_writes_none_that_is_remembered(cache, monkeypatch):
    monkeypatch.setattr(class_archive.subprocess, "run", lambda *_, **__: None)
    assert not class_archive.make(java_home(), ["a.jar"], "a.module")
    assert class_archive.java_option(java_home(), ["a.jar"]) == ""
    assert class_archive.was_made(java_home(), ["a.jar"])  # so nobody tries again at each start
    assert [path.suffix for path in cache.iterdir()] == [".txt"]


@pytest.mark.spark
def test_the_session_uses_it(spark):
    arguments = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    option = class_archive.java_option(java_home(), jars_for_spark())
    assert (option in list(arguments)) if option else not any("SharedArchive" in word for word in arguments)


def test_on_a_full_disk_none_is_kept_and_the_next_fetch_tries_again(cache, java_writes, monkeypatch):
    class_archive.make(java_home(), ["a.jar"], "a.module")
    full = shutil._ntuple_diskusage(1 << 30, 1 << 30, 0)
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left on device"):
        patched.setattr(class_archive.shutil, "disk_usage", lambda _: full)
        class_archive.make(java_home(), ["b.jar"], "a.module")
    assert not class_archive.was_made(java_home(), ["b.jar"])
    assert class_archive.java_option(java_home(), ["b.jar"]) == ""
    assert class_archive.java_option(java_home(), ["a.jar"]) and len(list(cache.iterdir())) == 2


@pytest.mark.slow
def test_what_a_killed_fetch_was_making_goes_at_the_next(cache, java_writes):
    code = "from minikafka.jvm.cache import scratch_in_cache\nwith scratch_in_cache() as made:\n"
    code += "    print(made, flush=True)\n"
    code += "    (made / 'new.jsa').touch()\n    print(flush=True)\n    input()\n"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        left = Path(process.stdout.readline().strip())
        process.stdout.readline()
        with scratch_in_cache():
            assert left.is_dir()  # its maker is alive
        process.kill()
    assert (left / "new.jsa").exists()
    class_archive.make(java_home(), ["a.jar"], "a.module")
    assert sorted(path.suffix for path in cache.iterdir()) == [".jsa", ".txt"]
