"""Makes anew the directories that a real Kafka broker wrote: `python -m tests.golden.make_golden`.

- `GOLDEN`: a log.dir with one topic, `mixed`, that has all that a log can hold: keys, null keys, null
  values, headers, every codec, an idempotent producer and one that is not, a committed and an aborted transaction.
- notebooks/data: a log.dir with the topic `orders` of the lessons: 90 orders in six small segments.

The broker is shut down cleanly, so that its index files are trimmed. Topic ids, producer ids and the timestamps of
transaction markers are other ones each time; the tests compute what they expect from the directory itself.
"""

import json
import shutil
import tempfile
from pathlib import Path

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.golden.places import GOLDEN
from tests.kafka_clients import KafkaClients

HERE = Path(__file__).parent
NOTEBOOKS_DATA = HERE.parent.parent / "notebooks" / "data"
START_MS = 1_700_000_000_000
SETTINGS = {"retention.ms": "-1", "index.interval.bytes": "250"}
CUSTOMERS = ("ada", "grace", "edsger", "barbara", "leslie")


def main() -> None:
    """Write both directories, replacing what is there."""
    kafka = KafkaJvm.start()
    make(kafka, "mixed", GOLDEN, {**SETTINGS, "internal.segment.bytes": "1500"}, send_mixed)
    make(kafka, "orders", NOTEBOOKS_DATA, {**SETTINGS, "internal.segment.bytes": "1000"}, send_orders)


def make(kafka: KafkaJvm, topic: str, target: Path, config: dict[str, str], send) -> None:
    """Have a new broker write `topic`, and keep the topic's directory and the log.dir's own files in `target`."""
    with tempfile.TemporaryDirectory() as home:
        with KafkaBroker(Path(home)) as broker:
            clients = KafkaClients(kafka, broker.bootstrap_servers)
            clients.create_topic(topic, config)
            send(clients, topic)
        shutil.rmtree(target / f"{topic}-0", ignore_errors=True)
        target.mkdir(parents=True, exist_ok=True)
        for path in broker.log_dir.iterdir():
            if path.name == f"{topic}-0":
                shutil.copytree(path, target / path.name)
            elif path.is_file() and path.name not in ("bootstrap.checkpoint", ".lock"):
                shutil.copy(path, target)


def send_orders(clients: KafkaClients, topic: str) -> None:
    """90 orders, 3 a batch, a minute apart."""
    producer = clients.producer(enable_idempotence=False)
    for first in range(0, 90, 3):
        clients.send(producer, topic, [order(n) for n in range(first, first + 3)])
    producer.close()


def order(number: int) -> tuple:
    """Order `number` as (timestamp in ms, key, value, headers)."""
    value = json.dumps({"order": number, "amount": number * 37 % 100 + 1})
    return START_MS + number * 60_000, CUSTOMERS[number % len(CUSTOMERS)].encode(), value.encode(), []


def send_mixed(clients: KafkaClients, topic: str) -> None:
    """One of everything."""
    plain = clients.producer(enable_idempotence=False)
    idempotent = clients.producer()
    transactional = clients.producer(transactional_id="golden")
    transactional.initTransactions()

    clients.send(
        plain, topic, [(START_MS, b"a", b"1", []), (START_MS + 2, None, b"2", []), (START_MS + 1, b"a", None, [])]
    )
    clients.send(plain, topic, [(START_MS + 3, b"\x00\xff", b"\xed\xa0\x80", [("h", b"1"), ("h", None), ("é", b"")])])
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        compressing = clients.producer(compression_type=codec)
        records = [
            (START_MS + 10 + i, b"key-%d" % (i % 3), b"%s %d " % (codec.encode(), i) * 20, []) for i in range(10)
        ]
        clients.send(compressing, topic, records)
        compressing.close()
    for i in range(3):
        clients.send(idempotent, topic, [(START_MS + 100 + i, b"i", b"%d" % i * 50, [])])

    for n, end in enumerate(
        (transactional.commitTransaction, transactional.abortTransaction, transactional.commitTransaction)
    ):
        transactional.beginTransaction()
        clients.send(
            transactional,
            topic,
            [(START_MS + 1000 * (n + 1) + i, b"t", b"in transaction %d" % n, []) for i in range(3)],
        )
        clients.send(idempotent, topic, [(START_MS + 1000 * (n + 1) + 500, b"i", b"beside it" * 20, [])])
        clients.send(
            transactional, topic, [(START_MS + 1000 * (n + 1) + 600, b"t", b"still in transaction %d" % n, [])]
        )
        end()
    clients.send(plain, topic, [(START_MS + 9000 + i, b"z", b"last" * 30, []) for i in range(4)])
    for producer in (plain, idempotent, transactional):
        producer.close()


if __name__ == "__main__":
    main()
