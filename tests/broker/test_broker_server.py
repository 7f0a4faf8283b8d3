"""`minikafka serve`: topics, settings and records are there after a stop and after kill -9, and Kafka reads them."""

import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest
from click.testing import CliRunner
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka.admin import ConfigResource, NewTopic

from minikafka.broker import broker_server
from minikafka.broker.broker_server import BrokerServer
from minikafka.cli import main
from minikafka.common.errors import IOException, KafkaException
from minikafka.common.file_lock import FileLock
from minikafka.common.kafka_settings import FILE, kafka_settings
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log import partition_files
from minikafka.log.log_config import LogConfig
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.metadata.kafka_config_def import kafka_config_def
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.raft.single_voter_log import SingleVoterLog
from minikafka.server.known_settings import SERVED
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.librdkafka_clients import AdminClient, Consumer, Producer
from tests.tools.make_kafka_settings import as_text, settings

PATIENCE_S = 30
COMMAND = [sys.executable, "-c", "from minikafka.cli import main; main()", "serve", "--port", "0"]


@contextmanager
def serving(*log_dirs, ends_by=signal.SIGTERM, exit_code=0, limit=None, settings=()):
    """`minikafka serve` in a process of its own, with a limit of the shell's; gives its address and the process.

    `settings`: each as `name=value`.
    """
    command = [*COMMAND, *(part for log_dir in log_dirs for part in ("--data", str(log_dir)))]
    command += [part for setting in settings for part in ("--config", setting)]
    if limit is not None:
        command = ["bash", "-c", f'ulimit {limit}; exec "$@"', "", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        yield re.fullmatch(r"minikafka serves PLAINTEXT://(127\.0\.0\.1:\d+)\n", line)[1], process
        process.send_signal(ends_by)
        assert process.wait(PATIENCE_S) == exit_code
    finally:
        process.kill()
        process.wait()


def make_topic(address, **settings):
    admin = AdminClient({"bootstrap.servers": address})
    [made] = admin.create_topics([NewTopic("shop", 2, 1, config=settings)]).values()
    made.result(PATIENCE_S)


def produce(address, values):
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    acknowledged = []
    for number, value in enumerate(values):
        producer.produce(
            "shop",
            value,
            partition=number % 2,
            on_delivery=lambda error, sent: acknowledged.append((error, sent.value())),
        )
    assert producer.flush(PATIENCE_S) == 0
    assert [error for error, _ in acknowledged] == [None] * len(values)


def consumed(address, count):
    consumer = Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("shop", number, OFFSET_BEGINNING) for number in (0, 1)])
    found, deadline = [], time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        found += [record.value() for record in consumer.consume(1000, 0.2) if record.error() is None]
    consumer.close()
    return sorted(found)


@pytest.mark.slow
def test_topics_and_records_survive_stops_and_kills_and_kafka_goes_on_with_them(tmp_path):
    values = []
    for number, (ends_by, exit_code) in enumerate([(signal.SIGTERM, 0), (signal.SIGKILL, -9), (signal.SIGINT, 0)]):
        with serving(tmp_path / "log.dir", ends_by=ends_by, exit_code=exit_code) as (address, _):
            if number == 0:
                make_topic(address, **{"retention.ms": "86400000"})
            else:
                assert consumed(address, len(values)) == sorted(values)
            new = [b"%d-%d" % (number, each) for each in range(100)]
            produce(address, new)
            values += new
    with KafkaBroker(tmp_path) as kafka:
        address = kafka.bootstrap_servers
        assert consumed(address, len(values)) == sorted(values)
        admin = AdminClient({"bootstrap.servers": address})
        assert admin.list_topics(timeout=PATIENCE_S).topics["shop"].partitions.keys() == {0, 1}
        [settings] = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "shop")]).values()
        assert settings.result(PATIENCE_S)["retention.ms"].value == "86400000"
        new = [b"kafka-%d" % each for each in range(100)]
        produce(address, new)
        values += new


def test_no_producer_gets_an_id_of_another_one_after_a_stop_or_a_kill(tmp_path):
    make = request_class(ApiKeys.INIT_PRODUCER_ID)
    request = request_bytes(ApiKeys.INIT_PRODUCER_ID, 4, make(transactional_id=None), correlation_id=1, client_id="c")
    given = []
    for end in (BrokerServer.kill, BrokerServer.stop, BrokerServer.kill):
        server = BrokerServer([tmp_path / "data"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
        server.start()
        for _ in range(2):
            answer = server.broker.handle(bytearray(request)).result
            given.append(parse_response(ApiKeys.INIT_PRODUCER_ID, 4, answer)[1].producer_id)
        end(server)
    assert given == sorted(set(given)) and len(given) == 6


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_a_kill_in_the_midst(tmp_path):
    for number in range(3):
        with serving(tmp_path / "data", ends_by=signal.SIGKILL, exit_code=-9) as (address, process):
            if number == 0:
                make_topic(address)
            acknowledged = []

            def note(error, sent, acknowledged=acknowledged):
                if error is None:
                    acknowledged.append(sent.offset())

            producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
            deadline = time.monotonic() + 1 + number / 2
            while time.monotonic() < deadline:
                with suppress(BufferError):  # its queue is full
                    producer.produce("shop", b"value", partition=0, on_delivery=note)
                producer.poll(0.0001)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        del producer
        with serving(tmp_path / "data") as (address, _):
            consumer = Consumer({"bootstrap.servers": address, "group.id": "none"})
            low, high = consumer.get_watermark_offsets(TopicPartition("shop", 0), PATIENCE_S)
            consumer.close()
        assert low == 0 and high > max(acknowledged) > 0


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_the_machine_has_no_descriptors(tmp_path):
    with serving(tmp_path / "data") as (address, _):
        make_topic(address)
    acknowledged = {}

    def note(error, sent):
        if error is None:
            acknowledged[sent.partition(), sent.offset()] = sent.value()

    with (
        serving(tmp_path / "data", ends_by=signal.SIGKILL, exit_code=-9, limit="-n 48") as (address, _),
        ExitStack() as open_,
    ):
        host, port = address.split(":")
        producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "message.timeout.ms": 2000})
        deadline, number = time.monotonic() + 4, 0
        while time.monotonic() < deadline:
            number += 1
            with suppress(BufferError):  # its queue is full
                producer.produce("shop", b"%d " % number + os.urandom(700), partition=number % 2, on_delivery=note)
            producer.poll(0.001)
            if number % 20 == 0 and number < 2000:
                with suppress(OSError):
                    open_.enter_context(socket.create_connection((host, int(port)), timeout=1))
    producer.flush(5)
    del producer
    with serving(tmp_path / "data") as (address, _):
        found = set(consumed(address, len(acknowledged)))
    assert acknowledged and set(acknowledged.values()) <= found


@pytest.mark.slow
def test_a_start_that_the_disk_refuses_loses_nothing(tmp_path):
    """Files may not grow: that is refused as a full disk refuses it."""
    with serving(tmp_path / "data", ends_by=signal.SIGKILL, exit_code=-9) as (address, _):
        make_topic(address)
        produce(address, [b"a", b"b"])
    command = [*COMMAND, "--data", str(tmp_path / "data")]
    refused = subprocess.run(["bash", "-c", 'ulimit -f 200; exec "$@"', "", *command], capture_output=True, text=True)
    assert refused.returncode == 2 and "File too large" in refused.stderr
    with serving(tmp_path / "data") as (address, _):
        assert consumed(address, 2) == [b"a", b"b"]


def test_a_first_start_that_was_killed_early_goes_on(tmp_path):
    scheduler = ManualScheduler(ManualTime(0))
    SingleVoterLog(tmp_path / "a" / CLUSTER_METADATA_DIRECTORY, 1, scheduler=scheduler, time=ManualTime(0)).let_go()
    (tmp_path / "a" / "meta.properties.tmp").write_text("version")
    server = BrokerServer([tmp_path / "a", tmp_path / "b"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    server.kill()
    (tmp_path / "a" / "meta.properties").unlink()
    (tmp_path / "a" / ".lock").unlink()
    for file in (tmp_path / "a").glob("*checkpoint"):
        file.unlink()
    with pytest.raises(KafkaException, match="1 of the log directories .* not among"):
        BrokerServer([tmp_path / "a", tmp_path / "b"], {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()


KILLED_AT = """
import json, os, sys
from pathlib import Path
from minikafka.broker.broker_server import BrokerServer
from minikafka.metadata.creatable_topic import creatable_topic

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.truncate")

def start_and_stop(number, log_dirs):
    done = 0

    def kill_at(event, arguments):
        nonlocal done
        changes = event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if changes and str(arguments[0]).startswith(str(log_dirs[0].parent)):
            done += 1
            if done == number:
                os.kill(os.getpid(), 9)

    server = BrokerServer(log_dirs, {"listeners": "PLAINTEXT://127.0.0.1:0"})
    sys.addaudithook(kill_at)
    server.start()
    server.controller.create_topics([creatable_topic("shop", 2, 1)])
    server.publish()
    server.stop()

for line in sys.stdin:
    number, *log_dirs = json.loads(line)
    if os.fork() == 0:
        code = 1
        try:
            start_and_stop(number, [Path(each) for each in log_dirs])
            code = 0
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""
"""Of each line, a number and log directories, the exit code of a broker that is killed at the change of this number. A
process that has imported the broker is copied for each: Python's start would take longer than the broker's.
"""


@pytest.fixture
def killed_at():
    """`killed_at(number, *log_dirs)` is the exit code of a first start."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", KILLED_AT], text=True, **streams) as process:

        def exit_code(number, *log_dirs):
            print(json.dumps([number, *map(str, log_dirs)]), file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield exit_code
        process.stdin.close()


@pytest.mark.slow
def test_a_first_start_that_was_killed_at_any_change_of_its_files_is_made_up_for(tmp_path, share, killed_at):
    for number in share(range(1, 1000), 4):
        log_dirs = [tmp_path / f"{number}" / name for name in "ab"]
        code = killed_at(number, *log_dirs)
        assert code in (0, -9)
        server = BrokerServer(log_dirs, {"listeners": "PLAINTEXT://127.0.0.1:0"})
        server.start()
        assert server.controller.create_topics([creatable_topic("another", 2, 1)])[0].error_code == 0
        server.stop()
        shutil.rmtree(tmp_path / f"{number}")
        if not code:
            break
    assert 30 < number < 990


@pytest.mark.slow
def test_requests_are_told(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "--data", str(tmp_path / "data"), "--log-requests", "--config", "num.io.threads=3"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    address = process.stdout.readline().split("//")[1].strip()
    make_topic(address)
    produce(address, [b"a", b"b"])
    consumed(address, 2)
    process.terminate()
    told = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 0
    assert told.startswith("Warning: num.io.threads has no effect here\n")
    for words in (
        r"PRODUCE v\d+ no\. \d+ of \"rdkafka\" .* answered with \d+ bytes",
        r"CREATE_TOPICS v",
        r"FETCH v.*waited for",
    ):
        assert re.search(words, told), told


def test_directories_that_are_not_served(tmp_path):
    served = BrokerServer([tmp_path / "a", tmp_path / "b"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    served.start()
    with pytest.raises(KafkaException, match="Failed to acquire"):
        BrokerServer([tmp_path / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()
    served.stop()
    before = sorted(tmp_path.rglob("*"))

    def refused(*log_dirs, node_id=1):
        server = BrokerServer(log_dirs, {"listeners": "PLAINTEXT://127.0.0.1:0"}, node_id=node_id)
        with pytest.raises(KafkaException) as raised:
            server.start()
        return str(raised.value)

    assert "is of node 1, not of node 2" in refused(tmp_path / "a", node_id=2)
    assert f"has no {CLUSTER_METADATA_DIRECTORY}" in refused(tmp_path / "b", tmp_path / "a")
    assert sorted(tmp_path.rglob("*")) == before
    shutil.copytree(tmp_path / "a", tmp_path / "without-a-file")
    (tmp_path / "without-a-file" / CLUSTER_METADATA_DIRECTORY / f"{0:020}.log").unlink()
    assert f"has no {CLUSTER_METADATA_DIRECTORY} with a log" in refused(tmp_path / "without-a-file")
    shutil.copytree(tmp_path / "a", tmp_path / "kafkas")
    (tmp_path / "kafkas" / "bootstrap.checkpoint").write_bytes(b"")
    assert "was written by Kafka (bootstrap.checkpoint)" in refused(tmp_path / "kafkas")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear").write_text("")
    assert "is not empty and has no meta.properties" in refused(tmp_path / "letters")
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["dear"]
    again = BrokerServer([tmp_path / "a", tmp_path / "b"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    again.start()
    again.stop()


@pytest.mark.parametrize(
    "name",
    [
        f"{CLUSTER_METADATA_DIRECTORY}/quorum-state.tmp",
        f"{CLUSTER_METADATA_DIRECTORY}/00000000000000000000.index",
        "recovery-point-offset-checkpoint.tmp",
        "shop-0/leader-epoch-checkpoint.tmp",
        "shop-0/00000000000000000000.timeindex",
        "shop-7",
    ],
)
def test_no_link_is_followed(tmp_path, name):
    server = BrokerServer([tmp_path / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    server.controller.create_topics([creatable_topic("shop", 2, 1)])
    server.stop()
    (tmp_path / "elsewhere").write_bytes(b"precious")
    (tmp_path / "a" / name).unlink(missing_ok=True)
    (tmp_path / "a" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IOException, match=f"{name} is a symbolic link to"):
        BrokerServer([tmp_path / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()
    assert (tmp_path / "elsewhere").read_bytes() == b"precious"


def test_no_pipe_is_opened_and_what_cannot_be_listed_hides_no_link(tmp_path):
    server = BrokerServer([tmp_path / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    server.stop()
    (tmp_path / "a" / "meta.properties").rename(tmp_path / "kept")
    os.mkfifo(tmp_path / "a" / "meta.properties")
    with pytest.raises(IOException, match=r"meta.properties is a FIFO, not a regular file"):
        BrokerServer([tmp_path / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()
    (tmp_path / "kept").rename(tmp_path / "a" / "meta.properties")
    (tmp_path / "a" / CLUSTER_METADATA_DIRECTORY / "quorum-state.tmp").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a" / "a-0").mkdir()

    def look_into(directory):
        if directory.name == "a-0":
            raise PermissionError(directory)
        return partition_files.look_into(directory)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(IOException, match="quorum-state.tmp is a symbolic link"):
        patch.setattr(broker_server, "look_into", look_into)
        BrokerServer([tmp_path / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()


@pytest.mark.parametrize("held", ["a", "b"])
def test_nothing_is_changed_while_another_process_has_the_lock(tmp_path, held):
    """Kafka runs on a directory that `serve` has begun: not even the metadata log is opened."""
    log_dirs = [tmp_path / "a", tmp_path / "b"]
    server = BrokerServer(log_dirs, {"listeners": "PLAINTEXT://127.0.0.1:0"})
    server.start()
    server.controller.create_topics([creatable_topic("shop", 2, 1)])
    server.kill()

    def files():
        found = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != ".lock"]
        return {file: (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) for file in found}

    before, lock = files(), FileLock(tmp_path / held / ".lock")
    assert lock.try_lock()
    with pytest.raises(KafkaException, match=f"Failed to acquire lock on file .lock in {tmp_path / held}"):
        BrokerServer(log_dirs, {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()
    with pytest.raises(KafkaException, match="Duplicate log directory found"):
        BrokerServer([*log_dirs, tmp_path / "b" / ".." / "a"], {"listeners": "PLAINTEXT://127.0.0.1:0"}).start()
    assert files() == before
    lock.unlock_and_close()
    again = BrokerServer(log_dirs, {"listeners": "PLAINTEXT://127.0.0.1:0"})
    again.start()
    assert "shop" in again.controller.image.topics.topics_by_name
    again.stop()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--config", "log.retention.hour=1"], "ConfigException: Unknown configuration log.retention.hour"),
        (["--config", "log.retention.hours"], "--config log.retention.hours: K=V is expected"),
        (["--config", "node.id=4"], "--config node.id=4: --node-id says that"),
        (["--config", "log.dirs=/elsewhere"], "--config log.dirs=/elsewhere: --data says that"),
        (["--config", "listeners=PLAINTEXT://:70000"], "IllegalArgumentException: port out of range:70000"),
        (
            ["--config", "log.retention.hours=0"],
            "IllegalArgumentException: requirement failed: log.retention.ms must be",
        ),
        (["--config", "num.io.threads=0"], "ConfigException: Invalid value 0 for configuration num.io.threads: Value"),
        (
            ["--config", "ssl.client.auth=maybe"],
            "ConfigException: Invalid value maybe for configuration ssl.client.auth",
        ),
        (["--config", "listeners=SSL://127.0.0.1:0"], "minikafka serves PLAINTEXT"),
    ],
)
def test_settings_that_are_refused(tmp_path, monkeypatch, options, told):
    # What the command changes of its process is kept from this one.
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setattr("minikafka.cli.serve.compile_behind", lambda: None)
    refused = CliRunner().invoke(main, ["serve", "--port", "0", "--data", str(tmp_path / "data"), *options])
    assert (refused.exit_code, refused.stdout) == (2, "") and told in refused.stderr.splitlines()[-1]


def test_settings_with_an_effect_are_kafkas():
    assert kafka_config_def().config_keys.keys() >= SERVED


@pytest.mark.slow
def test_the_table_of_settings_is_kafkas(kafka):
    assert FILE.read_text(encoding="utf-8") == as_text(settings(kafka))
    assert sorted(kafka_settings("topic")) == LogConfig.config_names()
