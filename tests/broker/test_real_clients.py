"""A broker behind its sockets: clients that know nothing of minikafka write and read records."""

import time
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka.admin import NewTopic

from minikafka.broker.broker_server import BrokerServer
from minikafka.network.api_keys import ApiKeys
from minikafka.record.format.memory_records import MemoryRecords
from tests.kafka_clients import KafkaClients
from tests.librdkafka_clients import AdminClient, Consumer, Producer

PATIENCE_S = 20
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@contextmanager
def served_broker(log_dir, **settings):
    """A broker of a new cluster of its own, which clients reach at the address that this gives."""
    server = BrokerServer([log_dir], {"listeners": "PLAINTEXT://127.0.0.1:0", **settings})
    server.start()
    try:
        yield f"127.0.0.1:{server.endpoints[0].port}"
    finally:
        server.stop()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served_broker(tmp_path_factory.mktemp("served")) as address:
        admin = AdminClient({"bootstrap.servers": address})
        for made in admin.create_topics([NewTopic("shop", 2, 1), NewTopic("small", 1, 1)]).values():
            made.result(PATIENCE_S)
        yield address


def consumed(address, topic, partition, count, **settings):
    """The values of the records of a partition by offset, of which there are `count`."""
    own = {"group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 10}
    consumer = Consumer({"bootstrap.servers": address, **own, **settings})
    # Whoever starts from the log's beginning instead asks for its offset, waits half a second, and asks again.
    consumer.assign([TopicPartition(topic, partition, 0)])
    found, deadline = {}, time.monotonic() + PATIENCE_S
    try:
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count}"
            for record in consumer.consume(count - len(found), PATIENCE_S):
                assert record.error() is None, record.error()
                found[record.offset()] = record.value()
        assert consumer.get_watermark_offsets(TopicPartition(topic, partition), PATIENCE_S) == (0, count)
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [False, True])
def test_what_librdkafka_sends_it_reads_again(address, codec, idempotent):
    topic = f"records-{codec}-{idempotent}"
    settings = {"compression.type": codec, "enable.idempotence": idempotent, "linger.ms": 5, "acks": "all"}
    producer = Producer({"bootstrap.servers": address, **settings})
    failures = []
    for number in range(5000):
        producer.produce(
            topic, b"%d" % number * 20, partition=0, on_delivery=lambda error, _: error and failures.append(error)
        )
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0 and failures == []
    assert consumed(address, topic, 0, 5000) == {number: b"%d" % number * 20 for number in range(5000)}


@pytest.mark.parametrize("codec", CODECS)
def test_the_batches_on_disk_are_those_that_librdkafka_sent(tmp_path, codec):
    server = BrokerServer([tmp_path / "data"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    sent, receive = [], server.broker.receive

    def keep_what_is_produced(data, *further):
        request = receive(bytes(data), *further)
        if request.header.api_key is ApiKeys.PRODUCE:
            [topic] = request.body.topic_data
            sent.append(bytes(topic.partition_data[0].records))
        return request

    server.broker.receive = keep_what_is_produced
    address = f"127.0.0.1:{server.endpoints[0].port}"
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": address, "compression.type": codec})
    for number in range(500):
        producer.produce("t", b"%d" % number * 20, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    server.stop()
    stored = list(MemoryRecords((tmp_path / "data" / "t-0" / "00000000000000000000.log").read_bytes()).batches())
    assert [batch.compression_type.name.lower() for batch in stored] == [codec] * len(sent)
    # The leader sets the base offset and its epoch; the rest is the producer's.
    assert [bytes(batch.buffer)[16:] for batch in stored] == [data[16:] for data in sent]
    assert [bytes(batch.buffer)[8:12] for batch in stored] == [data[8:12] for data in sent]


def test_acks_0_and_1(address):
    for acks in (0, 1):
        producer = Producer({"bootstrap.servers": address, "acks": acks})
        for number in range(10):
            producer.produce("shop", b"%d" % number, partition=acks)
        assert producer.flush(PATIENCE_S) == 0
    for partition in (0, 1):
        assert sorted(consumed(address, "shop", partition, 10).values()) == sorted(b"%d" % n for n in range(10))


def test_a_consumer_that_waits_is_told_of_a_record_at_once(address):
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 10_000}
    )
    consumer.assign([TopicPartition("small", 0, 0)])
    assert consumer.poll(0.3) is None
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    producer.produce("small", b"now")
    assert producer.flush(PATIENCE_S) == 0
    started = time.monotonic()
    assert consumer.poll(PATIENCE_S).value() == b"now"
    assert time.monotonic() - started < 5
    consumer.close()


def test_errors_come_by_kafkas_names(address):
    admin = AdminClient({"bootstrap.servers": address})
    with pytest.raises(Exception) as refused:
        admin.create_topics([NewTopic("shop", 1, 1)])["shop"].result(PATIENCE_S)
    assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    errors = []
    producer = Producer({"bootstrap.servers": address, "message.max.bytes": 5_000_000})
    producer.produce("small", bytes(3_000_000), on_delivery=lambda error, _: errors.append(error.code()))
    assert producer.flush(PATIENCE_S) == 0 and errors == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert admin.list_topics(timeout=PATIENCE_S).topics["shop"].partitions.keys() == {0, 1}


def test_kafka_python_writes_and_reads(address):
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as Partition

    producer = KafkaProducer(bootstrap_servers=address, acks="all")
    sent = [producer.send("python", b"%d" % number, partition=0) for number in range(100)]
    assert [each.get(PATIENCE_S).offset for each in sent] == list(range(100))
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=None, auto_offset_reset="earliest")
    consumer.assign([Partition("python", 0)])
    consumer.seek_to_beginning()
    assert consumer.end_offsets([Partition("python", 0)]) == {Partition("python", 0): 100}
    found = {}
    while len(found) < 100:
        for record in sum(consumer.poll(PATIENCE_S * 1000).values(), []):
            found[record.offset] = record.value
    consumer.close()
    assert found == {number: b"%d" % number for number in range(100)}


@pytest.mark.slow
def test_kafka_python_reads_in_a_fetch_session(tmp_path):
    from kafka import KafkaConsumer
    from kafka import TopicPartition as Partition

    server = BrokerServer([tmp_path / "data"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    address = f"127.0.0.1:{server.endpoints[0].port}"
    admin = AdminClient({"bootstrap.servers": address})
    for made in admin.create_topics([NewTopic("busy", 1, 1), NewTopic("still", 4, 1)]).values():
        made.result(PATIENCE_S)
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=None)
    consumer.assign([Partition("busy", 0), *(Partition("still", number) for number in range(4))])
    consumer.seek_to_beginning()
    producer = Producer({"bootstrap.servers": address})
    for number in range(5):
        producer.produce("busy", b"%d" % number, partition=0)
        assert producer.flush(PATIENCE_S) == 0
        [record] = sum(consumer.poll(PATIENCE_S * 1000).values(), [])
        assert (record.offset, record.value) == (number, b"%d" % number)
    sessions = len(server.broker.fetch_manager.cache)
    consumer.close()
    server.stop()
    assert sessions == 1


@pytest.mark.kafka
@pytest.mark.slow
def test_kafkas_own_consumer_reads_in_a_fetch_session(kafka, tmp_path, caplog):
    caplog.set_level("DEBUG", "minikafka.server")
    server = BrokerServer([tmp_path / "data"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    clients = KafkaClients(kafka, f"127.0.0.1:{server.endpoints[0].port}")
    clients.create_topic("java")
    producer = clients.producer()
    now_ms = time.time_ns() // 1_000_000
    sent = [[(now_ms + batch, b"k", b"%d-%d" % (batch, each), []) for each in range(50)] for batch in range(20)]
    for records in sent:
        clients.send(producer, "java", records)
    producer.close()
    found = clients.consume("java")
    sessions = len(server.broker.fetch_manager.cache)
    server.stop()
    assert [bytes(value) for _, _, _, value in found] == [value for records in sent for _, _, value, _ in records]
    assert sum("Created fetch session" in record.getMessage() for record in caplog.records) == 1
    assert sessions == 0  # the consumer has ended it
