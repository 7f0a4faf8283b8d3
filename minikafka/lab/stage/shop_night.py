"""A night of a small shop: what two real brokers left of it on their disks, and views of these for Spark.

`tests/golden/make_night.py` had the brokers write it, and noted what Kafka's own tools said while they were up.
"""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

from minikafka.lab.stage.background import told_while_starting, while_the_reader_reads
from minikafka.lab.stage.workbench import kafka_witness, scratch
from minikafka.spark import register, session

NIGHT = Path("data/night")
TABLES = ("batches", "segments", "index", "transactions", "producers", "checkpoints", "groups")
"""The source's tables that become views; the records are the views `records` and `committed`."""


def wake_spark() -> None:
    """Start Spark, and let it answer a first query, which takes it many times as long as a later one.

    It is done while the reader reads. Outside a notebook nothing happens: there Spark starts when it is asked.
    """
    while_the_reader_reads(_answer_a_first_query, kafka_witness)


@told_while_starting()
def spark_of_the_shop() -> Any:
    """Spark's session, which knows the data source."""
    with _registering:
        spark = session()
        register(spark)
    return spark


_registering = threading.Lock()
_FIRST_QUERY = """
    SELECT topic, count(*), max(get_json_object(CAST(value AS STRING), '$.amount')), max(hour(timestamp))
    FROM first_records JOIN first_batches USING (topic) GROUP BY topic ORDER BY topic
"""


def _answer_a_first_query() -> None:
    spark = spark_of_the_shop()
    read_views(spark, NIGHT / "broker-1", prefix="first_")
    spark.sql(_FIRST_QUERY).collect()


def read_views(spark: Any, directory: str | Path, prefix: str = "") -> list[str]:
    """Make a view of each table of a log directory, `batches`, `segments` and so on, and of its records: `records` and,
    for a read_committed reader, `committed`. Returns the names; nothing is read yet.
    """
    kinds: dict[str, dict[str, str]] = {"records": {"includeBatches": "true"}}
    kinds["committed"] = {"isolation.level": "read_committed"}
    kinds |= {name: {"table": name} for name in TABLES}
    for name, options in kinds.items():
        reader = spark.read.format("minikafka").options(**options)
        reader.load(str(directory)).createOrReplaceTempView(prefix + name)
    return [prefix + name for name in kinds]


def told(name: str) -> str:
    """What one of Kafka's own tools said in the morning, as it printed it, without empty lines."""
    words = (NIGHT / "told" / f"{name}.txt").read_text(encoding="utf-8")
    return "\n".join(line.rstrip() for line in words.splitlines() if line.strip())


def noted(name: str) -> dict[str, int]:
    """Numbers that the script noted while the brokers were up: of the `bank`, of a `console-consumer`, of a
    `compaction`.
    """
    return json.loads(told(name))


def copied_night(broker: int = 1) -> Path:
    """A copy of one broker's disk, to be changed."""
    target = scratch(f"broker-{broker}")
    shutil.copytree(NIGHT / f"broker-{broker}", target)
    return target
