"""Questions about topics, answered by Spark from a broker's directory, and by its peers from that broker, in one run.

The peers are Spark's own Kafka connector, Python's clients, and Parquet files of the same records (which the job
`export` writes here). Each question is asked of all of them in turn, for as many rounds; the best time counts. Each
answer is compared. A ratio above 1 means that minikafka is faster than the connector. "two cores": the same question,
with Spark's JVM and its Python workers on one core together, takes so many times as long.

    python benchmarks/spark_read_bench.py [--gb 0.5] [--rounds 3] [--no-clients] [--topics 100-zstd] [--data DIR]
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import zstandard
from crc32c import crc32c
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_bench_clients import CLIENTS
from spark_bench_session import AS_KAFKA_STARTS_IT, CORES, best_of, session, timed
from spark_bench_topics import PARTITIONS, Topic, create_topics, topics_of, write_topic
from spark_connector import VERSION, connector_jars

from minikafka.jvm.java_home import java_home
from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError
from minikafka.record.format.batch_header import COMPRESSION_CODEC_MASK, HEADER, LOG_OVERHEAD, RECORD_BATCH_OVERHEAD
from minikafka.record.format.record_batch import ATTRIBUTES_OFFSET
from minikafka.spark.jobs.byte_ranges import for_each_task, ranges
from minikafka.spark.jobs.export import export
from minikafka.spark.jobs.profile import profile
from minikafka.spark.source.damage import Mode, OnDamage
from minikafka.spark.source.read_task import ByteRange, ReadTask
from minikafka.spark.source.record_rows import RecordRows, RowFilter
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.witness.kafka.kafka_broker import KafkaBroker

NAMES = {
    "rows": "whole rows: count, bytes of values",
    "values": "values alone: count, bytes",
    "columns": "no values: count, last offset and time",
    "batches": "batches: codecs, bytes, records",
    "headers": "batches, checksums not checked",
    "segments": "segments: bytes",
    "job": "a job: count, bytes of values, by key's hash",
    "profile": "the job profile",
}
GOALS = {
    ("rows", 100): 1.2, ("rows", 1000): 1.5, ("columns", 100): 1.5, ("columns", 1000): 3, ("batches", 100): 20,
    ("batches", 1000): 20, ("headers", 100): 20, ("headers", 1000): 20, ("segments", 100): 20, ("segments", 1000): 20,
    ("job", 100): 5, ("job", 1000): 5, ("profile", 100): 5, ("profile", 1000): 5,
}  # fmt: skip
GOALS_OF_TWO_CORES = {"rows": 1.3, "job": 1.6, "profile": 1.6}
EXPORT_GOAL = 200
BYTES_A_TASK = 2 << 30
"""A task for each partition of 4 GB, as the connector has it."""
BATCH_COLUMNS = "codec string, producerId bigint, size int, records int"
WITH_CONNECTOR = {"rows": "rows", "values": "rows", "columns": "columns", "job": "by key"}
"""What the connector is asked beside a question.

The others it cannot answer; it must read all records for any of them, so its quickest answer stands beside them.
"""


class Side(NamedTuple):
    """Where records come from: `records`, maybe of some columns alone."""

    name: str
    records: Callable[[str | None], DataFrame]


class Questions:
    """The questions about one topic; each returns its answer."""

    def __init__(self, spark: SparkSession, topic: Topic, log_dir: Path, servers: str):
        self._spark = spark
        self._topic = topic
        self._log_dir = str(log_dir)
        self._servers = servers
        self._options = {
            "subscribe": topic.name,
            "minPartitions": spark.sparkContext.defaultParallelism,
            "maxBytesPerTask": BYTES_A_TASK,
        }

    def minikafka(self, columns: str | None = None, **options: str) -> DataFrame:
        """The records, or another table, of the broker's directory."""
        reader = self._spark.read.format("minikafka").options(**self._options, **options)
        return (reader.schema(columns) if columns else reader).load(self._log_dir)

    def connector(self) -> DataFrame:
        """The records as the connector reads them from the broker."""
        reader = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._servers)
        return reader.option("subscribe", self._topic.name).load()

    def ranges(self) -> DataFrame:
        """What a job starts from."""
        return ranges(self._spark, [self._log_dir], **self._options)

    def ask(self, question: str) -> tuple:
        """minikafka's answer."""
        match question:
            case "rows":
                return rows_of(self.minikafka())
            case "values":
                return rows_of(self.minikafka("value binary"))
            case "columns":
                return columns_of(self.minikafka("partition int, offset bigint, timestamp timestamp"))
            case "batches":
                return batches_of(self.minikafka(BATCH_COLUMNS, table="batches"))
            case "headers":
                return batches_of(self.minikafka(BATCH_COLUMNS, table="batches", checkCrcs="false"))
            case "segments":
                return tuple(self.minikafka(table="segments").agg(F.count("*"), F.sum("size")).first())
            case "job":
                return by_key(for_each_task(self.ranges(), partial_sums, "h bigint, n bigint, size bigint"))
            case "profile":
                return tuple(profile(self.ranges()).select("records", "recordBytes").first())
        raise ValueError(question)

    def ask_connector(self, kind: str) -> tuple:
        """The connector's answer to a question of that kind."""
        if kind != "by key":
            return (rows_of if kind == "rows" else columns_of)(self.connector())
        rows = self.connector().select(
            (F.ascii(F.substring("key", -1, 1).cast("string")) % 16).cast("bigint").alias("h"),
            F.lit(1).alias("n"),
            F.length("value").cast("bigint").alias("size"),
        )
        return by_key(rows)


def rows_of(records: DataFrame) -> tuple:
    return tuple(records.selectExpr("count(*)", "sum(length(value))").first())


def columns_of(records: DataFrame) -> tuple:
    return tuple(records.selectExpr("count(*)", "max(offset)", "max(timestamp)").first())


def batches_of(batches: DataFrame) -> tuple:
    sums = batches.groupBy("codec", "producerId").agg(F.count("*"), F.sum("size"), F.sum("records"))
    return tuple(sums.first())


def by_key(sums: DataFrame) -> tuple:
    """Records and bytes of values by a small hash of the key."""
    return tuple(map(tuple, sums.groupBy("h").agg(F.sum("n"), F.sum("size")).orderBy("h").collect()))


def partial_sums(found: Iterator[ByteRange]) -> Iterator[pa.RecordBatch]:
    """In a worker: what `by_key` adds up, already added up for each few megabytes."""
    schema = pa.schema([("key", pa.binary()), ("valueSize", pa.int32())])
    rows = RecordRows(schema, RowFilter(), OnDamage.of(Mode.FAILFAST), check_crcs=True)
    for batch in rows.of(ReadTask(list(found), [], 0)):
        keys, sizes = batch.columns
        ends = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset + 1 : keys.offset + len(keys) + 1]
        hashes = np.frombuffer(keys.buffers()[2], np.uint8)[ends - 1] % 16  # no key is null or empty
        table = pa.table({"h": hashes.astype(np.int64), "size": sizes.cast(pa.int64())})
        sums = table.group_by("h").aggregate([("size", "count"), ("size", "sum")])
        yield from sums.rename_columns(["h", "n", "size"]).to_batches()


def against_the_connector(questions: Questions, topic: Topic, rounds: int, jars: list[str]) -> dict[str, float]:
    """Ask every question, print the ratios, and return our seconds."""
    sides = {question: partial(questions.ask, question) for question in NAMES}
    if jars:
        kinds = sorted(set(WITH_CONNECTOR.values()))
        sides |= {f"connector {kind}": partial(questions.ask_connector, kind) for kind in kinds}
    best = best_of(rounds, sides)
    for question, told in NAMES.items():
        seconds, answer = best[question]
        theirs, ratio, goal = "not run", "", GOALS.get((question, topic.size), "")
        if jars:
            asked = [WITH_CONNECTOR[question]] if question in WITH_CONNECTOR else kinds
            taken, other = min(best[f"connector {kind}"] for kind in asked)
            if question in WITH_CONNECTOR and answer != other:
                raise AssertionError(f"{question} of {topic.name}: {answer}, and the connector's {other}")
            theirs, ratio = f"{taken:8.2f} s", f"{taken / seconds:6.2f}"
        print(f"{topic.name:18} {told:46} {seconds:8.2f} s {theirs:>10} {ratio:>6}   {goal}", flush=True)
    return {question: best[question][0] for question in NAMES}


def floor(topic: Topic, log_dir: Path, rounds: int) -> None:
    """How long as many processes as cores need to read the files and decompress the batches, and for nothing else."""
    files = [str(each) for each in log_dir.glob(f"{topic.name}-*/*.log")]
    with ProcessPoolExecutor(CORES) as processes:
        seconds, answer = best_of(rounds, {"": lambda: (sum(processes.map(checked_and_decompressed, files)),)})[""]
    if answer < (topic.value_bytes,):
        raise AssertionError(f"{answer} of at least {topic.value_bytes} bytes")
    print(f"{topic.name:18} {'reading, checksums, decompressing alone':46} {seconds:8.2f} s", flush=True)


def checked_and_decompressed(file: str) -> int:
    """The bytes of a file's batches, which are small, decompressed; their checksums are computed."""
    size = position = 0
    zstd = zstandard.ZstdDecompressor()
    room = memoryview(bytearray(1 << 20))
    with open(file, "rb") as log:
        while count := os.preadv(log.fileno(), [room], position):
            at = 0
            while at + RECORD_BATCH_OVERHEAD <= count:
                fields = HEADER.unpack_from(room, at)
                end = at + LOG_OVERHEAD + fields[1]
                if end > count:
                    break
                if crc32c(room[at + ATTRIBUTES_OFFSET : end]) != fields[4]:
                    raise AssertionError(f"a wrong checksum at {position + at} of {file}")
                body = room[at + RECORD_BATCH_OVERHEAD : end]
                size += len(zstd.decompressobj().decompress(body) if fields[5] & COMPRESSION_CODEC_MASK else body)
                at = end
            position += at
    return size


def export_and_parquet(questions: Questions, topic: Topic, spark: SparkSession, home: Path, rounds: int) -> None:
    """Export the topic to Parquet, and ask these files."""
    written = float("inf")
    for number in range(rounds):
        to = home / f"{topic.name}-{number}.parquet"
        run = partial(export, questions.ranges(), to=str(to))
        taken, answer = timed(lambda run=run: tuple(run().agg(F.sum("records")).first()))
        if answer != (topic.records,):
            raise AssertionError(f"{answer} of {topic.records} records were exported")
        written = min(written, taken)
        if number:
            shutil.rmtree(home / f"{topic.name}-{number - 1}.parquet")
    speed = topic.value_bytes / written / 1e6
    told = f"{written:8.2f} s {speed:5.0f} MB/s {'':6}   {EXPORT_GOAL} MB/s"
    print(f"{topic.name:18} {'the job export, to Parquet':46} {told}", flush=True)
    for told, ask in (("Parquet: whole rows", rows_of), ("Parquet: no values", columns_of)):
        taken = best_of(rounds, {"": lambda ask=ask: ask(spark.read.parquet(str(to)))})[""][0]
        print(f"{topic.name:18} {told:46} {taken:8.2f} s", flush=True)


def clients(topic: Topic, servers: str) -> None:
    """What Python's clients read in a second."""
    for name, client in CLIENTS.items():
        taken, (records, size) = timed(lambda client=client: client(servers, topic.name, PARTITIONS, topic.records))
        told = f"{records / taken / 1e6:6.2f} M records/s {size / taken / 1e6:7.0f} MB/s"
        print(f"{topic.name:18} {name:46} {told}", flush=True)


def on_one_core(topics: list[Topic], seconds: dict, log_dir: Path, servers: str, rounds: int) -> None:
    """The questions with a goal for two cores, on one."""
    with session(1, []) as spark:
        Questions(spark, topics[0], log_dir, servers).ask("segments")  # starts the Python workers
        keep_to_one_core(os.getpid())
        for topic in topics:
            questions = Questions(spark, topic, log_dir, servers)
            for question, goal in GOALS_OF_TWO_CORES.items():
                taken = best_of(rounds, {"": partial(questions.ask, question)})[""][0]
                ratio = taken / seconds[topic.name][question]
                print(f"{topic.name:18} two cores: {NAMES[question]:35} {taken:8.2f} s {'':10} {ratio:6.2f}   {goal}")


def keep_to_one_core(process: int) -> None:
    """Let the process and all below it run on one core."""
    for thread in os.listdir(f"/proc/{process}/task"):
        os.sched_setaffinity(int(thread), {0})
        for child in Path(f"/proc/{process}/task/{thread}/children").read_text().split():
            keep_to_one_core(int(child))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gb", type=float, default=0.5, help="bytes of the values of each topic, in 10^9")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    parser.add_argument("--no-clients", action="store_true")
    parser.add_argument("--topics", default="", help="only topics whose names have this in them")
    parser.add_argument("--data", type=Path, help="keep the topics in this directory, for further runs")
    given = parser.parse_args()
    os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(java_home()), sys.executable
    try:
        jars = connector_jars()
        print(f"Spark's Kafka connector {VERSION}, {given.gb:g} GB of values a topic, {CORES} cores")
    except KafkaJarsUnavailableError as unavailable:
        jars = []
        print(f"Spark's Kafka connector is not run: {unavailable}")
    topics = [topic for topic in topics_of(given.gb) if given.topics in topic.name]
    print(f"{'topic':18} {'question':46} {'minikafka':>10} {'connector':>10} {'ratio':>6}   goal")
    with tempfile.TemporaryDirectory() as scratch, ended_by_signals():
        home = Path(scratch)
        broker = KafkaBroker(given.data / f"{given.gb:g}-gb" if given.data else home, java_options=AS_KAFKA_STARTS_IT)
        new = [topic for topic in topics if not (broker.log_dir / f"{topic.name}-0").exists()]
        if new:
            with broker:
                create_topics(broker.bootstrap_servers, [topic.name for topic in new])
            for topic in new:
                write_topic(broker.log_dir, topic)
        seconds = {}
        with broker:
            with session(CORES, jars) as spark:
                for topic in topics:
                    questions = Questions(spark, topic, broker.log_dir, broker.bootstrap_servers)
                    seconds[topic.name] = against_the_connector(questions, topic, given.rounds, jars)
                    export_and_parquet(questions, topic, spark, home, given.rounds)
                    floor(topic, broker.log_dir, given.rounds)
            plain = [topic for topic in topics if topic.codec == "none"]
            for topic in [] if given.no_clients else plain:
                clients(topic, broker.bootstrap_servers)
            on_one_core(plain, seconds, broker.log_dir, broker.bootstrap_servers, given.rounds)


if __name__ == "__main__":
    main()
