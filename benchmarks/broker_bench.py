"""`minikafka serve` beside a warm Kafka of one node: what a server costs that the same clients talk to.

*produce* and *consume*: confluent-kafka writes with acks=all and reads, one partition, records of 1 KB and of 100 B.
*request*: produce requests with one batch of 1.1 KB (10 × 100 B), one after the other. Beside producing and consuming
another client asks for the versions of APIs every few milliseconds: the longest that it waits for an answer is the
longest pause of the server. Both do the same work once before it counts: Kafka's code is compiled in that time, and
numba is loaded. The longest pause is that of both rounds.

CPU is the server's; seconds by the wall are the client's as well, and worth little on a busy machine. A ratio above 1
means that minikafka is cheaper, quicker or smaller. Times to be ready and memory have goals of their own.

    python benchmarks/broker_bench.py [--megabytes 1000]
"""

import argparse
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from log_bench import SHAPES, one_batch

from minikafka.messages.apis import ApiVersionsRequest, ProduceRequest
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes
from minikafka.witness.kafka.kafka_broker import KafkaBroker

PATIENCE_S = 60
SIZES = {"1 KB": 1000, "100 B": 100}
REQUESTS = 5_000
WARMING_REQUESTS = 20_000
STARTS = 5
CONNECTIONS = 200
QUICK_JVM = ("-XX:TieredStopAtLevel=4", "-Xmx1g", "-Xms1g", "-XX:+UseG1GC", "-XX:-UseSerialGC")
"""What a server's JVM has, other than one that only has to start soon."""

GOALS = {
    "produce 1 KB": 1.0,
    "produce 100 B": 1.0,
    "consume 1 KB": 0.9,
    "consume 100 B": 0.9,
}
MOST = {
    "request of 1.1 KB, µs of CPU": 120,
    "ready, s": 0.5,
    "memory when idle, MB": 60,
    "memory with 200 connections, MB": 80,
    "memory at the end, MB": 200,
    "longest pause, ms": 100,
}


@dataclass
class Server:
    """A broker's process. `ready_s`: how long it took until clients could connect."""

    name: str
    pid: int
    address: str
    ready_s: float
    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)

    def cpu_s(self) -> float:
        """Seconds of processor time that the process has used."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def memory_mb(self) -> float:
        """Memory of the process that is in use (RSS)."""
        return psutil.Process(self.pid).memory_info().rss / 2**20

    def measure(self, name: str, work: Callable[[], object]) -> None:
        """Do the work, and keep the server's CPU and the seconds of it; the last call of a name counts."""
        cpu, wall = self.cpu_s(), time.perf_counter()
        work()
        self.cpu[name], self.wall[name] = self.cpu_s() - cpu, time.perf_counter() - wall


@contextmanager
def minikafka(home: Path) -> Iterator[Server]:
    """`minikafka serve` on an empty directory."""
    command = [Path(sys.executable).with_name("minikafka"), "serve", "--port", "0", "--data", home]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().rpartition("/")[2].strip()
        try:
            yield Server("minikafka", process.pid, address, time.perf_counter() - started)
        finally:
            process.terminate()


@contextmanager
def kafka(home: Path) -> Iterator[Server]:
    """Kafka on an empty directory, which is formatted before."""
    with KafkaBroker(home, java_options=QUICK_JVM):  # formats
        pass
    started = time.perf_counter()
    with KafkaBroker(home, java_options=QUICK_JVM) as broker:
        yield Server("Kafka", broker.pid, broker.bootstrap_servers, time.perf_counter() - started)


def create_topic(server: Server, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": server.address})
    [made] = admin.create_topics([NewTopic(name, 1, 1)]).values()
    made.result(PATIENCE_S)
    time.sleep(1)  # Kafka's broker hears of it later than the client


def produce(server: Server, topic: str, size: int, count: int) -> None:
    """`count` records of `size` bytes, acknowledged by all replicas."""
    failures: list[object] = []
    settings = {"acks": "all", "linger.ms": 5, "queue.buffering.max.messages": 2_000_000}
    only_errors = {"delivery.report.only.error": True, "on_delivery": lambda error, _: failures.append(error)}
    producer = Producer({"bootstrap.servers": server.address, **settings, **only_errors})
    value = os.urandom(size)
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0 and not failures


def consume(server: Server, topic: str, count: int) -> None:
    """The first `count` records."""
    settings = {"group.id": "none", "enable.auto.commit": False, "queued.min.messages": 1_000_000}
    consumer = Consumer({"bootstrap.servers": server.address, **settings})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = 0
    while found < count:
        records = consumer.consume(10_000, PATIENCE_S)
        assert records and all(record.error() is None for record in records[:1])
        found += len(records)
    consumer.close()


class Connection:
    """A client that sends bytes and waits for the answer."""

    def __init__(self, address: str):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def ask(self, framed: bytes) -> bytes:
        self._socket.sendall(framed)
        size = int.from_bytes(self._answers.read(4))
        answer = self._answers.read(size)
        assert 0 < size == len(answer), "the server has closed the connection"
        return answer


def framed(api_key: ApiKeys, version: int, body) -> bytes:
    data = request_bytes(api_key, version, body, correlation_id=1, client_id="bench")
    return len(data).to_bytes(4) + data


VERSIONS = framed(ApiKeys.API_VERSIONS, 0, ApiVersionsRequest())


def send_requests(server: Server, topic: str, count: int) -> None:
    """`count` produce requests of one small batch, one after the other."""
    data = ProduceRequest.TopicProduceData.PartitionProduceData(index=0, records=one_batch(SHAPES[2]))
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    request = framed(ApiKeys.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics))
    connection = Connection(server.address)
    for _ in range(count):
        answer = connection.ask(request)
    _, body = parse_response(ApiKeys.PRODUCE, 9, answer)
    assert body.responses[0].partition_responses[0].error_code == 0


def ping(address: str, should_end, longest) -> None:
    """Ask every 2 ms until told to end; keep the longest time that an answer took, in ms."""
    connection = Connection(address)
    while not should_end.wait(0.002):
        started = time.perf_counter()
        connection.ask(VERSIONS)
        longest.value = max(longest.value, (time.perf_counter() - started) * 1000)


@contextmanager
def pinged(server: Server) -> Iterator[None]:
    """Somebody asks beside what is done inside, from a process of its own."""
    context = multiprocessing.get_context("spawn")
    should_end, longest = context.Event(), context.Value("d", 0.0)
    process = context.Process(target=ping, args=(server.address, should_end, longest))
    process.start()
    try:
        yield
    finally:
        should_end.set()
        process.join()
    server.told["longest pause, ms"] = max(server.told.get("longest pause, ms", 0), longest.value)


def do_all(server: Server, megabytes: int) -> None:
    """All measurements, twice: the first round warms up, and only its longest pause counts."""
    server.told["ready, s"] = server.ready_s
    server.told["memory when idle, MB"] = server.memory_mb()
    for number in range(2):
        create_topic(server, f"requests-{number}")
        send_requests(server, f"requests-{number}", 500 if number else WARMING_REQUESTS)
        server.measure("request", lambda: send_requests(server, f"requests-{number}", REQUESTS))
        with pinged(server):
            for name, size in SIZES.items():
                topic, count = f"{name.replace(' ', '')}-{number}", megabytes * 1_000_000 // size // 2
                create_topic(server, topic)
                server.measure(f"produce {name}", lambda: produce(server, topic, size, count))
                server.measure(f"consume {name}", lambda: consume(server, topic, count))
    server.told["request of 1.1 KB, µs of CPU"] = server.cpu["request"] / REQUESTS * 1e6
    server.told["memory at the end, MB"] = server.memory_mb()


def with_connections(server: Server) -> None:
    connections = [Connection(server.address) for _ in range(CONNECTIONS)]
    for connection in connections:
        connection.ask(VERSIONS)
    server.told["memory with 200 connections, MB"] = server.memory_mb()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000, help="how much a round writes, half of it in each size")
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as scratch:
        ready = []
        for number in range(STARTS):
            with minikafka(Path(scratch, f"start-{number}")) as started:
                ready.append(started.ready_s)
                with_connections(started)
        with minikafka(Path(scratch, "ours")) as ours:
            ours.ready_s = statistics.median(ready)
            ours.told = started.told
            do_all(ours, megabytes)
        with kafka(Path(scratch, "kafka")) as theirs:
            with_connections(theirs)
            do_all(theirs, megabytes)
    report(ours, theirs)


def report(ours: Server, theirs: Server) -> None:
    missed = []
    print(f"{'':34} {'minikafka':>12} {'Kafka':>12} {'ratio':>7} {'goal':>7}")
    for name, goal in GOALS.items():
        for what, one, other in (
            ("CPU", ours.cpu[name], theirs.cpu[name]),
            ("wall", ours.wall[name], theirs.wall[name]),
        ):
            told = goal if what == "CPU" else ""
            print(f"{name + ', ' + what:34} {one:10.2f} s {other:10.2f} s {other / one:7.2f} {told!s:>7}")
        missed += [name] * (theirs.cpu[name] / ours.cpu[name] < goal)
    for name, most in MOST.items():
        one, other = ours.told[name], theirs.told[name]
        print(f"{name:34} {one:12.2f} {other:12.2f} {other / one:7.2f} {'<' + str(most):>7}")
        missed += [name] * (one > most)
    print("goals that were missed: " + ", ".join(missed) if missed else "all goals are reached")


if __name__ == "__main__":
    main()
