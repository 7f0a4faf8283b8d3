"""Makes anew the disks of the shop's two brokers: `python -m tests.golden.make_night` writes notebooks/data/night.

The lesson *A log directory at scale* asks what happened in the night in which they were written. Two real brokers wrote
them, with real producers, consumers and transactions. The records' timestamps tell a night of twelve hours, from
`EVENING_MS` on; the brokers ran for a minute. What went wrong:

- `clicks`: at two o'clock a new version of the web site stops compressing, and sends more.
- `payments`: at one o'clock the producer `till-2` begins a transaction and is never heard of again.
- `orders`: a till without a network sends at four what it sold before midnight. Broker 2 fails at five.
- `prices`: the same few prices again and again, in a compacted topic that nobody has cleaned yet.
- the group `mail` died at eleven; `billing` reads committed payments only; `dashboard` is too slow.

Below `told` is what Kafka's own tools said of all this while the brokers were up, and what the producers were told.
Producer ids, topic ids and the timestamps of markers and commits are other ones each time.
"""

import json
import random
import re
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minikafka.common.uuid import random_uuid
from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.witness.kafka.kafka_broker import KafkaBroker, free_ports
from minikafka.witness.kafka.kafka_tools import run_tool
from tests.golden.make_golden import NOTEBOOKS_DATA
from tests.kafka_clients import KafkaClients

TARGET = NOTEBOOKS_DATA / "night"
EVENING_MS = 1_699_992_000_000
"""2023-11-14 20:00:00 UTC, in ms."""

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
SMALL = {"retention.ms": "-1", "index.interval.bytes": "1000"}
TOPICS = {
    "clicks": SMALL | {"internal.segment.bytes": "30000"},
    "orders": SMALL | {"internal.segment.bytes": "3000", "min.insync.replicas": "1"},
    "payments": SMALL | {"internal.segment.bytes": "3000"},
    "prices": SMALL | {"internal.segment.bytes": "4000", "cleanup.policy": "compact"},
}
NOT_YET_CLEANED = {"log.cleaner.backoff.ms": "3600000"}
"""The cleaner looks when a broker starts, and then not before an hour has passed."""

PRODUCTS = ("apples", "bread", "cheese", "dates", "eggs", "flour", "grapes", "honey")
KEPT = ("clicks-0", "orders-0", "payments-0", "prices-0", "__consumer_offsets-0", "__transaction_state-0")


def main() -> None:
    """One night of two brokers."""
    kafka = KafkaJvm.start()
    with tempfile.TemporaryDirectory() as home:
        first, second = two_brokers(Path(home))
        try:
            first.start()
            clients = KafkaClients(kafka, first.bootstrap_servers)
            commit(clients, "warehouse", {})
            night = Night(clients)  # the internal topics are made while broker 2 is away
            second.start()
            night.create_topics()
            night.pass_until(5)
            second.stop()
            night.pass_until(8)
            night.groups_commit()
            told = night.told()
            night.leave()
            first.stop()
        finally:
            first.kill()
            second.kill()
        shutil.rmtree(TARGET, ignore_errors=True)
        for number, broker in ((1, first), (2, second)):
            keep(broker.log_dir, TARGET / f"broker-{number}")
        (TARGET / "told").mkdir()
        told["compaction"] = cleaned(kafka, first.home)
        for name, words in told.items():
            (TARGET / "told" / f"{name}.txt").write_text(words, encoding="utf-8")
    kafka.close()


def two_brokers(home: Path) -> list[KafkaBroker]:
    """Broker 1, which is the controller as well, and broker 2."""
    ports = free_ports(3)
    cluster_id = random_uuid()
    shared = {
        "controller.quorum.voters": f"1@127.0.0.1:{ports[2]}",
        "broker.session.timeout.ms": "3000",
    } | NOT_YET_CLEANED
    joins = {"node.id": "2", "process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{ports[1]}"}
    return [
        KafkaBroker(home / "1", shared, cluster_id=cluster_id, ports=(ports[0], ports[2])),
        KafkaBroker(home / "2", shared | joins, cluster_id=cluster_id, ports=(ports[1], ports[2])),
    ]


def cleaned(kafka: KafkaJvm, home: Path) -> str:
    """What is left of `prices` when a broker that starts on the disk has let its cleaner run."""
    directory = home / "log.dir" / "prices-0"
    before = sum(file.stat().st_size for file in directory.glob("*.log"))
    with KafkaBroker(home, {"log.cleaner.backoff.ms": "1000"}) as broker:
        deadline = time.monotonic() + 60
        while "prices" not in (broker.log_dir / "cleaner-offset-checkpoint").read_text():
            assert time.monotonic() < deadline, "the cleaner did not come"
            time.sleep(0.1)
        left = len(KafkaClients(kafka, broker.bootstrap_servers).consume("prices"))
    after = sum(file.stat().st_size for file in directory.glob("*.log"))
    return json.dumps({"bytes before": before, "bytes after": after, "records after": left}) + "\n"


def keep(log_dir: Path, target: Path) -> None:
    """Store the shop's partitions and the checkpoints of a log directory."""
    target.mkdir(parents=True)
    for path in sorted(log_dir.iterdir()):
        if path.name in KEPT:
            shutil.copytree(path, target / path.name)
        elif path.name == "meta.properties" or path.name.endswith("-checkpoint"):
            shutil.copy(path, target)


class Night:
    """What is sent from eight in the evening on; `hour` counts from then."""

    def __init__(self, clients: KafkaClients):
        self.clients, self.hour, self.draw = clients, 0, random.Random(13)
        self.web = clients.producer(compression_type="zstd")
        self.new_web = clients.producer()
        self.tills = clients.producer(acks="all")
        self.office = clients.producer(enable_idempotence=False)
        self.payers = {name: clients.producer(transactional_id=name) for name in ("web", "till-1")}
        self.payers["till-2"] = clients.producer(transactional_id="till-2", transaction_timeout_ms=900_000)
        self.orders = 0
        self.late: list[tuple] = []
        self.booked = {"payments": 0, "amount": 0}
        for payer in self.payers.values():
            payer.initTransactions()

    def create_topics(self) -> None:
        """`orders` is on both brokers; the others are on broker 1 only."""
        kafka = self.clients.kafka
        admin = kafka.find_class("org.apache.kafka.clients.admin.Admin").create(
            kafka.properties({"bootstrap.servers": self.clients.bootstrap_servers})
        )
        for topic, settings in TOPICS.items():
            brokers = [1, 2] if topic == "orders" else [1]
            made = kafka.find_class("org.apache.kafka.clients.admin.NewTopic")(topic, {0: brokers})
            admin.createTopics([made.configs(kafka.properties(settings))]).all().get()
        admin.close()

    def pass_until(self, hour: int) -> None:
        """Let the hours pass."""
        while self.hour < hour_of(hour):
            self.sell()
            self.click()
            self.pay()
            self.price()
            self.hour += 1

    def sell(self) -> None:
        """Six orders an hour, two a batch; one till has no network until three o'clock."""
        for first in range(0, 6, 2):
            batch = [self.order(first + i) for i in range(2)]
            if self.hour < 4:
                self.late.append(self.order(first + 1, till="till-3"))
            self.clients.send(self.tills, "orders", batch)
        if self.hour == 7:
            for first in range(0, len(self.late), 4):
                self.clients.send(self.tills, "orders", self.late[first : first + 4])

    def order(self, place: int, till: str = "") -> tuple:
        """The order of that tenth of the present hour."""
        self.orders += 1
        value = {"order": self.orders, "till": till or self.draw.choice(("web", "till-1", "till-2"))}
        return self.at(place * 9 + 3), b"order-%d" % self.orders, json.dumps(value).encode(), []

    def click(self) -> None:
        """Forty clicks an hour, compressed; from two o'clock on three times as many, and as they are."""
        producer, batches = (self.web, 4) if self.hour < 6 else (self.new_web, 12)
        for batch in range(batches):
            records = [self.page(batch * 60 // batches, i) for i in range(10)]
            self.clients.send(producer, "clicks", records)

    def page(self, minute: int, second: int) -> tuple:
        visitor = self.draw.randrange(10_000)
        page = f"/shop/{self.draw.choice(PRODUCTS)}?visitor={visitor}&session={self.draw.getrandbits(64):x}"
        return self.at(minute, second), b"%d" % visitor, page.encode(), []

    def pay(self) -> None:
        """A transaction of each payer; `till-1` aborts one at ten, `till-2` begins one at one and stops."""
        for place, (name, payer) in enumerate(self.payers.items()):
            if name == "till-2" and self.hour > 5:
                continue
            payer.beginTransaction()
            amounts = [self.draw.randrange(5, 100) for _ in range(3)]
            records = [
                (self.at(10 + 15 * place, i), name.encode(), json.dumps({"amount": amount}).encode(), [])
                for i, amount in enumerate(amounts)
            ]
            self.clients.send(payer, "payments", records)
            if name == "till-2" and self.hour == 5:
                continue
            if name == "till-1" and self.hour in (2, 6):
                payer.abortTransaction()
                continue
            payer.commitTransaction()
            self.booked["payments"] += len(amounts)
            self.booked["amount"] += sum(amounts)

    def price(self) -> None:
        """Every price anew, twice an hour; honey is no longer sold from midnight on, dates from four."""
        for half in range(2):
            gone = ("honey",) * (self.hour >= 4) + ("dates",) * (self.hour >= 8)
            records = [
                (self.at(half * 30, i), name.encode(), b"%d.%02d" % divmod(self.draw.randrange(80, 900), 100), [])
                for i, name in enumerate(PRODUCTS)
                if name not in gone
            ]
            if half == 0 and self.hour in (4, 8):
                records.append((self.at(0, 30), gone[-1].encode(), None, []))
            self.clients.send(self.office, "prices", records)

    def at(self, minute: int, second: int = 0) -> int:
        """A moment of the present hour, in ms."""
        return EVENING_MS + self.hour * HOUR_MS + minute * MINUTE_MS + second * 1000

    def groups_commit(self) -> None:
        """Where each group stood in the morning."""
        commit(self.clients, "warehouse", {"orders": None})
        commit(self.clients, "mail", {"orders": 17})
        commit(self.clients, "billing", {"payments": None}, isolation="read_committed")
        commit(self.clients, "dashboard", {"clicks": 400})

    def told(self) -> dict[str, str]:
        """What Kafka's own tools say, by the name of the tool."""
        servers = ("--bootstrap-server", self.clients.bootstrap_servers)
        runs = {
            "consumer-groups": ("consumer.group.ConsumerGroupCommand", "--describe", "--all-groups", "--offsets"),
            "transactions": ("TransactionsCommand", "list"),
            "describe-producers": (
                "TransactionsCommand", "describe-producers", "--topic", "payments", "--partition", "0",
            ),
            "get-offsets": ("GetOffsetShell",),
            "log-dirs": ("LogDirsCommand", "--describe", "--topic-list", ",".join(TOPICS), "--broker-list", "1"),
        }  # fmt: skip
        with ThreadPoolExecutor(2) as pool:
            told = {
                name: pool.submit(run_tool, f"org.apache.kafka.tools.{tool}", *servers, *arguments)
                for name, (tool, *arguments) in runs.items()
            }
        assert all(run.result().exit_code == 0 for run in told.values()), [run.result() for run in told.values()]
        words = {
            name: re.sub(r'"logDir":"[^"]*"', '"logDir":"log.dir"', run.result().stdout) for name, run in told.items()
        }
        seen = {topic: len(self.clients.consume(topic, "read_committed")) for topic in ("orders", "clicks", "prices")}
        return words | {"bank": json.dumps(self.booked) + "\n", "console-consumer": json.dumps(seen) + "\n"}

    def leave(self) -> None:
        """Close the producers; `till-2` neither commits nor aborts."""
        at_once = self.clients.kafka.find_class("java.time.Duration").ZERO
        self.payers.pop("till-2").close(at_once)
        for producer in (self.web, self.new_web, self.tills, self.office, *self.payers.values()):
            producer.close()


def hour_of(clock: int) -> int:
    """Hours after eight in the evening at which a morning's clock shows `clock`."""
    return clock + 4


def commit(
    clients: KafkaClients, group: str, offsets: dict[str, int | None], isolation: str = "read_uncommitted"
) -> None:
    """A real consumer of the group reads to the end (None), or to an offset, and commits."""
    kafka = clients.kafka
    deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    settings = {
        "bootstrap.servers": clients.bootstrap_servers, "group.id": group, "isolation.level": isolation,
        "key.deserializer": deserializer, "value.deserializer": deserializer, "enable.auto.commit": False,
    }  # fmt: skip
    consumer = kafka.find_class("org.apache.kafka.clients.consumer.KafkaConsumer")(kafka.properties(settings))
    partition_class = kafka.find_class("org.apache.kafka.common.TopicPartition")
    offset_class = kafka.find_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")
    if not offsets:
        consumer.committed({partition_class("nothing", 0)})
    for topic, offset in offsets.items():
        partition = partition_class(topic, 0)
        consumer.assign([partition])
        end = consumer.endOffsets([partition]).get(partition) if offset is None else offset
        consumer.commitSync({partition: offset_class(end)})
    consumer.close()


if __name__ == "__main__":
    main()
