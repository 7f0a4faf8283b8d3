"""Spark's Kafka connector at a live broker and the data source at its directory: the same queries, the same answers."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from benchmarks.spark_connector import connector_jars
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.absent import in_ci
from tests.librdkafka_clients import AdminClient, Producer
from tests.spark.connector_cases import (
    CASES,
    CUT,
    DELETED,
    READ_ON,
    REFUSED,
    SIX_TASKS,
    START,
    STREAMS,
    THROUGH_SPARK,
    TOPICS,
    Answer,
    Case,
    counted,
    options_of,
)
from tests.spark.quick_java import QUICK_JAVA
from tests.spark.rows import rows

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "log.initial.task.delay.ms": "100",
    "log.retention.ms": "-1",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "100",
}
PATIENCE_S = 230
KINDS = {"batch": CASES, "stream": STREAMS}


@pytest.fixture(scope="module")
def jars() -> list[str]:
    """Those of the connector. Without them tests fail in CI; elsewhere they are skipped, with the reason."""
    try:
        return connector_jars()
    except KafkaJarsUnavailableError as unavailable:
        if in_ci():
            pytest.fail(f"CI must ask Spark's Kafka connector: {unavailable}")
        pytest.skip(str(unavailable))


def batch(log_dir: Path, case: Case) -> Answer:
    """What the data source answers, asked as Spark's Python asks it."""
    try:
        return counted((row["topic"], row["partition"], row["offset"]) for row in rows(log_dir, **options_of(case)))
    except (KafkaException, IllegalArgumentException):
        return REFUSED


def stream(log_dir: Path, case: Case) -> Answer:
    """The same of a stream that reads what is there now (trigger availableNow)."""
    source = KafkaLogDataSource({"path": str(log_dir), **options_of(case)})
    try:
        reader = source.streamReader(source.schema())
        start = reader.initialOffset()
        reader.prepareForTriggerAvailableNow()
        read = []
        while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
            for task in reader.partitions(start, end):
                read += [row for part in reader.read(task) for row in part.to_pylist()]
            start = end
    except (KafkaException, IllegalArgumentException):
        return REFUSED
    return counted((row["topic"], row["partition"], row["offset"]) for row in read)


def ends(log_dir: Path, options: dict[str, str]) -> list[dict]:
    """Where the micro-batches of a stream end that reads what is there now."""
    source = KafkaLogDataSource({"path": str(log_dir), **options})
    reader = source.streamReader(source.schema())
    start, found = reader.initialOffset(), []
    reader.prepareForTriggerAvailableNow()
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        found.append({topic: offsets for topic, offsets in end.items() if topic in TOPICS})
        start = end
    return found


def tasks(log_dir: Path, options: dict[str, str]) -> int:
    """How many tasks a query has."""
    source = KafkaLogDataSource({"path": str(log_dir), "subscribe": "a", **options})
    return len(source.reader(source.schema()).partitions())


def fill(broker: KafkaBroker) -> None:
    """Make the topics of `connector_cases`, and wait until the broker has noted where they begin and end."""
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    # Idempotent: a batch that the broker refuses at first (no leader yet) must not come behind the next one.
    admin, producer = AdminClient(servers), Producer(servers | {"enable.idempotence": True})
    for made in admin.create_topics([NewTopic(name, len(counts), 1) for name, counts in TOPICS.items()]).values():
        made.result()
    for topic, counts in TOPICS.items():
        for partition, count in enumerate(counts):
            for number in range(count):
                producer.produce(topic, b"%d" % number, None, partition, timestamp=START + 1000 * number)
    producer.flush()
    for deleted in admin.delete_records([TopicPartition("kept", 0, DELETED)]).values():
        deleted.result()
    wanted = {
        "replication-offset-checkpoint": [f"{topic} {p} {n}" for topic, ns in TOPICS.items() for p, n in enumerate(ns)],
        "log-start-offset-checkpoint": [f"kept 0 {DELETED}"],
    }
    deadline = time.monotonic() + 30
    for name, lines in wanted.items():
        while not set(lines) <= set((broker.log_dir / name).read_text().splitlines()):
            assert time.monotonic() < deadline, (broker.log_dir / name).read_text()
            time.sleep(0.1)


@pytest.fixture(scope="module")
def asked(share) -> dict[str, list[Case]]:
    """Those that are asked in this run."""
    return {"batch": share(CASES, 4), "stream": share(STREAMS, 2)}


@pytest.fixture(scope="module")
def log_dir(jars, asked, tmp_path_factory) -> Path:
    """The broker's, as it is while the connector is asked; `told.json` beside it has what that answers."""
    home = tmp_path_factory.mktemp("connector")
    with KafkaBroker(home / "broker", SETTINGS) as broker:
        fill(broker)
        command = [sys.executable, "-m", "tests.spark.ask_the_connector"]
        numbers = [json.dumps([cases.index(case) for case in asked[kind]]) for kind, cases in KINDS.items()]
        arguments = [broker.bootstrap_servers, str(broker.log_dir), ",".join(jars), *numbers]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, **QUICK_JAVA}
        done = subprocess.run(
            command + arguments, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, done.stderr[-3000:]
        (home / "told.json").write_text(done.stdout.splitlines()[-1])
        yield broker.log_dir


@pytest.fixture(scope="module")
def told(log_dir) -> dict:
    return json.loads((log_dir.parents[1] / "told.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_the_connector_answers_as_is_written(told, asked, kind):
    assert asked[kind]
    assert differences(asked[kind], told[kind], [case.connector for case in asked[kind]]) == []


@pytest.mark.parametrize("ask, cases", [(batch, CASES), (stream, STREAMS)])
def test_the_data_source_answers_the_same_but_where_it_says_why(log_dir, ask, cases):
    assert differences(cases, [ask(log_dir, case) for case in cases], [expected(case) for case in cases]) == []
    assert all(case.why for case in cases if case.ours is not None)


def test_some_are_asked_through_spark(told):
    assert differences(THROUGH_SPARK, told["ours"], [expected(case) for case in THROUGH_SPARK]) == []


def test_streams_tell_of_a_topic_that_is_gone_and_go_on_without_it(told):
    answers = [case.connector for case in READ_ON]
    assert differences(READ_ON, told["gone"]["connector"], answers) == []
    assert differences(READ_ON, told["gone"]["ours"], answers) == []


def test_micro_batches_are_cut_where_the_connector_cuts_them(log_dir, told):
    assert [ends(log_dir, options) for options in CUT] == told["ends"]
    assert all(len(found) > 2 for found in told["ends"])


def test_tasks_are_as_many(log_dir, told):
    assert told["tasks"] == tasks(log_dir, SIX_TASKS) == 6


def expected(case: Case) -> Answer:
    """What the data source is to answer."""
    return case.connector if case.ours is None else case.ours


def differences(cases, answers, expected) -> list:
    """(Options, answer, what was expected) where these differ."""
    answers = [
        each if isinstance(each, str) else {name: tuple(part) for name, part in each.items()} for each in answers
    ]
    return [
        (str(case.options)[:100], answer, wanted)
        for case, answer, wanted in zip(cases, answers, expected, strict=True)
        if answer != wanted
    ]
