# %% [markdown]
# # A log directory at scale
#
# *Both brokers of a small shop are switched off. Here are copies of their disks. What happened last night?*
#
# ## 1. The question
#
# **Time:** about fifty minutes to read, twenty minutes to rebuild. **Before:** *Producers and transactions*; *Read isolation*, for high watermark and last stable offset; some SQL.
#
# **Afterwards you can decide:** whether a question to a cluster needs the cluster, what a query of a disk reads, and whose transaction hides the records of others.
#
# The web site and two tills (cash desks) write to the topic `payments`, in transactions. The bank has their sum. What goes wrong if a reader knows only the format of the files? It reads every segment from first byte to last, and adds up all payments.

# %%
from minikafka.lab import ___, answer, bars_over_time, diagram, erratum, planted, predict, query_walk, step_through
from minikafka.lab.stage.shop_night import NIGHT, copied_night, noted, read_views, spark_of_the_shop, told, wake_spark
from minikafka.lab.stage.source_by_hand import Query
from minikafka.lab.widgets.transaction_lanes import TransactionLanes
from minikafka.lessons.log_directory.payments import paid_by_hour, sum_committed

paid = paid_by_hour()
in_the_files = sum(amount for _, _, amount in paid)
chart = bars_over_time(paid, "What was paid, hour by hour")
wake_spark()
chart

# %%
predict(
    "bank-sum",
    "Which sum is the bank's: that of 'all' payments in the files, that of a 'read_committed' reader, or 'neither'?",
    ___,
    lambda: {in_the_files: "all", sum_committed("payments"): "read_committed"}.get(noted("bank")["amount"], "neither"),
)

# %% [markdown]
# **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside this one. A `___` is a blank for you to fill. Spark is starting meanwhile, and Apache Kafka, a witness in part 5.
#
# The files have too much: some transactions were aborted, and their records stay in the log. A consumer with `isolation.level=read_committed` does not get them. No broker is up, but
# the data source `minikafka` reads a broker's disk as a consumer would. This Spark knows it (`minikafka.spark.register`); it needs only the path. (`noted`: what was noted while the brokers were up.)

# %%
print(f"in the files: {in_the_files:,}")
print("at the bank:  {amount:,} in {payments} payments".format(**noted("bank")))
spark = spark_of_the_shop()
night = spark.read.format("minikafka").option("isolation.level", "read_committed").load(str(NIGHT / "broker-1"))
AMOUNT = "get_json_object(CAST(value AS STRING), '$.amount')"
answer(spark.sql(f"SELECT count(*) AS payments, sum({AMOUNT}) AS amount FROM {{night}} WHERE topic = 'payments'", night=night))

# %% [markdown]
# ## 2. The picture
#
# 2,556 is too little. **The records do not say which of them count.** The high watermark, transaction markers, and indexes and snapshots beside them say it.
#
# - **Row:** a record as a consumer would get it, with the columns of Spark's Kafka connector: key, value, topic, partition, offset, timestamp, timestampType.
# - **Bounds:** the offsets between which a query reads a partition. The end is the high watermark that the broker has written to disk; for `read_committed` it is the last stable offset.
# - **Byte range:** whole batches of one segment, from one position in its file to another. **Task:** some byte ranges, read by one worker.
# - **Pruned:** a partition, a segment or bytes of it are left out of the plan, because they cannot hold a row that the query asks for.
# - **Table:** what the source reads besides records: `batches`, `segments`, `index`, `transactions` (aborted ones), `producers` (from snapshots), `checkpoints`, and others.
#
# `read_views` makes a view of each table, and of the records for `read_uncommitted` (`records`) and `read_committed` (`committed`). It reads nothing yet.

# %%
diagram("log_directory")

# %%
read_views(spark, NIGHT / "broker-1")
answer(spark.sql("""
    SELECT topic, count(*) AS segments, sum(size) AS bytes FROM segments
    GROUP BY topic ORDER BY topic
"""))

# %% [markdown]
# ## 3. The rules
#
# 1. With `read_uncommitted`, every offset within the bounds is a row, a marker, or was removed by compaction.
# 2. A query reads only below the high watermark. A record at or above it is no row (`bounds=log_end` asks for it).
# 3. A row of `read_committed` is a row of `read_uncommitted`, and lies below the first open transaction.
# 4. Pruning saves work. It never changes an answer.
# 5. Every batch is read by one task, however many tasks there are.
#
# The next two cells check the rules (of rule 3 the first half): in each line two numbers must be equal. (Broker 2 has a copy of `orders`. With the option `pushFilters` the conditions of a query prune; without it Spark reads everything first.)

# %%
rows = spark.sql("SELECT offset FROM records WHERE topic = 'payments'")
markers = spark.sql("SELECT lastOffset FROM batches WHERE topic = 'payments' AND control")
ends = spark.sql("SELECT max(lastOffset) + 1 AS log_end FROM batches WHERE topic = 'payments'")
print("rule 1: rows and markers:", rows.count() + markers.count(), " offsets:", ends.first().log_end)
of_two = spark.read.format("minikafka").load(str(NIGHT / "broker-2"))
marks = spark.read.format("minikafka").option("table", "checkpoints").load(str(NIGHT / "broker-2"))
mark = marks.where("file LIKE '%replication-offset-checkpoint'").first().offset
print("rule 2: end of the rows:", of_two.selectExpr("max(offset) + 1 AS end").first().end, " high watermark:", mark)

# %%
both = spark.sql("SELECT offset FROM committed JOIN records USING (topic, partition, offset)")
print("rule 3: committed rows:", spark.table("committed").count(), " these are also in records:", both.count())
FROM_FIVE = "timestamp >= timestamp'2023-11-15 05:00:00'"
pruned = spark.read.format("minikafka").option("pushFilters", "true").load(str(NIGHT / "broker-1"))
print("rule 4: rows with pruning:", pruned.where(FROM_FIVE).count(), end="")
print("  without:", spark.table("records").where(FROM_FIVE).count())
many = spark.read.format("minikafka").option("maxBytesPerTask", "3000").load(str(NIGHT / "broker-1"))
different = many.select("topic", "partition", "offset").distinct()
print("rule 5: rows of many tasks:", many.count(), " different ones:", different.count())

# %% [markdown]
# Beside a running broker the rules are the same. It writes its high watermarks every five seconds by default, so a query may lack the records of the last five seconds.
#
# ## 4. The source, walked
#
# ### What a query reads
#
# A query asks for the payments from offset 100 on. `Query` calls the source's own code, as Spark does, but in this notebook. Below: the segments of `payments`, and the offset index of the segment that begins at 59: each entry has a batch's last offset and the byte at which this batch begins.

# %%
query = Query(NIGHT / "broker-1", "topic = 'payments' AND offset >= 100")
LOCALS = {"start", "end", "end_offset", "positions"}
walk = step_through(query.plan, into={"byte_ranges"}, locals_of_interest=LOCALS)
print(answer(spark.sql("SELECT baseOffset, endOffset, size FROM segments WHERE topic = 'payments' ORDER BY baseOffset")))
answer(spark.sql("""
    SELECT offset, position FROM index
    WHERE topic = 'payments' AND segment LIKE '%59.log' ORDER BY offset
"""))

# %%
predict(
    "segments-query-reads",
    "How many of the five segments does the query read?",
    ___,
    lambda: len(query.plan()[0].ranges),
)

# %%
predict(
    "bytes-query-reads",
    "The segment that begins at 59 has 2965 bytes. How many of them does the query read?",
    ___,
    lambda: query.plan()[0].ranges[0].size,
)

# %%
query_walk(walk).play()

# %% [markdown]
# The picture above each frame shows the stage. File names tell which segments matter. The offset index tells where to begin: at a batch that starts at or before offset 100. The task drops the records before 100.
#
# Now by time: what was ordered before ten in the evening? The largest timestamps of the segments of `orders`:

# %%
TEN_MS = 1_699_999_200_000  # 22:00
early = Query(NIGHT / "broker-1", f"topic = 'orders' AND timestamp < {TEN_MS}")
late = Query(NIGHT / "broker-1", f"topic = 'orders' AND timestamp >= {TEN_MS + 9 * 3_600_000}")
answer(spark.sql("SELECT baseOffset, endOffset, largestTimestamp FROM segments WHERE topic = 'orders' ORDER BY baseOffset"))

# %%
predict(
    "segments-before-22",
    "How many of the three segments does a query for orders before 22:00 read?",
    ___,
    lambda: len(early.plan()[0].ranges),
)

# %%
predict(
    "segments-from-07",
    "How many segments does a query for orders from 07:00 on read?",
    ___,
    lambda: len(late.plan()[0].ranges),
)

# %%
print(answer(spark.sql("""
    SELECT substring_index(segment, '/', -1) AS segment, count(*) AS orders,
           count_if(hour(timestamp) IN (20, 21)) AS before_ten
    FROM records WHERE topic = 'orders' GROUP BY segment ORDER BY segment
""")))
gaps = spark.sql("""
    SELECT min(gap) AS least, max(gap) AS most
    FROM (SELECT position - lag(position) OVER (PARTITION BY segment ORDER BY offset) AS gap
          FROM index WHERE topic = 'clicks')
""").first()
erratum(
    "Every index.interval.bytes an entry is written into the index",
    "a batch gets an entry when more than that many bytes were written since the last entry: entries are further apart, by up to a batch",
    f"index.interval.bytes=1000, and entries are {gaps.least} to {gaps.most} bytes apart",
)

# %% [markdown]
# The second segment has six of them: a till without a network sent its evening sales at four in the morning. Files and indexes say how far *forward* in time a segment reaches, not how far back: `.timeindex` notes the largest timestamp so far, never the smallest. So a condition `timestamp >= …` prunes, and `timestamp < …` does not.
#
# ### Who left a transaction open?
#
# A broker that stops cleanly writes a snapshot of its producers, so the table `producers` tells:

# %%
open_ones = spark.sql("""
    SELECT producerId, producerEpoch, openTransactionFirstOffset AS since, lastTimestamp
    FROM producers WHERE topic = 'payments' AND openTransactionFirstOffset IS NOT NULL
    AND snapshotOffset = (SELECT max(snapshotOffset) FROM producers WHERE topic = 'payments')
""")
open_ones.createOrReplaceTempView("open_ones")
answer(open_ones)

# %% [markdown]
# A broker that is killed writes no snapshot. Then the batches must tell: a transaction is open until its producer's marker comes. The job `transactions` (not the table) reads the headers of batches; `committed` and `aborted` count transactions:

# %%
from minikafka.spark.jobs.byte_ranges import ranges
from minikafka.spark.jobs.transactions import transactions

told_by_batches = transactions(ranges(spark, [NIGHT / "broker-1"], bounds="log_end"))
answer(told_by_batches.select("producerId", "records", "committed", "aborted", "abortedRecords", "openOffset", "openRecords").orderBy("producerId"))

# %% [markdown]
# Producers' names are in `__transaction_state`, the transaction coordinator's topic: the key has two bytes for its version, two for the length of the name, and the name; the value begins with two bytes for its version and eight for the producer's id.

# %%
answer(spark.sql("""
    SELECT CAST(substring(key, 5) AS STRING) AS transactional_id, o.producerId
    FROM records r JOIN open_ones o ON conv(hex(substring(value, 3, 8)), 16, 10) = o.producerId
    WHERE topic = '__transaction_state' GROUP BY ALL
"""))

# %% [markdown]
# `kafka-transactions.sh list` showed the same in the morning:

# %%
print(told("transactions"))

# %% [markdown]
# The till `till-2` began a transaction at 01:40, sent three payments, and never ended it. (A broker allows at most `transaction.max.timeout.ms`, 15 minutes by default; in this night it was raised.) While that transaction is open, every `read_committed` reader stops before its first
# offset. Web and `till-1` went on and committed.

# %%
predict(
    "payments-transaction-hides",
    "How many committed payments does that one transaction hide?",
    ___,
    lambda: noted("bank")["payments"] - spark.table("committed").where("topic = 'payments'").count(),
)

# %%
from minikafka.lab import open_log

log = open_log(copied_night(broker=1) / "payments-0")
log.update_high_watermark(log.log_end_offset)
TransactionLanes(log, "Payments from offset 64 on: producer 5 is till-2").snap("in the morning: 33 committed payments to the right of the LSO").play(since=64)

# %% [markdown]
# Every committed batch from the last stable offset on is hidden, but the files have it. The sum without aborted and open transactions:

# %%
answer(spark.sql(f"""
    SELECT count(*) AS payments, sum({AMOUNT}) AS amount
    FROM (SELECT * FROM records WHERE topic = 'payments') r
    LEFT ANTI JOIN transactions a
      ON a.producerId = r.producerId AND r.offset BETWEEN a.firstOffset AND a.lastOffset
    LEFT ANTI JOIN open_ones o ON o.producerId = r.producerId AND r.offset >= o.since
"""))

# %% [markdown]
# That is the bank's sum. **No consumer can ask for just these records.**

# %% [markdown]
# ## 5. Three witnesses
#
# Three witnesses answer the same questions after each operation: the **data source**, on the directory that a log is writing; **Spark**, from the lines alone; **Apache Kafka**, by a consumer's reads of its own `UnifiedLog`. What does a reader get with `read_uncommitted`, and
# with `read_committed`? Which records have a timestamp at least eight seconds after `now`, the start of the workload (`since_then`, a query that prunes)? Operations are numbered from 0.

# %%
from minikafka.lessons.log_directory.source_witnesses import by_data_source, three_witnesses
from minikafka.witness import agree
from minikafka.witness.log.workload import Workload

workload = Workload.parse("""
append_as_leader [3x20 ts=now,now+1000,now+2000]
update_high_watermark leo
append_as_leader [2x20 pid=7 epoch=0 seq=0 txn ts=now+3000]
append_as_leader [2x20 ts=now+9000,now+4000]
update_high_watermark leo
append_as_leader [2x20 pid=9 epoch=0 seq=0 txn ts=now+5000]
roll
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [2x20 ts=now+12000]
update_high_watermark leo
append_as_leader [3x20 ts=now+1000]
update_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [commit pid=9 epoch=0]
roll
append_as_leader [2x20 ts=now+2000]
update_high_watermark leo
""")
since = workload.start_ms + 8000
ours, spark_says, kafka = three_witnesses(workload, since)
for number in (4, 5, 9, 11, 15):
    row = ours.rows[number]
    print(f"{number:2} {workload.operations[number]!s:60.60} committed {len(row['read_committed']):2}  since then {row['since_then']}")
agree(ours, spark_says, kafka)

# %% [markdown]
# Now a bug is planted into the source: it believes that the largest timestamp of a segment is that of its last batch.

# %%
with planted("the last timestamp of a segment is taken for its largest"):
    sick = by_data_source(workload, since)
found = agree(sick, spark_says, kafka)

# %%
predict(
    "source-differs-after",
    "After which operation does the source with this bug differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "since-then-contradicted-by",
    "How many witnesses contradict the source about since_then after that operation? (1 or 2)",
    ___,
    lambda: sum(w.value(found.first_difference.operation, "since_then") != sick.value(found.first_difference.operation, "since_then") for w in (spark_says, kafka) if w),
)

# %%
print(found.first_difference)

# %% [markdown]
# Without a condition on time all rows are there: `read_uncommitted` and `read_committed` agree. A reader that prunes too much raises no error. It leaves rows out (rule 4).

# %% [markdown]
# ## 6. Exercises
#
# [A log directory at scale: rebuild](13a-log-directory-at-scale-rebuild.ipynb) has two functions.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | which records a consumer gets: high watermark, last stable offset, aborted transactions, markers | bounds come from the files; after a kill they lag behind what consumers have seen | objects of tiered storage, paths in an object store |
# | positions by the offset index, segments by the largest timestamp of the time index | no fetch sessions, quotas or authorization: a reader of the files may read all | streams that follow a broker |
#
# *What is different here:* the night lasted a minute. Real brokers and clients wrote the files, with timestamps of a night; markers have the true time.
# *What Spark is told:* in part 5 the lines of the workload; in the exercises tables that the source has read, and no code of minikafka.
#
# **A question to take along.** Every night a job adds up a topic with `read_committed`, from a copy of a broker's disk. Tonight's sum is far too small, and no error is reported. What do you check first?
#
# <details><summary>One answer</summary>
#
# Where the query ended. Compare its last offset with that of a query with `read_uncommitted` and `bounds=log_end`. If much lies between them, a transaction is open (the table `producers` or the job `transactions` names its producer), or the checkpoint of high watermarks is old: the broker was killed, or the file was copied before the segments. If little does, the copy itself ends too early, or many transactions were aborted (table `transactions`).
#
# </details>

# %% [markdown]
# ### Card
#
# - The records do not tell which of them count. The high watermark, markers, indexes and snapshots do.
# - A query ends at the high watermark that the broker has written to disk, with `read_committed` at the last stable offset.
# - A query by offset finds its segments by their file names, and the bytes by the offset index.
# - Pruning saves work. It never changes an answer.
# - `timestamp >= …` prunes and `timestamp < …` does not: files tell how late a segment reaches, not how early.
#
# ![A query of a log directory](../diagrams/log_directory.svg)
#
# | question | table, option or job of the data source |
# |:---|:---|
# | who left a transaction open? | `producers`; after a kill the job `transactions` |
# | which transactions were aborted? | `transactions` |
# | what does a broker note of its partitions? | `checkpoints` |
# | what lies above the high watermark? | `bounds=log_end` |
# | where does a batch begin? | `index`: of some batches; `batches`: of each |

# %% [markdown]
# **Next:** is the disk sound, and who is late? *An audit of a log directory*.
