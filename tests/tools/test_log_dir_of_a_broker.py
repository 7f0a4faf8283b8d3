"""`ls` beside a running broker, and `recover` of what a killed one left: the broker goes on from there."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.tools.recover.recover_log_dir import settings_of
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.kafka_clients import KafkaClients
from tests.tools.test_decoders_and_a_broker import admin_of, set_config

pytestmark = pytest.mark.slow

SMALL = {"internal.segment.bytes": "900", "index.interval.bytes": "200"}
START_MS = 1_700_000_000_000


class Killed(NamedTuple):
    """A broker that was killed, its clients' JVM, and what `ls` told of its log directory while it ran."""

    broker: KafkaBroker
    kafka: object
    listed: dict


@pytest.fixture(scope="module")
def killed(kafka, tmp_path_factory) -> Killed:
    broker = KafkaBroker(tmp_path_factory.mktemp("broker"), {"log.retention.hours": "-1"})
    broker.start()
    clients = KafkaClients(kafka, broker.bootstrap_servers)
    for topic in ("orders", "gone"):
        clients.create_topic(topic, SMALL)
    producer = clients.producer()
    for first in range(0, 60, 3):
        records = [(START_MS + n, b"k%d" % (n % 5), b"v" * 40, []) for n in range(first, first + 3)]
        clients.send(producer, "orders", records)
    producer.close()
    with admin_of(clients) as admin:
        set_config(kafka, admin, "TOPIC", "orders", "flush.messages", "1000000")
        set_config(kafka, admin, "BROKER", "", "log.segment.delete.delay.ms", "50000")
        admin.deleteTopics(["gone"]).all().get()
    listed = tell("ls", str(broker.log_dir), "--json")
    broker.kill()
    return Killed(broker, kafka, listed)


def tell(*arguments: str) -> dict:
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_running_brokers_log_directory_is_listed(killed):
    listed = {each["topic"]: each for each in killed.listed["partitions"]}
    assert listed["orders"]["log_end_offset"] == 60 and listed["orders"]["segments"] > 3
    assert (listed["orders"]["first_timestamp"], listed["orders"]["last_timestamp"]) == (START_MS, START_MS + 59)
    assert listed["__cluster_metadata"]["log_end_offset"] > 10
    assert not killed.listed["clean_shutdown"] and not killed.listed["unread"]


def test_the_settings_are_those_that_the_broker_had(killed):
    settings = settings_of(killed.broker.log_dir, killed.broker.home / "server.properties", {}, {}, None)
    assert settings.topics["orders"] == {**SMALL, "flush.messages": "1000000"} and "gone" not in settings.topics
    # What was set while the broker ran counts once its logs are loaded.
    assert settings.default["retention.ms"] == -1 and "file.delete.delay.ms" not in settings.default
    config = settings.config_of("orders")
    assert (config.segment_size, config.index_interval, config.file_delete_delay_ms) == (900, 200, 60_000)


@pytest.mark.in_parts(4)
def test_the_broker_goes_on_where_recover_left_the_directory(killed):
    broker = killed.broker
    told = tell("recover", str(broker.log_dir), "--json", "--broker-config", str(broker.home / "server.properties"))
    (orders,) = (each for each in told["partitions"] if each["topic"] == "orders")
    assert (orders["log_start_offset"], orders["log_end_offset"]) == (0, 60)
    assert (broker.log_dir / ".kafka_cleanshutdown").exists()
    with broker:
        clients = KafkaClients(killed.kafka, broker.bootstrap_servers)
        assert [record[0] for record in clients.consume("orders")] == list(range(60))
        producer = clients.producer()
        clients.send(producer, "orders", [(START_MS, b"k", b"v", [])])
        producer.close()
        assert len(clients.consume("orders")) == 61
    assert "Recovering" not in words_about(broker, "orders-0")
    (orders,) = (each for each in tell("ls", str(broker.log_dir), "--json")["partitions"] if each["topic"] == "orders")
    assert (orders["log_end_offset"], orders["findings"]) == (61, [])


def words_about(broker: KafkaBroker, partition: str) -> str:
    lines = Path(broker.home / "broker.out").read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if partition in line)
