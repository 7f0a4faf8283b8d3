"""minikafka's log manager starts on what a real broker left, stopped or killed, and a broker starts on what it leaves.

One log directory is used in five runs: a broker makes topics, is produced to and stops; minikafka starts, appends,
waits and stops; a broker serves what is there, is produced to and killed; minikafka recovers, appends and is killed; a
broker recovers that and serves it. What the killed broker left is also recovered by Kafka's own log manager, on a copy:
to the same bytes.
"""

import shutil

import pytest

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from minikafka.witness.log.batch import Batch
from tests.kafka_clients import KafkaClients
from tests.two_log_managers import TwoLogManagers

TOPICS = {
    "plain": {"internal.segment.bytes": "2000", "retention.ms": "-1"},
    "compacted": {"internal.segment.bytes": "2000", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
    "short": {"internal.segment.bytes": "1000", "retention.bytes": "2000"},
}
PARTITIONS = [TopicPartition(name, 0) for name in TOPICS]
START_MS = 1_700_000_000_000
FEW = CleanerConfig(dedupe_buffer_size=1 << 20)


class Run:
    """minikafka's manager on a broker's log directory, and its clock."""

    def __init__(self, log_dir):
        self.time = ManualTime(START_MS)
        self.scheduler = ManualScheduler(self.time)
        self.manager = LogManager(
            [log_dir],
            config_repository=MapConfigRepository(TOPICS),
            initial_default_config=LogConfig(),
            scheduler=self.scheduler,
            time=self.time,
            cleaner_config=FEW,
        )
        self.broker_epoch = self.manager.read_broker_epoch_from_clean_shutdown_files()
        self.manager.startup(TOPICS)

    def append_and_wait(self):
        for partition in PARTITIONS:
            log = self.manager.get_log(partition)
            for number in range(20):
                batch = Batch.parse(f"[3x100 keys=2 data={number}]").encode(self.time.milliseconds())
                log.append_as_leader(MemoryRecords.readable_records(bytearray(batch)), log.latest_epoch)
            log.update_high_watermark(log.log_end_offset)
        for _ in range(8):
            self.time.sleep(60_000)

    def records(self):
        """(offset, key, value) of all records of each log."""
        found = {}
        for partition in PARTITIONS:
            batches = (b for segment in self.manager.get_log(partition).log_segments for b in segment.log.batches())
            found[partition.topic] = [(r.offset, bytes(r.key or b""), bytes(r.value)) for b in batches for r in b]
        return found

    def stop(self):
        self.scheduler.shutdown()
        self.manager.shutdown(self.broker_epoch)

    def kill(self):
        self.scheduler.shutdown()
        self.manager.let_go()


def produce(clients):
    producer = clients.producer()
    for topic in TOPICS:
        for number in range(30):
            key = b"key-%d" % (number % 4)
            clients.send(producer, topic, [(START_MS + number, key, b"%d" % number * 60, [])])
    producer.close()


def consumed(clients):
    return {
        topic: [(offset, bytes(key or b""), bytes(value)) for offset, _, key, value in clients.consume(topic)]
        for topic in TOPICS
    }


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_five_runs_on_a_log_directory(kafka, tmp_path):
    broker = KafkaBroker(tmp_path, {"log.cleaner.enable": "false", "log.retention.check.interval.ms": "3600000"})

    # 1. A broker, stopped.
    with broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        for topic, config in TOPICS.items():
            clients.create_topic(topic, config)
        produce(clients)
        served = consumed(clients)
    assert CleanShutdownFileHandler(broker.log_dir).exists()

    # 2. minikafka, stopped: retention and the cleaner have been at work.
    run = Run(broker.log_dir)
    assert run.broker_epoch is not None
    assert run.records() == served
    run.append_and_wait()
    left = run.records()
    assert left["plain"][: len(served["plain"])] == served["plain"] and len(left["plain"]) == 30 + 60
    assert len(left["compacted"]) < 60
    assert run.manager.get_log(PARTITIONS[2]).log_start_offset > 0
    run.stop()
    assert CleanShutdownFileHandler(broker.log_dir).read() == run.broker_epoch

    # 3. A broker, killed while its logs are dirty.
    broker.start()
    try:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        assert consumed(clients) == left
        produce(clients)
        served = consumed(clients)
        assert len(served["plain"]) == 120
    finally:
        broker.kill()
    assert not CleanShutdownFileHandler(broker.log_dir).exists()

    # Kafka's own log manager and minikafka's recover copies of that to the same bytes, and close them so.
    managers = TwoLogManagers(kafka, tmp_path / "copies")
    for one in managers.both:
        one.topic_configs = TOPICS
    managers.change(lambda directory: shutil.copytree(broker.log_dir, directory / "a"))
    managers.start()
    managers.stop()

    # 4. minikafka, killed.
    run = Run(broker.log_dir)
    assert run.broker_epoch is None
    assert run.records() == served
    run.append_and_wait()
    left = run.records()
    run.kill()
    assert not CleanShutdownFileHandler(broker.log_dir).exists()
    assert len(left["plain"]) == 180

    # 5. A broker again.
    with broker:
        assert consumed(KafkaClients(kafka, broker.bootstrap_servers)) == left
