"""A real broker boots on what minikafka wrote, closed or killed; minikafka recovers what a killed broker left.

One broker runs four times on one log.dir: it makes the topics; it serves what minikafka wrote and closed and is killed
while it is produced to; it recovers that, and what a killed minikafka left, and stops; the tests look at each.
"""

import shutil
import threading
import time

import pytest

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import RECOVERY_POINT_CHECKPOINT_FILE, OffsetCheckpointFile
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.checkpointed_offset import checkpointed_offset
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.directory_diff import directory_diff
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from minikafka.witness.kafka.kafka_log import KafkaLog
from minikafka.witness.log.batch import Batch
from tests.kafka_clients import KafkaClients

CLOSED, KILLED = TopicPartition("closed", 0), TopicPartition("killed", 0)
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
ISOLATIONS = {"read_uncommitted": FetchIsolation.LOG_END, "read_committed": FetchIsolation.TXN_COMMITTED}
ENOUGH_BATCHES = 30


def write_log(directory):
    """minikafka's log in the directory that a broker made, with `WRITTEN` in it; and its scheduler."""
    clock = ManualTime(START_MS)
    scheduler = ManualScheduler(clock)
    log = Log.create(directory, LogConfig(CONFIG), scheduler=scheduler, time=clock)
    for text in WRITTEN:
        batch = Batch.parse(text)
        origin = AppendOrigin.COORDINATOR if batch.control else AppendOrigin.CLIENT
        records = MemoryRecords.readable_records(bytearray(batch.encode(START_MS)))
        log.append_as_leader(records, 0, origin, transaction_version=1 if batch.control else -1)
    return log, scheduler


def consumed(log, isolation):
    """What a consumer gets of minikafka's log: (offset, timestamp, key, value) of each record."""
    log.update_high_watermark(log.log_end_offset)
    records, offset = [], 0
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, isolation)
        aborted = {txn.producer_id for txn in data.aborted_transactions or ()}
        for batch in data.records.batches():
            offset = batch.next_offset
            if not batch.is_control_batch and not (batch.is_transactional and batch.producer_id in aborted):
                records += [(r.offset, r.timestamp, _bytes(r.key), _bytes(r.value)) for r in batch]
    return records


def _bytes(value):
    return None if value is None else bytes(value)


def consumed_from_broker(clients, topic):
    return {isolation: clients.consume(topic, isolation) for isolation in ISOLATIONS}


class Production(threading.Thread):
    """Produces until the broker is gone: batches in and out of a transaction that stays open."""

    def __init__(self, clients, topic):
        super().__init__(daemon=True)
        impatient = {"linger_ms": 5, "delivery_timeout_ms": 1000, "request_timeout_ms": 900, "max_block_ms": 1000}
        self.clients, self.topic = clients, topic
        self.plain = clients.producer(**impatient)
        self.transactional = clients.producer(transactional_id="t", transaction_timeout_ms=900_000, **impatient)
        self.transactional.initTransactions()
        self.transactional.beginTransaction()
        self.acknowledged = []
        self.broker_runs = True
        self.start()

    def run(self):
        number = 0
        while self.broker_runs:
            values = [b"%d" % n * 40 for n in range(number, number + 3)]
            sender = self.transactional if number % 2 else self.plain
            self.clients.send(sender, self.topic, [(START_MS + number, b"k", value, []) for value in values])
            if self.broker_runs:
                self.acknowledged += values
            number += 3

    def end_with(self, broker):
        """Kill the broker in the midst of it, once enough is acknowledged."""
        deadline = time.monotonic() + 20
        while len(self.acknowledged) < 3 * ENOUGH_BATCHES and time.monotonic() < deadline:
            time.sleep(0.01)
        self.broker_runs = False
        broker.kill()
        self.join()
        for producer in (self.plain, self.transactional):
            producer.close(self.clients.kafka.find_class("java.time.Duration").ZERO)


@pytest.fixture(scope="module")
def seen_in_runs(kafka, tmp_path_factory):
    """What was seen in the four runs of the broker, by name."""
    home = tmp_path_factory.mktemp("broker")
    broker, seen = KafkaBroker(home), {}
    closed, killed = (broker.log_dir / str(partition) for partition in (CLOSED, KILLED))

    def keep(name, *directories):
        for directory in directories:
            shutil.copytree(directory, home / name / directory.name)
        seen[name] = home / name

    with broker:
        for partition in (CLOSED, KILLED):
            KafkaClients(kafka, broker.bootstrap_servers).create_topic(partition.topic, CONFIG)

    log, _ = write_log(closed)
    seen["written"] = {isolation: consumed(log, level) for isolation, level in ISOLATIONS.items()}
    log.flush(force_flush_active_segment=True)
    log.close()
    recovery_points = OffsetCheckpointFile(broker.log_dir / RECOVERY_POINT_CHECKPOINT_FILE)
    recovery_points.write({**recovery_points.read(), CLOSED: log.recovery_point})
    CleanShutdownFileHandler(broker.log_dir).write()
    keep("closed by minikafka", closed)

    broker.start()
    try:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        seen["closed"] = consumed_from_broker(clients, CLOSED.topic)
        keep("served", closed)
        production = Production(clients, CLOSED.topic)
    except BaseException:
        broker.kill()
        raise
    production.end_with(broker)
    seen["acknowledged"] = production.acknowledged
    seen["recovery point"] = checkpointed_offset(broker.log_dir / RECOVERY_POINT_CHECKPOINT_FILE, CLOSED)

    log, scheduler = write_log(killed)
    scheduler.shutdown()
    log.close_handlers()
    with sorted(killed.glob("*.log"))[-1].open("ab") as last:
        last.write(b"\x00" * 7 + b"torn")
    keep("left", closed, killed)

    with broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        seen["killed"] = consumed_from_broker(clients, KILLED.topic)
    keep("recovered by the broker", closed, killed)
    return seen


@pytest.mark.parametrize("end", ["closed", "killed"])
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_consumer_reads_every_record_that_minikafka_wrote(seen_in_runs, end, isolation):
    assert seen_in_runs[end][isolation] == seen_in_runs["written"][isolation]
    assert len(seen_in_runs["written"]["read_uncommitted"]) == len(seen_in_runs["written"]["read_committed"]) + 2 > 50


def test_the_broker_changed_no_byte_of_the_log(seen_in_runs):
    written, served = (
        {path.name: path.read_bytes() for path in (seen_in_runs[name] / str(CLOSED)).glob("*.log")}
        for name in ("closed by minikafka", "served")
    )
    assert served == written and len(written) > 3


def recover(kafka, opener, directory, recovery_point, clock):
    """Load as after a crash and close; the state in between, made comparable."""
    scheduler = ManualScheduler(clock)
    if opener == "minikafka":
        config = LogConfig(CONFIG)
        log = Log.create(
            directory, config, 0, recovery_point, scheduler=scheduler, time=clock, last_shutdown_clean=False
        )
        state = log.fetch_state_snapshot()
    else:
        log = KafkaLog.create(
            kafka,
            directory,
            CONFIG,
            recovery_point=recovery_point,
            scheduler=scheduler,
            time=clock,
            last_shutdown_clean=False,
        )
        state = log.fetch_state_snapshot()
    scheduler.run_due_tasks()
    log.flush(force_flush_active_segment=True)
    log.close()
    return state


@pytest.mark.parametrize("partition, checkpointed", [(CLOSED, True), (CLOSED, False), (KILLED, False)], ids=str)
def test_both_recover_what_a_kill_left_to_the_same_bytes(seen_in_runs, kafka, tmp_path, partition, checkpointed):
    known = seen_in_runs["recovery point"] if checkpointed else 0
    states = []
    for opener in ("minikafka", "kafka"):
        copy = tmp_path / opener / str(partition)
        shutil.copytree(seen_in_runs["left"] / str(partition), copy)
        states.append(recover(kafka, opener, copy, known, ManualTime(START_MS)))
    assert states[0] == states[1]
    directory_diff(tmp_path / "minikafka", tmp_path / "kafka").require()


def test_nothing_that_was_acknowledged_is_lost(seen_in_runs, kafka, tmp_path):
    copy = tmp_path / str(CLOSED)
    shutil.copytree(seen_in_runs["left"] / str(CLOSED), copy)
    recover(kafka, "minikafka", copy, 0, ManualTime(START_MS))
    clock = ManualTime(START_MS)
    log = Log.create(copy, LogConfig(CONFIG), scheduler=ManualScheduler(clock), time=clock)
    values = {value for _, _, _, value in consumed(log, FetchIsolation.LOG_END)}
    open_transactions = log.first_unstable_offset
    log.close()
    assert set(seen_in_runs["acknowledged"]) <= values and len(seen_in_runs["acknowledged"]) >= 3 * ENOUGH_BATCHES
    assert open_transactions is not None


@pytest.mark.parametrize("partition", [CLOSED, KILLED], ids=str)
def test_minikafka_recovers_as_the_broker_itself_did(seen_in_runs, kafka, tmp_path, partition):
    """Apart from what a broker adds: the epoch of its new incarnation, and what it does once it leads."""
    copy = tmp_path / str(partition)
    shutil.copytree(seen_in_runs["left"] / str(partition), copy)
    known = seen_in_runs["recovery point"] if partition == CLOSED else 0
    recover(kafka, "minikafka", copy, known, ManualTime(time.time_ns() // 1_000_000))
    added = {"leader-epoch-checkpoint": "the broker has begun a new epoch"}
    diff = directory_diff(copy, seen_in_runs["recovered by the broker"] / str(partition), excluded=added)
    assert diff.equal, diff
