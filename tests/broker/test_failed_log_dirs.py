"""Log directories that fail while a broker serves clients: where Kafka halts, the node ends; else it goes on."""

import errno
import gc
import os
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from confluent_kafka.admin import NewTopic

from minikafka.broker.broker_server import BrokerServer
from minikafka.common import file_ops
from minikafka.common.errors import FatalExitError, IllegalStateException, KafkaException, KafkaStorageException
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.testing import Broker
from tests.librdkafka_clients import AdminClient

PATIENCE_S = 20
SETTINGS = {"listeners": "PLAINTEXT://127.0.0.1:0"}


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Halted:
    """Keeps what the process would have been ended for."""

    def __init__(self):
        self.reasons = []

    def __call__(self, fatal):
        self.reasons.append(str(fatal))


@pytest.fixture
def halted():
    return Halted()


@pytest.fixture
def two_dirs(tmp_path, halted):
    server = BrokerServer([tmp_path / "a", tmp_path / "b"], SETTINGS, halt=halted)
    server.start()
    yield server
    server.stop()


def fail(server, log_dir):
    server.broker.log_manager.log_dir_failure_channel.maybe_add_offline_log_dir(
        log_dir, "the disk is gone", OSError(errno.EIO, os.strerror(errno.EIO))
    )


def make_topic(server, name, partitions=2):
    [result] = server.controller.create_topics([creatable_topic(name, partitions, 1)])
    server.publish()
    return result


def test_a_node_goes_on_without_its_second_directory_and_stops_in_order(two_dirs, halted, caplog):
    make_topic(two_dirs, "t")
    first, second = two_dirs.log_dirs
    fail(two_dirs, second)
    wait_until(lambda: two_dirs.broker.log_manager.live_log_dirs == [first])
    assert make_topic(two_dirs, "u").error_code == 0
    logs = list(two_dirs.broker.log_manager.all_logs)
    caplog.clear()
    two_dirs.stop()
    assert two_dirs.fatal is None and halted.reasons == []
    assert (first / ".kafka_cleanshutdown").exists() and not (second / ".kafka_cleanshutdown").exists()
    assert logs and all(not segment.log.channel.is_open for log in logs for segment in log.log_segments)
    again = BrokerServer([first, second], SETTINGS)
    again.start()
    assert {str(log.topic_partition) for log in again.broker.log_manager.all_logs} == {"t-0", "t-1", "u-0", "u-1"}
    again.stop()
    two_dirs.stop()  # once more: nothing


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_node_is_started_once_and_stopped_as_often_as_one_likes(tmp_path, by_hand):
    server = BrokerServer([tmp_path / "a"], SETTINGS)
    server.stop()
    server.kill()
    server.start(by_hand=by_hand)
    with pytest.raises(IllegalStateException, match="started once"):
        server.start()
    assert make_topic(server, "t").error_code == 0
    for end in (server.stop, server.stop, server.kill):
        end()
    with pytest.raises(IllegalStateException, match="started once"):
        server.start()
    again = BrokerServer([tmp_path / "a"], SETTINGS)
    again.start(by_hand=by_hand)
    assert again.controller.image.topics.get_topic("t") is not None
    again.stop()


@pytest.mark.slow
def test_starts_that_are_refused_leave_no_descriptor_open(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear").write_text("")
    gc.collect()  # what an earlier test has left open would be closed at any time
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(KafkaException):
            BrokerServer([tmp_path / "letters"], SETTINGS).start()
    assert os.listdir("/proc/self/fd") == before


def test_a_node_ends_when_the_directory_of_its_metadata_log_fails(two_dirs, halted):
    first, _ = two_dirs.log_dirs
    fail(two_dirs, first)
    wait_until(lambda: halted.reasons)
    assert halted.reasons == [f"Shutdown broker because the metadata log dir {first} has failed"]
    two_dirs.stop()
    assert not list(first.parent.glob("*/.kafka_cleanshutdown")), "nothing more is written"


def test_a_node_ends_when_its_metadata_log_cannot_be_written(two_dirs, halted, monkeypatch):
    written = file_ops.fsync

    def fsync(fd):
        if "__cluster_metadata" in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        written(fd)

    monkeypatch.setattr(file_ops, "fsync", fsync)
    with pytest.raises(KafkaStorageException):
        make_topic(two_dirs, "t")
    wait_until(lambda: halted.reasons)
    [reason] = halted.reasons
    assert reason.startswith(f"Shutdown broker because the metadata log {two_dirs.log_dirs[0]}")


def test_a_start_fails_when_the_only_directory_fails_meanwhile(tmp_path, halted, monkeypatch):
    server = BrokerServer([tmp_path / "a"], SETTINGS, halt=halted)

    def fail_first():
        fail(server, tmp_path / "a")
        wait_until(lambda: server.fatal)

    monkeypatch.setattr(server.sockets, "start", fail_first)
    with pytest.raises(FatalExitError, match="all log dirs in .*/a have failed"):
        server.start()
    assert halted.reasons == []
    server.stop()
    again = BrokerServer([tmp_path / "a"], SETTINGS)
    again.start()
    again.stop()


@pytest.mark.slow
def test_a_directory_that_is_missing_at_a_start_is_asked_for(two_dirs, tmp_path):
    """Its disk may not be mounted: its partitions would begin anew, empty."""
    make_topic(two_dirs, "t", 4)
    two_dirs.stop()
    first, second = two_dirs.log_dirs
    second.rename(tmp_path / "away")

    def refused(*log_dirs):
        with pytest.raises(KafkaException, match="1 of the log directories .* not among"):
            BrokerServer(log_dirs, SETTINGS).start()

    refused(first, second)
    refused(first)
    second.mkdir()
    refused(first, second)
    assert not any(second.iterdir())
    second.rmdir()
    (tmp_path / "away").rename(tmp_path / "moved")
    found = BrokerServer([first, tmp_path / "moved"], SETTINGS)
    found.start()
    assert len(found.broker.log_manager.all_logs) == 4
    found.stop()
    for forgets in (True, False):
        goes_on = BrokerServer([first], SETTINGS, forgets_missing=forgets)
        goes_on.start()
        assert {log.dir.parent for log in goes_on.broker.log_manager.all_logs} == {first}
        goes_on.stop()
    added = BrokerServer([first, tmp_path / "new"], SETTINGS)
    added.start()
    added.stop()


FAILS_SOON = {"replica.high.watermark.checkpoint.interval.ms": "50"}


def spoil(log_dir):
    """Put a directory where the broker writes every 50 ms: between two of its writes."""
    while True:
        with suppress(FileExistsError, NotADirectoryError):
            (log_dir / "replication-offset-checkpoint.tmp" / "x").mkdir(parents=True)
            return


@pytest.mark.slow
@pytest.mark.parametrize("process", [False, True])
def test_a_broker_of_a_test_ends_by_itself_and_starts_anew(tmp_path, process):
    with Broker(tmp_path / "kept", topics={"t": 1}, settings=FAILS_SOON, process=process) as broker:
        broker.append("t", 0, b"a")
        spoil(tmp_path / "kept")

        def has_ended():
            try:
                broker.advance(100)
            except IllegalStateException as error:
                return "The broker has ended by itself: Shutdown broker because" in str(error)

        wait_until(has_ended)
        with pytest.raises(IllegalStateException, match="all log dirs in .*/kept have failed"):
            broker.records("t", 0)
        broker.stop()
        for path in ("replication-offset-checkpoint.tmp/x", "replication-offset-checkpoint.tmp"):
            (tmp_path / "kept" / path).rmdir()
        broker.start()
        assert [each.value for each in broker.records("t", 0)] == [b"a"]


@pytest.mark.slow
@pytest.mark.parametrize("failing", ["a", "b"])
def test_the_command_ends_with_one_line_when_it_cannot_go_on(tmp_path, failing):
    command = [sys.executable, "-c", "from minikafka.cli import main; main()", "serve", "--port", "0"]
    settings = [f"--config={name}={value}" for name, value in FAILS_SOON.items()]
    data = [f"--data={tmp_path / name}" for name in ("a", "b")[: 2 if failing == "b" else 1]]
    with subprocess.Popen([*command, *settings, *data], stdout=-1, stderr=-1, text=True) as process:
        try:
            address = process.stdout.readline().split("//")[1].strip()
            admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
            [made] = admin.create_topics([NewTopic("t", 2, 1)]).values()
            made.result(PATIENCE_S)
            spoil(tmp_path / failing)
            if failing == "b":
                time.sleep(1)
                assert admin.list_topics(timeout=PATIENCE_S).topics.keys() == {"t"}
                process.terminate()
            told = process.communicate(timeout=PATIENCE_S)[1]
        finally:
            process.kill()
    assert "Traceback" not in told
    last = told.splitlines()[-1]
    if failing == "a":
        assert process.returncode == 1
        assert last == f"Shutdown broker because all log dirs in {tmp_path / 'a'} have failed"
        assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    else:
        assert process.returncode == 0, told
        assert (tmp_path / "a" / ".kafka_cleanshutdown").exists()
        assert not (tmp_path / "b" / ".kafka_cleanshutdown").exists()
