"""What a lesson needs at hand: a fresh log, a copy of a real broker's directory, records to append.

Every log here has a clock and a scheduler that stand still until they are told to move (`log.time`, `log.scheduler`),
so a lesson gives the same numbers each time it runs.
"""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikafka.common.at_hand import HAS_SPARK
from minikafka.common.own_directory import own_memory
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.lab.stage.background import told_while_starting, while_the_reader_reads
from minikafka.lab.stage.recorded_answers import three_answers
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark import kafka_available, session
from minikafka.witness.kafka.kafka_log import kafka_log

NOON = 1_700_000_000_000
"""Where the clock of every lesson starts, in ms since 1970."""

_FIRST_QUESTION = """
append_as_leader [3x10]
append_as_leader [2x10]
maybe_increment_high_watermark leo
"""

_kafka: Any = None
_waking = threading.Lock()


def fresh_log(settings: dict[str, Any] | None = None, *, name: str = "lesson-0", start_ms: int = NOON) -> Any:
    """An empty `Log` in a new directory with these topic settings (Kafka's names)."""
    return open_log(_new_directory() / name, settings, start_ms=start_ms)


def copied_log(directory: str | Path, settings: dict[str, Any] | None = None, *, start_ms: int = NOON) -> Any:
    """A `Log` on a copy of `directory`, so that the original stays as the broker left it."""
    source = Path(directory)
    target = _new_directory() / source.name
    shutil.copytree(source, target)
    return open_log(target, settings, start_ms=start_ms)


def open_log(directory: str | Path, settings: dict[str, Any] | None = None, *, start_ms: int = NOON) -> Any:
    """Open the cleanly closed `Log` in `directory`, which is made when missing."""
    time = ManualTime(start_ms)
    Path(directory).mkdir(parents=True, exist_ok=True)
    return Log.create(Path(directory), LogConfig(settings or {}), scheduler=ManualScheduler(time), time=time)


def records(count: int = 1, size: int = 10, *, timestamp: int = NOON, first: int = 0) -> Any:
    """One batch of `count` records with values of `size` bytes; the values number the records from `first` on."""
    values = [f"{first + i}".encode().rjust(size, b".") for i in range(count)]
    return MemoryRecords.with_records(Compression.NONE, *[SimpleRecord(timestamp, None, value) for value in values])


def scratch(name: str = "lesson-0") -> Path:
    """The path of a new directory for one run of a workload; nothing exists there yet."""
    return _new_directory() / name


@contextmanager
def brief_scratch(name: str = "lesson-0") -> Iterator[Path]:
    """As `scratch`; at the end of the block the directory goes, and what was laid down beside it."""
    path = scratch(name)
    try:
        yield path
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)


@told_while_starting()
def kafka_witness() -> Any:
    """The log factory of Apache Kafka's own `UnifiedLog` in the lesson's Spark JVM; None where Kafka's jars are
    absent.
    """
    global _kafka
    if not (HAS_SPARK and kafka_available()):
        return None
    with _waking:
        if _kafka is None:
            _kafka = kafka_log(KafkaJvm(session().sparkContext._gateway))
    return _kafka


def wake_witnesses() -> None:
    """Start Spark and Apache Kafka, and let both answer a first question, which takes them many times as long as a
    later one.

    It is done while the reader reads. Outside a notebook nothing happens: there the witnesses start when they are
    asked.
    """
    from minikafka.witness import Workload

    question = Workload.parse(_FIRST_QUESTION)
    while_the_reader_reads(lambda: _by_spark(question, None), lambda: by_kafka(question))


@told_while_starting()
def three_witnesses(workload: Any, only: list[str] | None = None) -> tuple[Any, Any, Any]:
    """What minikafka, Spark and Apache Kafka say of `workload` (`three_answers`).

    `only`: the names of Spark's queries to ask (default: all that know the workload).
    """
    from minikafka.witness import minikafka_log, run

    return three_answers(
        f"a log, {', '.join(only or ['all'])}",
        workload,
        lambda: run(workload, minikafka_log, scratch()),
        lambda: _by_spark(workload, only),
        lambda: by_kafka(workload),
    )


def by_kafka(workload: Any) -> Any:
    """What Apache Kafka's own log makes of `workload`; None where Kafka's jars are absent."""
    from minikafka.witness import run

    kafka = kafka_witness()
    return None if kafka is None else run(workload, kafka, scratch())


def _by_spark(workload: Any, only: list[str] | None) -> Any:
    from minikafka.witness import spark_expected

    return spark_expected(workload, only=only)


def values_of(log: Any, isolation: Any, start: int = 0) -> list[str]:
    """The values of the records that a reader of this isolation sees from offset `start` on, as text."""
    found = log.read(start, 1_048_576, isolation).records
    return [bytes(record.value).decode().lstrip(".") for batch in found.batches() for record in batch]


def replicate(leader: Any, follower: Any, up_to: int) -> int:
    """Let `follower` fetch from its own end and append the whole batches below offset `up_to`; returns its new end."""
    fetched = leader.read(follower.log_end_offset, 1_048_576, FetchIsolation.LOG_END).records
    batches = [bytes(batch.load_full_batch().buffer) for batch in fetched.batches() if batch.last_offset < up_to]
    follower.append_as_follower(MemoryRecords.readable_records(b"".join(batches)), 0)
    return follower.log_end_offset


def files_of(log: Any) -> list[str]:
    """The names of the files in the log's directory, sorted."""
    return sorted(path.name for path in Path(log.dir).iterdir())


def _new_directory() -> Path:
    return Path(tempfile.mkdtemp(prefix="lesson-", dir=own_memory()))
