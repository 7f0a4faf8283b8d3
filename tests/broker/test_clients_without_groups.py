"""Clients that want a group or a transaction learn at once that the broker serves none; others are served."""

import asyncio
import time
from contextlib import contextmanager

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from minikafka.common.error_codes import Errors
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from minikafka.testing import Broker
from tests.broker.rules import Rules
from tests.broker.three_brokers import ThreeBrokers
from tests.librdkafka_clients import AdminClient, Consumer, Producer

PATIENCE_S = 20
AT_ONCE_S = 5
"""Clients that have no coordinator wait longer: librdkafka's `close` without end."""
RECORDS = [b"a", b"b"]

FindCoordinator = request_class(ApiKeys.FIND_COORDINATOR)
GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.fixture(scope="module")
def address():
    with Broker(topics={"t": 1}, records={"t": RECORDS}) as broker:
        yield broker.bootstrap_servers


@contextmanager
def at_once():
    started = time.monotonic()
    yield
    assert time.monotonic() - started < AT_ONCE_S


@contextmanager
def librdkafka(address, **settings):
    """A consumer with a group, which is closed at once; `enable_auto_commit=False` is enable.auto.commit=False."""
    own = {"bootstrap.servers": address, "group.id": "g", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 10}
    consumer = Consumer({**own, **{name.replace("_", "."): value for name, value in settings.items()}})
    try:
        yield consumer
    finally:
        with at_once():
            consumer.close()


def read(consumer):
    consumer.assign([TopicPartition("t", 0, OFFSET_BEGINNING)])
    records, deadline = [], time.monotonic() + PATIENCE_S
    while len(records) < len(RECORDS):
        assert time.monotonic() < deadline
        records += consumer.consume(1, 1)
    assert [record.value() for record in records] == RECORDS


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_of_librdkafka_with_auto_commit_reads_and_is_closed_at_once(address, protocol):
    with librdkafka(address, group_protocol=protocol) as consumer:
        read(consumer)


@pytest.mark.slow
def test_librdkafka_learns_at_once_that_nothing_is_committed_here(address):
    with librdkafka(address, enable_auto_commit=False) as consumer:
        read(consumer)
        with at_once(), pytest.raises(KafkaException) as commit:
            consumer.commit(asynchronous=False)
        with at_once(), pytest.raises(KafkaException) as committed:
            consumer.committed([TopicPartition("t", 0)], PATIENCE_S)
    assert commit.value.args[0].code() == KafkaError._UNSUPPORTED_FEATURE
    assert committed.value.args[0].code() == KafkaError.UNSUPPORTED_VERSION


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_learns_at_once_that_there_is_no_group_to_subscribe_in(address, protocol):
    with librdkafka(address, group_protocol=protocol) as consumer, at_once():
        consumer.subscribe(["t"])
        error = consumer.poll(PATIENCE_S).error()
        assert error.code() == (KafkaError.UNSUPPORTED_VERSION if protocol == "classic" else KafkaError._FATAL)
        assert "API version not supported" in error.str()


def test_librdkafka_learns_at_once_that_no_committed_offset_says_where_to_begin(address):
    with librdkafka(address) as consumer, at_once():
        consumer.assign([TopicPartition("t", 0)])
        assert consumer.poll(PATIENCE_S).error().code() == KafkaError.UNSUPPORTED_VERSION


@pytest.mark.slow
def test_a_transactional_producer_of_librdkafka_learns_why_at_once(address):
    producer = Producer({"bootstrap.servers": address, "transactional.id": "x"})
    with at_once(), pytest.raises(KafkaException) as raised:
        producer.init_transactions(PATIENCE_S)
    assert raised.value.args[0].fatal()
    assert "this broker serves no transactions: produce without a transactional id" in raised.value.args[0].str()


def test_tools_of_librdkafka_learn_at_once_that_there_are_no_groups(address):
    admin = AdminClient({"bootstrap.servers": address})
    described = admin.describe_consumer_groups(["g"])["g"]
    with at_once(), pytest.raises(KafkaException) as raised:
        described.result(PATIENCE_S)
    assert raised.value.args[0].code() == KafkaError._UNSUPPORTED_FEATURE


@pytest.mark.slow
def test_kafka_python(address):
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as Partition
    from kafka.errors import IncompatibleBrokerVersion, TransactionalIdAuthorizationFailedError, UnsupportedVersionError

    own = {"bootstrap_servers": address, "group_id": "g"}
    # 1. A consumer that assigns its partitions reads, and is closed in spite of auto commit.
    consumer = KafkaConsumer(**own)
    consumer.assign([Partition("t", 0)])
    consumer.seek_to_beginning()
    with at_once():
        assert [record.value for record in consumer.poll(PATIENCE_S * 1000)[Partition("t", 0)]] == RECORDS
        consumer.close()
    # 2. What needs a group raises.
    consumer = KafkaConsumer(**own, enable_auto_commit=False)
    consumer.assign([Partition("t", 0)])
    consumer.seek_to_beginning()
    consumer.poll(PATIENCE_S * 1000)
    with at_once():
        with pytest.raises(IncompatibleBrokerVersion, match="OffsetCommitRequest"):
            consumer.commit()
        with pytest.raises(UnsupportedVersionError):
            consumer.committed(Partition("t", 0))
        consumer.close()
    consumer = KafkaConsumer("t", **own)
    with at_once():
        with pytest.raises(UnsupportedVersionError):
            consumer.poll(PATIENCE_S * 1000)
        consumer.close()
    # 3. So do transactions.
    producer = KafkaProducer(bootstrap_servers=address, transactional_id="x")
    with at_once(), pytest.raises(TransactionalIdAuthorizationFailedError):
        producer.init_transactions()
    producer.close()


@pytest.mark.slow
def test_aiokafka(address):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka import TopicPartition as Partition
    from aiokafka.errors import IncompatibleBrokerVersion, KafkaError, TransactionalIdAuthorizationFailed

    own = {"bootstrap_servers": address, "group_id": "g"}

    async def script():
        # 1. A consumer that assigns its partitions reads, but cannot commit.
        consumer = AIOKafkaConsumer(**own, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([Partition("t", 0)])
        assert [(await consumer.getone()).value for _ in RECORDS] == RECORDS
        with pytest.raises(IncompatibleBrokerVersion, match="OffsetCommitRequest"):
            await consumer.commit()
        await consumer.stop()
        # 2. There is no group to subscribe in, and there are no transactions.
        consumer = AIOKafkaConsumer("t", **own)
        with pytest.raises(KafkaError, match="UnsupportedVersion"):
            await consumer.start()
        await consumer.stop()
        producer = AIOKafkaProducer(bootstrap_servers=address, transactional_id="x")
        with pytest.raises(TransactionalIdAuthorizationFailed):
            await producer.start()
        await producer.stop()

    asyncio.run(asyncio.wait_for(script(), AT_ONCE_S))


# Java's clients


@pytest.fixture
def java(kafka, address):
    """`java(kind, **settings)` is a client of Kafka's own, such as `consumer.KafkaConsumer`."""

    def client(kind, **settings):
        bytes_of = "org.apache.kafka.common.serialization.ByteArray"
        readers = {f"{part}.deserializer": f"{bytes_of}Deserializer" for part in ("key", "value")}
        writers = {f"{part}.serializer": f"{bytes_of}Serializer" for part in ("key", "value")}
        own = {name.replace("_", "."): value for name, value in settings.items()}
        properties = {"bootstrap.servers": address, **(readers if "Consumer" in kind else writers), **own}
        return kafka.find_class(f"org.apache.kafka.clients.{kind}")(kafka.properties(properties))

    return client


def raised_by(call, *arguments):
    from py4j.protocol import Py4JJavaError

    with at_once(), pytest.raises(Py4JJavaError) as raised:
        call(*arguments)
    return raised.value.java_exception.toString()


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_kafka_consumer(kafka, java, protocol):
    partition = kafka.find_class("org.apache.kafka.common.TopicPartition")("t", 0)
    seconds = kafka.find_class("java.time.Duration").ofSeconds
    own = {"group_id": "g", "group_protocol": protocol}
    consumer = java("consumer.KafkaConsumer", **own)
    consumer.assign([partition])
    consumer.seekToBeginning([partition])
    with at_once():
        assert consumer.poll(seconds(PATIENCE_S)).count() == len(RECORDS)
    assert "The node does not support OFFSET_COMMIT" in raised_by(consumer.commitSync)
    asked = kafka.find_class("java.util.HashSet")([partition])
    assert "The version of API is not supported" in raised_by(consumer.committed, asked)
    with at_once():
        consumer.close()
    consumer = java("consumer.KafkaConsumer", **own)
    consumer.subscribe(["t"])
    assert "UnsupportedVersionException" in raised_by(consumer.poll, seconds(PATIENCE_S))
    with at_once():
        consumer.close()


@pytest.mark.kafka
@pytest.mark.slow
def test_transactional_kafka_producer(java):
    producer = java("producer.KafkaProducer", transactional_id="x")
    assert "TransactionalIdAuthorizationException" in raised_by(producer.initTransactions)
    with at_once():
        producer.close()


# The answers themselves


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    three = ThreeBrokers(tmp_path_factory.mktemp("three"))
    yield three
    three.close()


@pytest.mark.parametrize("broker", [0, 2])
@pytest.mark.parametrize("version", range(7))
def test_each_broker_coordinates_every_group(three, broker, version):
    asked = {"key": "g"} if version < 4 else {"coordinator_keys": ["g", "", "g"]}
    answer = three.ask(broker, ApiKeys.FIND_COORDINATOR, version, FindCoordinator(**asked))
    found = [answer] if version < 4 else answer.coordinators
    expected = (Errors.NONE, broker, "localhost", three.brokers[broker].listeners[0].port)
    assert [(each.error_code, each.node_id, each.host, each.port) for each in found] == [expected] * len(found)
    if version >= 4:
        assert [each.key for each in found] == ["g", "", "g"]
    elif version:
        assert answer.error_message == "NONE"


@pytest.mark.parametrize(
    ("key_type", "version", "error", "text"),
    [
        (TRANSACTION, 1, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "this broker serves no transactions: "),
        (TRANSACTION, 4, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "this broker serves no transactions: "),
        (SHARE, 3, Errors.INVALID_REQUEST, Errors.INVALID_REQUEST.message),
        (SHARE, 5, Errors.INVALID_REQUEST, ""),
        (SHARE, 6, Errors.UNSUPPORTED_VERSION, "this broker serves no share groups"),
        (9, 1, Errors.INVALID_REQUEST, Errors.INVALID_REQUEST.message),
        (9, 6, Errors.INVALID_REQUEST, Errors.INVALID_REQUEST.message),
    ],
)
def test_keys_that_have_no_coordinator(three, key_type, version, error, text):
    asked = {"key": "k"} if version < 4 else {"coordinator_keys": ["k"]}
    answer = three.ask(0, ApiKeys.FIND_COORDINATOR, version, FindCoordinator(key_type=key_type, **asked))
    [found] = [answer] if version < 4 else answer.coordinators
    assert (found.error_code, found.node_id, found.host, found.port) == (error, -1, "", -1)
    assert found.error_message.startswith(text) and bool(found.error_message) == bool(text)


def test_who_may_not_describe_a_group_or_a_transactional_id_is_told_no_more_than_that(tmp_path):
    guarded = ThreeBrokers(tmp_path, authorizer=Rules())
    for key_type, error in (
        (GROUP, Errors.GROUP_AUTHORIZATION_FAILED),
        (TRANSACTION, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ):
        body = FindCoordinator(key_type=key_type, coordinator_keys=["k"])
        [found] = guarded.ask(0, ApiKeys.FIND_COORDINATOR, 4, body, principal="User:any").coordinators
        assert (found.error_code, found.error_message) == (error, "")
    guarded.close()


def test_a_broker_that_is_fenced_coordinates_nothing(tmp_path):
    three = ThreeBrokers(tmp_path)
    three.controller.fence_broker(1)
    three.publish()
    [found] = three.ask(1, ApiKeys.FIND_COORDINATOR, 4, FindCoordinator(coordinator_keys=["g"])).coordinators
    assert found.error_code == Errors.COORDINATOR_NOT_AVAILABLE
    three.close()


def test_a_member_of_a_group_of_the_new_protocol_is_told_what_to_do(three):
    body = request_class(ApiKeys.CONSUMER_GROUP_HEARTBEAT)(group_id="g")
    answer = three.ask(0, ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1, body)
    assert answer.error_code == Errors.UNSUPPORTED_VERSION
    assert answer.error_message == "this broker serves no groups: assign the partitions and turn auto commit off"
