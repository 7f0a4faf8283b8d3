"""A real broker boots on what minikafka wrote, and minikafka recovers what a killed broker left, to Kafka's own bytes."""

import shutil

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.memory_records import MemoryRecords
from minikafka.witness.batch import Batch
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka_broker import KafkaBroker, KafkaClients
from minikafka.witness.kafka_log import KafkaLog
from minikafka.witness.runner import observed_state

TOPIC = "ours"
START_MS = 1_700_000_000_000
CONFIG = {"internal.segment.bytes": "2000", "index.interval.bytes": "200", "retention.ms": "-1"}
WRITTEN = (
    "[3x100 keys=2 headers=2]",
    *(f"[5x80 data={n} codec={codec}]" for n, codec in enumerate(("gzip", "snappy", "lz4", "zstd"))),
    "[2x50 pid=7 epoch=0 seq=0]",
    "[2x50 pid=9000 epoch=0 seq=0 txn]",
    "[1x50,null pid=7 epoch=0 seq=2]",
    "[abort pid=9000 epoch=0]",
    "[2x50 pid=9001 epoch=0 seq=0 txn]",
    "[commit pid=9001 epoch=0]",
    *["[3x200 ts=now+5]"] * 10,
)


def append(log, text):
    batch = Batch.parse(text)
    origin = AppendOrigin.COORDINATOR if batch.control else AppendOrigin.CLIENT
    records = MemoryRecords.readable_records(bytearray(batch.encode(START_MS)))
    log.append_as_leader(records, 0, origin, transaction_version=1 if batch.control else -1)


def consumed(log, isolation):
    """What a consumer gets of minikafka's log: (offset, timestamp, key, value) of each record."""
    log.update_high_watermark(log.log_end_offset)
    records, offset = [], 0
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, isolation, True)
        aborted = {txn.producer_id for txn in data.aborted_transactions or ()}
        for batch in data.records.batches():
            offset = batch.next_offset
            if not batch.is_control_batch and not (batch.is_transactional and batch.producer_id in aborted):
                records += [(r.offset, r.timestamp, _bytes(r.key), _bytes(r.value)) for r in batch]
    return records


def _bytes(value):
    return None if value is None else bytes(value)


@pytest.fixture(scope="module")
def lived(kafka, tmp_path_factory):
    """A broker's life: topic made, directory written by minikafka, read by a consumer, produced to, killed."""
    home = tmp_path_factory.mktemp("broker")
    broker = KafkaBroker(home)
    directory = broker.log_dir / f"{TOPIC}-0"
    with broker:
        KafkaClients(kafka, broker.bootstrap_servers).create_topic(TOPIC, CONFIG)
    time = ManualTime(START_MS)
    log = Log.create(directory, LogConfig(CONFIG), 0, 0, ManualScheduler(time), time)
    for text in WRITTEN:
        append(log, text)
    life = {isolation: consumed(log, isolation) for isolation in (FetchIsolation.LOG_END, FetchIsolation.TXN_COMMITTED)}
    log.close()
    life["written"] = home / "written"
    shutil.copytree(directory, life["written"])
    broker.start()
    try:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        life["uncommitted"] = clients.consume(TOPIC)
        life["committed"] = clients.consume(TOPIC, "read_committed")
        life["while running"] = {path.name: path.read_bytes() for path in directory.glob("*.log")}
        transactional, plain = clients.producer(transactional_id="t"), clients.producer()
        transactional.initTransactions()
        transactional.beginTransaction()
        for n in range(20):
            sender = transactional if n % 3 else plain
            clients.send(sender, TOPIC, [(START_MS + n, b"k", b"%d" % n * 100, [])] * 3)
    finally:
        broker.kill()
    for producer in (transactional, plain):
        producer.close(kafka.find_class("java.time.Duration").ZERO)
    life["left"] = directory
    return life


def test_a_consumer_reads_every_record_that_minikafka_wrote(lived):
    assert lived["uncommitted"] == lived[FetchIsolation.LOG_END]
    assert lived["committed"] == lived[FetchIsolation.TXN_COMMITTED]
    assert len(lived["uncommitted"]) == len(lived["committed"]) + 2 > 50


def test_the_broker_changed_no_byte_of_the_log(lived):
    written = {path.name: path.read_bytes() for path in lived["written"].glob("*.log")}
    assert lived["while running"] == written and len(written) > 3


def test_both_recover_what_the_killed_broker_left_to_the_same_bytes(lived, kafka, tmp_path):
    states = []
    for opener in ("minikafka", "kafka"):
        copy = tmp_path / opener / lived["left"].name
        shutil.copytree(lived["left"], copy)
        with open(sorted(copy.glob("*.log"))[-1], "ab") as last:
            last.write(b"\x00" * 7 + b"torn")
        time = ManualTime(START_MS)
        scheduler = ManualScheduler(time)
        if opener == "minikafka":
            log = Log.create(copy, LogConfig(CONFIG), 0, 0, scheduler, time, last_shutdown_clean=False)
            states.append(observed_state(log))
        else:
            log = KafkaLog.create(kafka, copy, CONFIG, 0, 0, scheduler, time, last_shutdown_clean=False)
            states.append(log.observed_state())
        scheduler.run_due_tasks()
        log.close()
    ours, theirs = ([list(map(tuple, part)) if isinstance(part, list) else part for part in state] for state in states)
    assert ours == theirs
    assert ours[4] > len(lived["uncommitted"]) + 60 and any(producer[-1] >= 0 for producer in ours[7])
    directory_diff(tmp_path / "minikafka", tmp_path / "kafka").require()
