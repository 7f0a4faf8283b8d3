"""The same scripts of real clients, with a real broker and with ours: each answer is the same in all its fields."""

import asyncio
import threading
import time
from collections import defaultdict

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicCollection, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from minikafka.common.error_codes import Errors
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from minikafka.witness.replicas.differ import plain
from tests.broker.test_every_api import SERVED
from tests.librdkafka_clients import AdminClient, Consumer, Producer
from tests.slow.kafka_broker.both_brokers import PATIENCE_S, OneSide, both_brokers, made_equal
from tests.slow.kafka_broker.recording_proxy import RecordingProxy

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TIME_MS = 1_790_000_000_000
RECORDS = 20
SETTLED_S = 0.5
"""After a change, for Kafka's broker hears of it a little later than the client."""

OFFSETS = "__consumer_offsets"
MASKED = {
    "topic_id": "ids of topics are drawn",
    "cluster_id": "ids of clusters are drawn",
    "session_id": "ids of fetch sessions are drawn",
    "port": "ports are free ones",
}
"""Fields that are not compared, and why; those of one API alone are in `tests/slow/kafka_broker/both_brokers.py`."""


def librdkafka(address):
    own = {"bootstrap.servers": address, "enable.metrics.push": False}
    admin = AdminClient(own)

    def do(method, *arguments, **options):
        futures = getattr(admin, method)(*arguments, **options)
        for future in futures.values() if isinstance(futures, dict) else [futures]:
            future.result(PATIENCE_S)
        time.sleep(SETTLED_S)

    do("create_topics", [NewTopic("shop", 2, 1, config={"retention.ms": "-1"})])
    producer = Producer({**own, "acks": "all", "enable.idempotence": True, "linger.ms": 0})
    for number in range(RECORDS):
        producer.produce("shop", b"%d" % number, b"k", partition=number % 2, timestamp=TIME_MS + number)
        assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer({**own, "group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 100})
    consumer.assign([TopicPartition("shop", number, OFFSET_BEGINNING) for number in (0, 1)])
    found, deadline = 0, time.monotonic() + PATIENCE_S
    while found < RECORDS:
        assert time.monotonic() < deadline
        found += sum(record.error() is None for record in consumer.consume(RECORDS, 0.2))
    for number in (0, 1):
        assert consumer.get_watermark_offsets(TopicPartition("shop", number)) == (0, RECORDS // 2)
    consumer.offsets_for_times([TopicPartition("shop", 0, TIME_MS + 5)])
    consumer.close()
    topic = ConfigResource(ConfigResource.Type.TOPIC, "shop")
    do("describe_configs", [topic])
    entry = ConfigEntry("flush.messages", "7", incremental_operation=AlterConfigOpType.SET)
    do("incremental_alter_configs", [ConfigResource(ConfigResource.Type.TOPIC, "shop", incremental_configs=[entry])])
    do("describe_configs", [topic])
    do("create_partitions", [NewPartitions("shop", 3)])
    do("describe_topics", TopicCollection(["shop"]))
    do("describe_cluster")
    do("delete_records", [TopicPartition("shop", 0, 5)])
    do("delete_topics", ["shop"])
    admin.list_topics(timeout=PATIENCE_S)


def kafka_python(address):
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as Partition
    from kafka.admin import ConfigResource as Resource
    from kafka.admin import NewTopic as New

    admin = KafkaAdminClient(bootstrap_servers=address)

    def do(method, *arguments, **options):
        getattr(admin, method)(*arguments, **options)
        time.sleep(SETTLED_S)

    do("create_topics", [New("store", 2, 1)])
    producer = KafkaProducer(bootstrap_servers=address, acks="all")
    for number in range(RECORDS):
        sent = producer.send("store", b"%d" % number, b"k", partition=number % 2, timestamp_ms=TIME_MS + number)
        sent.get(PATIENCE_S)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=None, fetch_max_wait_ms=100)
    consumer.assign([Partition("store", 0), Partition("store", 1)])
    consumer.seek_to_beginning()
    found, deadline = 0, time.monotonic() + PATIENCE_S
    while found < RECORDS:
        assert time.monotonic() < deadline
        found += sum(map(len, consumer.poll(200).values()))
    consumer.end_offsets([Partition("store", 0)])
    consumer.offsets_for_times({Partition("store", 1): TIME_MS + 5})
    consumer.close()
    do("describe_configs", [Resource("TOPIC", "store")])
    do("alter_configs", [Resource("TOPIC", "store", {"retention.ms": "500000000"})])
    do("describe_configs", [Resource("TOPIC", "store")])
    do("create_partitions", {"store": 3})
    do("describe_topic_partitions", ["store"])
    do("describe_producers", [Partition("store", 0)])
    do("describe_log_dirs")
    do("describe_cluster")
    do("delete_records", {Partition("store", 0): 5})
    do("delete_topics", ["store"])
    admin.close()


def aiokafka(address):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka import TopicPartition as Partition
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin import NewTopic as New

    async def script():
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        await admin.create_topics([New("market", 2, 1)])
        await asyncio.sleep(SETTLED_S)
        producer = AIOKafkaProducer(bootstrap_servers=address, acks="all", enable_idempotence=True)
        await producer.start()
        for number in range(RECORDS):
            value, timestamp = b"%d" % number, TIME_MS + number
            await producer.send_and_wait("market", value, b"k", partition=number % 2, timestamp_ms=timestamp)
        await producer.stop()
        consumer = AIOKafkaConsumer(bootstrap_servers=address, group_id=None, fetch_max_wait_ms=100)
        await consumer.start()
        partitions = [Partition("market", 0), Partition("market", 1)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        found = 0
        while found < RECORDS:
            found += sum(map(len, (await consumer.getmany(timeout_ms=200)).values()))
        await consumer.end_offsets(partitions[:1])
        await consumer.offsets_for_times({partitions[1]: TIME_MS + 5})
        await consumer.stop()
        await admin.describe_topics(["market"])
        await admin.delete_topics(["market"])
        await asyncio.sleep(SETTLED_S)
        await admin.close()

    asyncio.run(asyncio.wait_for(script(), 3 * PATIENCE_S))


@pytest.fixture(scope="module")
def brokers(kafka, tmp_path_factory):
    with both_brokers(tmp_path_factory.mktemp("scripts")) as brokers:
        await_coordinator(brokers[0].port)
        yield brokers


def await_coordinator(port):
    """Kafka's broker makes the topic of the groups when somebody asks for the first coordinator."""
    kafka, make = OneSide(port), request_class(ApiKeys.FIND_COORDINATOR)
    deadline = time.monotonic() + PATIENCE_S
    while kafka.ask(ApiKeys.FIND_COORDINATOR, 3, make(key="g")).error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    kafka.close()


@pytest.mark.parametrize("version", range(7))
def test_coordinators(brokers, version):
    kafka, ours = (OneSide(port) for port in (brokers[0].port, brokers[1].endpoints[0].port))
    make = request_class(ApiKeys.FIND_COORDINATOR)
    # A group, and types of keys for which there is nothing.
    for key_type in (0, *((2,) if version < 6 else ()), 3, -1)[: None if version else 1]:
        body = make(key="g", key_type=key_type) if version < 4 else make(coordinator_keys=["g", ""], key_type=key_type)
        told = [masked(plain(side.ask(ApiKeys.FIND_COORDINATOR, version, body))) for side in (kafka, ours)]
        assert told[0] == told[1]
    kafka.close()
    ours.close()


@pytest.mark.parametrize("script", [librdkafka, kafka_python, aiokafka])
def test_the_same_script_gets_the_same_answers(brokers, script):
    kafka, ours = brokers
    proxies = [RecordingProxy(port) for port in (kafka.port, ours.endpoints[0].port)]
    clients = [threading.Thread(target=script, args=(f"127.0.0.1:{proxy.port}",)) for proxy in proxies]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    told = [said(proxy.answers) for proxy in proxies]
    for proxy in proxies:
        proxy.close()
    kafkas, ours = told
    assert {api for api, _ in ours} == {api for api, _ in kafkas if api in SERVED}
    for api, version in ours:
        assert ours[api, version] == kafkas.get((api, version)), (api.name, version)


def said(answers):
    """What was said in answers, by API and version: each different one once, fetched records by their partitions."""
    told = defaultdict(list)
    for api, version, body in answers:
        body = masked(plain(made_equal(api, body)))
        told[api, version] += fetched(body) if api is ApiKeys.FETCH else [body]
    told = {key: sorted({str(body) for body in bodies}) for key, bodies in told.items()}
    if not_yet := [key for key in told if key[0] is ApiKeys.INIT_PRODUCER_ID]:
        # Kafka's broker asks the controller for ids when it needs the first, and lets that producer come again.
        waiting = f"'error_code': {int(Errors.COORDINATOR_LOAD_IN_PROGRESS)}"
        told[not_yet[0]] = [body for body in told[not_yet[0]] if waiting not in body]
    return told


def masked(value):
    """A value without what `MASKED` names. Kafka has a topic more, that of groups, of which there are none here."""
    if isinstance(value, dict):
        return {name: MASKED.get(name) or masked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value if not isinstance(each, dict) or each.get("name") != OFFSETS]
    return value


def fetched(body):
    """The partitions for which records came, each batch by itself: how many come in one answer is a matter of time."""
    for topic in body["responses"]:
        for partition in topic["partitions"]:
            records = partition.pop("records")
            while records:
                size = 12 + int.from_bytes(records[8:12], "big")
                yield {**partition, "topic": topic["topic"], "batch": records[:size].hex()}
                records = records[size:]
