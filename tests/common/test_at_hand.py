"""What runs where little is at hand does the same, byte for byte: appends, rolls, reads and a recovery."""

import errno
import os
import random
import socket
import subprocess
import sys
from types import ModuleType

import pytest
from crc32c import crc32c

from minikafka.common import at_hand, file_lock, plain_ways
from minikafka.common.file_lock import FileLock

BLOCKED = "numpy numba zstandard lz4 psutil crc32c fcntl mmap pyzstd pyspark py4j".split()
BLOCK = f"""
import sys, _thread
for name in {BLOCKED!r}:
    sys.modules[name] = None
def refused(*arguments, **named):
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = _thread.start_joinable_thread = refused
import os
del os.preadv, os.fork, os.register_at_fork
"""
# Prints what it reads; leaves the directory as a kill would, then as a recovery leaves it.
DO_ALL = """
import os, shutil, sys
from pathlib import Path
from minikafka import Compression, FetchIsolation, Log, MemoryRecords, SimpleRecord
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log_config import LogConfig

place, time = Path(sys.argv[1]), ManualTime(1_700_000_000_000)
config = LogConfig({"internal.segment.bytes": "20000", "index.interval.bytes": "300", "segment.index.bytes": "4000"})
(place / "orders-0").mkdir()
opened = lambda **how: Log.create(place / "orders-0", config, scheduler=ManualScheduler(time), time=time, **how)
log = opened()
for number in range(300):
    codec = Compression.of(("none", "gzip")[number % 2])
    batch = [SimpleRecord(time.milliseconds() + number, b"key", b"value %d" % n) for n in range(number, number + 3)]
    log.append_as_leader(MemoryRecords.with_records(codec, *batch), leader_epoch=number // 100)
log.update_high_watermark(700)
log.roll()
log.append_as_leader(MemoryRecords.with_records(Compression.NONE, SimpleRecord(1, None, b"last")), leader_epoch=3)
for start in (0, 17, 450, 699):
    print([bytes(record.value) for record in log.read(start, 2000, FetchIsolation.HIGH_WATERMARK).records.records()])
print(log.fetch_offset_by_timestamp(1_700_000_000_150))
log.flush(force_flush_active_segment=True)
log.close_handlers()
del log
shutil.copytree(place / "orders-0", place / "killed")
for name in sorted(os.listdir(place / "orders-0"))[:4]:
    if name.endswith("index"):
        os.remove(place / "orders-0" / name)
log = opened(last_shutdown_clean=False)
print(log.log_end_offset, [segment.base_offset for segment in log.log_segments])
log.close()
"""


def files_of(place):
    return {path.relative_to(place): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_with_little_at_hand_the_bytes_are_the_same(tmp_path):
    said, left = [], []
    for name, before in (("all", ""), ("little", BLOCK)):
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", before + DO_ALL, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        left.append(files_of(tmp_path / name))
    assert said[0] == said[1] and "value 168" in said[0]
    assert left[0] == left[1] and len(left[0]) > 20


@pytest.mark.slow
def test_importing_the_core_takes_nothing_that_a_browser_lacks():
    modules = ", ".join(
        f"minikafka.{name}"
        for name in ("log.log", "log.manager.log_manager", "cluster.partition", "server.replica_manager")
    )
    subprocess.run([sys.executable, "-c", f"{BLOCK}import {modules}"], check=True)


def test_what_is_not_there_is_known():
    told = "from minikafka.common import at_hand as a; print(a.HAS_MAPPINGS, a.HAS_LOCKS, a.HAS_SPARK)"
    done = subprocess.run([sys.executable, "-c", BLOCK + told], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


def test_where_there_is_no_pyzstd_pythons_own_is_taken(monkeypatch):
    own = ModuleType("compression.zstd")
    monkeypatch.setitem(sys.modules, "compression", ModuleType("compression"))
    monkeypatch.setitem(sys.modules, "compression.zstd", own)
    monkeypatch.setitem(sys.modules, "pyzstd", None)
    assert at_hand.zstd_writer() is own


def test_the_plain_checksum_is_crc32c():
    drawn = random.Random(1)
    for size in (0, 1, 7, 300):
        data = drawn.randbytes(size)
        assert plain_ways.crc32c(data) == crc32c(data)
        assert plain_ways.crc32c(memoryview(bytearray(data)), 12345) == crc32c(data, 12345)


def test_a_plain_read_fills_what_the_file_has(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        for position in (0, 3, 8, 20):
            plain, systems = ([bytearray(4), bytearray(3)] for _ in range(2))
            assert plain_ways.preadv(fd, plain, position) == os.preadv(fd, systems, position)
            assert plain == systems
    finally:
        os.close(fd)


def test_the_plain_pair_and_the_plain_copy_send_what_the_systems_do(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    with (tmp_path / "file").open("rb") as file:
        for pair, copy in ((plain_ways.socketpair(), plain_ways.sendfile), (socket.socketpair(), os.sendfile)):
            sender, receiver = pair
            assert copy(sender.fileno(), file.fileno(), 3, 4) == 4
            assert copy(sender.fileno(), file.fileno(), 8, 100) == 2
            assert receiver.recv(4096) == b"345689"


def test_plain_locks_exclude_each_other_as_the_systems_do(tmp_path, monkeypatch):
    def tried():
        path, told = tmp_path / ".lock", []
        first = FileLock(path)
        told += [first.try_lock(), first.try_lock(), FileLock(path).try_lock(), FileLock(path, shared=True).try_lock()]
        first.unlock_and_close()
        readers = [FileLock(path, shared=True) for _ in range(2)]
        told += [*(reader.try_lock() for reader in readers), FileLock(path).try_lock()]
        readers[0].unlock_and_close()
        told.append(FileLock(path).try_lock())
        readers[1].destroy()
        other = FileLock(path)
        return [*told, other.try_lock(), path.exists()]

    by_the_system = tried()
    monkeypatch.setattr(file_lock, "HAS_LOCKS", False)
    assert tried() == by_the_system == [True, True, False, False, True, True, False, False, True, True]


def test_what_is_written_into_a_copied_file_is_in_the_file_and_a_full_disk_raises(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(16))
    with path.open("r+b") as file:
        copied = plain_ways.CopiedFile(file.fileno(), 16)
    path.rename(tmp_path / "renamed")
    copied[3:6] = b"abc"
    copied.flush()
    assert bytes(copied) == (tmp_path / "renamed").read_bytes() == b"\0\0\0abc" + bytes(10)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "r+b", buffering=0) as full:
            copied = plain_ways.CopiedFile(full.fileno(), 4)
        with pytest.raises(OSError) as raised:
            copied[0:1] = b"a"
        assert raised.value.errno == errno.ENOSPC
