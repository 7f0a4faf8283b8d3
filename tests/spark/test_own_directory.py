"""A process's own temporary directory goes with the process."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

USE = """
from minikafka.common.own_directory import own_directory
import sys
(own_directory() / "file").touch()
print(own_directory(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def process(tmp_path):
    """What starts a process that has a directory of its own below `tmp_path`, until its standard input ends."""
    started = []

    def start():
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        begun = subprocess.Popen(
            [sys.executable, "-c", USE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(begun)
        begun.directory = tmp_path / begun.stdout.readline().strip()
        return begun

    yield start
    for each in started:
        each.kill()
        each.communicate()


@pytest.mark.slow
def test_it_goes_when_python_ends(tmp_path, process):
    one, other = process(), process()
    assert one.directory != other.directory and (one.directory / "file").exists()
    one.communicate()
    assert list(tmp_path.iterdir()) == [other.directory]


@pytest.mark.slow
def test_that_of_a_killed_process_goes_when_the_next_one_begins(tmp_path, process):
    killed, living = process(), process()
    killed.kill()
    killed.wait()
    assert killed.directory.exists()
    third = process()
    assert set(tmp_path.iterdir()) == {living.directory, third.directory}


def test_it_is_made_anew_when_the_machine_was_tidied_up(tmp_path):
    """In a process of its own: where a session of Spark runs, it would lose its files."""
    code = """
import shutil
from minikafka.common.own_directory import own_directory
shutil.rmtree(own_directory())
print(own_directory().is_dir(), own_directory() == own_directory())
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "True True\n"


@pytest.mark.parametrize(("chosen", "room", "is_there"), [("", 1, True), ("elsewhere", 1, False), ("", 1 << 60, False)])
def test_memory_is_taken_where_there_is_room_and_nobody_chose_another_place(tmp_path, chosen, room, is_there):
    memory, other = tmp_path / "memory", tmp_path / "elsewhere"
    memory.mkdir(), other.mkdir()
    code = f"""
from pathlib import Path
from minikafka.common import own_directory
own_directory._MEMORY_DISK, own_directory._ROOM = Path({str(memory)!r}), {room}
place = own_directory.own_memory()
print(place.parent, place == own_directory.own_memory(), place == own_directory.own_directory())
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "TEMP", "TMP")}
    environment |= {"TMPDIR": str(other)} if chosen else {}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    parent, *truths = said.stdout.split()
    assert (Path(parent) == memory, *truths) == (is_there, "True", str(not is_there))
    assert not [*memory.iterdir(), *other.iterdir()]


@pytest.mark.slow
def test_a_directory_that_is_no_process_s_is_left_alone_while_it_is_locked(tmp_path, process):
    import fcntl

    other = tmp_path / "minikafka-own-other"
    other.mkdir()
    lock = os.open(other, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    process()
    assert other.exists()
    os.close(lock)
    process()
    assert not other.exists()


@pytest.mark.slow
def test_what_a_kernel_lays_down_goes_with_it_and_with_what_it_starts(tmp_path):
    code = """
from minikafka.lab.stage.workbench import fresh_log, scratch
from minikafka.spark import session
import pyspark.sql.functions as f
log, path, spark = fresh_log(), scratch(), session()
one = f.udf(lambda _: 1, "int")
print(spark.range(3).repartition(2).select(one("id")).collect()[2][0])
"""
    java = tmp_path / "java"
    java.mkdir()
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={java}"}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "1\n"
    deadline = time.monotonic() + 20
    while (left := [*java.iterdir(), *(tmp_path / "tmp").iterdir()]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
