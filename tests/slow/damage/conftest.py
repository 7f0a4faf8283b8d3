"""Directories to damage, and what is demanded of each damaged one: minikafka and Kafka make the same of it."""

import math
import os
import random
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.tools.verify.findings import Fate, Finding, NextStart
from minikafka.tools.verify.partition_verifier import PartitionVerifier
from minikafka.witness.log.draw import draw_workload
from minikafka.witness.log.run import TOPIC_ID, Runner, minikafka_log
from minikafka.witness.log.workload import Workload
from tests.golden.places import MIXED

THOROUGHNESS = int(os.environ.get("MINIKAFKA_DAMAGE", "1"))
NOW = 1_700_000_020_000
SMALL_INDEX = {"segment.index.bytes": 1200, "retention.ms": -1, "retention.bytes": -1}

_ENTRY_SIZES = {".index": 8, ".timeindex": 12}
Change = Callable[[Path], object]


@dataclass(frozen=True)
class Origin:
    """An undamaged partition directory, and what is known beside it."""

    name: str
    directory: Path
    config: dict
    log_end_offset: int

    def files(self, suffix: str = "") -> list[Path]:
        """Its files with this suffix, by name."""
        return sorted(path for path in self.directory.iterdir() if path.name.endswith(suffix))

    @property
    def starts(self) -> list[int]:
        """The base offset of each segment."""
        return [int(path.stem) for path in self.files(".log")]

    @property
    def loads(self) -> dict[str, tuple[bool, int, int]]:
        """Ways to load it, each with `clean`, the recovery point and the log start offset."""
        middle = self.starts[len(self.starts) // 2]
        return {
            "clean": (True, self.log_end_offset, 0),
            "unclean": (False, 0, 0),
            "unclean, flushed in part": (False, middle, 0),
            "unclean, records deleted": (False, middle, middle + 1),
        }


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """What a real broker left after a clean end: every codec, nulls, headers, transactions."""
    directory = tmp_path_factory.mktemp("golden") / "topic-0"
    shutil.copytree(MIXED, directory)
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    config = {"internal.segment.bytes": 1500, "index.interval.bytes": 250, **SMALL_INDEX}
    return Origin("golden", directory, config, 69)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What a drawn workload of four producers with transactions under changing leaders left when it was killed."""
    config = {"internal.segment.bytes": 1500, "index.interval.bytes": 250, "segment.ms": 10**12, **SMALL_INDEX}
    config |= {"max.message.bytes": 10**6, "message.timestamp.type": "CreateTime", "cleanup.policy": "delete"}
    quiet = dict.fromkeys(("truncate", "truncate_fully", "retention", "log_start", "reopen", "fetch", "read"), 0)
    workload = draw_workload(28, 130, producers=4, transactions=True, epochs=True, weights=quiet, settings=config)
    runner = Runner(minikafka_log, tmp_path_factory.mktemp("killed") / "topic-0", workload)
    for operation in workload:
        runner.apply(operation)
    origin = Origin("killed", runner.directory, workload.config, runner.log.log_end_offset)
    runner.let_go()
    assert len(origin.starts) > 3 and origin.files(".txnindex") and len(origin.files(".snapshot")) > 2
    return origin


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """Segments with batches of every magic, compressed and not, as a log had them that is older than Kafka 0.11."""
    directory = tmp_path_factory.mktemp("old") / "topic-0"
    workload = Workload(config={"internal.segment.bytes": 1500, "index.interval.bytes": 200, **SMALL_INDEX})
    Runner(minikafka_log, directory, workload).let_go()
    shutil.rmtree(directory)
    directory.mkdir()
    offset = 0
    for base in (0, 16, 32, 48):
        data = b""
        for magic, codec in (
            (0, "NONE"),
            (0, "GZIP"),
            (1, "NONE"),
            (1, "LZ4"),
            (2, "NONE"),
            (1, "SNAPPY"),
            (2, "ZSTD"),
            (2, "GZIP"),
        ):
            builder = MemoryRecordsBuilder(Compression(CompressionType[codec]), magic=magic, base_offset=offset)
            for record in range(2):
                timestamp = -1 if magic == 0 else NOW - 10_000 + offset * 10
                builder.append_with_offset(offset, timestamp, b"key" if record else None, b"%d" % offset * 40)
                offset += 1
            data += builder.build().buffer
        (directory / f"{base:020}.log").write_bytes(data)
    runner = Runner(minikafka_log, directory, workload)  # makes the indexes
    runner.log.flush(force_flush_active_segment=True)
    runner.log.close()
    return Origin("old", directory, workload.config, offset)


@pytest.fixture(autouse=True, scope="module")
def trouble_is_meant(silent):
    """No test of this folder shows warnings."""


@pytest.fixture
def origin(request):
    """The directory of this name."""
    return request.getfixturevalue(request.param)


class Foretold:
    """What `minikafka verify` foretells of a partition's directory as it stands, to be held against what Kafka then
    does.

    `config` are the topic's settings; `unread` are the lines of what could not be read, when nothing is foretold.
    """

    def __init__(
        self, directory: Path, config: dict, clean: bool, recovery_point: int, log_start_offset: int, now_ms: int
    ):
        next_start = NextStart(clean, recovery_point, log_start_offset, LogConfig(config), now_ms)
        self.findings: list[Finding] = []
        self.unread: list[str] = []
        self._is_settled = clean and log_start_offset == 0
        self._directory_name = directory.name
        self._before = _contents(directory)
        PartitionVerifier(directory, next_start, report=self.findings.append, unread=self.unread.append).verify()
        self._changed = _contents(directory) != self._before

    def failures(self, directory: Path, error: str) -> list[str]:
        """What did not come true: a line each. `directory` is what Kafka made of it, `error` the exception's class with
        which the load failed ("" if it did not).
        """
        if self.unread:
            return []
        after = _contents(directory)
        lines = ["verify changed the directory"] if self._changed else []
        for finding in self.findings:
            failure = self._failure(finding, after, error)
            if failure:
                lines.append(f"{failure}: {finding.file.name}:{finding.position} {finding.what}: {finding.next_start}")
        fails = any(finding.fate is Fate.LOAD_FAILS for finding in self.findings)
        if fails != bool(error):
            lines.append(f"the load failed with {error!r}, which is {'' if fails else 'not '}foretold")
        lines += self._untold_changes(after)
        return lines

    def _failure(self, finding: Finding, after: dict[str, bytes], error: str) -> str:
        name, position = finding.file.name, finding.position
        before, now = self._before.get(name), after.get(name)
        if name == self._directory_name:
            return "" if finding.next_start == f"the load fails with {error}" else f"the load ends with {error!r}"
        if finding.fate is Fate.LOAD_FAILS:
            return "" if finding.next_start == f"the load fails with {error}" else f"the load ends with {error!r}"
        if finding.fate is Fate.STAYS:
            if before is None or now is None:
                return "" if before is now else "it does not stay as it is"
            if name.endswith(".log") and position is not None:
                whole = len(now) > position or len(now) == len(before)
                return "" if whole and before.startswith(now) else f"it has {len(now)} bytes now"
            return "" if _keeps(name, before, now) else "it is another now"
        if finding.fate is Fate.CUT:
            if now is None or not before.startswith(now) or len(now) > position:
                return "it is not cut"
            if "cut here" in finding.next_start and len(now) != position:
                return f"it is cut at {len(now)}"
            later = [n for n in after if n.endswith(".log") and n > name and n in self._before]
            return "later segments stay" if later and "every later segment" in finding.next_start else ""
        if finding.fate is Fate.DELETED:
            if error and name.endswith(".deleted"):
                return ""  # the order in which Kafka meets files, up to one that it fails at, is the file system's
            return "it is not deleted" if now is not None and now == before and before else ""
        if finding.fate is Fate.REBUILT:
            return "" if now is not None and now != before else "it is not another"
        if finding.fate is Fate.MADE:
            return "" if before is None and now is not None and any(now) == ("anew" in finding.next_start) else "not so"
        if finding.fate is Fate.RENAMED:
            came = now is None and name.removesuffix(".swap") in after if before is not None else now is not None
            return "" if came else "it does not take its place"
        if finding.fate is Fate.SPLIT:
            parts = b"".join(after[n] for n in sorted(after) if n.endswith(".log"))
            return "" if now != before and before in parts else "it is not split"
        return f"nothing is known of {finding.fate}"

    def _untold_changes(self, after: dict[str, bytes]) -> list[str]:
        told = {f.file.name for f in self.findings if f.fate in (Fate.CUT, Fate.DELETED, Fate.SPLIT)}
        first_cut = min((f.file.name for f in self.findings if "every later segment" in f.next_start), default="~")
        lines = []
        for name, before in self._before.items():
            if name.endswith(".log") and name not in told and not name > first_cut:
                now = after.get(name)
                if now != before and not (
                    now is not None and not before[len(now) :].strip(b"\0") and self._is_room(before)
                ):
                    lines.append(f"{name} is {'gone' if now is None else f'cut at {len(now)}'}, which is not foretold")
            elif not self.findings and self._is_settled and name != "partition.metadata" and ".snapshot" not in name:
                if name in after and not _keeps(name, before, after[name]):
                    lines.append(f"{name} is another, although nothing was found")
        return lines

    @staticmethod
    def _is_room(before: bytes) -> bool:
        return len(before) >= 1 << 20


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def _keeps(name: str, before: bytes, now: bytes) -> bool:
    size = _ENTRY_SIZES.get(Path(name).suffix)
    if size is None or before == now:
        return before == now
    entries = before[: len(before) // size * size]
    longest = max(len(entries), len(now))
    return entries.ljust(longest, b"\0") == now.ljust(longest, b"\0")


@pytest.fixture(scope="session")
def foretell():
    """The class `Foretold`."""
    return Foretold


@pytest.fixture(scope="module")
def demand_equal(two_live_logs_of_the_module, share):
    """`demand_equal(origin, changes, ways)`: whatever `changes` (name: what is done to the directory) lead to, it is
    the same for both: the load and its exception, offsets, what is read, an append, the files after each step. Each
    change meets all `ways` to load, or one of them if the test `draws_way` (all with more thoroughness). Of some (of
    all with more thoroughness) `minikafka verify` must have foretold what the load does.

    A run tries a quarter of all this. How many loads went well is returned; infinity, if some of a quarter did.
    """
    logs = two_live_logs_of_the_module()
    logs.kill()
    counted = [0]

    def demand(
        origin: Origin, changes: Iterable[tuple[str, Change]], ways: Iterable[str] = (), *, draws_way: bool = False
    ) -> float:
        differences, opened = [], 0
        ways, rand = tuple(ways or origin.loads), random.Random(1)
        all_tries = [
            (name, change, way)
            for name, change in changes
            for way in ([rand.choice(ways)] if draws_way and THOROUGHNESS == 1 else ways)
        ]
        tries = share(all_tries, 4)
        for name, change, way in tries:
            clean, recovery_point, log_start_offset = origin.loads[way]
            checkpoints = {"log_start_offset": log_start_offset, "recovery_point": recovery_point}
            logs.stand_on(origin.directory, checkpoints, origin.config, NOW)
            logs.change(change)
            counted[0] += 1
            foretold = None
            if THOROUGHNESS > 1 or counted[0] % 10 == 0:
                directory = logs.directories[0]
                foretold = Foretold(directory, origin.config, clean, recovery_point, log_start_offset, NOW)
            try:
                opened += live_on(logs, clean, foretold)
            except AssertionError as difference:
                differences.append(f"{origin.name}, {name}, {way}: {difference}")
        assert not differences, f"{len(differences)} differences:\n\n" + "\n\n".join(differences[:20])
        return math.inf if opened and len(tries) < len(all_tries) else opened

    yield demand


def live_on(logs, clean: bool, foretold: Foretold | None) -> bool:
    """Load, read here and there, append, close; False if the load failed. What was `foretold` must have come true."""
    error = logs.do(f"reopen clean={str(clean).lower()}").error
    if logs.minikafka.log is not None:
        logs.do("tick 60000")
    # A broker that starts does not know a partition's topic id yet; these loads are given one.
    if foretold is not None and error != "InconsistentTopicIdException":
        failures = foretold.failures(logs.directories[1], error)
        assert not failures, "\n".join(["what verify foretold did not come true:", *failures])
    if logs.minikafka.log is None:
        return False
    logs.observe("update_high_watermark leo")
    starts = [segment.base_offset for segment in logs.minikafka.log.log_segments]
    for offset in sorted({starts[0], starts[len(starts) // 2] + 3, starts[-1] + 1}):
        logs.observe(f"read {min(offset, 2**63 - 1)} max_length=4000 isolation=txn_committed")
    logs.observe(f"fetch_offset_by_timestamp {NOW - 15_000}")
    logs.do("append_as_leader leader_epoch=90 [2x20 pid=7000 epoch=0 seq=0]")
    logs.do("flush force_flush_active_segment=true")
    ours, theirs = map(closed, logs.runners)
    assert ours == theirs, f"close\n minikafka: {ours}\n Kafka:     {theirs}"
    logs.compare("close")
    return True


def closed(runner) -> str:
    """Close the log; the class of the exception that this raised."""
    try:
        runner.log.close()
    except Exception as failure:
        return type(failure).__name__
    return ""
