"""Spark says who survives compaction; minikafka's cleaner and Kafka's own take the exam."""

import random

import pytest

from minikafka.record.files.file_records import FileRecords
from minikafka.witness.agreement import agree
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.expect import spark_expected
from minikafka.witness.log.offsets import At
from minikafka.witness.log.operations import AppendAsLeader
from minikafka.witness.log.run import minikafka_log, run
from minikafka.witness.log.survivors import accepted_records
from minikafka.witness.log.workload import Workload

CONFIG = "config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=1000 internal.segment.bytes="

THREE_RECORDS = f"""
{CONFIG}250
append_as_leader [2x30 keys=3]
append_as_leader [2x30,null keys=3 data=1]                            # key 2 is deleted
append_as_leader [2x30 keys=2 pid=7 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [1xnull keys=3 data=1]                               # key 1 is deleted
append_as_leader [2x30 keys=3 data=2]
maybe_increment_high_watermark leo
consume start
clean                                                                 # the tombstone of key 1 gets a horizon
consume start
tick 999
append_as_leader [2x30 keys=3 data=2]
append_as_leader [2x30 keys=3 data=2]
maybe_increment_high_watermark leo
clean
consume start
tick 1
append_as_leader [2x30 keys=9 data=5]
append_as_leader [2x30 keys=9 data=5]
maybe_increment_high_watermark leo
clean                                                                 # it is past its horizon
consume start
"""


def drawn(seed):
    """A workload of which Spark knows everything: transactions that behave, few keys, segments that end by size."""
    rand = random.Random(seed)
    config = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": 0,
        "delete.retention.ms": rand.choice([0, 100, 1000]),
        "internal.segment.bytes": rand.choice([350, 400, 600]),
        "message.timestamp.type": rand.choice(["CreateTime", "CreateTime", "LogAppendTime"]),
    }
    transactions = rand.random() < 0.6
    if not transactions and rand.random() < 0.6:
        config["log.cleaner.dedupe.buffer.size"] = rand.choice([2, 3, 4, 6]) * 24
    elif rand.random() < 0.5:
        config["min.compaction.lag.ms"] = rand.choice([50, 300])
    keys = rand.choice([1, 2, 4, 8])
    sequences, open_, lines = dict.fromkeys((7, 8), 0), set(), []
    for _ in range(rand.choice([2, 3])):
        for _ in range(rand.randrange(8, 18)):
            sizes = tuple(rand.choice([None, 0, 20, 40]) for _ in range(3))
            ts = At("now", rand.choice([0, 0, -20, 20]))
            batch = Batch(
                rand.choice([1, 2, 3, 5]),
                sizes,
                (ts,),
                keys,
                codec=rand.choice(["none", "gzip"]),
                data=rand.randrange(50),
            )
            if rand.random() < 0.5:
                pid = rand.choice([7, 8])
                if pid in open_ and rand.random() < 0.5:
                    marker = Batch(marker=rand.choice(["abort", "commit"]), pid=pid, epoch=0)
                    lines.append(AppendAsLeader((marker,), origin="coordinator", transaction_version=0))
                    open_.discard(pid)
                    continue
                if pid in open_ or transactions:
                    open_.add(pid)
                batch = batch.with_(pid=pid, epoch=0, seq=sequences[pid], txn=pid in open_)
                sequences[pid] += batch.count
            lines.append(AppendAsLeader((batch,)))
            if rand.random() < 0.1:
                lines.append(rand.choice(["roll", f"tick {rand.choice([60, 500])}"]))
        lines += ["maybe_increment_high_watermark leo"] * (rand.random() < 0.9)
        lines += ["consume start", "clean", "consume start", f"tick {rand.choice([0, 100, 1000])}"]
    lines += ["maybe_increment_high_watermark leo", "clean", "consume start", "consume start read_committed=true"]
    return Workload(tuple(lines), config)


def records_in(directory):
    """(offset, key) of each record in the segments, those of markers left out."""
    return [
        (record.offset, record.key and bytes(record.key).decode())
        for path in sorted(directory.glob("*.log"))
        for batch in FileRecords.open(path).batches()
        if not batch.is_control_batch
        for record in batch
    ]


def agree_all(kafka, workload, spark, directory):
    """The three witnesses' tables. They agree on what each consumer sees; and what the last of them that asks for all
    records sees by Spark's word is what both directories hold.
    """
    expected = spark_expected(workload, spark, only=["survivors"])
    assert expected.notes == {}
    homes = [directory / name / "topic-0" for name in ("minikafka", "kafka")]
    ours, theirs = (run(workload, f, home) for f, home in zip((minikafka_log, kafka_log(kafka)), homes, strict=True))
    agree(expected, ours, theirs).check()
    last = max(i for i, op in enumerate(workload) if op.kind == "consume" and not op.read_committed)
    survivors = offsets_of(expected.value(last, "result"))
    assert [[offset for offset, _ in records_in(home)] for home in homes] == [survivors] * 2
    return expected, ours, theirs


def offsets_of(result):
    """All offsets of a consumer's result, as `0..4 7`."""
    runs = (run.partition("..") for run in result.split())
    return [offset for first, _, last in runs for offset in range(int(first), int(last or first) + 1)]


def test_a_tombstone_has_three_lives(kafka, spark, tmp_path):
    workload = Workload.parse(THREE_RECORDS)
    expected, *_ = agree_all(kafka, workload, spark, tmp_path)
    seen = [expected.value(i, "result") for i, op in enumerate(workload) if op.kind == "consume"]
    assert seen == ["0..5 7..9", "0 2..3 7..9", "7 10..13", "7 12..17"]


@pytest.mark.parametrize("seed", [6, 14, 19, 29, 39, 52])
def test_the_witnesses_agree_on_who_survives(kafka, spark, tmp_path, seed):
    expected, ours, _ = agree_all(kafka, drawn(seed), spark, tmp_path)
    assert any(str(result).startswith("kept") for result in ours.column("result"))


def test_the_directory_holds_the_survivors_and_nothing_else(spark, tmp_path):
    workload = Workload.parse(THREE_RECORDS)
    run(workload, minikafka_log, tmp_path / "topic-0")
    records = accepted_records(workload, spark).where("gone_at IS NULL AND marker = ''").collect()
    assert records_in(tmp_path / "topic-0") == [(record.offset, record.key) for record in records]


def test_each_record_that_goes_has_a_reason(spark):
    records = {record.offset: record for record in accepted_records(Workload.parse(THREE_RECORDS), spark).collect()}
    assert [(records[o].why, records[o].gone_at) for o in (1, 4, 7)] == [
        ("replaced", 8),
        ("aborted", 8),
        (None, None),
    ]
    assert records[4].fate == "abort" and records[6].marker == "abort"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tick 1", "nothing is cleaned"),
        ("config cleanup.policy=delete\nclean", "the topic is not only compacted"),
        ("config min.cleanable.dirty.ratio=0.5\nclean", "how dirty the log must be depends on bytes"),
        ("config segment.ms=50\nclean", "segment.ms ends segments"),
        ("tick 604800000\nclean\ntick 1", "segments end because of their age"),
        ("truncate_to 3\nclean", "does not admit operation 0, truncate_to"),
        (
            "config log.cleaner.dedupe.buffer.size=48\nappend_as_leader [2x1 keys=2 pid=7 epoch=0 seq=0 txn]\nclean",
            "the map may be full, and there are transactions",
        ),
        (
            "config log.cleaner.dedupe.buffer.size=48 min.compaction.lag.ms=5\nappend_as_leader [2x1 keys=2]\nclean",
            "the map may be full, and the age of segments counts",
        ),
    ],
)
def test_what_the_queries_do_not_know_they_do_not_say(line, reason):
    with pytest.raises(ValueError, match=reason):
        accepted_records(Workload.parse(f"{CONFIG}300\n{line}"))


def test_what_follows_from_a_refused_producer_is_not_known(spark):
    workload = Workload.parse(f"{CONFIG}300\nappend_as_leader [9x99 keys=2 pid=7 epoch=0 seq=0]\nclean\nconsume start")
    assert spark_expected(workload, spark, only=["survivors"]).quantities == []
    with pytest.raises(ValueError, match="operation 0 of a producer is refused"):
        accepted_records(workload, spark)
