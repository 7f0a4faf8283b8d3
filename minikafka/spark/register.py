"""The one call that makes the data source `minikafka` known to a Spark session."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from minikafka.spark.our_line_first import put_our_line_first, put_our_line_first_in_connect

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NEEDED = ("minikafka", "numpy", "pyarrow")
_sound: set[str] = set()  # applications whose workers have all that


class WorkersPythonError(RuntimeError):
    """The Python that Spark's workers run lacks minikafka, or something that it needs; the message is one line."""


def register(spark: "SparkSession") -> None:
    """Let `spark` read Kafka's log directories: `spark.read.format("minikafka").load(path)`.

    Also lets the session push filters down to Python's data sources. The columns and options are described in
    `minikafka.spark.source.data_source`. Workers need minikafka installed, and the paths must be theirs as well.
    Works in any thread and for any session, again and again. Raises WorkersPythonError when the workers' Python cannot
    import minikafka; where it is another one than this process's, the first call for an application asks a worker.

    Where the data source raises an exception inside Spark, its line stands first in what PySpark raises from now on.

    A session that is started with `spark.python.unix.domain.socket.enabled=true` spares each task some 40 ms: over TCP
    Spark and its Python workers write in pieces so small that the other side's system holds back its answer.
    """
    from minikafka.spark.source.data_source import KafkaLogDataSource

    if _is_remote(spark):
        put_our_line_first_in_connect()
    else:
        put_our_line_first()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    _require_minikafka_in_workers(spark)
    with at_work(spark):
        spark.dataSource.register(KafkaLogDataSource)


@contextmanager
def at_work(spark: "SparkSession") -> Iterator[None]:
    """In this block, Spark's JVM takes `spark` for the session of this thread.

    It is there that Spark looks for a data source when one is registered or written to, whichever session was asked.
    """
    if _is_remote(spark):  # there is no other session
        yield
        return
    sessions = getattr(spark._jvm, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _require_minikafka_in_workers(spark: "SparkSession") -> None:
    is_remote = _is_remote(spark)
    application = spark.session_id if is_remote else spark.sparkContext.applicationId
    if application in _sound or not is_remote and _is_this_python(spark.sparkContext):
        return
    python, *missing = _asked_in_a_worker(spark)
    if missing:
        raise WorkersPythonError(
            f"The workers' Python, {python}, has no {' and no '.join(missing)}: {_what_to_do('has')}"
        )
    _sound.add(application)


def _is_remote(spark: "SparkSession") -> bool:
    """Whether the session is one of Spark Connect."""
    return not hasattr(spark, "_jsparkSession")


def _is_this_python(context: "SparkContext") -> bool:
    """Whether the workers are processes of this machine and run the interpreter of this process."""
    found, own = shutil.which(context.pythonExec), Path(sys.executable)
    return (
        context.master.startswith("local")
        and found is not None
        and Path(found).absolute().parent == own.parent  # not another environment of the same Python
        and os.path.samefile(found, own)
    )


def _asked_in_a_worker(spark: "SparkSession") -> list[str]:
    """The path of the workers' Python, and what it lacks. Raises WorkersPythonError when it does not even start."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    def look(needed):  # travels by value: nothing of minikafka may be needed to unpickle it
        import sys
        from importlib.util import find_spec

        return [sys.executable, *(name for name in needed if find_spec(name) is None)]

    needed = F.array(*map(F.lit, _NEEDED))
    try:
        ((told,),) = spark.range(1).select(F.udf(look, "array<string>")(needed)).collect()
    except (PySparkException, Py4JError) as error:
        from minikafka.spark.jobs.spark_failures import reason

        is_named = _is_remote(spark) or "PYSPARK_PYTHON" in os.environ  # of a server it cannot be told from here
        which = "which the environment variable PYSPARK_PYTHON names" if is_named else spark.sparkContext.pythonExec
        raise WorkersPythonError(
            f"The workers' Python, {which}, does not work: {reason(str(error))}; {_what_to_do('does')}"
        ) from error
    return told


def _what_to_do(verb: str) -> str:
    return (
        f"let the environment variable PYSPARK_PYTHON name one that {verb}, such as {sys.executable}, before the Spark "
        "session starts"
    )
