"""Directories to damage, and what is demanded of each damaged one: minikafka and Kafka make the same of it."""

import logging
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from minikafka.record.compression import Compression, CompressionType
from minikafka.record.memory_records_builder import MemoryRecordsBuilder
from minikafka.witness.foretold import Foretold
from minikafka.witness.runner import TOPIC_ID, Runner, minikafka_log
from minikafka.witness.workload import Workload
from minikafka.witness.workload_drawer import draw_workload

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.0" / "mixed-0"
THOROUGHNESS = int(os.environ.get("MINIKAFKA_DAMAGE", "1"))
NOW = 1_700_000_020_000
SMALL_INDEX = {"segment.index.bytes": 1200, "retention.ms": -1, "retention.bytes": -1}

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
    shutil.copytree(GOLDEN, directory)
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    config = {"internal.segment.bytes": 1500, "index.interval.bytes": 250, **SMALL_INDEX}
    return Origin("golden", directory, config, 69)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What a drawn life of four producers with transactions under changing leaders left when it was killed."""
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
    runner.log.flush(True)
    runner.log.close()
    return Origin("old", directory, workload.config, offset)


@pytest.fixture(autouse=True, scope="module")
def silent():
    """Thousands of warnings about damage would hide what a failure says."""
    logger = logging.getLogger("minikafka")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def origin(request):
    """The directory of this name."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def demand_equal(two_logs_of_the_module):
    """`demand_equal(origin, changes, ways)`: whatever `changes` (name: what is done to the directory) lead to, it is
    the same for both: the load and its exception, offsets, what is read, an append, the files after each step. Of some
    (of all with more thoroughness) `minikafka verify` must have foretold what the load does.
    """
    logs = two_logs_of_the_module()
    logs.kill()
    counted = [0]

    def demand(origin: Origin, changes: Iterable[tuple[str, Change]], ways: Iterable[str] | None = None) -> int:
        differences, opened = [], 0
        for name, change in changes:
            for way in ways or origin.loads:
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
        return opened

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
