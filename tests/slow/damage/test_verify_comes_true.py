"""What `minikafka verify` says of a damaged directory comes true when Apache Kafka loads it.

Every fate that a finding has, every change of a segment, every exception of the load; and of a directory without
findings nothing changes. Damage is drawn: bytes, fields under a checksum made right again, cuts, files that come, go or
change their names, several at once; so are the checkpoints. `--draws=5000 --seed=7` draws more of it. The tables of
`test_damage.py` are held against Kafka in the same way.
"""

import random
import runpy
import shutil
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from crc32c import crc32c

from minikafka.common.errors import KafkaException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import SimpleRecord
from minikafka.record.legacy.legacy_record import message_bytes
from minikafka.witness.kafka.kafka_log import KafkaLog

DRAWS = 60
NOW = 1_700_000_020_000
NUMBERS = (-1, 0, 1, 2, 7, 0x7F, 0xFF, 1 << 30, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
FIELDS = {2: [(0, 8), (12, 4), (16, 1), (21, 2), (23, 4), (27, 8), (35, 8), (43, 8), (51, 2), (53, 4), (57, 4)]}
FIELDS[0] = FIELDS[1] = [(0, 8), (8, 4), (16, 1), (17, 1), (18, 4), (22, 4), (26, 4)]
NAMES = (
    "partition.metadata.swap", "partition.metadata.cleaned", "x.swap", "x.cleaned", "x.log", "7.log", "7.index",
    "x.snapshot", "7.snapshot", "notes", "00000000000000000007.index", "00000000000000000007.log",
    "00000000000000000000.log.swap", "00000000000000000000.log.cleaned", "00000000000000000000.snapshot.deleted",
    "00000000000000009999.log", "00000000000000009999.snapshot", "leader-epoch-checkpoint.tmp",
)  # fmt: skip


class Trial:
    """Copies of a directory: one for verify, one for Kafka."""

    def __init__(self, kafka, foretell, scratch: Path):
        self._kafka = kafka
        self._foretell = foretell
        self._place = scratch / "topic-0"
        self.errors: dict[str, int] = {}
        self.fates: dict[str, int] = {}

    def failures(self, origin: Path, config: dict, change, clean: bool, recovery_point: int, log_start: int):
        """What verify foretold of the changed directory, and did not come true."""
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(origin, self._place)
        change(self._place)
        foretold = self._foretell(self._place, config, clean, recovery_point, log_start, NOW)
        error = self._load(config, clean, recovery_point, log_start)
        self.errors[error] = self.errors.get(error, 0) + 1
        for fate in {finding.fate.value for finding in foretold.findings}:
            self.fates[fate] = self.fates.get(fate, 0) + 1
        return foretold.failures(self._place, error)

    def _load(self, config: dict, clean: bool, recovery_point: int, log_start: int) -> str:
        """The class of the exception that Kafka's load throws, "" for none."""
        clock = ManualTime(NOW)
        scheduler = ManualScheduler(clock)
        try:
            log = KafkaLog.create(
                self._kafka,
                self._place,
                config,
                log_start_offset=log_start,
                recovery_point=recovery_point,
                scheduler=scheduler,
                time=clock,
                last_shutdown_clean=clean,
            )
        except Exception as failure:
            return type(failure).__name__
        finally:
            with suppress(KafkaException):  # what is due in the background may fail after the load
                clock.sleep(60_000)
            scheduler.shutdown()
        log.close_handlers()
        return ""


@pytest.fixture
def trial(kafka, foretell, tmp_path):
    return Trial(kafka, foretell, tmp_path)


def batches(data: bytes) -> list[tuple[int, int]]:
    """Start and end of each batch, as far as sizes make sense."""
    found, position = [], 0
    while position + 17 <= len(data):
        end = position + 12 + int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        if not position + 26 <= end <= len(data):
            break
        found.append((position, end))
        position = end
    return found


def seal(data: bytearray, start: int, end: int) -> None:
    """Make the checksum of a batch right."""
    if data[start + 16] >= 2:
        data[start + 17 : start + 21] = crc32c(bytes(data[start + 21 : end])).to_bytes(4, "big")
    else:
        data[start + 12 : start + 16] = zlib.crc32(data[start + 16 : end]).to_bytes(4, "big")


def damage_a_batch(draw: random.Random, path: Path) -> str:
    """Another field, or other bytes of its records, with the right checksum."""
    data = bytearray(path.read_bytes())
    found = batches(data)
    if not found:
        return f"{path.name} has no batch"
    start, end = draw.choice(found)
    if draw.random() < 0.6:
        at, size = draw.choice(FIELDS.get(data[start + 16], FIELDS[2]))
        data[start + at : start + at + size] = (draw.choice(NUMBERS) % 256**size).to_bytes(size, "big")
        done = f"field {at}"
    else:
        at = draw.randrange(min(61, end - start - 1), end - start)
        data[start + at] ^= 1 << draw.randrange(8)
        done = f"record byte {at}"
    if draw.random() < 0.9:
        seal(data, start, end)
    path.write_bytes(data)
    return f"{path.name}: {done} of the batch at {start}"


def damage_bytes(draw: random.Random, path: Path) -> str:
    data = bytearray(path.read_bytes())
    kind = draw.choice(("flip", "cut", "zeros", "noise", "number"))
    at = draw.randrange(len(data) + 1)
    if kind == "flip" and data:
        data[at % len(data)] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zeros":
        data += bytes(draw.choice((1, 10, 17, 18, 40, 5000)))
    elif kind == "noise":
        data += draw.randbytes(draw.choice((1, 8, 34, 200)))
    elif kind == "number":
        data[at : at + 8] = (draw.choice(NUMBERS) % 2**64).to_bytes(8, "big")
    if path.suffix == ".snapshot" and len(data) > 6 and draw.random() < 0.7:
        data[2:6] = crc32c(bytes(data[6:])).to_bytes(4, "big")
    path.write_bytes(data)
    return f"{path.name}: {kind} at {at}"


def damage_names(draw: random.Random, path: Path) -> str:
    kind = draw.choice(("gone", ".swap", ".cleaned", ".deleted", "new", "segment"))
    if kind == "gone":
        path.unlink()
    elif kind == "new":
        path = path.with_name(draw.choice(NAMES))
        path.write_bytes(draw.choice((b"", b"garbage", bytes(100))))
    elif kind == "segment":
        kind = draw.choice((".swap", ".cleaned", ".deleted"))
        for each in path.parent.glob(f"{path.stem}.*"):
            each.rename(f"{each}{kind}")
    else:
        path.rename(f"{path}{kind}")
    return f"{path.name}: {kind}"


def damage_text(draw: random.Random, path: Path) -> str:
    name = draw.choice(("leader-epoch-checkpoint", "partition.metadata"))
    path = path.with_name(name)
    if not path.exists():
        return f"{name} is gone"
    epochs = [f"{draw.randrange(9)} {draw.choice((0, 1, 20, 40, 60, 9999, -1))}" for _ in range(draw.randrange(4))]
    path.write_text(draw.choice(["", "0\n", "1\n0\n", "0\n0\n", "0\n" + str(len(epochs)) + "\n" + "\n".join(epochs)]))
    return f"{name}: {path.read_text()!r}"


def drawn_change(draw: random.Random):
    """A function that damages a directory in one to three ways and returns words for them."""
    damages = draw.choices(
        (damage_a_batch, damage_bytes, damage_names, damage_text), (5, 4, 2, 1), k=draw.choice((1, 1, 2, 3))
    )

    def change(directory: Path) -> list[str]:
        told = []
        for damage in damages:
            files = sorted(path for path in directory.iterdir() if path.is_file())
            if damage is damage_a_batch:
                files = [path for path in files if path.suffix == ".log"] or files
            if files:
                told.append(damage(draw, draw.choice(files)))
        change.told = told
        return told

    return change


@pytest.mark.parametrize("origin", ["golden", "killed", "old"], indirect=True)
def test_drawn_damage(origin, trial, request):
    draws = request.config.getoption("--draws") or DRAWS
    first = request.config.getoption("--seed") or 1
    wrong = []
    for seed in range(first, first + draws):
        draw = random.Random(f"{origin.name} {seed}")
        offsets = (0, *origin.starts, origin.log_end_offset)
        clean = draw.random() < 0.5
        recovery_point = draw.choice(offsets)
        log_start = draw.choice((0, 0, 0, *offsets, origin.log_end_offset + 5))
        change = drawn_change(draw)
        failures = trial.failures(origin.directory, origin.config, change, clean, recovery_point, log_start)
        if failures:
            told = f"seed {seed}, clean {clean}, recovery point {recovery_point}, log start {log_start}: {change.told}"
            wrong.append("\n  ".join([told, *failures]))
    assert not wrong, f"{len(wrong)} of {draws}:\n" + "\n".join(wrong[:30])
    assert trial.errors.keys() - {""} and trial.errors.get("", 0) > draws // 2, trial.errors
    assert {"stays", "cut", "rebuilt", "load fails"} <= trial.fates.keys(), trial.fates


# The damage of the loader's own tests, and directories without any

TESTS = Path(__file__).parents[2]
LOADER = runpy.run_path(str(TESTS / "log/test_log_loader_against_kafka.py"))


@pytest.fixture(scope="module")
def left_behind(two_live_logs_of_the_module):
    """The directory that a clean and an unclean end left, its settings and the checkpoints beside it."""
    left = {}
    for clean in (True, False):
        logs = two_live_logs_of_the_module()
        LOADER["fill"](logs, clean)
        left[clean] = logs.directories[0], logs.minikafka.config, dict(logs.minikafka.checkpoints)
    return left


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_damage_of_the_loaders_tests(left_behind, trial, clean):
    directory, config, checkpoints = left_behind[clean]
    points = checkpoints["recovery_point"], checkpoints["log_start_offset"]
    wrong = []
    for name, change in LOADER["CHANGES"].items():
        failures = trial.failures(directory, config, change, clean, *points)
        if failures:
            wrong.append("\n  ".join([name, *failures]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_goldens(trial, clean):
    places = TESTS / "golden", TESTS.parent / "notebooks/data"
    partitions = sorted({log.parent for place in places for log in place.rglob("*.log")})
    assert len(partitions) > 2
    for partition in partitions:
        failures = trial.failures(partition, {}, lambda directory: None, clean, 0, 0)
        assert not failures, (partition, failures)


# What verify once foretold, and Kafka did not do.


def marker_batch(offset: int, key: bytes | None, producer_id: int = 5) -> bytes:
    """A control batch of an abort, with this key."""
    builder = MemoryRecordsBuilder(
        Compression.NONE, magic=2, base_offset=offset, producer_id=producer_id, producer_epoch=0, base_sequence=-1,
        is_transactional=True, is_control_batch=True,
    )  # fmt: skip
    builder.append_unchecked_with_offset(offset, SimpleRecord(NOW, key, b"\0\0\0\0\0\1"))
    return bytes(builder.build().buffer)


def changed(data: bytes, at: int, size: int, number: int) -> bytes:
    data = bytearray(data)
    data[at : at + size] = (number % 256**size).to_bytes(size, "big")
    seal(data, 0, len(data))
    return bytes(data)


def plain_batch(offset: int, magic: int = 2) -> bytes:
    builder = MemoryRecordsBuilder(Compression(CompressionType.NONE), magic=magic, base_offset=offset)
    builder.append(NOW, b"k", b"v")
    return bytes(builder.build().buffer)


def old_message(offset: int, magic: int, attributes: int, rest: bytes) -> bytes:
    """A message of an old format with any attributes and fields, and a right checksum."""
    body = bytes([magic, attributes]) + rest
    message = zlib.crc32(body).to_bytes(4, "big") + body
    return offset.to_bytes(8, "big") + len(message).to_bytes(4, "big") + message


LONG_KEY = (1 << 30).to_bytes(4, "big") + bytes(8)
SEGMENTS = {
    "a control batch without a key": marker_batch(1, None),
    "a control batch with half a key": marker_batch(1, b"\0\0"),
    "a control batch": marker_batch(1, ControlRecordType.ABORT.record_key()),
    "a count of -1": changed(plain_batch(1), 57, 4, -1),
    "a last offset beyond the largest": changed(plain_batch(2**63 - 2), 23, 4, 5),
    "a last offset below the first": changed(plain_batch(1), 23, 4, -1),
    "gzip and a key of 2^30 bytes, v0": old_message(1, 0, 1, LONG_KEY),
    "gzip and a key of 2^30 bytes, v1": old_message(1, 1, 1, bytes(8) + LONG_KEY),
    "no codec and a key of 2^30 bytes, v0": old_message(1, 0, 0, LONG_KEY),
    "a codec that there is not, v1": old_message(1, 1, 7, bytes(8) + (b"\xff" * 4) * 2 + bytes(8)),
    "a gzip stream that is none, v0": old_message(1, 0, 1, b"\xff" * 4 + (8).to_bytes(4, "big") + b"garbage."),
    "a wrapper without a value, v1": old_message(1, 1, 1, bytes(8) + b"\xff" * 8),
    "a magic above the highest": plain_batch(1)[:16] + b"\6" + plain_batch(1)[17:],
    "a message of format v0": (1).to_bytes(8, "big") + (17).to_bytes(4, "big") + message_bytes(0, -1, b"k", b"vv"),
}
BESIDE = {
    "a transaction index of another version": ("00000000000000000000.txnindex", b"\0\1" + bytes(32)),
    "a transaction index of a negative version": ("00000000000000000000.txnindex", b"\xff\1" + bytes(32)),
    "partition.metadata.swap": ("partition.metadata.swap", b""),
    "partition.metadata.cleaned": ("partition.metadata.cleaned", b""),
    "nothing": ("leader-epoch-checkpoint", b"0\n0\n"),
}


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("followed", [False, True], ids=["last", "followed"])
def test_single_damages(trial, tmp_path, beside, clean, followed):
    wrong = []
    for name, data in SEGMENTS.items():
        origin = tmp_path / "origin"
        shutil.rmtree(origin, ignore_errors=True)
        origin.mkdir()
        (origin / "00000000000000000000.log").write_bytes(plain_batch(0) + data)
        bases = [0, 20] if followed else [0]
        if followed:
            (origin / "00000000000000000020.log").write_bytes(plain_batch(20))
        for base in bases:
            for suffix in ("index", "timeindex"):
                (origin / f"{base:020d}.{suffix}").touch()
        (origin / BESIDE[beside][0]).write_bytes(BESIDE[beside][1])
        for recovery_point in (0, 25):
            failures = trial.failures(origin, {}, lambda directory: None, clean, recovery_point, 0)
            if failures:
                wrong.append("\n  ".join([f"{name}, recovery point {recovery_point}:", *failures]))
    assert not wrong, "\n".join(wrong)
