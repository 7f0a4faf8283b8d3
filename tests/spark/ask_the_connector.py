"""Asks Spark's Kafka connector the cases of `connector_cases`; prints what it answers as JSON.

    python -m tests.spark.ask_the_connector BOOTSTRAP_SERVERS LOG_DIR JARS CASES STREAMS

CASES and STREAMS are lists of numbers: which of them are asked. The answer has a list for each, how many tasks a query
with `maxRecordsPerPartition` has, under `ends` where the micro-batches of a few streams end, under `ours` a few of the
cases as the data source answers them through Spark, and under `gone` what a stream of each answers that is started
again when one of its topics was deleted.
"""

import json
import logging
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka.admin import AdminClient

from benchmarks.spark_bench_session import session
from tests.spark.connector_cases import (
    CASES,
    CUT,
    GONE,
    READ_ON,
    REFUSED,
    SIX_TASKS,
    STREAMS,
    THROUGH_SPARK,
    Answer,
    Case,
    counted,
    options_of,
)

_IMPATIENT = {"fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "1", "kafkaConsumer.pollTimeoutMs": "1500"}
_AT_ONCE = 4


class Connector:
    """Spark's own."""

    def __init__(self, spark, servers: str):
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": servers, **_IMPATIENT}

    def batch(self, case: Case) -> Answer:
        return answered(lambda: self._frame(self._spark.read, case).select("topic", "partition", "offset").collect())

    def stream(self, numbered: tuple[int, Case]) -> Answer:
        number, case = numbered

        def run() -> list:
            frame = self._frame(self._spark.readStream, case).select("topic", "partition", "offset")
            writer = frame.writeStream.format("memory").queryName(f"stream{number}")
            writer.trigger(availableNow=True).start().awaitTermination()
            return self._spark.table(f"stream{number}").collect()

        return answered(run)

    def ends(self, options: dict[str, str]) -> list[dict]:
        """Where each micro-batch ends of a stream that reads what is there now."""
        writer = self._frame(self._spark.readStream, Case(options, {})).writeStream.format("noop")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return [json.loads(progress.json)["sources"][0]["endOffset"] for progress in query.recentProgress]

    def tasks(self, options: dict[str, str]) -> int:
        return self._frame(self._spark.read, Case(options, {})).rdd.getNumPartitions()

    def source(self, case: Case):
        """A stream's frame."""
        return self._frame(self._spark.readStream, case)

    def _frame(self, reader, case: Case):
        return reader.format("kafka").options(**self._options, **options_of(case)).load()


def read_on(source, checkpoint: str, case: Case) -> Answer:
    """What a stream reads from where its checkpoint is up to what is there now."""
    read: list = []

    def run() -> list:
        frame = source(case).select("topic", "partition", "offset")
        writer = frame.writeStream.foreachBatch(lambda batch, _: read.extend(batch.collect()))
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
        return read

    return answered(run)


def delete_topic(servers: str, log_dir: str, topic: str) -> None:
    """Returns once the broker has put its partition 0 aside."""
    admin = AdminClient({"bootstrap.servers": servers})
    for deleted in admin.delete_topics([topic]).values():
        deleted.result()
    while Path(log_dir, f"{topic}-0").exists():
        time.sleep(0.05)


def answered(ask) -> Answer:
    try:
        return counted(ask())
    except Exception:
        return REFUSED


def main(servers: str, log_dir: str, jars: str, cases: str, streams: str) -> None:
    with session(_AT_ONCE, jars.split(",")) as spark, ThreadPoolExecutor(_AT_ONCE) as pool:
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        spark.conf.set("spark.sql.codegen.wholeStage", "false")  # no Java is compiled for a few rows
        spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        connector = Connector(spark, servers)

        def ours(case: Case) -> Answer:
            reader = spark.read.format("minikafka").options(**options_of(case))
            return answered(lambda: reader.load(log_dir).select("topic", "partition", "offset").collect())

        told = {
            "batch": list(pool.map(connector.batch, [CASES[number] for number in json.loads(cases)])),
            "stream": list(pool.map(connector.stream, [(number, STREAMS[number]) for number in json.loads(streams)])),
            "ends": list(pool.map(connector.ends, CUT)),
            "tasks": connector.tasks(SIX_TASKS),
            "ours": list(pool.map(ours, THROUGH_SPARK)),
        }

        def source(case: Case):
            return spark.readStream.format("minikafka").options(**options_of(case)).load(log_dir)

        with tempfile.TemporaryDirectory() as checkpoints:
            sides = {"connector": connector.source, "ours": source}
            told["gone"] = {name: [] for name in sides}
            for case in READ_ON:
                for name, of in sides.items():
                    told["gone"][name].append(read_on(of, f"{checkpoints}/{name}", case))
                if case is READ_ON[0]:
                    delete_topic(servers, log_dir, GONE)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
