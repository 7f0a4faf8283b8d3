"""Directories of every kind, under a real broker: its consumers get what the source reads, record by record."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minikafka.log.log_file_utils import PRODUCER_SNAPSHOT_FILE_SUFFIX
from minikafka.spark import register
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.kafka_clients import KafkaClients
from tests.slow.fuzz.origins import Origins
from tests.spark.drawn_log import Seen, draw_log
from tests.spark.real_consumer import consumed
from tests.spark.rows import rows

ORIGINS = ("mixed", "orders", "killed", "old", "compacted", "drawn-0", "drawn-2", "drawn-8")
"""Not drawn-12, drawn-16 and drawn-22, whose follower has accepted batches that do not ascend: the source says so."""
SEEDS = (1, 2, 3)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KEEP = {"retention.ms": "-1", "internal.segment.bytes": "1500", "index.interval.bytes": "250"}


def seen_in(directory: Path, **options) -> list[Seen]:
    return [
        Seen(
            row["offset"], (row["timestamp"] - EPOCH) // timedelta(milliseconds=1), row["timestampType"], row["key"],
            row["value"], tuple((header["key"], header["value"]) for header in row["headers"] or ()),
        )
        for row in rows(directory, includeHeaders="true", **options)
    ]  # fmt: skip


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_what_a_consumer_gets(kafka, spark, tmp_path):
    origins = Origins(tmp_path / "origins")
    given = {name: origins[name].log_dir / origins[name].partition for name in ORIGINS}
    given |= {f"seed-{seed}": draw_log(tmp_path / f"{seed}", seed).directory for seed in SEEDS}
    broker = KafkaBroker(tmp_path / "broker")
    with broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        for name in given:
            clients.create_topic(name, KEEP)
    for name, directory in given.items():
        lay(directory, broker.log_dir / f"{name}-0")
    (broker.log_dir / "replication-offset-checkpoint").unlink()
    (broker.log_dir / "recovery-point-offset-checkpoint").unlink()
    (broker.log_dir / ".kafka_cleanshutdown").unlink()
    told = {}
    with broker:
        for name in given:
            for level in ("read_uncommitted", "read_committed"):
                told[name, level] = consumed(broker.bootstrap_servers, name, level)
    differences = []
    for (name, level), records in told.items():
        ours = seen_in(broker.log_dir / f"{name}-0", isolation__level=level, bounds="log_end")
        if ours != records:
            first = next((pair for pair in zip(ours, records, strict=False) if pair[0] != pair[1]), "one ends")
            differences.append(f"{name}, {level}: {len(ours)} of {len(records)} records; {first}")
    assert not differences, "\n".join(differences)
    assert sum(map(len, told.values())) > 1000
    register(spark)
    frame = spark.read.format("minikafka").load(str(broker.log_dir)).groupBy("topic").count()
    assert {row.topic: row["count"] for row in frame.collect()} == {
        name: len(records) for (name, level), records in told.items() if level == "read_uncommitted" and records
    }


def lay(source: Path, target: Path) -> None:
    """Put the log's files in the place of an empty partition's; the broker loads it as after a kill."""
    for file in target.iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    for file in source.iterdir():
        if file.name != "partition.metadata" and not file.name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX):
            shutil.copy(file, target)
