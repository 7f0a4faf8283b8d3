"""`minikafka serve` among bad clients: it stays up, its memory stays bounded, and a good client loses nothing."""

import random
import resource
import selectors
import socket
import threading
import time
from contextlib import contextmanager

import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import NewTopic

from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.replicas.scripted_controller import fixed_id
from tests.broker.both_sides import TOPICS
from tests.broker.request_drawer import RequestDrawer
from tests.broker.test_broker_server import serving
from tests.broker.test_every_api import SERVED, drawn
from tests.framed import answered, framed
from tests.librdkafka_clients import AdminClient, Consumer, Producer
from tests.tools.drawn_messages import MessageDrawer

pytestmark = pytest.mark.slow

PATIENCE_S = 30
MUTANTS = 10_000
AT_ONCE = 100
"""How many mutated requests are sent before their answers are awaited."""

ANSWER_S = 0.1
"""How long an answer to them is awaited: some wait for records that never come."""

CONNECTIONS = 1000
BACKLOG = "socket.listen.backlog.size=2000"
"""Kafka's default is 50, and then the system lets further connections try again after a second."""

MOST_MB = 64
"""By how much the broker's memory may grow: by what the good client has sent, topics that mutants have made, and what
the allocator keeps.
"""


class GoodClient:
    """Produces and reads in a thread of its own, and knows whether all is there."""

    def __init__(self, address):
        self._address = address
        self._should_end = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.error = None
        self.longest_s = 0.0
        self.read = []

    def __enter__(self):
        admin = AdminClient({"bootstrap.servers": self._address})
        [made] = admin.create_topics([NewTopic("good", 1, 1)]).values()
        made.result(PATIENCE_S)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._should_end.set()
        self._thread.join(PATIENCE_S)

    def _work(self):
        try:
            producer = Producer({"bootstrap.servers": self._address, "linger.ms": 0, "enable.idempotence": True})
            settings = {"bootstrap.servers": self._address, "group.id": "none", "enable.auto.commit": False}
            consumer = Consumer({**settings, "fetch.wait.max.ms": 50})
            consumer.assign([TopicPartition("good", 0, OFFSET_BEGINNING)])
            failures, sent = [], 0
            while not self._should_end.is_set() or sent < 10:
                started = time.monotonic()
                producer.produce("good", b"%d" % sent, on_delivery=lambda error, _: error and failures.append(error))
                sent += 1
                assert producer.flush(PATIENCE_S) == 0 and not failures, failures
                while len(self.read) < sent:
                    record = consumer.poll(PATIENCE_S)
                    assert record is not None and record.error() is None
                    self.read.append(record.value())
                self.longest_s = max(self.longest_s, time.monotonic() - started)
            consumer.close()
            assert self.read == [b"%d" % number for number in range(sent)]
        except BaseException as error:
            self.error = error


@contextmanager
def served(directory):
    """A broker in a process of its own; its port, and its memory in MB when asked."""
    with serving(directory, settings=[BACKLOG]) as (address, process):

        def memory_mb():
            assert process.poll() is None, "the broker has ended"
            return psutil.Process(process.pid).memory_info().rss / 2**20

        yield address, int(address.rpartition(":")[2]), memory_mb


class MutantDrawer:
    """Draws requests of all APIs and versions, sensible ones and such of random contents, and damages them."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self._sensible = RequestDrawer(seed, {name: fixed_id(name, 0) for name in TOPICS})
        self._any = MessageDrawer(seed)

    def next(self):
        """A damaged request, with its size in front."""
        draw = self.draw
        if draw.random() < 0.5:
            data = self._sensible.request()
        else:
            api = draw.choice(sorted(SERVED))
            data = drawn(self._any, api, draw.randint(*api.versions))
        match draw.randrange(8):
            case 0:
                return framed(data[: draw.randrange(len(data) + 1)])
            case 1:
                return framed(data + draw.randbytes(draw.choice((1, 7, 3000))))
            case 2:  # its size is wrong
                return (
                    draw.choice((0, 3, 11, len(data) // 2, len(data) + 9, 1 << 20, 1 << 31)).to_bytes(4, "big") + data
                )
            case 3:
                at = draw.randrange(len(data) + 1)
                return framed(data[:at] + draw.randbytes(draw.randint(1, 9)) + data[at:])
            case 4:
                at = draw.randrange(len(data))
                return framed(data[:at] + data[at + draw.randint(1, 9) :])
            case _:
                changed = bytearray(data)
                for _ in range(draw.choice((1, 1, 2, 5))):
                    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
                return framed(bytes(changed))


def send_all(port, requests):
    """Each on a connection of its own; returns how many were answered, and how many closed their connection."""
    answered = closed = 0
    with selectors.DefaultSelector() as selector:
        for request in requests:
            client = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
            client.sendall(request)
            selector.register(client, selectors.EVENT_READ)
        deadline = time.monotonic() + ANSWER_S
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                try:
                    came = key.fileobj.recv(1 << 16)
                except ConnectionResetError:
                    came = b""
                answered, closed = answered + bool(came), closed + (not came)
                selector.unregister(key.fileobj)
                key.fileobj.close()
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return answered, closed


def test_mutated_requests(tmp_path):
    drawer = MutantDrawer(1)
    with served(tmp_path / "data") as (address, port, memory_mb):
        admin = AdminClient({"bootstrap.servers": address})
        for made in admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()]).values():
            made.result(PATIENCE_S)
        with GoodClient(address) as good:
            send_all(port, [drawer.next() for _ in range(AT_ONCE)])
            before = memory_mb()
            answered = closed = 0
            for _ in range(MUTANTS // AT_ONCE):
                now_answered, now_closed = send_all(port, [drawer.next() for _ in range(AT_ONCE)])
                answered, closed = answered + now_answered, closed + now_closed
            after = memory_mb()
        assert good.error is None
        assert answered > MUTANTS // 5 and closed > MUTANTS // 5, (answered, closed)
        assert after - before < MOST_MB, (before, after)


@contextmanager
def many_files(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip(f"a process may have {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def api_versions(number):
    return framed(
        request_bytes(
            ApiKeys.API_VERSIONS, 0, request_class(ApiKeys.API_VERSIONS)(), correlation_id=number, client_id=None
        )
    )


def test_a_thousand_connections_at_once(tmp_path):
    with many_files(2 * CONNECTIONS + 500), served(tmp_path / "data") as (address, port, memory_mb):
        with GoodClient(address) as good:
            before = memory_mb()
            clients = [socket.create_connection(("127.0.0.1", port), PATIENCE_S) for _ in range(CONNECTIONS)]
            for number, client in enumerate(clients):
                client.sendall(api_versions(number))
            for number, client in enumerate(clients):
                assert parse_response(ApiKeys.API_VERSIONS, 0, answered(client))[0] == number
            after = memory_mb()
            for client in clients:
                client.close()
        assert good.error is None
        assert after - before < MOST_MB, (before, after)


def test_clients_that_send_a_byte_at_a_time_keep_nobody_waiting(tmp_path):
    with served(tmp_path / "data") as (address, port, _):
        with GoodClient(address) as good:
            slow = [socket.create_connection(("127.0.0.1", port), PATIENCE_S) for _ in range(100)]
            requests = [api_versions(number) for number in range(len(slow))]
            for at in range(len(requests[0])):
                for client, request in zip(slow, requests, strict=True):
                    client.sendall(request[at : at + 1])
                time.sleep(0.02)
            for number, client in enumerate(slow):
                assert parse_response(ApiKeys.API_VERSIONS, 0, answered(client))[0] == number
                client.close()
        assert good.error is None
        assert good.longest_s < 5


def test_clients_that_never_read_their_answers_take_no_memory(tmp_path):
    """Each asks 200 times for a megabyte: a connection is not read on before its answer has gone out."""
    asked, count = 200, 20
    with served(tmp_path / "data") as (address, port, memory_mb):
        with GoodClient(address) as good:
            produce, fetch = request_class(ApiKeys.PRODUCE), request_class(ApiKeys.FETCH)
            records = MemoryRecords.with_records(
                CompressionType.NONE, *[SimpleRecord(1, None, bytes(1000))] * 900, initial_offset=0
            )
            data = produce.TopicProduceData.PartitionProduceData(index=0, records=bytes(records.buffer))
            body = produce(acks=1, timeout_ms=1000)
            body.topic_data = [produce.TopicProduceData(name="good-large", partition_data=[data])]
            admin = AdminClient({"bootstrap.servers": address})
            [made] = admin.create_topics([NewTopic("good-large", 1, 1)]).values()
            made.result(PATIENCE_S)
            partition = fetch.FetchTopic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
            topics = [fetch.FetchTopic(topic="good-large", partitions=[partition])]
            clients = [socket.create_connection(("127.0.0.1", port), PATIENCE_S) for _ in range(count)]
            clients[0].sendall(framed(request_bytes(ApiKeys.PRODUCE, 9, body, correlation_id=0, client_id="c")))
            produced = parse_response(ApiKeys.PRODUCE, 9, answered(clients[0]))[1]
            assert produced.responses[0].partition_responses[0].error_code == 0
            before = memory_mb()
            for client in clients:
                for number in range(asked):
                    asks = fetch(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=topics)
                    client.sendall(framed(request_bytes(ApiKeys.FETCH, 11, asks, correlation_id=number, client_id="c")))
            time.sleep(1)
            after = memory_mb()
            assert after - before < MOST_MB, (before, after)
            for number in range(asked):  # who reads after all gets everything, in order
                correlation_id, answer = parse_response(ApiKeys.FETCH, 11, answered(clients[-1]))
                assert correlation_id == number
                assert bytes(answer.responses[0].partitions[0].records)[16:] == bytes(records.buffer)[16:]
            for client in clients:
                client.close()
        assert good.error is None
        assert good.longest_s < 5
