"""Damaged and hostile directories: what a reader is told of them, and that it goes on."""

import os
import resource
import shutil
import socket
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from minikafka.common.errors import CorruptRecordException, IOException
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.stream_reader import KafkaLogStreamReader
from tests.slow.fuzz.batches import sealed
from tests.slow.fuzz.fuzz_tools import fuzzer
from tests.slow.fuzz.mutations import ODD_NAMES
from tests.slow.fuzz.tool_runs import Fault
from tests.spark.attack import demand_well_told
from tests.spark.drawn_log import DrawnLog, draw_log
from tests.spark.rows import rows

pytestmark = pytest.mark.slow

FIRST_SEED = 40_000
DIRECTORIES = 40
"""In each slice; `make fuzz-tools` has thousands."""


@pytest.fixture(scope="module")
def fuzz():
    with fuzzer() as made:
        yield made


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("drawn"), 2)


@pytest.fixture
def copy(drawn, tmp_path) -> Path:
    """A copy of the log, in a log directory of its own."""
    return Path(shutil.copytree(drawn.directory, tmp_path / "log-dir" / drawn.directory.name))


def faults(fuzz, seeds) -> list[str]:
    found = []
    for seed in seeds:
        with fuzz.directory(seed) as (mutation, _):
            partition = mutation.partition
            try:
                # The metadata of a cluster are no topic of a log directory, but can be read by name.
                demand_well_told(partition if partition.name.startswith("__cluster") else partition.parent)
            except Fault as fault:
                found.append(f"{mutation}\n{fault}")
    return found


def test_some_damaged_directories(fuzz):
    assert faults(fuzz, range(FIRST_SEED - 4, FIRST_SEED)) == []


@pytest.mark.slow
@pytest.mark.in_parts(2)
@pytest.mark.parametrize("part", range(2))
def test_damaged_directories(fuzz, part):
    assert faults(fuzz, range(FIRST_SEED + part * DIRECTORIES, FIRST_SEED + (part + 1) * DIRECTORIES)) == []


def no_file(path: Path, kind: str) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            # The path of a socket must be short.
            with socket.socket(socket.AF_UNIX) as listener, _inside(path.parent):
                listener.bind(path.name)
        case "directory":
            path.mkdir()
        case "dangling link":
            path.symlink_to("nowhere")
        case "circle":
            path.symlink_to(path.name)
        case "device":
            path.symlink_to("/dev/zero")
        case "empty":
            path.touch()
        case "large":  # it takes no room
            path.touch()
            os.truncate(path, 1 << 40)


class _inside:
    """The current directory is another one inside the block."""

    def __init__(self, directory: Path):
        self._directory = directory

    def __enter__(self):
        self._before = os.getcwd()
        os.chdir(self._directory)

    def __exit__(self, *_):
        os.chdir(self._before)


KINDS = ("fifo", "socket", "directory", "dangling link", "circle", "device", "empty", "large")


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
def test_what_is_no_file(copy, suffix):
    files = sorted(copy.glob(f"*{suffix}"))[::-1]
    kinds = dict(zip(files, KINDS * len(files), strict=False))
    for file, kind in kinds.items():
        no_file(file, kind)
    demand_well_told(copy.parent)
    told = {row["_corrupt"]["file"] for row in rows(copy, mode="PERMISSIVE") if row["_corrupt"]}
    assert told == {str(file) for file, kind in kinds.items() if suffix == ".log" and kind != "empty"}


def test_a_damaged_transaction_index_is_made_up_for_by_the_markers(drawn, copy):
    assert len(drawn.aborted) > 3
    for number, index in enumerate(sorted(copy.glob("*.txnindex"))):
        data = index.read_bytes()
        index.write_bytes(b"\1" + data[1:] if number else b"\7" * 34)
    told = [row["offset"] for row in rows(copy, isolation__level="read_committed")]
    assert told == [each.offset for each in drawn.committed]


@pytest.mark.parametrize("position", [10, 16, 68])
def test_behind_damage_no_transaction_is_taken_for_decided(drawn, copy, position):
    """Damage to a marker's size, to its magic, and to its content with a checksum that is right."""
    for snapshot in copy.glob("*.snapshot"):
        snapshot.unlink()
    for index in copy.glob("*.txnindex"):
        index.unlink()
    batches = ((log, batch) for log in sorted(copy.glob("*.log")) for batch in FileRecords.open(log).batches())
    log, marker = next((log, batch) for log, batch in batches if batch.is_control_batch)
    data = log.read_bytes()
    start, end = marker.position, marker.position + marker.size_in_bytes
    harmed = bytearray(data[start:end])
    for at in range(position, position + 1 if position < 60 else len(harmed)):
        harmed[at] = 99
    harmed = sealed(bytes(harmed)) if position > 16 else harmed
    log.write_bytes(data[:start] + harmed + data[end:])
    told = rows(copy, isolation__level="read_committed", mode="PERMISSIVE")
    stable = [row["offset"] for row in told if row["_corrupt"] is None]
    assert stable == [each.offset for each in drawn.committed][: len(stable)] and stable[-1] < marker.base_offset
    assert {(row["_corrupt"]["file"], row["_corrupt"]["position"]) for row in told if row["_corrupt"]} == {
        (str(log), start)
    }
    with pytest.raises(CorruptRecordException, match=f"{log}, position {start}: "):
        rows(copy, isolation__level="read_committed")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_checkpoint(drawn, copy, kind):
    for name in ("replication-offset-checkpoint", "log-start-offset-checkpoint"):
        no_file(copy.parent / name, kind)
    no_file(copy / "leader-epoch-checkpoint", kind)
    demand_well_told(copy.parent, [{}, {"table": "epochs"}, {"table": "checkpoints"}])
    assert len(rows(copy, mode="DROPMALFORMED")) == len(drawn.records)


@pytest.mark.parametrize("kind", KINDS)
def test_what_says_no_topic_id(copy, kind):
    sound = stream_of(copy).initialOffset()
    no_file(copy / "partition.metadata", kind)
    with pytest.raises(CorruptRecordException, match=f"^{copy}/partition.metadata, position 0: .*$"):
        stream_of(copy).initialOffset()
    assert stream_of(copy, mode="PERMISSIVE").initialOffset() == sound


def stream_of(directory: Path, **options: str) -> KafkaLogStreamReader:
    source = KafkaLogDataSource({"path": str(directory), **options})
    return source.streamReader(source.schema())


def test_names_that_no_broker_gives(drawn, copy):
    for name in ODD_NAMES:
        path = copy / name
        if not path.exists() and not path.name.startswith("00000000000000000000."):
            path.write_bytes(b"garbage " * 9)
    (copy.parent / "\udcff\udcfe-0").mkdir()
    (copy.parent / "no partition").mkdir()
    (copy.parent / "empty-7").mkdir()
    assert len(rows(copy.parent, mode="DROPMALFORMED")) == len(drawn.records)
    demand_well_told(copy.parent)


CHANGES = {
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "emptied": lambda file: os.truncate(file, 0),
    "deleted": lambda file: file.unlink(),
    "fifo": lambda file: no_file(file, "fifo"),
    "grown": lambda file: file.write_bytes(file.read_bytes() + b"garbage " * 40),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["records", "batches", "segments", "index", "timeindex", "transactions", "producers"])
def test_files_that_change_after_planning(drawn, copy, table, change):
    """Nothing is mapped, so that a file that shrinks kills no worker."""
    source = KafkaLogDataSource(
        {"path": str(copy), "mode": "PERMISSIVE", "table": table, "isolation.level": "read_committed"}
    )
    reader = source.reader(source.schema())
    tasks = reader.partitions()
    first = sum(batch.num_rows for task in tasks for batch in reader.read(task))
    for file in sorted(copy.iterdir())[::2]:
        CHANGES[change](file)
    read = [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
    sound = [row for row in read if row["_corrupt"] is None]
    assert len(sound) <= first or change == "grown"
    if table == "records":
        assert {row["offset"] for row in sound} <= {each.offset for each in drawn.records}


def test_without_descriptors(copy):
    """With none left, planning raises by a name of Java's, and a task tells a damage."""
    source = KafkaLogDataSource({"path": str(copy), "mode": "PERMISSIVE"})
    reader = source.reader(source.schema())
    tasks = reader.partitions()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) - 1, before[1]))
    try:
        taken = []
        with suppress(OSError):
            while True:
                taken.append(open("/dev/null"))
        read = [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
        with pytest.raises(IOException, match="Too many open files"):
            reader.partitions()
    finally:
        for each in taken:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert read and all("IOException: Too many open files" in row["_corrupt"]["exception"] for row in read)
    assert len([row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]) > len(read)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [CompressionType.ZSTD, CompressionType.GZIP])
def test_a_bomb_is_a_damage(tmp_path, codec):
    """A batch of a megabyte that decompresses to more than half a gigabyte."""
    (tmp_path / "t-0").mkdir()
    small = bytearray(MemoryRecords.with_records(codec, SimpleRecord(1, b"k", b"v")).buffer)
    zeros = (bytes(1 << 20) for _ in range(600))
    if codec is CompressionType.ZSTD:
        stream = zstandard.ZstdCompressor().compressobj()
        payload = b"".join(map(stream.compress, zeros)) + stream.flush()
    else:
        zipper = zlib.compressobj(1, wbits=31)
        payload = b"".join(map(zipper.compress, zeros)) + zipper.flush()
    batch = small[:61] + payload
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(sealed(bytes(batch)))
    (row,) = rows(tmp_path / "t-0", mode="PERMISSIVE")
    assert row["_corrupt"]["exception"].split(":")[0] in ("RecordTooLargeException", "InvalidRecordException")
