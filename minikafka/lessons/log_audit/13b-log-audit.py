# %% [markdown]
# # An audit of a log directory
#
# *Both brokers of a small shop are switched off. Here are copies of their disks. Who is late, what is damaged, are two copies equal?*
#
# ## 1. The question
#
# **Time:** about fifty minutes to read, thirty minutes to rebuild. **Before:** *Read isolation*, for high watermark and last stable offset; *Compaction*; *A log directory at scale*.
#
# **Afterwards you can decide:** how late a consumer group is, and whether it is slow or stuck; whether compaction pays; whether two copies of a topic are equal; what a broker would lose of a damaged disk.
#
# Four consumer groups read the shop's topics. In the morning `kafka-consumer-groups.sh` showed the `LAG` of each: how many offsets lie between the committed one and the high watermark. What goes wrong if you look only at `LAG`?

# %%
from minikafka.lab import ___, answer, bars_by_name, bars_over_time, diagram, erratum, planted, predict, query_walk, scratch, spans_of_time, step_through
from minikafka.lab.stage.shop_night import NIGHT, copied_night, noted, read_views, spark_of_the_shop, told, wake_spark
from minikafka.lab.stage.source_by_hand import Query
from minikafka.lessons.log_audit.copies import damage, forge, grow, read_by_kafka
from minikafka.lessons.log_audit.groups import lags_said, latest_group

lags = lags_said()
chart = bars_by_name([(group, "LAG", lag) for group, lag in lags.items()], "LAG in the morning")
wake_spark()
chart

# %%
predict(
    "group-behind-longest",
    "Which group is behind by the longest time?",
    ___,
    latest_group,
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting meanwhile.
#
# `read_views` makes views of the records and of the source's tables, such as `groups`: what each group has committed last.

# %%
spark = spark_of_the_shop()
read_views(spark, NIGHT / "broker-1")
behind = spark.sql("""
    WITH judged AS (
        SELECT g.group AS name, g.topic, g.offset AS committed, r.offset, r.timestamp,
               r.offset >= g.offset AS unread
        FROM groups g JOIN records r ON r.topic = g.topic AND r.partition = g.partition)
    SELECT name, topic, committed, count_if(unread) AS records, count(*) AS of_all,
           min_by(timestamp, offset) FILTER (WHERE unread) AS since, max(timestamp) AS newest
    FROM judged GROUP BY name, topic, committed ORDER BY name
""")
answer(behind.select("name", "topic", "committed", "records", "of_all"))

# %%
late = behind.selectExpr("name", "coalesce(since, newest) AS since", "newest", "concat(records, ' records')")
spans_of_time(late.orderBy("since"), "From a group's first unread record to the newest record")

# %% [markdown]
# ## 2. The picture
#
# `dashboard` has most to read, but its first unread record is the youngest of the three that are behind. **LAG says neither how many records are unread nor how old they are.** `mail` stopped before eleven in the evening. `billing` reads with `read_committed`, and a till has left a transaction open since 01:40: the group has read all that it may. It is not slow, it is stuck.
#
# - **Unread records:** the rows at or above a group's committed offset, also those that a `read_committed` reader will not get.
# - **Damage:** bytes that break the format. With `mode=PERMISSIVE` the source makes a row of each damage that a query meets; by default the query fails.

# %%
diagram("log_audit")

# %% [markdown]
# ## 3. The rules
#
# 1. The size of a segment is the sum of the sizes of its batches.
# 2. Of each group and partition `groups` has one row: what was committed last.
# 3. LAG counts the records from the committed offset to the high watermark, the markers between them, and what compaction has removed there.
# 4. Copies of a partition are equal below the high watermark of both, unless a cleaner has changed one.
#
# The next two cells check them: in each line two numbers must be equal. (Broker 2's copy of `orders` is shorter: it failed at five.)

# %%
of_segments = spark.sql("SELECT sum(size) AS bytes FROM segments").first().bytes
of_batches = spark.sql("SELECT sum(size) AS bytes FROM batches").first().bytes
print("rule 1: bytes of the segments:", of_segments, " of their batches:", of_batches)
different = spark.sql("SELECT DISTINCT group, topic, partition FROM groups")
print("rule 2: rows of groups:", spark.table("groups").count(), " groups and partitions:", different.count())

# %%
unread = spark.sql("SELECT r.offset FROM groups g JOIN records r USING (topic) WHERE r.offset >= g.offset")
markers = spark.sql("SELECT lastOffset FROM groups g JOIN batches USING (topic) WHERE control AND lastOffset >= g.offset")
print("rule 3: LAG of all groups:", sum(lags.values()), " records and markers:", unread.count() + markers.count())
one = spark.read.format("minikafka").load(str(NIGHT / "broker-1" / "orders-0"))
two = spark.read.format("minikafka").load(str(NIGHT / "broker-2" / "orders-0"))
same = spark.sql("SELECT offset FROM {one} JOIN {two} USING (offset, timestamp, value)", one=one, two=two)
print("rule 4: orders on broker 2:", two.count(), " the same on broker 1:", same.count())

# %% [markdown]
# ## 4. The source, walked
#
# ### Who is behind, and by how much time?
#
# LAG beside each group's unread records:

# %%
came = {row.name: row.records for row in behind.collect()}
bars = [(name, *bar) for name in came for bar in (("LAG", lags[name]), ("records", came[name]))]
bars_by_name(bars, "LAG, and unread records")

# %%
erratum(
    "The difference between two offsets is the number of messages between them",
    "it counts offsets. Markers take offsets and are no messages, compaction leaves holes, and some of the other records were aborted",
    f"LAG of billing is {lags['billing']}; unread records: {came['billing']}",
)

# %% [markdown]
# ### Which topics grow?
#
# The table `batches` comes from the batch headers; no record is decoded. From two o'clock on the web site sends three times as many clicks an hour, each as long as before, and its producer no longer compresses:

# %%
growth = spark.sql("""
    SELECT topic, date_format(maxTimestamp, 'HH') AS hour, sum(size) AS bytes, sum(records) AS records
    FROM batches WHERE topic IN ('clicks', 'orders', 'payments', 'prices') AND NOT control
    GROUP BY topic, hour, date_trunc('DAY', maxTimestamp) ORDER BY topic, date_trunc('DAY', maxTimestamp), hour
""")
bytes_of = {row.hour: row.bytes for row in growth.where("topic = 'clicks'").collect()}
answer(spark.sql("""
    SELECT codec, min(maxTimestamp) AS first, count(*) AS batches, sum(records) AS records,
           round(sum(size) / sum(records), 1) AS bytes_a_record
    FROM batches WHERE topic = 'clicks' GROUP BY codec ORDER BY first
"""))

# %%
predict(
    "bytes-growth-factor",
    "By which factor do the bytes of clicks grow from the hour 01 to the hour 02? (rounded)",
    ___,
    lambda: round(bytes_of["02"] / bytes_of["01"]),
)

# %% [markdown]
# In the morning `kafka-log-dirs.sh` showed the same sizes of partitions as the table `segments`:

# %%
import json

[logs] = json.loads(told("log-dirs").splitlines()[-1])["brokers"][0]["logDirs"]
kafkas = {each["partition"]: each["size"] for each in logs["partitions"]}
sizes = spark.sql("SELECT concat(topic, '-', partition) AS partition, sum(size) AS size FROM segments GROUP BY ALL").collect()
print(dict(sorted(kafkas.items())), " equal:", kafkas == {row.partition: row.size for row in sizes if row.partition in kafkas})
bars_over_time(growth.select("topic", "hour", "bytes"), "Bytes of each hour, by topic")

# %% [markdown]
# ### Would compaction pay?
#
# `prices` is compacted; the cleaner has not run this night. Eight products, two of which are dropped with a tombstone during the night, get their prices twice an hour; there are two segments. A round reads all but the active segment, and keeps the newest record of each key.

# %%
stays = spark.sql("""
    WITH active AS (SELECT max(baseOffset) AS base FROM segments WHERE topic = 'prices'),
    prices AS (SELECT key, offset, offset < base AS in_reach
               FROM records CROSS JOIN active WHERE topic = 'prices'),
    compared AS (SELECT *, max(IF(in_reach, offset, NULL)) OVER (PARTITION BY key) AS newest FROM prices)
    SELECT in_reach, NOT in_reach OR offset = newest AS stays FROM compared
""")
answer(stays.selectExpr("count(*) AS records", "count_if(in_reach) AS in_the_first_segment"))

# %%
predict(
    "records-left-after-round",
    "How many of the 170 records are left after a cleaning round?",
    ___,
    lambda: stays.where("stays").count(),
)

# %%
print("Kafka's own cleaner, on a copy of the disk:", noted("compaction"))

# %% [markdown]
# It would pay: four fifths of the bytes go.
#
# ### Are the replicas equal?
#
# Rule 4 again, offset by offset, with what one copy lacks:

# %%
DIFFER = """
    SELECT offset, one.value AS broker_1, two.value AS broker_2
    FROM {one} one FULL JOIN {two} two USING (offset)
    WHERE offset < {mark}
      AND NOT (one.key <=> two.key AND one.value <=> two.value AND one.timestamp <=> two.timestamp)
"""
print(answer(spark.sql(DIFFER, one=one, two=two, mark=two.count())))
beyond = spark.read.format("minikafka").option("bounds", "log_end").load(str(NIGHT / "broker-2"))
erratum(
    "An ordinary consumer sees the messages from the log start offset to LEO",
    "only to the high watermark. Records above may be truncated, so the source makes no rows of them, either",
    f"broker 2 has {beyond.count()} orders, a consumer of it would get {two.count()}",
)

# %% [markdown]
# No rows: the copies are equal. Now somebody changes one digit on a copy of broker 2's disk, and writes the batch as a producer would: order 31, at offset 20, comes from `till-2` instead of `till-1`.

# %%
from minikafka.spark.jobs.byte_ranges import table
from minikafka.spark.jobs.verify import verify

forged = copied_night(broker=2)
forge(forged, "orders", 20, b"till-1", b"till-2")
in_the_forged = verify(table(spark, "verify", [forged], {})).collect()

# %%
predict(
    "verify-on-forged-copy",
    "verify checks checksums, offsets, indexes and snapshots. Does it find the change? (True or False)",
    ___,
    lambda: bool(in_the_forged),
)

# %%
print("verify:", in_the_forged)
answer(spark.sql(DIFFER, one=one, two=spark.read.format("minikafka").load(str(forged)), mark=two.count()))

# %% [markdown]
# A checksum only shows that the records of the batch have not changed since the checksum was computed. Only the other copy shows the difference, and neither says which is right: ask who led the partition, and a third replica.
#
# ### Damage
#
# On a copy of broker 1's disk one bit is flipped in the middle of a segment of `clicks`, a segment of `payments` has lost its last bytes, and an index entry of `orders` is wrong. The column `_corrupt` names file, position and exception.

# %%
broken = copied_night(broker=1)
damage(broken)
kept = spark.read.format("minikafka").option("mode", "PERMISSIVE").load(str(broken))
clicks = kept.where("topic = 'clicks' AND _corrupt IS NULL").count()

# %%
predict(
    "clicks-missing",
    "One bit of a batch is wrong. How many of the 960 clicks does the query miss?",
    ___,
    lambda: 960 - clicks,
)

# %%
answer(kept.where("_corrupt IS NOT NULL").selectExpr(
    "topic", "substring_index(_corrupt.file, '/', -1) AS file", "_corrupt.position", "_corrupt.exception"
).orderBy("topic"))

# %% [markdown]
# One checksum covers all records of a batch, so the whole batch is left out. `Query` reads the damaged segment as a worker of Spark does:

# %%
query = Query(broken, "topic = 'clicks' AND offset >= 530", mode="PERMISSIVE")
READ = {"RecordRows.of_range", "decoded_runs"}
[task] = query.plan()
walk = step_through(query.read, task, into=READ, locals_of_interest={"position", "start", "end"})
query_walk(walk).play()

# %% [markdown]
# The batches before the damage are decoded together into columns; then the damage becomes a row; then come the sound batches after it.
#
# A broker is stricter. This is the first finding of `verify` in each segment and index, and what Kafka would do about it after an unclean stop:

# %%
findings = verify(table(spark, "verify", [broken], {}))
answer(spark.sql("""
    SELECT substring_index(file, '/', -2) AS file, min(position) AS position,
           min_by(what, position) AS what, min_by(nextStart, position) AS nextStart
    FROM {findings} WHERE file NOT LIKE '%timeindex' AND position IS NOT NULL GROUP BY file ORDER BY file
""", findings=findings))

# %% [markdown]
# - **clicks:** Kafka cuts the log's last segment at the damage, and the sound batches after it go too. So rescue these with a query *before* that start. (The `.index` is sound, but `verify` reads no batch after the damage, so an entry that points there counts as wrong.)
# - **payments:** Kafka does not scan segments below the recovery point. The torn batch stays, its three payments are lost, and a consumer that asks for one gets what the next segment has.
# - **orders:** the wrong entry stays. A broker's consumer that asks for an offset from 55 to 68 gets the records from 78 on, and no error. (A query is not misled: the source checks in the log what an index says.)
#
# ### As large as you like
#
# `grow` appends the night's clicks to a copy until it has as many gigabytes as you say, about a minute for each. A query brings every row into Spark's JVM; a job such as `verify` adds up in the workers. `minikafka spark --help` lists the jobs; `--master spark://…` runs one on a cluster.

# %%
GIGABYTES = 0
large = copied_night(broker=1)
added = grow(large, GIGABYTES)
batches = spark.read.format("minikafka").option("table", "batches").load(str(large / "clicks-0"))
print("clicks:", batches.selectExpr("sum(records)").first()[0], " of these added:", added)

# %% [markdown]
# ### A Parquet archive
#
# The orders go into a Parquet archive, and back: `write_log_dir` makes a log directory of a table, with segments, indexes and checkpoints; the column `offset` says where each record belongs. A broker can start on it if its cluster knows the topic under that id (the `topic_id` of `write_log_dir`) and has put the partition on this broker; otherwise the broker renames it to `-stray`. Here Apache Kafka's own `UnifiedLog` opens both directories, and a consumer reads them.

# %%
from minikafka.spark import write_log_dir

archive, restored = str(scratch("archive")), scratch("restored")
one.selectExpr("offset", "timestamp", "key", "value").write.parquet(archive)
write_log_dir(spark.read.parquet(archive), str(restored), topic="orders", settings={"compression.type": "zstd"})
print(*sorted(path.name for path in (restored / "orders-0").iterdir()), sep="\n")
before, after = read_by_kafka(NIGHT / "broker-1" / "orders-0"), read_by_kafka(restored / "orders-0")

# %%
predict(
    "restored-directory-same-records",
    "Does a consumer get the same records, with offsets and times, from the restored directory? (True or False)",
    ___,
    lambda: before == after,
)

# %% [markdown]
# ## 5. Three witnesses
#
# A group has committed offset 5. After each operation of a workload three are asked about it: the **job `lag`**, on the directory that a log is writing; **Spark**, from the lines alone; **Apache Kafka**, a consumer's reads of its own `UnifiedLog`. What is the LAG, and in which second was the first unread record written, with `read_uncommitted` (`oldest_unread`) and `read_committed` (`oldest_committed`)?

# %%
from minikafka.lessons.log_audit.lag_witnesses import by_lag_job, three_witnesses
from minikafka.witness import agree
from minikafka.witness.log.workload import Workload

workload = Workload.parse("""
append_as_leader [3x20 ts=now,now+1000,now+2000]
append_as_leader [2x20 pid=7 epoch=0 seq=0 txn ts=now+3000]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
append_as_leader [2x20 pid=9 epoch=0 seq=0 txn ts=now+9000,now+4000]
update_high_watermark leo
append_as_leader [2x20 ts=now+12000]
roll
append_as_leader origin=coordinator transaction_version=0 [abort pid=9 epoch=0]
update_high_watermark leo
append_as_leader [1x20 ts=now+1000]
update_high_watermark leo
""")
ours, spark_says, kafka = three_witnesses(workload, committed=5)
for number in (2, 5, 9, 11):
    print(f"{number:2} {workload.operations[number]} {ours.rows[number]}")
agree(ours, spark_says, kafka)

# %% [markdown]
# After operation 5 LAG is 3, and a `read_committed` reader has nothing to read. Now a bug is planted into the job: it takes a marker for a record.

# %%
with planted("a marker is taken for a record"):
    sick = by_lag_job(workload, committed=5)
found = agree(sick, spark_says, kafka)

# %%
predict(
    "lag-job-differs-after",
    "After which operation does the job with this bug differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "lag-agrees-with-bug",
    "Do the job with this bug, Spark and Kafka still say the same LAG after each operation? (True or False)",
    ___,
    lambda: all(sick.column("lag") == witness.column("lag") for witness in (spark_says, kafka) if witness),
)

# %%
print(found.first_difference)
print("oldest_committed after operation 5:", sick.value(5, "oldest_committed"), " and should be", ours.value(5, "oldest_committed"))

# %% [markdown]
# With `read_committed` a group that has read all that it may is shown as behind.

# %% [markdown]
# ## 6. Exercises
#
# [An audit of a log directory: rebuild](13b-log-audit-rebuild.ipynb) has three functions.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | CRC, formats, codecs, names of exceptions | the source does not know who led a partition: you choose the copy | a cluster of Spark; the queries are the same there |
# | which commit of a group counts; its LAG | what compaction saves is asked of one round | damage that the device reports |
#
# *What is different here:* the night lasted a minute. Real brokers and clients wrote the files, with timestamps of a night; markers and commits have the true time.
# *What Spark is told:* the lines of the workload; in the exercises tables that the source has read.
#
# **A question to take along.** A consumer group with `isolation.level=read_committed` shows a LAG that grows; its members are up, poll, and report no error. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether it is slow or stuck. If the committed offset does not move, compare it with the partition's last stable offset: an open transaction holds the reader there. `kafka-transactions.sh describe-producers` shows its start for that partition (`CurrentTransactionStartOffset`); on a disk it is the table `producers`. Then whose it is (`kafka-transactions.sh list`), and why it is not ended. The coordinator aborts it after `transaction.timeout.ms`, unless that was raised or the coordinator does not know the transaction; then `kafka-transactions.sh abort` does. If the offset moves, the group is slow: the age of its first unread record says by how much.
#
# </details>

# %% [markdown]
# ### Card
#
# - LAG counts offsets. It says neither how many records are unread nor how old they are.
# - The age of the first unread record says how late a group is. If its committed offset does not move, it has stopped (no members?) or is stuck (at the last stable offset: look for an open transaction).
# - A checksum tells that the records of a batch have not changed since the checksum was computed. Only another copy tells whether the leader wrote it.
# - Two copies are compared below the high watermark of both. Above it they may differ.
# - A damaged batch loses all its records. At an unclean start a broker cuts the log there, if it scans that segment; a query that runs before that start still reads the batches after it.
#
# ![Questions to a disk, and where the evidence lies](../diagrams/log_audit.svg)
#
# | question | table, option or job of the data source |
# |:---|:---|
# | which topics grow? | `batches`, without decoding a record; `segments` |
# | who is behind? | `groups`, joined with the records; the job `lag` |
# | what would compaction save? | the newest offset of each key below the active segment; the job `compaction` |
# | are two copies equal? | the records of both, joined by offset below the high watermark of both; the job `replicas` |
# | what is damaged? | the job `verify`; `mode=PERMISSIVE` makes a row of each that a query meets |
# | how do records come back? | `write_log_dir`, from any table with `offset` |

# %% [markdown]
# **Next:** [The wire](14-wire.ipynb). Or your own disks: `spark.read.format("minikafka").load("/var/lib/kafka/data")`.
