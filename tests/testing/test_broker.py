"""`minikafka.testing.Broker`: what a test of a program that talks to Kafka wants of a broker."""

import array
import os
import re
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic

from minikafka.common.errors import (
    ConfigException,
    IllegalArgumentException,
    IllegalStateException,
    KafkaStorageException,
    RecordTooLargeException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from minikafka.messages.apis import FetchRequest, ListOffsetsResponse, MetadataResponse
from minikafka.network.messages import parse_response, request_bytes
from minikafka.server.delayed_fetch import DelayedFetch
from minikafka.testing import ApiKeys, Broker, Errors, NoBytes
from minikafka.testing.injected_answers import InjectedAnswers
from tests.librdkafka_clients import AdminClient, Consumer, Producer

PATIENCE_S = 20


def test_topics_records_and_clients():
    with Broker(topics={"orders": 2}) as broker:
        assert broker.append("orders", 0, b"first", b"second") == 0
        assert broker.append("orders", 0, b"third", key=b"k") == 2
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("orders", b"fourth", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        assert [(each.offset, each.key, each.value) for each in broker.records("orders", 0)] == [
            (0, None, b"first"),
            (1, None, b"second"),
            (2, b"k", b"third"),
            (3, None, b"fourth"),
        ]
        assert broker.records("orders", 1) == []
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "none", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition("orders", 0, OFFSET_BEGINNING)])
        assert len(consumer.consume(4, PATIENCE_S)) == 4
        broker.append("orders", 0, b"a waiting consumer gets it")
        assert consumer.poll(PATIENCE_S).value() == b"a waiting consumer gets it"
        consumer.close()
        directory = broker.directory
        assert (directory / "orders-0" / f"{0:020d}.log").exists()
    assert not directory.exists()
    with pytest.raises(IllegalStateException, match="The broker is down"):
        broker.records("orders", 0)


def test_deleted_records_are_not_among_the_records():
    """The new log start lies inside a batch."""
    with Broker(topics={"t": 1}) as broker:
        broker.append("t", 0, *(b"%d" % number for number in range(10)))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        (deleted,) = admin.delete_records([TopicPartition("t", 0, 4)]).values()
        assert deleted.result(PATIENCE_S).low_watermark == 4
        assert [each.offset for each in broker.records("t", 0)] == list(range(4, 10))


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_each_thread_gets_the_answers_to_its_own_questions(process):
    firsts = {"a": 0, "b": 1000}
    with Broker(topics={"a": 1, "b": 1}, process=process) as broker:
        broker.append("b", 0, *[b"x"] * firsts["b"])

        def offsets(topic):
            return [broker.append(topic, 0, b"x") for _ in range(200)]

        with ThreadPoolExecutor() as threads:
            told = dict(zip(firsts, threads.map(offsets, firsts), strict=True))
    assert told == {topic: list(range(first, first + 200)) for topic, first in firsts.items()}


class Name(str):
    """A class that another process does not know."""


@pytest.mark.slow
def test_a_question_that_cannot_be_understood_ends_nothing(monkeypatch):
    monkeypatch.setattr(Name, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Name", Name, raising=False)
    with Broker(topics={"a": 1}, process=True) as broker:
        with pytest.raises(AttributeError, match="Name"):
            broker.append(Name("a"), 0, b"x")
        assert broker.append("a", 0, b"x") == 0


@pytest.mark.slow
def test_an_interrupted_question_leaves_no_answer_to_the_next_one():
    def interrupt(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Broker(topics={"a": 1}, records={"a": [b"x" * 1000] * 1000}, process=True) as broker:
            for number in range(50):
                with suppress(InterruptedError):
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 * number)
                    broker.records("a", 0)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                assert broker.append("a", 0, b"x") == 1000 + number
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_a_thread_that_asks_while_the_broker_is_killed_is_told():
    with Broker(topics={"a": 1}, process=True) as broker, ThreadPoolExecutor() as threads:

        def ask():
            while True:
                broker.records("a", 0)

        asking = [threads.submit(ask) for _ in range(4)]
        broker.kill()
        for each in asking:
            assert isinstance(each.exception(PATIENCE_S), IllegalStateException)
        broker.start()


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_stops_and_kills(tmp_path, process):
    with Broker(tmp_path / "kept", topics={"t": 1}, process=process) as broker:
        address = broker.bootstrap_servers
        for number, end in enumerate((broker.stop, broker.kill, broker.stop)):
            assert broker.append("t", 0, b"%d" % number) == number
            end()
            broker.start()
        assert broker.bootstrap_servers == address
        with pytest.raises(IllegalStateException, match="runs already"):
            broker.start()
        assert [each.value for each in broker.records("t", 0)] == [b"0", b"1", b"2"]
    assert (tmp_path / "kept" / "t-0").is_dir()


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"auto.create.topics.enabled": "false"}, "Unknown configuration auto.create.topics.enabled"),
        ({"node.id": "5"}, "node.id is 5 in the settings, and 1 for this node"),
        ({"log.dirs": "/elsewhere"}, "log.dirs is /elsewhere in the settings"),
        ({"log.retention.hours": None}, "Invalid value null for configuration log.retention.hours"),
    ],
)
def test_settings_that_would_say_nothing_are_refused(process, settings, why):
    broker = Broker(settings=settings, process=process)
    with pytest.raises(ConfigException, match=why), broker:
        pass
    assert not broker.directory.exists()


def test_faults_that_could_never_happen_are_refused():
    for port in (-1, 70_000, "9092", True):
        with pytest.raises(IllegalArgumentException, match="port .* is no number"):
            Broker(port=port)
    with pytest.raises(IllegalArgumentException, match="port out of range:70000"):
        Broker(settings={"listeners": "PLAINTEXT://127.0.0.1:70000"}).start()
    with Broker(topics={"t": 1}) as broker:
        for call, why in (
            (lambda: broker.answer("PRODUCE", Errors.NOT_LEADER_OR_FOLLOWER), "'PRODUCE' is no ApiKeys"),
            (lambda: broker.answer(ApiKeys.PRODUCE, Errors.NONE), "NONE.* is no error"),
            (lambda: broker.answer(ApiKeys.PRODUCE, "x"), "'x' is no error"),
            (lambda: broker.answer(ApiKeys.PRODUCE, Errors.UNKNOWN_SERVER_ERROR, times=0), "times 0 is no number"),
            (lambda: broker.delay(3, 5), "3 is no ApiKeys"),
            (lambda: broker.delay(ApiKeys.FETCH, -5), "ms -5 is no number from 0"),
            (lambda: broker.delay(ApiKeys.FETCH, 5, times=1.5), "times 1.5 is no number from 1"),
        ):
            with pytest.raises(IllegalArgumentException, match=why):
                call()


def test_what_is_refused():
    with Broker(topics={"t": 1}, settings={"message.max.bytes": "200"}) as broker:
        with pytest.raises(TopicExistsException, match="Topic 't' already exists"):
            broker.create_topic("t")
        with pytest.raises(UnknownTopicOrPartitionException):
            broker.append("t", 7, b"x")
        with pytest.raises(UnknownTopicOrPartitionException, match="none-0"):
            broker.records("none", 0)
        with pytest.raises(RecordTooLargeException):
            broker.append("t", 0, bytes(1000))
        broker.create_topic("u", 2, {"max.message.bytes": "2000"})
        assert broker.append("u", 1, bytes(1000)) == 0


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["here", "in its own process"])
def broker(request):
    with Broker(topics={"t": 1}, process=request.param) as broker:
        yield broker


def produced(broker, value=b"v", **settings):
    """The error with which the record was refused, None if it was taken."""
    errors = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "retry.backoff.ms": 10, **settings})
    producer.produce("t", value, partition=0, on_delivery=lambda error, _: errors.append(error and error.code()))
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


def values(broker, partition=0, topic="t"):
    return [record.value for record in broker.records(topic, partition)]


def test_topics_and_records_are_there_from_the_start(tmp_path):
    seeds = {"orders": [b"a", (b"k", b"b")], ("orders", 0): [(b"gone", None)], ("pairs", 1): [b"c"], "none": []}
    with Broker(tmp_path / "kept", topics={"orders": 3}, records=seeds) as broker:
        for _ in range(2):
            found = [(record.key, record.value) for record in broker.records("orders", 0)]
            assert found == [(None, b"a"), (b"k", b"b"), (b"gone", None)]
            assert (values(broker, 0, "pairs"), values(broker, 1, "pairs")) == ([], [b"c"])
            assert values(broker, 2, "orders") == values(broker, 0, "none") == []
            broker.stop()
            broker.start()
    with pytest.raises(UnknownTopicOrPartitionException):
        Broker(tmp_path / "other", topics={"t": 1}, records={("t", 1): [b"x"]}).start()


def test_records_are_not_appended_to_those_that_a_directory_has(tmp_path):
    with Broker(tmp_path, records={"t": [b"a"], ("t", 1): []}) as broker:
        assert values(broker) == [b"a"]
    # 1. Not once more, and not a part of what was asked for.
    again = Broker(tmp_path, topics={"u": 1}, records={"u": [b"u"], "t": [b"b"]})
    refusal = rf"t-0 in {re.escape(str(tmp_path))} has records already, and `records` would append more: "
    with pytest.raises(IllegalArgumentException, match=refusal):
        again.start()
    # 2. An empty partition of it takes them, and it may be used without.
    with Broker(tmp_path, records={"t": [], ("t", 1): [b"c"]}) as broker:
        assert (values(broker), values(broker, 1)) == ([b"a"], [b"c"])
        with pytest.raises(UnknownTopicOrPartitionException):
            broker.records("u", 0)


def test_an_error_that_passes_is_tried_again(broker):
    broker.answer(ApiKeys.PRODUCE, Errors.NOT_LEADER_OR_FOLLOWER, times=2)
    assert produced(broker) is None and values(broker) == [b"v"]


def test_an_error_that_stays_reaches_the_program(broker):
    broker.answer(ApiKeys.PRODUCE, Errors.TOPIC_AUTHORIZATION_FAILED, times=None)
    for _ in range(2):
        assert produced(broker) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    broker.append("t", 0, b"by the test")
    broker.clear_injected()
    assert produced(broker) is None and values(broker) == [b"by the test", b"v"]


def test_any_api_can_fail(broker):
    broker.answer(ApiKeys.CREATE_TOPICS, Errors.POLICY_VIOLATION)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic("new", 1, 1)])["new"].result(PATIENCE_S)
    assert refused.value.args[0].code() == KafkaError.POLICY_VIOLATION
    admin.create_topics([NewTopic("new", 1, 1)])["new"].result(PATIENCE_S)


def test_a_connection_ends(broker):
    broker.answer(ApiKeys.PRODUCE, NoBytes.CLOSE)
    assert produced(broker) is None and values(broker) == [b"v"]


@pytest.mark.slow
def test_nobody_answers(broker):
    broker.answer(ApiKeys.PRODUCE, NoBytes.NO_RESPONSE, times=None)
    settings = {"delivery.timeout.ms": 300, "request.timeout.ms": 300, "acks": "1"}
    assert produced(broker, **settings) == KafkaError._MSG_TIMED_OUT


@pytest.mark.slow
def test_an_answer_is_late(broker):
    broker.delay(ApiKeys.METADATA, 200, times=None)
    started = time.monotonic()
    AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=PATIENCE_S)
    assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_holds_bytes_is_stored_as_the_bytes_that_it_holds(process):
    given = [np.bytes_(b"a\0"), bytearray(b"b"), array.array("H", [1, 2]), None]
    with Broker(records={"a": given[:2], "b": [(given[0], given[2])]}, process=process) as broker:
        broker.append("a", 0, *given[2:], key=given[0])
        assert [record.value for record in broker.records("a", 0)] == [b"a\0", b"b", given[2].tobytes(), None]
        assert broker.records("a", 0)[-1].key == broker.records("b", 0)[0].key == b"a\0"
    with pytest.raises(TypeError, match="bytes-like"):
        Broker(records={"a": ["text"]}, process=process)


@pytest.mark.slow
def test_an_error_of_a_fetch_stands_in_the_partitions():
    from kafka import KafkaConsumer
    from kafka import TopicPartition as PythonsPartition
    from kafka.errors import OffsetOutOfRangeError

    with Broker(records={"t": [b"a"]}) as broker:
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=None, auto_offset_reset="none")
        consumer.assign([PythonsPartition("t", 0)])
        consumer.seek(PythonsPartition("t", 0), 0)
        assert consumer.poll(timeout_ms=1000 * PATIENCE_S)
        # Its next fetch is of a session, and names no partition.
        broker.answer(ApiKeys.FETCH, Errors.OFFSET_OUT_OF_RANGE)
        with pytest.raises(OffsetOutOfRangeError):
            for _ in range(PATIENCE_S):
                consumer.poll(timeout_ms=1000)
        broker.append("t", 0, b"b")
        [(record,)] = consumer.poll(timeout_ms=1000 * PATIENCE_S).values()
        assert record.value == b"b"
        consumer.close()
        settings = {"group.id": "none", "auto.offset.reset": "error", "enable.auto.commit": False}
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings})
        consumer.assign([TopicPartition("t", 0, OFFSET_BEGINNING)])
        broker.answer(ApiKeys.FETCH, Errors.TOPIC_AUTHORIZATION_FAILED)
        assert consumer.poll(PATIENCE_S).error().code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert [record.value() for record in consumer.consume(2, PATIENCE_S)] == [b"a", b"b"]
        consumer.close()


@pytest.mark.parametrize("error", [Errors.FETCH_SESSION_ID_NOT_FOUND, Errors.CORRUPT_MESSAGE])
@pytest.mark.parametrize("epoch", [0, 3])
def test_where_an_error_of_a_fetch_stands(error, epoch):
    """A fetch of a session that does not name its partitions is told that there is no such session, and asks anew."""
    injected, told = InjectedAnswers(), []
    injected.answer(ApiKeys.FETCH, error, 1)
    handle = injected.around(lambda data, channel, answer: told.append(None))
    topic = FetchRequest.FetchTopic(partitions=[FetchRequest.FetchTopic.FetchPartition(partition=7)])
    first = FetchRequest(session_id=9 * (epoch > 0), session_epoch=epoch, topics=[] if epoch else [topic])
    for body in (first, FetchRequest(session_id=0, session_epoch=0, topics=[topic])):
        data = bytearray(request_bytes(ApiKeys.FETCH, 17, body, correlation_id=0, client_id="c"))
        handle(data, None, lambda sink: told.append(parse_response(ApiKeys.FETCH, 17, bytes(sink))[1]))
    top = [response and Errors(response.error_code) for response in told]
    parts = [
        [Errors(each.error_code) for topic in response.responses for each in topic.partitions] if response else []
        for response in told
    ]
    if error is Errors.FETCH_SESSION_ID_NOT_FOUND:
        assert (top, parts) == ([error, None], [[], []])
    elif epoch:
        assert (top, parts) == ([Errors.FETCH_SESSION_ID_NOT_FOUND, Errors.NONE], [[], [error]])
    else:
        assert (top, parts) == ([Errors.NONE, None], [[error], []])


@pytest.mark.slow
def test_a_whole_response():
    partition = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse
    topic = ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[partition(offset=42, leader_epoch=0)])
    response = ListOffsetsResponse(topics=[topic])
    with Broker(topics={"t": 1}) as broker:
        broker.answer(ApiKeys.LIST_OFFSETS, response, times=None)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "none"})
        assert consumer.get_watermark_offsets(TopicPartition("t", 0), PATIENCE_S) == (42, 42)
        consumer.close()
        with pytest.raises(IllegalArgumentException, match="MetadataResponse is no response to FETCH"):
            broker.answer(ApiKeys.FETCH, MetadataResponse())
    with Broker(process=True) as broker, pytest.raises(IllegalArgumentException, match="in a process of its own"):
        broker.answer(ApiKeys.LIST_OFFSETS, response)


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_clock_stands_until_it_is_moved(process):
    settings = {"log.retention.ms": "10000", "log.message.timestamp.type": "LogAppendTime"}
    with Broker(topics={"t": 1}, settings=settings, clock_ms=1_800_000_000_000, process=process) as broker:
        assert produced(broker) is None
        assert broker.now_ms == 1_800_000_000_000
        assert [record.timestamp for record in broker.records("t", 0)] == [1_800_000_000_000]
        broker.advance(5_000)
        assert produced(broker, b"w") is None
        assert [record.timestamp for record in broker.records("t", 0)][1:] == [1_800_000_005_000]
        broker.advance(400_000)
        assert values(broker) == []
        for ms in (-1, 1.5, "1", 10**15):
            with pytest.raises(IllegalArgumentException, match="ms .* is no number from 0"):
                broker.advance(ms)
        broker.stop()
        broker.start()
        assert broker.now_ms == 1_800_000_405_000
        assert produced(broker, b"x") is None and broker.records("t", 0)[0].offset == 2


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_while_the_clock_stands_nothing_is_compacted_or_deleted(process):
    """But all that is due when it is moved: two logs, one after the other, and what is too large."""
    settings = {"log.cleaner.backoff.ms": "50", "log.retention.check.interval.ms": "50"}
    with Broker(settings=settings, clock_ms=1_800_000_000_000, process=process) as broker:
        broker.advance(100_000)  # the first turns
        compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"}
        for topic in ("a", "b"):
            broker.create_topic(topic, settings=compacted)
        broker.create_topic("large", settings={"retention.bytes": "1", "segment.ms": "1000"})
        for number in range(3):
            for topic in ("a", "b", "large"):
                broker.append(topic, 0, b"v", key=b"k", timestamp_ms=1_800_000_000_000 + 2000 * number)
        time.sleep(0.4)
        assert [len(broker.records(topic, 0)) for topic in ("a", "b", "large")] == [3, 3, 3]
        broker.advance(50)
        assert [len(broker.records(topic, 0)) for topic in ("a", "b", "large")] == [2, 2, 1]


@pytest.mark.slow
def test_a_reader_that_waits_does_so_by_its_own_time():
    with Broker(topics={"t": 1}, clock_ms=1_800_000_000_000) as broker:
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": "none",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 200,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition("t", 0, OFFSET_BEGINNING)])
        assert consumer.poll(PATIENCE_S).error().code() == KafkaError._PARTITION_EOF
        broker.append("t", 0, b"now", timestamp_ms=7)
        record = consumer.poll(PATIENCE_S)
        assert (record.value(), record.timestamp()[1]) == (b"now", 7)
        consumer.close()


@pytest.mark.slow
def test_a_process_that_is_gone_is_told():
    with Broker(topics={"t": 1}, process=True) as broker:
        broker._node._process.kill()
        with pytest.raises(IllegalStateException, match="The broker's process has ended"):
            broker.records("t", 0)
        broker.kill()


@pytest.mark.parametrize("process", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_settings_that_are_refused(process):
    with (
        pytest.raises(ConfigException, match="num.partitions"),
        Broker(settings={"num.partitions": "0"}, process=process),
    ):
        pass


@pytest.mark.slow
def test_the_end_of_a_forked_process_ends_neither_broker_nor_files(broker):
    broker.append("t", 0, b"before")
    child = os.fork()
    if not child:
        try:
            with pytest.raises(KafkaStorageException, match="must not change it"):
                broker.stop()
            broker.__exit__(None, None, None)
            assert broker.bootstrap_servers
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    broker.append("t", 0, b"after")
    broker.stop()
    broker.start()
    assert [record.value for record in broker.records("t", 0)] == [b"before", b"after"]


def test_a_request_that_has_waited_long_enough_is_answered_by_the_loop_of_the_sockets(monkeypatch):
    threads = set()

    def noted(delayed_fetch):
        threads.add(threading.current_thread().name)

    monkeypatch.setattr(DelayedFetch, "on_expiration", noted)
    with Broker(topics={"orders": 1}) as broker:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 20})
        consumer.assign([TopicPartition("orders", 0, 0)])
        deadline = time.monotonic() + PATIENCE_S
        while not threads and time.monotonic() < deadline:
            assert consumer.poll(0.05) is None
        consumer.close()
    assert threads == {"kafka-network-thread"}
