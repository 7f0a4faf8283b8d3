"""Writing and reading work in any thread and for any session of an application, however many there are."""

from threading import Thread

import pytest

from minikafka.spark import register, write_log_dir

pytestmark = pytest.mark.slow


def written_and_read(spark, log_dir) -> int:
    write_log_dir(spark.range(10).selectExpr("cast(id AS string) AS value"), str(log_dir), topic="t")
    register(spark)
    return spark.read.format("minikafka").load(str(log_dir)).count()


def test_each_thread_with_each_session(spark, tmp_path):
    sessions = [spark, spark.newSession(), spark.newSession(), spark]
    assert written_and_read(sessions[1], tmp_path / "here") == 10
    counts = {}

    def write(number: int) -> None:
        counts[number] = written_and_read(sessions[number], tmp_path / str(number))

    threads = [Thread(target=write, args=(number,)) for number in range(len(sessions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == dict.fromkeys(range(len(sessions)), 10)


def test_the_session_at_work_is_the_one_before(spark, tmp_path):
    sessions = spark._jvm.SparkSession
    before = str(sessions.getActiveSession())
    written_and_read(spark.newSession(), tmp_path / "data")
    assert str(sessions.getActiveSession()) == before
