"""The Spark session of a command: one of this process, of a cluster, or behind Spark Connect."""

import os
import socket
import sys
import time
from typing import TYPE_CHECKING

from minikafka.jvm import class_archive
from minikafka.jvm.java_home import java_home
from minikafka.spark import spark_jvm as jvm
from minikafka.spark.jobs.travelling_code import send_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_SETTINGS_OF_A_DRIVER = {
    "spark.app.name": "minikafka",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    **{f"spark.executorEnv.{name}": value for name, value in jvm.WORKERS_SAFE_PATH.items()},
}
_PORTS = {"spark": 7077, "sc": 15002}
_PATIENCE_S = 15
_SETTINGS_OF_A_LOCAL_MASTER = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
}


def job_session(master: str, remote: str | None, settings: "Mapping[str, str]") -> "SparkSession":
    """A session on `master` (`local[2]`, `spark://host:7077`, …), or of the Spark Connect server at `remote`.

    `settings` are Spark's and come before those chosen here. A cluster's workers, and a server, are sent this
    process's minikafka. They run the Python that the variable PYSPARK_PYTHON names, or else one at the path of this
    process's; a server chooses its own. Raises OSError where nothing answers, JavaNotFoundError,
    SparkDidNotStartError, and PySpark's exceptions.
    """
    if remote is None and is_local(master):
        return _driven_here(master, settings)
    _require_answer(master if remote is None else remote)
    if remote is None:
        spark = _driven_here(master, settings)
        _wait_for_executors(spark, master)
    else:
        spark = _remote(remote, {**_SETTINGS, **settings})
    send_code(spark)
    return spark


def is_local(master: str) -> bool:
    """Whether the master's workers are processes of this one, so that they have its code."""
    return master.startswith("local")


def _require_answer(url: str) -> None:
    """Raises OSError if nobody listens at any of the addresses in `spark://host:port,…` or `sc://host:port/…`.

    Spark itself would try for minutes. Other masters, such as YARN, are left to it.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in _PORTS:
        return
    failure: OSError | None = None
    for address in rest.partition("/")[0].split(","):
        host, _, port = address.partition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port or _PORTS[scheme])), timeout=_PATIENCE_S).close()
            return
        except OSError as error:
            failure = error
    assert failure is not None
    raise type(failure)(failure.errno, failure.strerror or str(failure), url)


def _wait_for_executors(spark: "SparkSession", master: str) -> None:
    """Say so if the cluster gives no worker for a while; Spark would wait in silence."""
    status = spark.sparkContext._jsc.sc().statusTracker()
    deadline = time.monotonic() + _PATIENCE_S
    while len(status.getExecutorInfos()) < 2:  # the driver is one
        if time.monotonic() > deadline:
            memory = spark.sparkContext.getConf().get("spark.executor.memory", "1g")
            told = (
                f"{master} has no worker with {memory} of memory to spare yet; --conf spark.executor.memory=… asks less"
            )
            print(told, file=sys.stderr)
            return
        time.sleep(0.1)


def _remote(url: str, settings: "Mapping[str, str]") -> "SparkSession":
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    for name, setting in settings.items():
        spark.conf.set(name, setting)
    return spark


def _driven_here(master: str, settings: "Mapping[str, str]") -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    of_a_driver = _SETTINGS_OF_A_DRIVER | {"spark.python.unix.domain.socket.enabled": jvm.unix_sockets()}
    of_the_master = _SETTINGS_OF_A_LOCAL_MASTER if is_local(master) else {}
    conf = SparkConf(loadDefaults=False).setAll(
        {**_SETTINGS, **of_a_driver, **of_the_master, **settings, "spark.master": master}.items()
    )
    python = sys.executable if is_local(master) else os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = python
    jars = jvm.class_path([])
    archive = class_archive.java_option(java_home(), jars)
    return SparkSession(SparkContext(conf=conf, gateway=jvm.start(jars, [archive] if archive else [])))
