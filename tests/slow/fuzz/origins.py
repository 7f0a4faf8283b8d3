"""Sound log directories of every kind, to be damaged: a broker's, drawn ones, old formats, metadata, compacted."""

import random
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import Header, SimpleRecord
from minikafka.witness.log.differ import PROFILES
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.log.workload import START_MS
from tests.golden.places import GOLDEN
from tests.slow.differential.test_old_formats import aged
from tests.slow.fuzz.batches import sealed

ROOT = Path(__file__).parents[3]
DATA = ROOT / "notebooks/data"
DRAWN = 30
"""How many origins come from drawn workloads."""

BROKERS_NOW_MS = 1_795_240_760_000
"""Shortly after the broker's directories were written: their producers have not expired."""
_SMALL = {"internal.segment.bytes": 1500, "index.interval.bytes": 200, "segment.index.bytes": 1200}
_MARKER = '{"version":0,"brokerEpoch":-1}'
_CODECS = tuple(CompressionType)
QUORUM_STATE = (
    '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
)
NO_OP_RECORD = b"\1\x14\0\0"
"""A message of the metadata log."""
_CODEC_NAMES = tuple(codec.type_name for codec in _CODECS)


@dataclass(frozen=True)
class Origin:
    """An undamaged log directory with one partition in it.

    `config` is what the partition was written with, `now_ms` a time shortly after that.
    """

    name: str
    log_dir: Path
    partition: str
    config: dict = field(default_factory=dict)
    now_ms: int = START_MS + 60_000

    def copy_to(self, log_dir: Path) -> Path:
        """Lay a copy of the log directory at `log_dir`; returns the partition's directory in it."""
        shutil.copytree(self.log_dir, log_dir)
        return log_dir / self.partition


class Origins:
    """All origins by name, made below `scratch` when they are first asked for."""

    def __init__(self, scratch: Path):
        self._scratch = scratch
        self._made: dict[str, Origin] = {}
        self._makers: dict[str, Callable[[Path], Origin]] = {
            "mixed": _mixed,
            "orders": _orders,
            "killed": _killed,
            "old": _old,
            "metadata": _metadata,
            "compacted": _compacted,
        } | {f"drawn-{n}": _drawer(n) for n in range(DRAWN)}
        self.names = tuple(self._makers)

    def __getitem__(self, name: str) -> Origin:
        if name not in self._made:
            log_dir = self._scratch / name
            log_dir.mkdir(parents=True)
            self._made[name] = self._makers[name](log_dir)
        return self._made[name]


def _mixed(log_dir: Path) -> Origin:
    """What a real broker left after a clean end: every codec, nulls, headers, transactions."""
    shutil.copytree(GOLDEN, log_dir, dirs_exist_ok=True)
    return Origin("mixed", log_dir, "mixed-0", {"internal.segment.bytes": 1500, **_indexes(250)}, BROKERS_NOW_MS)


def _orders(log_dir: Path) -> Origin:
    shutil.copytree(DATA, log_dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("killed"))
    return Origin("orders", log_dir, "orders-0", {"internal.segment.bytes": 2000, **_indexes(250)}, BROKERS_NOW_MS)


def _killed(log_dir: Path) -> Origin:
    """What a real broker left that was killed; index files have the lengths at which they were allocated."""
    shutil.copytree(DATA / "killed", log_dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("lengths"))
    for line in (DATA / "killed/lengths").read_text().splitlines():
        name, length = line.split()
        with open(log_dir / "orders-0" / name, "r+b") as file:
            file.truncate(int(length))
    return Origin("killed", log_dir, "orders-0", {}, BROKERS_NOW_MS)


def _old(log_dir: Path) -> Origin:
    """Batches of every magic, compressed and not, as a log had them that is older than Kafka 0.11."""
    codecs = [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]
    kinds = [(magic, codec) for magic in (0, 1) for codec in codecs if (magic, codec) != (0, CompressionType.LZ4)]
    kinds.append((2, CompressionType.ZSTD))
    segments, offset = {}, 0
    for round_number in range(3):
        base, data = offset, b""
        for magic, codec in random.Random(round_number).sample(kinds, len(kinds)):
            builder = MemoryRecordsBuilder(Compression(codec), magic=magic, base_offset=offset)
            for record in range(2):
                timestamp = -1 if magic == 0 else START_MS + offset * 10
                builder.append_with_offset(offset, timestamp, b"key" if record else None, b"%d" % offset * 20)
                offset += 1
            data += builder.build().buffer
        segments[base] = data
    return _written("old", log_dir, "old-0", segments, offset)


def _metadata(log_dir: Path) -> Origin:
    """A metadata log with the control records of a quorum, and a snapshot of it."""
    voter = bytes.fromhex("00000007 00")
    leader_change = b"\0\0\0\0\0\7\3" + voter * 2 + b"\2" + voter + b"\0"
    endpoint = b"\x0bcontroller\x0a127.0.0.1\x23\x85\0"
    voters = b"\0\0\0\0\2" + b"\0\0\0\1" + bytes(range(16)) + b"\2" + endpoint + b"\0\0\0\1\0" + b"\0" + b"\0"
    control = ControlRecordType
    parts = [
        control_batch(0, control.LEADER_CHANGE, leader_change),
        control_batch(1, control.KRAFT_VERSION, b"\0\0\0\1\0"),
        control_batch(2, control.KRAFT_VOTERS, voters),
        *(_no_ops(3 + 4 * n, 4, epoch=1) for n in range(5)),
        control_batch(23, control.LEADER_CHANGE, leader_change),
        *(_no_ops(24 + 4 * n, 4, epoch=2) for n in range(5)),
    ]
    segments = {0: b"".join(parts[:6]), 15: b"".join(parts[6:10]), 28: b"".join(parts[10:])}
    origin = _written("metadata", log_dir, "__cluster_metadata-0", segments, 44)
    snapshot = snapshot_of(_no_ops(1, 3, epoch=1), 4)
    directory = log_dir / origin.partition
    (directory / f"{15:020d}-{1:010d}.checkpoint").write_bytes(snapshot)
    (directory / "quorum-state").write_text(QUORUM_STATE)
    return origin


def _compacted(log_dir: Path) -> Origin:
    """What the cleaner leaves: gaps, batches with a delete horizon, batches without a record."""
    horizon, offset, parts = START_MS + 5_000, 0, []
    for n, codec in enumerate(_CODECS * 3):
        builder = MemoryRecordsBuilder(
            Compression(codec),
            base_offset=offset,
            producer_id=70 + n % 2,
            producer_epoch=0,
            base_sequence=offset,
            partition_leader_epoch=n // 5,
            delete_horizon_ms=horizon if n % 3 == 1 else None,
        )
        for gap in (0, 2, 5) if n % 4 else (1, 2):
            builder.append_with_offset(offset + gap, START_MS + offset, b"k%d" % gap, None if gap == 2 else b"value")
        parts.append(bytes(builder.build().buffer))
        offset += 9
    empty = bytearray(parts[-1][:61])
    empty[8:12] = (49).to_bytes(4, "big")
    empty[21:23], empty[57:61] = bytes(2), bytes(4)
    empty[0:8] = offset.to_bytes(8, "big")
    parts.append(sealed(bytes(empty)))
    segments = {0: b"".join(parts[:6]), 54: b"".join(parts[6:11]), 99: b"".join(parts[11:])}
    return _written("compacted", log_dir, "compacted-0", segments, offset + 6, {"cleanup.policy": "compact"})


def _drawer(n: int) -> Callable[[Path], Origin]:
    """An origin from a drawn workload: each profile in turn, every third killed, followers with old formats too."""
    profile = list(PROFILES)[n % len(PROFILES)]

    def make(log_dir: Path) -> Origin:
        knobs = {"codecs": _CODEC_NAMES, **PROFILES[profile], "refused": 0.0}
        knobs["weights"] = {"append": 90, "truncate_fully": 0, "retention": 1, "log_start": 1, **{"read": 0}}
        workload = draw_workload(n, 60, **knobs)
        if "follower" in profile and n % 2:
            workload = workload.with_operations(aged(op, random.Random(n)) for op in workload)
        runner = Runner(minikafka_log, log_dir / "topic-0", workload)
        for operation in workload:
            runner.apply(operation)
        # A workload's settings are also those of the broker; the tools are given the topic's, as they are at the end.
        names = LogConfig.config_names()
        config = {name: value for name, value in runner.log.config.props.items() if name in names}
        end = runner.log.log_end_offset
        checkpoints = dict(runner.checkpoints)
        if n % 3 == 0:
            runner.let_go()
        else:
            runner.log.close()
            checkpoints["recovery_point"] = end
        _write_log_dir_files(log_dir, "topic 0", **checkpoints, clean=n % 3 != 0)
        now_ms = runner.time.milliseconds() + 1_000
        return Origin(f"drawn-{n}", log_dir, "topic-0", config, now_ms)

    return make


def _written(name: str, log_dir: Path, partition: str, segments: dict[int, bytes], end: int, config=None) -> Origin:
    """The segments' bytes on disk, loaded once as after a kill (which makes indexes and snapshots) and closed."""
    directory = log_dir / partition
    directory.mkdir()
    for base, data in segments.items():
        (directory / f"{base:020d}.log").write_bytes(data)
    config = {**_SMALL, **(config or {})}
    clock = ManualTime(START_MS + 60_000)
    scheduler = ManualScheduler(clock)
    log = Log.create(directory, LogConfig(config), scheduler=scheduler, time=clock, last_shutdown_clean=False)
    assert log.log_end_offset == end and len(log.log_segments) == len(segments), (name, log.log_end_offset)
    log.close()
    topic, _, number = partition.rpartition("-")
    _write_log_dir_files(log_dir, f"{topic} {number}", recovery_point=end, log_start_offset=0, clean=True)
    return Origin(name, log_dir, partition, config)


def _write_log_dir_files(log_dir: Path, partition: str, recovery_point: int, log_start_offset: int, clean: bool):
    (log_dir / "recovery-point-offset-checkpoint").write_text(f"0\n1\n{partition} {recovery_point}\n")
    (log_dir / "log-start-offset-checkpoint").write_text(f"0\n1\n{partition} {log_start_offset}\n")
    if clean:
        (log_dir / CLEAN_SHUTDOWN_FILE_NAME).write_text(_MARKER)


def _indexes(interval: int) -> dict:
    return {"index.interval.bytes": interval, "segment.index.bytes": 1200}


def _records(offset: int, count: int, codec: CompressionType, epoch: int) -> bytes:
    records: Iterable[SimpleRecord] = (
        SimpleRecord(START_MS + offset + n, b"k%d" % n, b"v" * n, (Header("h", b"1"),) * (n % 2)) for n in range(count)
    )
    batch = bytearray(MemoryRecords.with_records(codec, *records, initial_offset=offset).buffer)
    batch[12:16] = epoch.to_bytes(4, "big")
    return bytes(batch)


def snapshot_of(batches: bytes, end_offset: int) -> bytes:
    """A snapshot of the metadata log: these batches, up to `end_offset` (exclusive), between header and footer."""
    header, footer = b"\0\0\0\0" + START_MS.to_bytes(8, "big") + b"\0", b"\0\0\0\0\0"
    first = control_batch(0, ControlRecordType.SNAPSHOT_HEADER, header)
    return first + batches + control_batch(end_offset, ControlRecordType.SNAPSHOT_FOOTER, footer)


def _no_ops(offset: int, count: int, epoch: int) -> bytes:
    record = SimpleRecord(START_MS, None, NO_OP_RECORD)
    records = MemoryRecords.with_records(CompressionType.NONE, *[record] * count, initial_offset=offset)
    batch = bytearray(records.buffer)
    batch[12:16] = epoch.to_bytes(4, "big")
    return bytes(batch)


def control_batch(offset: int, control_type: ControlRecordType, value: bytes) -> bytes:
    record = SimpleRecord(START_MS, control_type.record_key(), value)
    batch = bytearray(MemoryRecords.with_records(CompressionType.NONE, record, initial_offset=offset).buffer)
    batch[12:16] = (1).to_bytes(4, "big")
    batch[22] |= 0x20  # the attribute that makes it a control batch
    return sealed(bytes(batch))
