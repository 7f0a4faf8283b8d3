"""The Spark session: silent, with Kafka's classes in its JVM, and of use without them."""

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.spark

CHATTER = """
from minikafka.spark import session
spark = session()
assert spark.range(10).selectExpr("sum(id) AS s").first().s == 45
try:
    spark.sql("SELECT nothing_of_that_name")
except Exception:
    pass
try:
    spark.sql("SELECT raise_error('in a task')").collect()
except Exception:
    pass
"""

ALONE = """
import minikafka.spark.session
from minikafka.jvm.kafka_jars import KafkaJarsUnavailableError
def unavailable(part):
    raise KafkaJarsUnavailableError("no network")
import sys
sys.modules["minikafka.spark.session"].kafka_classpath = unavailable
from minikafka.spark import kafka_available, session, why_kafka_is_absent
assert session().range(3).count() == 3
assert not kafka_available()
print(why_kafka_is_absent())
"""


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.bare
def test_nothing_of_java_or_spark_reaches_the_output():
    process = run(CHATTER)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_without_kafka_the_session_works_and_says_why():
    process = run(ALONE)
    assert (process.returncode, process.stdout, process.stderr) == (0, "no network\n", "")


@pytest.mark.bare
@pytest.mark.kafka
def test_kafkas_classes_are_in_the_sessions_jvm(spark):
    from minikafka.spark import kafka_available

    assert kafka_available()
    config = spark._jvm.org.apache.kafka.storage.internals.log.LogConfig({"internal.segment.bytes": "700"})
    assert config.segmentSize() == 700
    assert spark._jvm.java.lang.Class.forName("org.apache.kafka.storage.internals.log.UnifiedLog") is not None


def test_there_is_one_session(spark):
    from minikafka.spark import session

    assert session() is spark or session().sparkContext is spark.sparkContext


def test_python_workers_run_this_python(spark):
    """A table function in Python must find the packages of this environment."""

    def version(batches):
        for batch in batches:
            yield batch.assign(id=sys.version_info.minor)

    assert spark.range(1).mapInPandas(version, "id long").first().id == sys.version_info.minor


def test_python_workers_collect_no_garbage_among_what_they_imported(spark):
    def spared(batches):
        import gc

        import pandas

        import minikafka.spark  # noqa: F401

        yield from (pandas.DataFrame({"id": [gc.get_freeze_count()]}) for _ in batches)

    # A worker that is new has imported nothing before its first task; one of two workers gets the last of three tasks
    # as its second.
    counts = [spark.range(1).mapInPandas(spared, "id long").first().id for _ in range(3)]
    assert max(counts) > 50_000


def test_times_are_utc_and_small_queries_use_one_partition(spark):
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sql("SELECT id % 3 AS k, count(*) FROM range(9) GROUP BY 1").rdd.getNumPartitions() == 1


def test_java_gets_the_options_that_spark_asks_for(spark):
    from minikafka.spark.spark_jvm import SPARK_OPTIONS

    wanted = spark._jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions().split()
    assert set(SPARK_OPTIONS) == {*wanted} - {"--add-modules=jdk.incubator.vector"}


def test_a_jvm_that_does_not_start_says_why():
    from minikafka.spark import spark_jvm as jvm

    with pytest.raises(jvm.SparkDidNotStartError, match="Could not find or load main class"):
        jvm.start(["nothing.jar"], [])


ENDED = """
import os
from minikafka.spark import session
process = session().sparkContext._gateway.proc
assert os.getpgid(process.pid) != os.getpgrp()
print(process.pid)
"""


def test_the_jvm_is_in_a_group_of_its_own_and_ends_with_the_process():
    """A notebook server that ends a kernel signals the kernel's group, and waits for it."""
    assert_ended(int(run(ENDED).stdout))


LEFT_BEHIND = """
import subprocess, sys, threading, time
from minikafka.spark import spark_jvm as jvm
def begin(*_args, env, **kwargs):  # a Java that starts slowly, and has not looked at its standard input yet
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], **kwargs)
    print(process.pid, flush=True)
    begun.set()
    return process
begun, jvm.subprocess = threading.Event(), type("Instead", (), {"Popen": begin, "PIPE": subprocess.PIPE})
threading.Thread(target=jvm.start, args=([], []), daemon=True).start()
begun.wait()
time.sleep(0.2)
"""


def test_a_jvm_that_is_starting_ends_with_the_process():
    """A notebook may be closed while its first cell wakes Spark in another thread."""
    assert_ended(int(run(LEFT_BEHIND).stdout))


TRIED_AGAIN = """
import atexit, time
atexit.register(time.sleep, 1)  # what else a kernel does when it ends
""" + LEFT_BEHIND.replace(
    "threading.Thread(target=jvm.start, args=([], [])",
    """def again():
    while True:
        try:
            jvm.start([], [])
        except jvm.SparkDidNotStartError:  # it was ended: a second thread that needs it now tries by itself
            time.sleep(0.1)
threading.Thread(target=again""",
)


def test_nobody_starts_a_jvm_again_while_the_process_ends():
    """Two threads wake Spark and Kafka; when the JVM of one is ended, the other starts one."""
    (pid,) = run(TRIED_AGAIN).stdout.split()
    assert_ended(int(pid))


def assert_ended(pid):
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the JVM still runs")
