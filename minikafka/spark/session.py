"""The one Spark session of a lesson or a test: silent, quick on small data, with Apache Kafka's classes in its JVM."""

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from minikafka.spark import class_archive
from minikafka.spark.java_exceptions import limit_pyspark_to_spark
from minikafka.spark.java_home import java_home
from minikafka.spark.kafka_jars import KafkaJarsUnavailableError, kafka_classpath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What makes small queries fast: no web pages, one partition before and after a shuffle, no job of its own for the small
# side of a join, no planning again while a query runs, no Java compiled for some rows, and a JVM that starts sooner
# instead of peaking later.
_SETTINGS = {
    "spark.app.name": "minikafka",
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
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

_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Libraries of Kafka's that Spark has as well, in its own versions, which must stay the ones it finds.
_SPARK_HAS = ("jackson-", "lz4-java-", "scala-", "slf4j-", "snappy-java-", "zstd-jni-")

_kafka_absence: str | None = None
_starting = threading.RLock()


class SparkDidNotStartError(Exception):
    """The JVM of Spark ended before it answered; the message holds the last lines that it wrote."""


def session() -> "SparkSession":
    """The Spark session of this process, started by the first call (some 6 s).

    Kafka's classes are then under `session()._jvm.org.apache.kafka`, unless `kafka_available()` says otherwise: a
    session starts without them too. Nothing that Java or Spark has to say reaches the caller's output.
    Raises JavaNotFoundError, SparkDidNotStartError.
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
    """Why the session's JVM lacks Apache Kafka's classes, and what brings them; None where it has them."""
    session()
    return _kafka_absence


def start(java_option: str | None = None) -> "SparkSession":
    """Start the process' session; to be called once, and as a rule by `session`.

    `java_option`: one more option for Java (default: the one that gives it the archive of Spark's classes).
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    # On a mistaken query PySpark logs what it then raises again: once is enough.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    conf = SparkConf(loadDefaults=False).setAll(_SETTINGS.items())
    conf.set("spark.sql.warehouse.dir", os.path.join(tempfile.gettempdir(), "minikafka-spark-warehouse"))
    if jars := kafka_jars_for_spark():
        conf.set("spark.driver.extraClassPath", os.pathsep.join(jars))
    if java_option is None:
        java_option = class_archive.java_option(java_home(), jars)
    conf.set("spark.driver.extraJavaOptions", f"{_JAVA_OPTIONS} {java_option}")
    with tempfile.TemporaryFile() as said, _environment():
        try:
            gateway = launch_gateway(conf, {"stdout": said, "stderr": said})
            spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
        except PySparkRuntimeError as failure:
            raise SparkDidNotStartError(f"Spark's JVM did not start.\n{_last_lines(said)}") from failure
    limit_pyspark_to_spark(gateway._gateway_client)
    return spark


def kafka_jars_for_spark() -> list[str]:
    """Kafka's jars without those that Spark brings; none where they can't be had (`why_kafka_is_absent` says why)."""
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


@contextmanager
def _environment() -> Iterator[None]:
    """The environment in which Spark's JVM is started: the Java we chose, the Spark of this Python, this Python."""
    import pyspark

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable  # also for later workers
    ours = {"JAVA_HOME": str(java_home()), "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    theirs = {name: os.environ.pop(name, None) for name in (*ours, "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR")}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in theirs.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _last_lines(said: IO[bytes], count: int = 10) -> str:
    said.seek(0)
    return "\n".join(said.read().decode(errors="replace").splitlines()[-count:])
