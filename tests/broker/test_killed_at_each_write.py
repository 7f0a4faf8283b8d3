"""A broker that is killed at any write of a produce, or of a controller's record: what was acknowledged is there."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minikafka.broker.broker_server import BrokerServer
from minikafka.common.config_resource import ConfigResource
from minikafka.common.topic_partition import TopicPartition
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.network.request_channel import Ticket
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "log.segment.bytes": "1048576",
    "log.index.size.max.bytes": "4096",
    "log.initial.task.delay.ms": "86400000",
}
ROOT = Path(__file__).parents[2]
BATCH = 300_000
"""Bytes of a produced batch: every fourth one rolls a segment."""

STEPS = 9
WORKER = """
import json, os, sys
from pathlib import Path
from minikafka.common import file_ops
from tests.broker.test_killed_at_each_write import go_through, started

CHANGES = ("pwrite", "ftruncate", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir")

def kill_at(number):
    done = 0

    def counted(name, call):
        def call_or_die(*arguments, **named):
            nonlocal done
            done += 1
            if done == number:
                if name == "pwrite":  # half of the bytes are there
                    file, data, position = arguments
                    call(file, memoryview(data).cast("B")[: len(data) // 2], position)
                os.kill(os.getpid(), 9)
            return call(*arguments, **named)

        return call_or_die

    for name in CHANGES:
        setattr(os, name, counted(name, getattr(os, name)))
    file_ops.flush_mapped = counted("flush", file_ops.flush_mapped)

for line in sys.stdin:
    number, log_dir = json.loads(line)
    if os.fork() == 0:
        code = 1
        try:
            server = started(Path(log_dir))
            kill_at(number)
            for step in go_through(server):
                os.write(1, b"%d " % step)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    os.write(1, b"%d\\n" % code)
"""
"""Of each line, a number and a log directory: the steps that were acknowledged before this change of files, at which
the broker is killed, and the exit code. A process that has imported the broker is copied for each.
"""


def started(log_dir):
    server = BrokerServer([log_dir], SETTINGS)
    server.start()
    return server


def ask(server, api, version, body):
    """The body of the answer, which has come as if over a socket."""
    ticket = Ticket()
    data = bytearray(request_bytes(api, version, body, correlation_id=1, client_id="c"))
    server.broker.receive(data, ticket.answer, "PLAINTEXT", "127.0.0.1")
    server.publish()
    return parse_response(api, version, ticket.result)[1]


def batch(sequence):
    now_ms = time.time_ns() // 1_000_000  # a producer is forgotten a day after its last record
    records = [SimpleRecord(now_ms, None, b"%d" % sequence + bytes(BATCH - 1))]
    return MemoryRecords.with_idempotent_records(CompressionType.NONE, 7, 0, sequence, *records)


def produce(server, sequence):
    """The error's number; a batch of the same sequence that is there already is not appended again."""
    make = request_class(ApiKeys.PRODUCE)
    topic = make.TopicProduceData
    data = topic.PartitionProduceData(index=0, records=bytes(batch(sequence).buffer))
    body = make(acks=-1, timeout_ms=9000, topic_data=[topic(name="shop", partition_data=[data])])
    return ask(server, ApiKeys.PRODUCE, 9, body).responses[0].partition_responses[0].error_code


def change_setting(server, value):
    make = request_class(ApiKeys.INCREMENTAL_ALTER_CONFIGS)
    resource = make.AlterConfigsResource
    config = resource.AlterableConfig(name="flush.messages", config_operation=0, value=value)
    topic = resource(resource_type=2, resource_name="shop", configs=[config])
    return ask(server, ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, make(resources=[topic])).responses[0].error_code


def create(server, name):
    make = request_class(ApiKeys.CREATE_TOPICS)
    body = make(topics=[make.CreatableTopic(name=name, num_partitions=2, replication_factor=1)], timeout_ms=9000)
    return ask(server, ApiKeys.CREATE_TOPICS, 7, body).topics[0].error_code


def delete(server, name):
    make = request_class(ApiKeys.DELETE_TOPICS)
    return ask(server, ApiKeys.DELETE_TOPICS, 5, make(topic_names=[name], timeout_ms=9000)).responses[0].error_code


def go_through(server):
    """Give a step's number when it was acknowledged."""
    for step in range(STEPS):
        if step < 6:
            assert produce(server, step) == 0
        elif step == 6:
            assert create(server, "new") == 0
        elif step == 7:
            assert change_setting(server, "7") == 0
        else:
            assert delete(server, "old") == 0
        yield step


def what_is_there(server):
    """The steps of which something is there."""
    log = server.broker.log_manager.get_log(TopicPartition("shop", 0))
    found, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        for each in log.read(offset, max_length=2**31 - 1).records.records():
            number = each.value.rstrip(b"\0")
            assert len(each.value) == BATCH - 1 + len(number) and each.offset == len(found) == int(number)
            found.append(int(number))
            offset = each.offset + 1
    image = server.broker.metadata_cache.image
    if (topic := image.topics.get_topic("new")) is not None:
        assert topic.partitions.keys() == {0, 1}
        found.append(6)
    if image.configs.config_map_for_resource(ConfigResource.topic("shop")) == {"flush.messages": "7"}:
        found.append(7)
    if image.topics.get_topic("old") is None:
        found.append(8)
    return found


@pytest.fixture
def killed_at():
    """`killed_at(number, log_dir)` is what was acknowledged, and the exit code."""
    command = [sys.executable, "-c", WORKER]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=ROOT, text=True, **streams) as process:

        def steps_and_code(number, log_dir):
            print(json.dumps([number, str(log_dir)]), file=process.stdin, flush=True)
            *steps, code = map(int, process.stdout.readline().split())
            return steps, code

        yield steps_and_code
        process.stdin.close()


@pytest.mark.slow
def test_what_was_acknowledged_is_there_whole_and_the_broker_goes_on(tmp_path, share, killed_at):
    server = started(tmp_path / "begun")
    server.controller.create_topics([creatable_topic("shop", 1, 1), creatable_topic("old", 2, 1)])
    server.publish()
    server.kill()
    everything = list(range(STEPS))
    for number in share(range(1, 1000), 4):
        log_dir = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "begun", log_dir)
        acknowledged, code = killed_at(number, log_dir)
        assert code in (0, -9) and acknowledged == everything[: len(acknowledged)]
        # 1. What was acknowledged is there; of what was not, all or nothing.
        server = started(log_dir)
        found = what_is_there(server)
        assert found in (acknowledged, everything[: len(acknowledged) + 1]), (number, acknowledged, found)
        # 2. The broker goes on: a client asks again for what was not acknowledged.
        for step in everything[len(acknowledged) : 6]:
            assert produce(server, step) == 0
        assert create(server, "another") == 0
        assert what_is_there(server)[:6] == everything[:6]
        server.stop()
        shutil.rmtree(log_dir)
        if not code:
            break
    assert 20 < number < 990
