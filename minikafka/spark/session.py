"""The one Spark session of a lesson or a test: silent, quick on small data, with Apache Kafka's classes in its JVM."""

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from minikafka.common.own_directory import own_directory
from minikafka.jvm import class_archive
from minikafka.jvm.java_exceptions import limit_pyspark_to_spark
from minikafka.jvm.java_home import java_home
from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError, kafka_classpath
from minikafka.spark import spark_jvm as jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What makes small queries fast: no web pages, no TCP to Python (its small writes wait 40 ms a task), one partition
# before and after a shuffle, no separate job for the small side of a join, no new planning while a query runs, no Java
# compiled for a few rows.
_SETTINGS = {
    "spark.app.name": "minikafka",
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
}

# Kafka's libraries that Spark has as well, in versions of its own; Spark must go on finding its own.
_SPARK_HAS = ("jackson-", "lz4-java-", "scala-", "slf4j-", "snappy-java-", "zstd-jni-")

_kafka_absence: str | None = None
_starting = threading.RLock()


def session() -> "SparkSession":
    """The Spark session of this process, started by the first call (some 4 s).

    Kafka's classes are then under `session()._jvm.org.apache.kafka`, unless `kafka_available()` says otherwise: a
    session also starts without them. Nothing that Java or Spark prints reaches the caller's output. Raises
    JavaNotFoundError, SparkDidNotStartError.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _starting:
        if SparkContext._active_spark_context is None:
            start()
        return SparkSession.builder.getOrCreate()


def kafka_available() -> bool:
    """Whether the session's JVM holds Apache Kafka's classes. Starts the session."""
    return why_kafka_is_absent() is None


def why_kafka_is_absent() -> str | None:
    """Why the session's JVM lacks Apache Kafka's classes, and how to get them; None when it has them."""
    session()
    return _kafka_absence


def start(java_option: str | None = None) -> "SparkSession":
    """Start this process's session; called once, normally by `session`.

    `java_option`: one more option for Java (default: the one for the archive of Spark's classes).
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # For a query that is wrong PySpark logs what it also raises: once is enough.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable  # also for later workers
    conf = SparkConf(loadDefaults=False).setAll(_SETTINGS.items())
    conf.set("spark.python.unix.domain.socket.enabled", jvm.unix_sockets())
    warehouse = own_directory() / "spark-warehouse"
    warehouse.mkdir(exist_ok=True)  # Spark would start a `chmod` for it, which a sandbox may forbid
    conf.set("spark.sql.warehouse.dir", str(warehouse))
    jars = jars_for_spark()
    java_option = java_option or class_archive.java_option(java_home(), jars)
    gateway = jvm.start(jars, [java_option] if java_option else [])
    for_sigint = signal.getsignal(signal.SIGINT)
    spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
    if for_sigint not in (signal.default_int_handler, signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, for_sigint)  # PySpark has replaced it; whoever has set one of its own keeps it
    limit_pyspark_to_spark(gateway._gateway_client)
    return spark


def jars_for_spark() -> list[str]:
    """The class path of Spark's JVM: Kafka's jars, if they can be had (see `why_kafka_is_absent`), and Spark's."""
    return jvm.class_path(_kafka_jars())


def _kafka_jars() -> list[str]:
    """Kafka's jars without those that come with Spark; an empty list when they can't be had."""
    global _kafka_absence
    try:
        jars = kafka_classpath("storage")
    except KafkaJarsUnavailableError as unavailable:
        _kafka_absence = str(unavailable)
        return []
    _kafka_absence = None
    return [jar for jar in jars if not _artifact(jar).startswith(_SPARK_HAS)]


def _artifact(jar: str) -> str:
    """The file's name without the organization that Ivy puts before it, as in `org.slf4j_slf4j-api-1.7.36.jar`."""
    return Path(jar).name.rpartition("_")[2]
