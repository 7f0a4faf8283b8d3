"""What the benchmarks of Spark share: the session, the settings of the broker beside it, and the clock."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from minikafka.spark import register

CORES = 2
A_TURN_S = 2
"""How long a question is asked at least, again and again, before it is another's turn: the JVM learns by repeating."""
AS_KAFKA_STARTS_IT = "-Xmx1g", "-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC"
"""The broker's JVM, as Kafka's own scripts have it."""


@contextmanager
def session(cores: int, jars: list[str]) -> Iterator[SparkSession]:
    """Spark on so many cores, as it comes but for its silence and a few partitions behind a shuffle."""
    settings = {
        "spark.jars": ",".join(jars),
        "spark.driver.memory": "3g",
        "spark.driver.host": "127.0.0.1",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, setting in settings.items():
        builder = builder.config(name, setting)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    try:
        yield spark
    finally:
        spark.stop()


def timed(function: Callable[[], tuple]) -> tuple[float, tuple]:
    start = time.perf_counter()
    answer = function()
    return time.perf_counter() - start, answer


def best_of(rounds: int, sides: dict[str, Callable[[], tuple]]) -> dict[str, tuple[float, tuple]]:
    """The best time of each side, which take turns of at least `A_TURN_S`, and its answer."""
    best: dict[str, tuple[float, tuple]] = {}
    for _ in range(rounds):
        for name, function in sides.items():
            turn_s = 0.0
            while turn_s < A_TURN_S:
                taken = timed(function)
                turn_s += taken[0]
                best[name] = min(best.get(name, taken), taken)
    return best
