"""The night of the lesson *A log directory at scale*: what two real brokers left of it, and what can be done to copies.

`tests/golden/make_night.py` had the brokers write it, and noted what Kafka's own tools said while they were up.
"""

import json
import shutil
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from minikafka.lab.stage.background import told_while_starting, while_the_reader_reads
from minikafka.lab.stage.workbench import NOON, kafka_witness, scratch

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
    from minikafka.spark import register, session

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


def every_record(topic: str, directory: Path = NIGHT / "broker-1") -> list[tuple[int, bytes]]:
    """Timestamp (ms) and value of all records in the files of partition 0, one after the other, without transactions'
    markers: by somebody who knows the format and nothing else.
    """
    from minikafka.record.format.memory_records import MemoryRecords

    found = []
    for file in sorted((directory / f"{topic}-0").glob("*.log")):
        for batch in MemoryRecords.readable_records(file.read_bytes()).batches():
            found += [] if batch.is_control_batch else [(record.timestamp, bytes(record.value)) for record in batch]
    return found


def paid_by_hour() -> list[tuple[str, str, int]]:
    """What `every_record` finds of payments, added up by the hour (UTC): (series, hour, amount), the hours in order."""
    sums: Counter[int] = Counter()
    for timestamp, value in every_record("payments"):
        sums[timestamp // 3_600_000] += json.loads(value)["amount"]
    series = f"all payments in the files: {sum(sums.values())}"
    return [(series, f"{hour % 24:02d}:00", sums[hour]) for hour in sorted(sums)]


def sum_committed(topic: str) -> int:
    """The sum of all amounts that the data source gives a read_committed reader of the first broker's disk."""
    spark = spark_of_the_shop()
    reader = spark.read.format("minikafka").option("isolation.level", "read_committed")
    night = reader.load(str(NIGHT / "broker-1"))
    values = night.where(night.topic == topic).selectExpr("CAST(value AS STRING) AS value").collect()
    return sum(json.loads(row.value)["amount"] for row in values)


def copied_night(broker: int = 1) -> Path:
    """A copy of one broker's disk, to be damaged."""
    target = scratch(f"broker-{broker}")
    shutil.copytree(NIGHT / f"broker-{broker}", target)
    return target


def forge(directory: Path, topic: str, offset: int, old: bytes, new: bytes) -> None:
    """Put `new` for `old` (of the same length) into the batch of partition 0 that holds `offset`, and mend its
    checksum: a change that no checksum tells. Raises ValueError where `old` is not.
    """
    from crc32c import crc32c

    from minikafka.record.format.record_batch import ATTRIBUTES_OFFSET

    for file in sorted((directory / f"{topic}-0").glob("*.log")):
        data = bytearray(file.read_bytes())
        for start, size in _batch_at(bytes(data), offset):
            at = data.index(old, start, start + size)
            data[at : at + len(old)] = new
            data[start + 17 : start + 21] = crc32c(bytes(data[start + ATTRIBUTES_OFFSET : start + size])).to_bytes(
                4, "big"
            )
            file.write_bytes(data)
            return
    raise ValueError(f"no batch of {topic}-0 holds offset {offset}")


def damage(directory: Path) -> None:
    """Three damages: a flipped bit in a batch of clicks, the longest payments segment cut within its last batch, an
    entry of an index of orders that leads nowhere.
    """
    clicks = sorted((directory / "clicks-0").glob("*.log"))[1]
    _flip(clicks, clicks.stat().st_size // 2)
    payments = max((directory / "payments-0").glob("*.log"), key=lambda file: file.stat().st_size)
    payments.write_bytes(payments.read_bytes()[:-40])
    _flip(sorted((directory / "orders-0").glob("*.index"))[1], 7)


def read_by_kafka(directory: Path) -> list[tuple[int, int, bytes | None, bytes]] | None:
    """Offset, timestamp in ms, key and value of each record that Apache Kafka's own `UnifiedLog` gives a consumer, on a
    copy of a partition's directory; None where Kafka's jars are absent. Raises what Kafka raises.
    """
    from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
    from minikafka.common.scheduler import ManualScheduler
    from minikafka.common.time import ManualTime
    from minikafka.lab.stage.readers import records_seen

    kafka = kafka_witness()
    if kafka is None:
        return None
    copy, time = scratch(directory.name), ManualTime(NOON)
    shutil.copytree(directory, copy)
    topic_id = PartitionMetadataFile(copy / "partition.metadata").read().topic_id
    log = kafka(
        copy, {}, log_start_offset=0, recovery_point=0, scheduler=ManualScheduler(time), time=time,
        last_shutdown_clean=True, topic_id=topic_id,
    )  # fmt: skip
    log.update_high_watermark(log.log_end_offset)
    seen = records_seen(log)
    log.close_handlers()
    return [(record.offset, record.timestamp, record.key and bytes(record.key), bytes(record.value)) for record in seen]


def grow(directory: Path, gigabytes: float = 1.0) -> int:
    """Let the clicks of a copied night go on until they have so many gigabytes (10⁹ bytes): the same batches again and
    again, with new offsets. Takes about a minute a gigabyte. Returns the number of records added.
    """
    from minikafka.lab.stage.workbench import open_log
    from minikafka.record.format.memory_records import MemoryRecords

    night = b"".join(file.read_bytes() for file in sorted((directory / "clicks-0").glob("*.log")))
    batches = [bytearray(batch.buffer) for batch in MemoryRecords.readable_records(night).batches()]
    counts = [int.from_bytes(batch[57:61], "big") for batch in batches]
    log = open_log(directory / "clicks-0", {"segment.bytes": str(1 << 28), "retention.ms": "-1"})
    first = log.log_end_offset
    for _ in range(int(gigabytes * 1e9 / len(night))):
        offset = log.log_end_offset
        for batch, count in zip(batches, counts, strict=True):
            batch[:8] = offset.to_bytes(8, "big")  # the checksum does not cover it
            offset += count
        log.append_as_follower(MemoryRecords.readable_records(b"".join(batches)), 0)
    end = log.log_end_offset
    log.close()
    return end - first


def _flip(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 0x10
    file.write_bytes(data)


def _batch_at(data: bytes, offset: int) -> list[tuple[int, int]]:
    """Start and size of the batch that holds `offset`; an empty list when none does."""
    from minikafka.record.format.memory_records import MemoryRecords

    start = 0
    for batch in MemoryRecords.readable_records(data).batches():
        if batch.base_offset <= offset <= batch.last_offset:
            return [(start, batch.size_in_bytes)]
        start += batch.size_in_bytes
    return []
