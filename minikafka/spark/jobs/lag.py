"""The job `lag`: how far consumer groups are behind, in records and in time.

What groups have committed is the table `groups`; how far the logs go is read at their ends, and the first record that
a group has not read is found by the index (`unread_records`): no other record is looked at.
"""

import time
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from minikafka.spark.jobs.row_type import schema_of_rows
from minikafka.spark.jobs.spark_time import spark_time
from minikafka.spark.jobs.unread_records import Unread, unread_records
from minikafka.spark.source.damage import Mode
from minikafka.spark.source.range_rows import carried_settings

AHEAD, BEHIND, CAUGHT_UP, LOST, NO_LOG = "ahead", "behind", "caught up", "lost records", "no log"
HOUR = 3_600_000


def lag(
    groups: DataFrame,
    partitions: DataFrame,
    *,
    now: int | None = None,
    stale_after: int = HOUR,
    isolation_level: str = "read_uncommitted",
    mode: str = Mode.FAILFAST.value,
) -> DataFrame:
    """A row for each partition of which a group has committed an offset. Both are the data source's tables.

    | column | type | meaning |
    |---|---|---|
    | `group`, `topic`, `partition` | string, string, int | |
    | `committed` | bigint | the next offset that the group will read |
    | `logStart`, `readableEnd`, `logEnd` | bigint | `readableEnd` is the high watermark, or with `read_committed` the \
last stable offset; null without a log |
    | `lag` | bigint | `readableEnd` - `committed`, as Kafka's tools tell it: gaps and markers count; it is negative \
where the checkpoint of high watermarks is older than the commit, and null where it is no 64-bit number |
    | `oldestUnread` | timestamp | of the first record that the group can read and has not; null for none |
    | `behindMs` | bigint | from `oldestUnread` to `now`, in ms |
    | `commitTimestamp`, `idleMs` | timestamp, bigint | when the group committed, and from then to `now`, in ms |
    | `state` | string | `caught up`; `behind`; `ahead` of the log's end, which was truncated or made anew; \
`lost records`: those that it has not read begin below the log start; `no log` below the paths |
    | `stale` | boolean | there are records to read, and no commit for longer than `stale_after` (ms) |

    `now`: ms since 1970, None for this machine's clock. Where several replicas of a partition are found, the one with
    the largest log end counts; for that of `__consumer_offsets`, `groups` should have `copies=furthest`, as the command
    has it. With damage, mode FAILFAST ends the job; in others `oldestUnread` is null where it
    cannot be read.

    Kafka: `ConsumerGroupCommand.ConsumerGroupService.describeGroups`.
    """
    clock = F.lit(time.time_ns() // 1_000_000 if now is None else now)
    key = ["group", "topic", "partition"]
    newest = F.max_by(F.struct(F.col("offset").alias("committed"), "commitTimestamp"), "recordOffset")
    commits = groups.where("group IS NOT NULL").groupBy(*key).agg(newest.alias("commit")).select(*key, "commit.*")
    offsets = commits.groupBy("topic", "partition").agg(F.collect_set("committed").alias("offsets"))
    logs = partitions.select("topic", "partition", "directory")
    look = partial(
        unread_records, settings=carried_settings(partitions.schema), isolation_level=isolation_level, mode=mode
    )
    found = logs.join(offsets, ["topic", "partition"]).mapInArrow(look, schema_of_rows(Unread))
    ends = (
        logs.join(found, "directory")
        .groupBy("topic", "partition", "committed")
        .agg(
            F.max_by(F.struct("logStart", "readableEnd", "logEnd", "hasUnread", "oldestUnread"), "logEnd").alias("log")
        )
        .select("topic", "partition", "committed", "log.*")
    )
    has_unread = F.coalesce("hasUnread", F.col("committed") < F.col("readableEnd"))
    idle = F.try_subtract(clock, F.unix_millis("commitTimestamp"))
    state = (
        F.when(F.col("logEnd").isNull(), NO_LOG)
        .when(F.col("committed") > F.col("logEnd"), AHEAD)
        .when(F.col("committed") < F.col("logStart"), LOST)
        .when(has_unread, BEHIND)
        .otherwise(CAUGHT_UP)
    )
    return commits.join(ends, ["topic", "partition", "committed"], "left").select(
        *key,
        "committed",
        "logStart",
        "readableEnd",
        "logEnd",
        F.try_subtract("readableEnd", "committed").alias("lag"),
        spark_time("oldestUnread").alias("oldestUnread"),
        F.try_subtract(clock, "oldestUnread").alias("behindMs"),
        "commitTimestamp",
        idle.alias("idleMs"),
        state.alias("state"),
        F.coalesce(has_unread & (idle > stale_after), F.lit(False)).alias("stale"),
    ).orderBy(*key)  # fmt: skip
