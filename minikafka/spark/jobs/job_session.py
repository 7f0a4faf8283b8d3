"""The Spark session of a command: one of this process, of a cluster, or behind Spark Connect."""

import os
import sys
from typing import TYPE_CHECKING

from minikafka.spark import class_archive, jvm
from minikafka.spark.java_home import java_home
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
}
_SETTINGS_OF_A_LOCAL_MASTER = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def job_session(master: str, remote: str | None, settings: "Mapping[str, str]") -> "SparkSession":
    """A session on `master` (`local[2]`, `spark://host:7077`, …), or of the Spark Connect server at `remote`.

    `settings` are Spark's and come before those chosen here. A cluster's workers, and a server, are sent this
    process's minikafka. They run the Python that the variable PYSPARK_PYTHON names, or else one at the path of this
    process's; a server chooses its own. Raises JavaNotFoundError, SparkDidNotStartError, and PySpark's exceptions where
    there is no such master or server.
    """
    if remote is None and is_local(master):
        return _driven_here(master, settings)
    spark = _driven_here(master, settings) if remote is None else _remote(remote, {**_SETTINGS, **settings})
    send_code(spark)
    return spark


def is_local(master: str) -> bool:
    """Whether the master's workers are processes of this one, so that they have its code."""
    return master.startswith("local")


def _remote(url: str, settings: "Mapping[str, str]") -> "SparkSession":
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    for name, setting in settings.items():
        spark.conf.set(name, setting)
    return spark


def _driven_here(master: str, settings: "Mapping[str, str]") -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    of_the_master = _SETTINGS_OF_A_LOCAL_MASTER if is_local(master) else {}
    conf = SparkConf(loadDefaults=False).setAll(
        {**_SETTINGS, **_SETTINGS_OF_A_DRIVER, **of_the_master, **settings, "spark.master": master}.items()
    )
    python = sys.executable if is_local(master) else os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = python
    jars = jvm.class_path([])
    archive = class_archive.java_option(java_home(), jars)
    return SparkSession(SparkContext(conf=conf, gateway=jvm.start(jars, [archive] if archive else [])))
