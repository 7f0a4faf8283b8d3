"""Makes anew what a killed broker left behind: `python -m tests.golden.make_killed` writes notebooks/data/killed.

The topic `orders` has two leaders' epochs (the broker was stopped cleanly in between), an idempotent producer, an
aborted transaction and one that is open when the broker is killed. Ids, the timestamps of markers and the place of the
abort marker are other ones each time; the lesson *Crash and recovery* and its test name the offsets of the one that
is kept.
"""

import shutil
import tempfile
from pathlib import Path

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.lab.stage.killed_broker import keep
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.golden.make_golden import NOTEBOOKS_DATA, SETTINGS, START_MS, order
from tests.kafka_clients import KafkaClients

TOPIC = "orders"
TARGET = NOTEBOOKS_DATA / "killed"
CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")


def main() -> None:
    """Two runs of one broker; it is killed in the second."""
    kafka = KafkaJvm.start()
    with tempfile.TemporaryDirectory() as home:
        broker = KafkaBroker(Path(home))
        with broker:
            clients = KafkaClients(kafka, broker.bootstrap_servers)
            clients.create_topic(TOPIC, {**SETTINGS, "internal.segment.bytes": "1000"})
            producer = clients.producer()
            send(clients, producer, 0, 24)
            producer.close()
        broker.start()
        try:
            second_run(KafkaClients(kafka, broker.bootstrap_servers))
        finally:
            broker.kill()
        keep(broker.log_dir / f"{TOPIC}-0", TARGET)
        for name in CHECKPOINTS:
            shutil.copy(broker.log_dir / name, TARGET)
    kafka.close()


def second_run(clients: KafkaClients) -> None:
    """More orders, one transaction aborted, one left open."""
    producer, transactional = clients.producer(), clients.producer(transactional_id="payments")
    transactional.initTransactions()
    send(clients, producer, 24, 39)
    transactional.beginTransaction()
    payment(clients, transactional, 100)
    transactional.abortTransaction()
    send(clients, producer, 39, 51)
    transactional.beginTransaction()
    payment(clients, transactional, 101)
    send(clients, producer, 51, 60)


def send(clients: KafkaClients, producer, first: int, end: int) -> None:
    """Orders `first` to `end` (exclusive), three in a batch."""
    for number in range(first, end, 3):
        clients.send(producer, TOPIC, [order(n) for n in range(number, number + 3)])


def payment(clients: KafkaClients, producer, number: int) -> None:
    """Two records of one transaction."""
    clients.send(producer, TOPIC, [(START_MS + number * 60_000, b"pay", b"%d" % n, []) for n in (number, number)])


if __name__ == "__main__":
    main()
