"""`minikafka serve --watch`: what a terminal shows of a broker, and how it ends."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from rich.console import Console

from minikafka.broker.broker_server import BrokerServer
from minikafka.cli.broker_view import view_of
from tests.librdkafka_clients import Consumer, Producer

PATIENCE_S = 30
COMMAND = [sys.executable, "-c", "from minikafka.cli import main; main()", "serve", "--port", "0", "--watch"]


def consumer_of(address):
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "none",
            "enable.auto.commit": False,
            "client.id": "reader\x1b[2J",
            "fetch.wait.max.ms": 2000,
        }
    )
    consumer.assign([TopicPartition("shop", 0, OFFSET_BEGINNING)])
    return consumer


def produce(address, count):
    producer = Producer({"bootstrap.servers": address, "client.id": "writer"})
    for number in range(count):
        producer.produce("shop", b"%d" % number, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return producer


def text_of(view):
    console = Console(width=160, force_terminal=False)
    with console.capture() as captured:
        console.print(view)
    return captured.get()


@pytest.mark.slow
def test_the_view(tmp_path):
    server = BrokerServer([tmp_path / "data"], {"listeners": "PLAINTEXT://127.0.0.1:0", "num.partitions": "3"})
    server.start()
    address = f"127.0.0.1:{server.endpoints[0].port}"
    assert "0 connections" in text_of(view_of(server, 9))
    producer, consumer = produce(address, 1200), consumer_of(address)
    assert len(consumer.consume(1200, PATIENCE_S)) == 1200
    deadline = time.monotonic() + PATIENCE_S
    while not server.waiting_requests and time.monotonic() < deadline:
        time.sleep(0.01)
    shown = text_of(view_of(server, 9))
    few = text_of(view_of(server, 2))
    consumer.close()
    del producer
    server.stop()
    assert shown.startswith(f"minikafka serves PLAINTEXT://{address} · 0 fetch sessions\n")
    assert re.search(r"shop-0 +0 +1,200 +1,200 +[\d,]+\n", shown)
    assert re.search(r"3 partitions +log start +high watermark +end +bytes", shown) and "… and 1 more" in few
    [request] = re.findall(r"FETCH v\d+ +(\S+) +(1 bytes for at most 2000 ms) +[\d,]+ ms", shown)
    assert request == ("reader\ufffd[2J", "1 bytes for at most 2000 ms")
    assert re.search(r"reader\ufffd\[2J +waits for its answer", shown)


def read_all(terminal, shown):
    """Read what a program shows, as a terminal does, until it has ended."""
    with suppress(OSError):  # the other side is closed
        while data := os.read(terminal, 1 << 16):
            shown += data


@pytest.mark.slow
@pytest.mark.parametrize("ends_by", [signal.SIGINT, signal.SIGTERM])
def test_the_terminal(tmp_path, ends_by):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--data", str(tmp_path / "data"), "--config", "num.io.threads=3", "--log-requests"],
        stdout=subprocess.PIPE, stderr=theirs, text=True,
    )  # fmt: skip
    os.close(theirs)
    shown = bytearray()
    reader = threading.Thread(target=read_all, args=[ours, shown])
    reader.start()
    try:
        address = process.stdout.readline().split("//")[1].strip()
        producer = produce(address, 3)
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(rb"shop-0 +0 +3 +3", shown) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert b"Warning: num.io.threads has no effect here" in shown
        assert re.search(rb"shop-0 +0 +3 +3", shown) and b"writer" in shown
        assert re.search(rb"DEBUG PRODUCE v\d+ no", shown)
        del producer
        process.send_signal(ends_by)
        assert process.wait(PATIENCE_S) == 0
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(ours)


@pytest.mark.slow
def test_without_a_terminal_it_is_refused(tmp_path):
    refused = subprocess.run([*COMMAND, "--data", str(tmp_path / "data")], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (2, "") and "--watch needs a terminal on stderr" in refused.stderr
    assert not (tmp_path / "data").exists()
