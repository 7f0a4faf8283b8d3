"""What was paid in the shop's night: read by somebody who knows the format alone, and by the data source."""

import json
from collections import Counter

from minikafka.lab.stage import shop_night
from minikafka.record.format.memory_records import MemoryRecords


def every_record(topic: str) -> list[tuple[int, bytes]]:
    """Timestamp (ms) and value of all records in the files of partition 0, one after the other, without transactions'
    markers: by somebody who knows the format and nothing else.
    """
    found = []
    for file in sorted((shop_night.NIGHT / "broker-1" / f"{topic}-0").glob("*.log")):
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
    spark = shop_night.spark_of_the_shop()
    reader = spark.read.format("minikafka").option("isolation.level", "read_committed")
    night = reader.load(str(shop_night.NIGHT / "broker-1"))
    values = night.where(night.topic == topic).selectExpr("CAST(value AS STRING) AS value").collect()
    return sum(json.loads(row.value)["amount"] for row in values)
