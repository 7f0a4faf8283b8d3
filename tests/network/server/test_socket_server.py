"""The loop of the sockets: one request in work a connection, answers in order, and nobody who disturbs the others."""

import contextlib
import errno
import os
import resource
import socket
import threading
import time

import pytest

from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import ConfigException, IllegalArgumentException, IllegalStateException, KafkaException
from minikafka.common.time import ManualTime
from minikafka.messages.message_sink import MessageSink
from minikafka.network.request import NoBytes
from minikafka.network.server.kafka_channel import ChannelMuteState
from minikafka.network.server.socket_server import SocketServer
from minikafka.network.server.socket_server_config import SocketServerConfig
from minikafka.record.files.file_records import FileRecords
from tests.framed import answered, framed

PATIENCE_S = 10


def answer_of(*pieces):
    sink = MessageSink()
    for piece in pieces:
        sink.write_view(piece)
    return sink


class Pieces:
    """An answer in given pieces, as a fetch has them."""

    def __init__(self, *pieces):
        self.pieces = list(pieces)


def echo(request, _channel, answer):
    answer(answer_of(bytes(request)))


class Served:
    """A server with a handler of the test, and its clients."""

    def __init__(self, handle=echo, **settings):
        self.time = ManualTime()
        self.clients = []
        config = {"listeners": "PLAINTEXT://127.0.0.1:0", **settings}
        self.server = SocketServer(SocketServerConfig(config), self.time, handle)
        self.server.open()
        self.server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        for client in self.clients:
            client.close()

    def client(self, listener=0):
        client = socket.create_connection(("127.0.0.1", self.server.endpoints[listener].port), timeout=PATIENCE_S)
        self.clients.append(client)
        return client

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.002)


def is_closed(client):
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_requests_are_answered_in_their_order_however_they_arrive():
    requests = [b"a", b"", b"b" * 600, b"c" * 300_000, b"d", b"e" * 70_000]
    stream = b"".join(map(framed, requests))
    for step in (1 << 30, 100_001, 60_000):
        with Served() as served:
            client, got = served.client(), []
            reader = threading.Thread(target=lambda: got.extend(answered(client) for _ in requests))
            reader.start()
            for start in range(0, len(stream), step):
                client.sendall(stream[start : start + step])
            reader.join(PATIENCE_S)
            assert got == requests, step
    with Served() as served:
        client = served.client()
        for byte in framed(b"slow loris"):
            client.sendall(bytes([byte]))
        assert answered(client) == b"slow loris"


def test_a_connection_is_muted_until_its_request_is_answered():
    waiting = []
    with Served(lambda request, channel, answer: waiting.append((bytes(request), channel, answer))) as served:
        client, other = served.client(), served.client()
        client.sendall(framed(b"first") + framed(b"second"))
        served.until(lambda: len(waiting) == 1)
        client.sendall(framed(b"third"))
        other.sendall(framed(b"other"))
        served.until(lambda: len(waiting) == 2)
        time.sleep(0.05)
        assert [request for request, _, _ in waiting] == [b"first", b"other"]
        assert waiting[0][1].mute_state is ChannelMuteState.MUTED_AND_RESPONSE_PENDING
        waiting[0][2](answer_of(b"1"))  # from another thread than the loop's
        assert answered(client) == b"1"
        served.until(lambda: len(waiting) == 3)
        assert waiting[2][0] == b"second"
        waiting[2][2](NoBytes.NO_RESPONSE)
        served.until(lambda: len(waiting) == 4)
        assert waiting[3][0] == b"third"
        waiting[3][2](NoBytes.CLOSE)
        assert is_closed(client)
        waiting[1][2](answer_of(b"o"))
        assert answered(other) == b"o"


def test_a_client_that_goes_while_its_request_waits_is_noticed_when_it_is_answered():
    waiting = []
    with Served(lambda request, channel, answer: waiting.append(answer)) as served:
        client, other = served.client(), served.client()
        client.sendall(framed(b"long poll"))
        served.until(lambda: waiting)
        client.close()
        other.sendall(framed(b"x"))
        served.until(lambda: len(waiting) == 2)
        assert len(served.server.channels) == 2
        waiting[0](answer_of(b"late"))
        served.until(lambda: len(served.server.channels) == 1)
        waiting[1](answer_of(b"y"))
        assert answered(other) == b"y"
        assert served.server.connection_quotas.total_count == 1


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(b"\xff\xff\xff\xff", id="negative"),
        pytest.param((1001).to_bytes(4, "big"), id="too large"),
        pytest.param(framed(b"refused"), id="refused"),
    ],
)
def test_what_is_no_request_closes_its_connection_and_no_other(bad, caplog):
    def handle(request, channel, answer):
        if request == b"refused":
            raise ValueError("no request")
        echo(request, channel, answer)

    with Served(handle, **{"socket.request.max.bytes": 1000}) as served:
        good, worse = served.client(), served.client()
        worse.sendall(bad + framed(b"more"))
        assert is_closed(worse)
        good.sendall(framed(b"x" * 1000))
        assert answered(good) == b"x" * 1000
        served.until(lambda: served.server.connection_quotas.total_count == 1)


@pytest.mark.slow
def test_a_client_that_never_reads_keeps_nobody_waiting():
    with Served(lambda request, _channel, answer: answer(Pieces(bytes(8_000_000)))) as served:
        deaf, client = served.client(), served.client()
        deaf.sendall(framed(b"x") * 3)
        for _ in range(3):
            client.sendall(framed(b"x"))
            assert len(answered(client)) == 8_000_000
        served.until(lambda: sum(channel.is_sending for channel in served.server.channels) == 1)
        [waiting] = [channel for channel in served.server.channels if channel.is_sending]
        assert len(answered(deaf)) == 8_000_000
        assert waiting.is_open


def test_pieces_of_files_are_sent_between_bytes(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(os.urandom(3_000_000))
    records = FileRecords.open(file)
    pieces = [b"head", records.slice(1000, 2_500_000), b"m" * 700, records.slice(0, 0), records.slice(5, 7), b"end"]
    with Served(lambda request, _channel, answer: answer(Pieces(*pieces))) as served:
        client = served.client()
        for _ in range(2):
            client.sendall(framed(b"x"))
            data = file.read_bytes()
            assert answered(client) == b"head" + data[1000:2_501_000] + b"m" * 700 + data[5:12] + b"end"
    records.close()


def test_an_idle_connection_is_closed_and_a_busy_one_is_not():
    with Served(**{"connections.max.idle.ms": 1000}) as served:
        idle, busy = served.client(), served.client()
        served.until(lambda: len(served.server.channels) == 2)
        for _ in range(3):
            served.time.sleep(500)
            busy.sendall(framed(b"x"))
            assert answered(busy) == b"x"
        assert is_closed(idle)
        assert len(served.server.channels) == 1


def test_an_address_has_no_more_connections_than_it_may_have():
    with Served(**{"max.connections.per.ip": 2}) as served:
        first, second, third = (served.client() for _ in range(3))
        assert is_closed(third)
        for client in (first, second):
            client.sendall(framed(b"x"))
            assert answered(client) == b"x"
        first.close()
        served.until(lambda: served.server.connection_quotas.get("127.0.0.1") == 1)
        again = served.client()
        again.sendall(framed(b"x"))
        assert answered(again) == b"x"
    overrides = {"max.connections.per.ip": 0, "max.connections.per.ip.overrides": "localhost:1"}
    with Served(**overrides) as served:
        first, second = served.client(), served.client()
        assert is_closed(second)
        first.sendall(framed(b"x"))
        assert answered(first) == b"x"


def test_a_broker_that_is_full_takes_the_next_connection_when_one_has_ended():
    with Served(**{"max.connections": 2}) as served:
        first, second, third = (served.client() for _ in range(3))
        third.sendall(framed(b"third"))
        second.sendall(framed(b"x"))
        assert answered(second) == b"x"
        third.settimeout(0.1)
        with pytest.raises(TimeoutError):
            answered(third)
        first.close()
        third.settimeout(PATIENCE_S)
        assert answered(third) == b"third"


def test_for_another_broker_an_idle_connection_of_a_client_goes():
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT",
        "max.connections": 2,
    }
    with Served(**settings) as served:
        idle, busy = served.client(1), served.client(1)
        served.until(lambda: len(served.server.channels) == 2)
        busy.sendall(framed(b"x"))
        assert answered(busy) == b"x"
        broker = served.client(0)
        broker.sendall(framed(b"broker"))
        assert answered(broker) == b"broker"
        assert is_closed(idle)


def test_a_listener_has_a_limit_of_its_own():
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT",
        "listener.name.clients.max.connections": 1,
    }
    with Served(**settings) as served:
        first, second, other = served.client(1), served.client(1), served.client(0)
        second.sendall(framed(b"second"))
        other.sendall(framed(b"x"))
        assert answered(other) == b"x"
        first.close()
        assert answered(second) == b"second"


def test_a_request_for_which_there_is_no_memory_waits():
    waiting = []

    def handle(request, channel, answer):
        waiting.append(bytes(request))
        answer(answer_of(b"ok"))

    with Served(handle, **{"queued.max.request.bytes": 1000, "socket.request.max.bytes": 1000}) as served:
        large, other = served.client(), served.client()
        large.sendall(framed(b"l" * 1000)[:500])  # takes all memory there is
        served.until(lambda: served.server._memory_pool.is_out_of_memory)
        other.sendall(framed(b"other"))
        time.sleep(0.05)
        assert waiting == []
        large.sendall(framed(b"l" * 1000)[500:])
        assert answered(large) == answered(other) == b"ok"
        assert waiting == [b"l" * 1000, b"other"]
        large.sendall(framed(b"l" * 1000)[:500])
        served.until(lambda: served.server._memory_pool.is_out_of_memory)
        other.sendall(framed(b"again"))
        large.close()  # what it had taken comes back
        assert answered(other) == b"ok"


def test_connections_give_back_what_they_took_and_no_more():
    with Served(**{"queued.max.request.bytes": 1000, "socket.request.max.bytes": 1000}) as served:
        pool = served.server._memory_pool
        silent, asking, torn = served.client(), served.client(), served.client()
        asking.sendall(framed(b"whole"))
        assert answered(asking) == b"whole"
        torn.sendall(framed(b"t" * 100)[:50])
        served.until(lambda: pool.available_memory == 900)
        for client in (silent, asking, torn):
            client.close()
        served.until(lambda: not served.server.channels)
        assert pool.available_memory == 1000


def test_a_request_that_had_to_wait_for_memory_and_comes_in_pieces(tmp_path):
    with Served(**{"queued.max.request.bytes": 1000, "socket.request.max.bytes": 1000}) as served:
        large, other = served.client(), served.client()
        large.sendall(framed(b"l" * 1000)[:500])
        served.until(lambda: served.server._memory_pool.is_out_of_memory)
        other.sendall(framed(b"o" * 900)[:100])
        served.until(lambda: any(each.waits_for_memory for each in served.server.channels))
        large.sendall(framed(b"l" * 1000)[500:])
        assert answered(large) == b"l" * 1000
        served.until(lambda: not any(each.waits_for_memory for each in served.server.channels))
        other.sendall(framed(b"o" * 900)[100:])
        assert answered(other) == b"o" * 900


def test_without_file_descriptors_nobody_is_accepted_for_a_while_and_the_others_go_on(caplog):
    with Served() as served:
        client = served.client()
        client.sendall(framed(b"x"))
        assert answered(client) == b"x"
        late = socket.socket()
        served.clients.append(late)
        late.settimeout(PATIENCE_S)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            late.connect(("127.0.0.1", served.server.endpoints[0].port))
            served.until(lambda: os.strerror(errno.EMFILE) in caplog.text)
            client.sendall(framed(b"y"))
            assert answered(client) == b"y"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caplog.text.count("Error while accepting") == 1
        served.time.sleep(1000)
        late.sendall(framed(b"z"))
        assert answered(late) == b"z"


@pytest.mark.slow
def test_hundreds_of_connections():
    with Served() as served:
        clients = []
        for _ in range(400):
            clients.append(served.client())
            clients[-1].sendall(framed(b"here"))
            # With 50 that wait to be accepted, the system lets the next one try again after a second.
            assert answered(clients[-1]) == b"here"
        for round_ in range(3):
            for number, client in enumerate(clients):
                client.sendall(framed(b"%d %d" % (round_, number)))
            for number, client in enumerate(clients):
                assert answered(client) == b"%d %d" % (round_, number)


def test_stop_closes_ports_and_connections():
    with Served() as served:
        client = served.client()
        client.sendall(framed(b"x"))
        assert answered(client) == b"x"
        [endpoint] = served.server.endpoints
        served.server.shutdown()
        served.server.shutdown()
        assert is_closed(client)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", endpoint.port))
        with pytest.raises(IllegalStateException):
            served.server.run()
    unused = SocketServer(SocketServerConfig({"listeners": "PLAINTEXT://127.0.0.1:0"}), ManualTime(), echo)
    unused.open()
    unused.shutdown()


def test_a_port_that_is_taken_is_told_and_nothing_stays_open():
    with Served() as served:
        port = served.server.endpoints[0].port
        settings = {
            "listeners": f"A://127.0.0.1:0,B://127.0.0.1:{port}",
            "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
        }
        other = SocketServer(SocketServerConfig(settings), ManualTime(), echo)
        message = f"Socket server failed to bind to 127.0.0.1:{port}: Address already in use."
        before = os.listdir("/dev/fd")
        with pytest.raises(KafkaException, match=message) as refused:
            other.open()
        assert other.endpoints == [] and refused.traceback
        assert os.listdir("/dev/fd") == before, "who keeps the exception keeps no socket"
        other.shutdown()


def test_listeners_are_parsed_as_by_kafka():
    parsed = SocketServerConfig(
        {
            "listeners": "PLAINTEXT://:9092,inner://[::1]:0,X://host-1.a_b:19092",
            "listener.security.protocol.map": "INNER:PLAINTEXT,X:PLAINTEXT",
        }
    ).endpoints
    assert parsed == [Endpoint("PLAINTEXT", "", 9092), Endpoint("INNER", "::1", 0), Endpoint("X", "host-1.a_b", 19092)]
    assert [str(endpoint) for endpoint in parsed] == ["PLAINTEXT://:9092", "INNER://[::1]:0", "X://host-1.a_b:19092"]
    for text, kind, words in (
        ("localhost:9092", KafkaException, "Unable to parse localhost:9092 to a broker endpoint"),
        ("PLAINTEXT://a/b:1", KafkaException, "Unable to parse"),
        ("NAMELESS://:1", IllegalArgumentException, "No security protocol defined for listener NAMELESS"),
        ("SSL://:1", IllegalArgumentException, "minikafka serves PLAINTEXT"),
    ):
        with pytest.raises(kind, match=words):
            SocketServerConfig({"listeners": text})


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"queued.max.request.bytes": 10}, IllegalArgumentException, "must be larger or equal to socket.request.max"),
        ({"max.connections.per.ip": 0}, IllegalArgumentException, "can be set to zero only if"),
        ({"max.connections.per.ip.overrides": "a"}, ConfigException, "Invalid value a for configuration"),
        ({"socket.request.max.bytes": 0}, ConfigException, "Value must be at least 1"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, IllegalArgumentException, "must have a different name"),
        ({"listeners": ""}, IllegalArgumentException, "must have a different name"),
        ({"listener.name.plaintext.max.connections": -1}, ConfigException, "Value must be at least 0"),
    ],
)
def test_settings_that_cannot_be(settings, kind, words):
    with pytest.raises(kind, match=words):
        SocketServerConfig(settings)


def test_an_answer_after_the_end_is_dropped():
    waiting = []
    with Served(lambda request, channel, answer: waiting.append(answer)) as served:
        client = served.client()
        client.sendall(framed(b"x"))
        served.until(lambda: waiting)
        served.server.shutdown()
        with contextlib.suppress(OSError):
            waiting[0](answer_of(b"late"))
        assert is_closed(client)
