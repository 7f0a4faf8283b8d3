"""The memory of a task does not grow with what it reads."""

import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from tests.spark.drawn_log import NOW

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")]

_READ = """
import sys
from pathlib import Path
from minikafka.record.kernels.record_columns import use_compiled_kernel
from minikafka.spark.source.data_source import KafkaLogDataSource

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

use_compiled_kernel()  # or it would be loaded on the way
source = KafkaLogDataSource({"path": sys.argv[1], "maxBytesPerTask": str(1 << 40)})
reader = source.reader(source.schema())
(task,) = reader.partitions()
next(iter(reader.read(task)))  # what is loaded once
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
assert sum(batch.num_rows for batch in reader.read(task)) == int(sys.argv[2])
print(memory("VmHWM") - before)
"""


def peak(directory: Path, megabytes: int) -> int:
    """Bytes that a process needs at most, beside what it has anyhow, to read a segment with batches of 32 KB."""
    time = ManualTime(NOW)
    config = LogConfig({"segment.bytes": str(1 << 30)})
    log = Log.create(directory, config, scheduler=ManualScheduler(time), time=time)
    records = [SimpleRecord(NOW, None, bytes(1000))] * 32
    batch = bytes(MemoryRecords.with_records(CompressionType.NONE, *records, partition_leader_epoch=0).buffer)
    batches = 32 * megabytes
    for number in range(batches):
        moved = (32 * number).to_bytes(8, "big") + batch[8:]  # the base offset, which no checksum covers
        log.append_as_follower(MemoryRecords.readable_records(bytearray(moved)), 0)
    log.close()
    read = [sys.executable, "-c", _READ, str(directory), str(32 * batches)]
    return int(subprocess.run(read, check=True, capture_output=True, text=True).stdout)


def test_a_larger_segment_needs_no_more_memory(tmp_path):
    small, large = peak(tmp_path / "small-0", 64), peak(tmp_path / "large-0", 192)
    assert large < small + (24 << 20)
    assert large < 120 << 20
