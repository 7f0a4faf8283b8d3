"""`minikafka serve` on a disk that becomes full: what was acknowledged is there, and other disks go on."""

import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager, suppress

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from tests.broker.test_broker_server import COMMAND, PATIENCE_S, make_topic, serving
from tests.librdkafka_clients import Consumer, Producer

pytestmark = pytest.mark.slow

ROOM = 12_000_000
"""Bytes of the disk: a file system in memory, mounted by bubblewrap for one process, which copies it before its end."""

SCRIPT = """
full=$1 kept=$2
shift 2
"$@" &
echo $!
wait $!
code=$?
cp -r "$full/." "$kept"
exit $code
"""


class Sender:
    """Sends records of 2 KB to the two partitions of "shop", and knows which were acknowledged."""

    def __init__(self, address):
        self.acknowledged = {0: [], 1: []}
        self.errors = set()
        settings = {"linger.ms": 0, "message.timeout.ms": 3000, "acks": "all", "log_level": 0}
        self._producer = Producer({"bootstrap.servers": address, **settings})
        self._number = 0

    def send(self, partition):
        self._number += 1
        with suppress(BufferError):  # its queue is full
            value = b"%d " % self._number + os.urandom(2000)
            self._producer.produce("shop", value, partition=partition, on_delivery=self._note)
        self._producer.poll(0.0005)

    def flush(self):
        self._producer.flush(10)

    def _note(self, error, sent):
        if error is None:
            self.acknowledged[sent.partition()].append((sent.offset(), sent.value()))
        else:
            self.errors.add((sent.partition(), error.code()))


@contextmanager
def serving_on_a_small_disk(full, kept, *log_dirs):
    """`minikafka serve` where `full` is a disk that becomes full; `kept` gets what was on it.

    Gives its address, its process id, and the process whose exit code and stderr are its own.
    """
    serve = [*COMMAND, *(f"--data={log_dir}" for log_dir in log_dirs)]
    disk = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--size", str(ROOM), "--tmpfs", full]
    command = [*disk, "bash", "-c", SCRIPT, "", full, kept, *serve]
    with subprocess.Popen(list(map(str, command)), stdout=-1, stderr=-1, text=True) as process:
        try:
            pid = int(process.stdout.readline())
            address = re.search(r"PLAINTEXT://(.*)\n", process.stdout.readline())[1]
            yield address, pid, process
        finally:
            process.kill()


def read(address, partition, count):
    consumer = Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("shop", partition, OFFSET_BEGINNING)])
    found, deadline = {}, time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        found |= {each.offset(): each.value() for each in consumer.consume(1000, 0.2) if each.error() is None}
    consumer.close()
    return found


@pytest.fixture
def dirs(tmp_path):
    for name in ("full", "kept", "other"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_broker_whose_only_disk_is_full_ends_and_goes_on_with_all_that_it_has_acknowledged(dirs):
    with serving_on_a_small_disk(dirs / "full", dirs / "kept", dirs / "full" / "data") as (address, _, process):
        make_topic(address)
        sender, deadline, number = Sender(address), time.monotonic() + PATIENCE_S, 0
        while process.poll() is None and time.monotonic() < deadline:
            number += 1
            sender.send(number % 2)
        told = process.communicate(timeout=PATIENCE_S)[1]
        sender.flush()
    assert process.returncode == 1 and "Traceback" not in told
    assert "No space left on device" in told
    assert told.splitlines()[-1] == f"Shutdown broker because all log dirs in {dirs / 'full' / 'data'} have failed"
    with serving(dirs / "kept" / "data") as (address, _):
        for partition, acknowledged in sender.acknowledged.items():
            found = read(address, partition, len(acknowledged))
            assert acknowledged and found.items() >= set(acknowledged)
        again = Sender(address)
        again.send(0)
        again.flush()
        assert again.acknowledged[0] and not again.errors


def test_a_broker_goes_on_with_another_disk_when_one_is_full(dirs):
    log_dirs = dirs / "other" / "data", dirs / "full" / "data"
    with serving_on_a_small_disk(dirs / "full", dirs / "kept", *log_dirs) as (address, pid, process):
        make_topic(address)
        sender, deadline = Sender(address), time.monotonic() + PATIENCE_S
        while not (made := list(log_dirs[0].glob("shop-*"))) and time.monotonic() < deadline:
            time.sleep(0.01)  # a topic is told to be made before its logs are
        there = int(made[0].name[-1])
        full = 1 - there
        while not sender.errors and time.monotonic() < deadline:
            sender.send(full)
        for _ in range(500):
            sender.send(there)
        sender.flush()
        assert sender.errors and {partition for partition, _ in sender.errors} == {full}
        assert {code for _, code in sender.errors} <= {
            *(KafkaError.KAFKA_STORAGE_ERROR, KafkaError._MSG_TIMED_OUT),
            *(KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION),
        }
        assert len(sender.acknowledged[there]) == 500
        assert read(address, there, 500) == dict(sender.acknowledged[there])
        os.kill(pid, signal.SIGTERM)
        told = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 0 and "Traceback" not in told, told
    with serving(dirs / "other" / "data", dirs / "kept" / "data") as (address, _):
        for partition, acknowledged in sender.acknowledged.items():
            assert read(address, partition, len(acknowledged)).items() >= set(acknowledged)
