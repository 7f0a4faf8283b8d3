"""Programs of users work with `minikafka serve`: kcat, aiokafka, Kafka's tools in Java. None of them joins a group."""

import asyncio
import json
import shutil
import subprocess

import pytest

from minikafka.witness.kafka.kafka_tools import run_tool
from tests.absent import absent
from tests.broker.test_broker_server import serving

pytestmark = pytest.mark.slow

PATIENCE_S = 30
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
LINES = [f"key-{number}:value {number}" for number in range(300)]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served") / "data", settings=["num.partitions=2"]) as (address, _):
        yield address


@pytest.fixture(scope="module")
def kcat(address):
    """`kcat(*arguments, stdin="")` is what kcat prints. Its absence fails the tests in CI, and skips them elsewhere."""
    if shutil.which("kcat") is None:
        absent("no kcat on this machine")

    def run(*arguments, stdin=""):
        command = ["kcat", "-b", address, "-m", str(PATIENCE_S), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=2 * PATIENCE_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("codec", CODECS)
def test_kcat_writes_and_reads(kcat, codec):
    topic = f"kcat-{codec}"
    kcat("-P", "-t", topic, "-p", "1", "-z", codec, "-K:", stdin="\n".join(LINES))
    read = kcat("-C", "-t", topic, "-p", "1", "-o", "beginning", "-e", "-q", "-f", "%o %p %k:%s\n")
    assert read.splitlines() == [f"{offset} 1 {line}" for offset, line in enumerate(LINES)]
    assert kcat("-C", "-t", topic, "-p", "1", "-o", "-2", "-e", "-q", "-K:").splitlines() == LINES[-2:]
    assert kcat("-C", "-t", topic, "-p", "1", "-o", "7", "-c", "1", "-q").splitlines() == ["value 7"]


def test_kcat_asks_for_offsets_and_metadata(kcat, address):
    kcat("-P", "-t", "asked", "-p", "0", "-X", "enable.idempotence=true", stdin="a\nb\nc")
    end, start = (kcat("-Q", "-t", f"asked:0:{timestamp}").split() for timestamp in (-1, -2))
    assert (end, start) == (["asked", "[0]", "offset", "3"], ["asked", "[0]", "offset", "0"])
    told = json.loads(kcat("-L", "-J", "-t", "asked"))
    assert [broker["name"] for broker in told["brokers"]] == [address]
    [topic] = told["topics"]
    assert [(each["partition"], each["leader"], each["isrs"]) for each in topic["partitions"]] == [
        (0, 1, [{"id": 1}]),
        (1, 1, [{"id": 1}]),
    ]


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", [None, "gzip"])
def test_aiokafka_writes_and_reads(address, idempotent, codec):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka import TopicPartition as Partition

    partition = Partition(f"aio-{idempotent}-{codec}", 1)

    async def write_and_read():
        producer = AIOKafkaProducer(
            bootstrap_servers=address, acks="all", enable_idempotence=idempotent, compression_type=codec
        )
        await producer.start()
        sent = [await producer.send(partition.topic, line.encode(), partition=1) for line in LINES]
        assert [(await each).offset for each in sent] == list(range(len(LINES)))
        await producer.stop()
        consumer = AIOKafkaConsumer(bootstrap_servers=address, group_id=None)
        await consumer.start()
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        assert await consumer.end_offsets([partition]) == {partition: len(LINES)}
        found = []
        while len(found) < len(LINES):
            found += (await consumer.getmany(timeout_ms=PATIENCE_S * 1000)).get(partition, [])
        await consumer.stop()
        return [(record.offset, record.value.decode()) for record in found]

    assert asyncio.run(asyncio.wait_for(write_and_read(), PATIENCE_S)) == list(enumerate(LINES))


@pytest.mark.kafka
def test_kafkas_tools_write_read_and_delete_records(kafka_jvms, address, tmp_path):
    def run(name, *arguments, server="--bootstrap-server", stdin=""):
        finished = run_tool(f"org.apache.kafka.tools.{name}", server, address, *arguments, stdin=stdin.encode())
        assert finished.exit_code == 0, finished
        return finished.stdout

    def offsets(time):
        return run("GetOffsetShell", "--topic", "console", "--time", time).split()

    # 1. The console's producer, and its consumer, which reads a partition.
    run("TopicCommand", "--create", "--topic", "console", "--partitions", "2")
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    run("ConsoleProducer", "--topic", "console", "--compression-codec", "lz4", *keyed, stdin="\n".join(LINES))
    ends = offsets("latest")
    count = {line.split(":")[1]: int(line.split(":")[2]) for line in ends}
    assert sum(count.values()) == len(LINES) and offsets("earliest") == ["console:0:0", "console:1:0"]
    read = []
    for partition, records in count.items():
        printed = ("--formatter-property", "print.key=true", "--formatter-property", "key.separator=:")
        places = ("--partition", partition, "--offset", "earliest", "--max-messages", str(records))
        read += run("consumer.ConsoleConsumer", "--topic", "console", *places, *printed).splitlines()
    assert sorted(read) == sorted(LINES)
    # 2. Records are deleted, and the log begins later.
    wanted = {"version": 1, "partitions": [{"topic": "console", "partition": 1, "offset": 10}]}
    (tmp_path / "wanted.json").write_text(json.dumps(wanted))
    assert "console-1\tlow_watermark: 10" in run("DeleteRecordsCommand", "--offset-json-file", tmp_path / "wanted.json")
    assert offsets("earliest") == ["console:0:0", "console:1:10"] and offsets("latest") == ends
    # 3. What the topic has on the disk, and what a fast producer adds.
    arguments = ("--topic", "fast", "--num-records", "20000", "--record-size", "100", "--throughput", "-1")
    told = run("ProducerPerformance", *arguments, "--command-property", "acks=all")
    assert told.splitlines()[-1].startswith("20000 records sent"), told
    told = run("LogDirsCommand", "--describe", "--topic-list", "console,fast")
    [log_dir] = json.loads(told.splitlines()[-1])["brokers"][0]["logDirs"]
    sizes = {each["partition"]: each["size"] for each in log_dir["partitions"]}
    assert sizes.keys() == {"console-0", "console-1", "fast-0", "fast-1"}
    assert sizes["fast-0"] + sizes["fast-1"] > 20_000 * 100
