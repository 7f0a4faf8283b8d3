"""What is left where a worker or the driver is killed in the middle of a write: nothing that a reader would see."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minikafka.spark.source.log_segments_on_disk import find_partitions
from tests.spark.rows import batches_of
from tests.spark.sink.writing import row, write

pytestmark = pytest.mark.slow

ROWS = 250_000
ENOUGH = 1 << 20  # bytes of a log: it is being written


def started(where: str, log_dir: Path, rows: int = ROWS) -> subprocess.Popen:
    """A driver that writes."""
    command = [sys.executable, "-m", "tests.spark.sink.write_many", where, str(log_dir), str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def writing_process(driver: subprocess.Popen, log_dir: Path) -> int:
    """The process that has a log of more than a few MB open."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for log in log_dir.glob("many-*-delete/many-*/*.log"):
            try:
                if log.stat().st_size >= ENOUGH:
                    return next(pid for pid in processes() if opens(pid, log))
            except (FileNotFoundError, StopIteration):
                continue
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.005)
    raise TimeoutError(list(log_dir.rglob("*")))


def processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def opens(pid: int, file: Path) -> bool:
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") == str(file) for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def driver_of(pid: int) -> int:
    """The JVM above a Python worker."""
    while "java" not in os.readlink(f"/proc/{pid}/exe"):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid


def keys_in(log_dir: Path) -> list[int]:
    tasks = batches_of(str(log_dir), (), None, {"subscribe": "many"})
    return sorted(int(key) for task in tasks for batch in task for key in batch.column("key").to_pylist())


@pytest.mark.in_parts(4)
def test_a_worker_that_is_killed_is_replaced(tmp_path):
    driver = started("local[2,4]", tmp_path)
    os.kill(writing_process(driver, tmp_path), signal.SIGKILL)
    output, errors = driver.communicate(timeout=200)
    assert output == "written\n", errors
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["many-0", "many-1"]
    assert keys_in(tmp_path) == list(range(ROWS))


@pytest.mark.in_parts(4)
def test_a_worker_that_is_killed_for_good_ends_the_write(tmp_path):
    log_dir = tmp_path / "data"
    driver = started("local[2,1]", log_dir)
    os.kill(writing_process(driver, log_dir), signal.SIGKILL)
    output, _ = driver.communicate(timeout=200)
    assert output != "written\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.in_parts(4)
def test_a_driver_that_is_killed_leaves_nothing_to_see_and_the_next_write_nothing_at_all(tmp_path):
    driver = started("local[2]", tmp_path)
    worker = writing_process(driver, tmp_path)
    os.kill(driver_of(worker), signal.SIGKILL)
    driver.communicate(timeout=60)
    (mark,) = tmp_path.glob(".minikafka-write-*")
    assert list(tmp_path.glob("many-*-delete"))
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and not path.name.endswith("-delete")]
    write(tmp_path, [row(b"next")], topic="next")
    assert [each.topic_partition.topic for each in find_partitions([str(tmp_path)])] == ["next"]
    deadline = time.monotonic() + 60
    while worker in processes() and time.monotonic() < deadline:  # it may take a moment until it sees its mark gone
        time.sleep(0.1)
    write(tmp_path, [row(b"then")], topic="then")
    assert not mark.exists()
    assert not list(tmp_path.glob("*-delete"))
