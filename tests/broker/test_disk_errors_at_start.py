"""A disk that fails while a broker recovers its logs costs no record: only what is damaged may be cut."""

import builtins
import errno
import os
import shutil
from contextlib import contextmanager, suppress

import pytest

from minikafka.broker.cluster import Cluster
from minikafka.common import file_ops
from minikafka.common.errors import FatalExitError
from minikafka.common.topic_partition import TopicPartition
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files import file_channel
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

BY_PATH = (
    (os, "open"),
    (os, "replace"),
    (os, "unlink"),
    (os, "scandir"),
    (os, "listdir"),
    (os, "stat"),
    (os, "mkdir"),
    (builtins, "open"),
)
BY_DESCRIPTOR = ((os, "pread"), (file_channel, "preadv"), (os, "pwrite"), (os, "ftruncate"), (os, "fsync"))
WRITES = {"pwrite", "ftruncate", "fsync", "replace"}


class FailingDisk:
    """Fails the call of the given number, and with `goes_on` all that follow, of those that touch `directory`."""

    def __init__(self, directory, number, error, *, goes_on):
        self.calls = []
        self._directory = str(directory)
        self._number, self._error, self._goes_on = number, error, goes_on

    @contextmanager
    def in_place(self, monkeypatch):
        with monkeypatch.context() as patched:
            readlink = os.readlink
            for module, name in BY_PATH:
                patched.setattr(module, name, self._failing(getattr(module, name), name, os.fspath))
            for module, name in BY_DESCRIPTOR:
                patched.setattr(
                    module, name, self._failing(getattr(module, name), name, lambda fd: readlink(f"/proc/self/fd/{fd}"))
                )
            patched.setattr(file_ops, "flush_mapped", self._failing_flush(file_ops.flush_mapped))
            yield

    def _failing(self, call, name, path_of):
        def call_or_fail(first, *arguments, **named):
            if not (isinstance(first, int) and name in ("open", "scandir", "listdir", "stat")):
                self._touch(name, path_of(first))
            return call(first, *arguments, **named)

        return call_or_fail

    def _failing_flush(self, flush):
        def flush_or_fail(mapping, path):
            self._touch("fsync", str(path))
            flush(mapping, path)

        return flush_or_fail

    def _touch(self, name, path):
        if self._directory not in str(path) or (self._error == errno.ENOSPC and name not in WRITES):
            return
        self.calls.append(f"{name} {os.path.basename(path)}")
        number = len(self.calls)
        if number == self._number or (self._goes_on and number > self._number):
            raise OSError(self._error, os.strerror(self._error), str(path))


def batch(number, cluster):
    records = [SimpleRecord(cluster.time.milliseconds(), None, b"%d-%d" % (number, each)) for each in range(3)]
    return bytes(MemoryRecords.with_idempotent_records(CompressionType.NONE, 7, 0, number * 3, *records).buffer)


@pytest.fixture
def killed(tmp_path):
    """A cluster whose broker was killed, with a partition of several segments, and its fresh directory."""
    cluster = Cluster(tmp_path / "cluster", start_ms=1_000_000)
    cluster.start(0)
    cluster.create_topic("t", [0])
    for number in range(8):
        assert cluster.produce("t", batch(number, cluster)).partition.error_code == 0
        if number % 3 == 2:
            cluster.brokers[0].log_manager.get_log(TopicPartition("t", 0)).roll()
    cluster.crash(0)
    shutil.copytree(tmp_path / "cluster", tmp_path / "kept")
    yield cluster, tmp_path / "kept"
    cluster.close()


def segments(directory):
    return {file.name: file.read_bytes() for file in sorted((directory / "broker-0" / "t-0").glob("*.log"))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "goes_on", "step"),
    [
        pytest.param(errno.EIO, False, 15, id="EIO once, at some calls"),
        pytest.param(errno.EIO, False, 1, id="EIO once", marks=pytest.mark.slow),
        pytest.param(errno.EIO, True, 1, id="EIO from then on", marks=pytest.mark.slow),
        pytest.param(errno.ENOSPC, False, 1, id="ENOSPC once", marks=pytest.mark.slow),
        pytest.param(errno.ENOSPC, True, 1, id="ENOSPC from then on", marks=pytest.mark.slow),
    ],
)
def test_no_error_of_the_disk_cuts_a_sound_log(killed, monkeypatch, share, error, goes_on, step):
    cluster, kept = killed
    sound = segments(kept)
    assert len(sound) > 2
    for number in share(range(1, 1000, step), 10 if step == 1 else 1):
        shutil.rmtree(cluster.directory)
        shutil.copytree(kept, cluster.directory)
        disk = FailingDisk(cluster.directory / "broker-0", number, error, goes_on=goes_on)
        with disk.in_place(monkeypatch), suppress(OSError, RuntimeError):
            cluster.restart(0)
            with suppress(FatalExitError):
                cluster.time.sleep(61_000)
        if 0 in cluster.brokers:
            cluster.crash(0)
        if len(disk.calls) < number:
            break
        assert segments(cluster.directory).items() >= sound.items(), disk.calls[number - 1]
        cluster.restart(0)
        assert cluster.state(0, "t").log_end_offset == 24, disk.calls[number - 1]
        cluster.crash(0)
    else:
        pytest.fail("a start has a thousand calls")
    failed = {call.split()[0] for call in disk.calls}  # all of a start: each fails in some run
    assert failed & {"pwrite", "fsync", "ftruncate"}
    assert error == errno.ENOSPC or failed >= {"open", "pread"}
