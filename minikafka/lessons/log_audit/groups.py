"""The consumer groups of the shop's night: what Kafka's own tool said of them, and which one is latest."""

from minikafka.lab.stage import shop_night

GROUPS = ("billing", "dashboard", "mail", "warehouse")


def lags_said() -> dict[str, int]:
    """The `LAG` of each group, as `kafka-consumer-groups.sh` said it in the morning."""
    rows = [line.split() for line in shop_night.told("consumer-groups").splitlines()]
    return {words[0]: int(words[5]) for words in rows if words[0] in GROUPS}


def latest_group() -> str:
    """The group with the longest time from the first record that it has not had to the newest one."""
    spark = shop_night.spark_of_the_shop()
    tables = {
        name: spark.read.format("minikafka").option("table", name).load(str(shop_night.NIGHT / "broker-1"))
        for name in ("groups", "records")
    }
    return spark.sql(_LATEST, **tables).first().group


_LATEST = """
    SELECT g.group, max(r.timestamp) - min_by(r.timestamp, r.offset) FILTER (WHERE r.offset >= g.offset) AS behind
    FROM {groups} g JOIN {records} r ON r.topic = g.topic AND r.partition = g.partition
    GROUP BY g.group ORDER BY behind DESC NULLS LAST LIMIT 1
"""
