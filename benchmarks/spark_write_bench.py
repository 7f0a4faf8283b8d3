"""A Parquet table becomes a topic: `write_log_dir` into a log directory, and Spark's Kafka connector through a broker.

Both write the same rows into as many partitions, by the hash of their keys, in turn, for as many rounds; the best time
counts, and what was written is counted. A ratio above 1 means that minikafka is faster than the connector.

    python benchmarks/spark_write_bench.py [--gb 0.25] [--rounds 3]
"""

import argparse
import itertools
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from spark_bench_session import AS_KAFKA_STARTS_IT, CORES, best_of, session
from spark_bench_topics import PARTITIONS, create_topics
from spark_connector import VERSION, connector_jars

from minikafka.jvm.java_home import java_home
from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError
from minikafka.spark import write_log_dir
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.witness.kafka.kafka_broker import KafkaBroker


class Writers:
    """Ways to write a table into a new topic; each returns the number of records that are in the topic then."""

    def __init__(self, table: DataFrame, home: Path, broker: KafkaBroker):
        self._table = table
        self._home = home
        self._broker = broker
        self._topics = (f"{table.count()}-rows-{number}" for number in itertools.count())

    def write_log_dir(self) -> tuple[int]:
        """Without a broker."""
        topic = next(self._topics)
        write_log_dir(self._table, str(self._home / "log.dir"), topic=topic, partitions=PARTITIONS)
        return (_records_in(self._table.sparkSession, self._home / "log.dir", topic),)

    def connector(self) -> tuple[int]:
        """Through the broker, which makes the topic first."""
        topic = next(self._topics)
        create_topics(self._broker.bootstrap_servers, [topic])
        options = {"kafka.bootstrap.servers": self._broker.bootstrap_servers, "topic": topic}
        self._table.write.format("kafka").options(**options).save()
        return (_records_in(self._table.sparkSession, self._broker.log_dir, topic),)


def _records_in(spark: SparkSession, log_dir: Path, topic: str) -> int:
    options = {"table": "batches", "subscribe": topic, "bounds": "log_end", "checkCrcs": "false"}
    batches = spark.read.format("minikafka").options(**options).load(str(log_dir))
    return batches.selectExpr("sum(records)").first()[0]


def table_of(spark: SparkSession, size: int, gigabytes: float, file: Path) -> DataFrame:
    """Rows with values of `size` bytes and a key each, in Parquet."""
    rows = spark.range(round(gigabytes * 1e9 / size), numPartitions=CORES)
    key = "CAST(id AS string)"
    value = f"CAST(substring(repeat(md5({key}), {size // 32 + 1}), 1, {size}) AS binary)"
    rows.selectExpr(f"CAST({key} AS binary) key", f"{value} value").write.parquet(str(file))
    return spark.read.parquet(str(file))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gb", type=float, default=0.25, help="bytes of the values of each table, in 10^9")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    given = parser.parse_args()
    os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(java_home()), sys.executable
    try:
        jars = connector_jars()
        print(f"Spark's Kafka connector {VERSION}, {given.gb:g} GB of values a table, {CORES} cores")
    except KafkaJarsUnavailableError as unavailable:
        jars = []
        print(f"Spark's Kafka connector is not run: {unavailable}")
    print(f"{'values':8} {'minikafka':>21} {'connector':>21} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as scratch, ended_by_signals():
        home = Path(scratch)
        broker = KafkaBroker(home / "broker", java_options=AS_KAFKA_STARTS_IT)
        with broker, session(CORES, jars) as spark:
            for size in (100, 1000):
                table = table_of(spark, size, given.gb, home / f"{size}.parquet")
                writers = Writers(table, home, broker)
                sides = {"minikafka": writers.write_log_dir} | ({"connector": writers.connector} if jars else {})
                best = best_of(given.rounds, sides)
                if any(answer != (table.count(),) for _, answer in best.values()):
                    raise AssertionError(f"{best} of {table.count()} rows")
                told = [f"{seconds:8.2f} s {given.gb * 1e3 / seconds:5.0f} MB/s" for seconds, _ in best.values()]
                ratio = f"{best['connector'][0] / best['minikafka'][0]:6.2f}" if jars else "not run"
                print(f"{size:6} B {' '.join(f'{each:>21}' for each in told)} {ratio}", flush=True)


if __name__ == "__main__":
    main()
