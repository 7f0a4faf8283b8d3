# %% [markdown]
# # A log directory at scale
#
# *Both brokers of a small shop are switched off. Here are copies of their disks. What happened last night?*
#
# ## 1. The question
#
# **Time:** fifty minutes to read, forty minutes to rebuild. **Before:** *Read*, for high watermark and last stable offset; *Compaction*; some SQL.
#
# **Afterwards you can decide:** whether a question to a cluster needs the cluster, what a query of a disk reads, whether a late consumer group is slow or stuck, and whether two copies of a topic are equal.
#
# The web site and two tills (cash desks) write to the topic `payments`, in transactions. The bank has their sum. What goes wrong without a reader that knows more than the format of the files? One that knows only the format reads every segment from first byte to last, and adds up all payments.

# %%
from minikafka.lab import ___, answer, bars_by_name, bars_over_time, diagram, erratum, planted, predict, query_walk, spans_of_time, step_through
from minikafka.lab.widgets.transaction_lanes import TransactionLanes
from minikafka.lessons.log_directory.source_by_hand import Query
from minikafka.lessons.log_directory.shop_night import NIGHT, copied_night, damage, forge, grow, noted, read_views, told
from minikafka.lessons.log_directory.shop_night import paid_by_hour, read_by_kafka, spark_of_the_shop, sum_committed, wake_spark

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
print("in the files:", in_the_files)
print("at the bank: ", noted("bank"))
spark = spark_of_the_shop()
night = spark.read.format("minikafka").option("isolation.level", "read_committed").load(str(NIGHT / "broker-1"))
AMOUNT = "get_json_object(CAST(value AS STRING), '$.amount')"
answer(spark.sql(f"SELECT count(*) AS payments, sum({AMOUNT}) AS amount FROM {{night}} WHERE topic = 'payments'", night=night))

# %% [markdown]
# ## 2. The picture
#
# 2,556 is too little. **The records do not say which of them count.** The high watermark, transaction markers, and indexes and snapshots beside them say it.
#
# - **Row:** a record as a consumer would get it, with Kafka's columns: key, value, topic, partition, offset, timestamp.
# - **Bounds:** the offsets between which a query reads a partition. The end is the high watermark that the broker has written to disk; for `read_committed` it is the last stable offset.
# - **Byte range:** whole batches of one segment, from one position in its file to another. **Task:** some byte ranges, read by one worker.
# - **Pruned:** left out of the plan, because no row that the query asks for can be there.
# - **Table:** what the source reads besides records: `batches`, `segments`, `index`, `transactions` (aborted ones), `producers` (from snapshots), `checkpoints`, `groups` (offsets that consumer groups have committed).
# - **Late record:** its timestamp is below that of an earlier record.
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
# 2. A query ends before the high watermark, at the latest. A record at or above it is no row (`bounds=log_end` asks for it).
# 3. A row of `read_committed` is a row of `read_uncommitted`, and lies below the first open transaction.
# 4. Pruning saves work. It never changes an answer.
# 5. Every batch is read by one task, however many tasks there are.
#
# Each rule as two numbers that must be equal. (Broker 2 has a copy of `orders`. With the option `pushFilters` the conditions of a query prune; without it Spark reads everything first.)

# %%
marks = spark.read.format("minikafka").option("table", "checkpoints").load(str(NIGHT / "broker-2"))
other = spark.read.format("minikafka").load(str(NIGHT / "broker-2"))
pruned = spark.read.format("minikafka").option("pushFilters", "true").load(str(NIGHT / "broker-1"))
many = spark.read.format("minikafka").option("maxBytesPerTask", "3000").load(str(NIGHT / "broker-1"))
answer(spark.sql("""
    SELECT 1 AS rule, (SELECT count(*) FROM records WHERE topic = 'payments') + count_if(control) AS one, max(lastOffset) + 1 AS other
    FROM batches WHERE topic = 'payments'
    UNION ALL SELECT 2, max(r.offset) + 1, max(m.offset) FROM {other} r JOIN {marks} m WHERE file LIKE '%replication-offset-checkpoint'
    UNION ALL SELECT 3, count(*), count(r.offset) FROM committed c LEFT JOIN records r ON r.topic = c.topic AND r.offset = c.offset
    UNION ALL SELECT 4, (SELECT count(*) FROM {pruned} WHERE timestamp >= timestamp'2023-11-15 05:00:00'),
           count_if(timestamp >= timestamp'2023-11-15 05:00:00') FROM records
    UNION ALL SELECT 5, count(DISTINCT topic, partition, offset), count(*) FROM {many}
""", other=other, marks=marks, pruned=pruned, many=many))

# %% [markdown]
# Beside a running broker the rules are the same. The broker writes its high watermarks every five seconds by default, so a query is that much behind. A running query can still read a deleted file for a minute by default, because the broker only renames it at first; a longer query may miss it, and says so.
#
# ## 4. The source, walked
#
# ### What a query reads
#
# A query asks for the payments from offset 100 on. `Query` calls the source's own code, as Spark does, but in this notebook. Below: the segments of `payments`, and the offset index of the segment that begins at 59: each entry has a batch's last offset and the byte at which this batch begins.

# %%
query = Query(NIGHT / "broker-1", "topic = 'payments' AND offset >= 100")
PLAN = {"KafkaLogReader.partitions", "Bounds.readable", "byte_ranges", "tasks_of"}
LOCALS = {"first", "last", "log_end", "high_watermark", "start", "end", "segment", "end_offset", "positions", "total", "room", "filled"}
walk = step_through(query.plan, into=PLAN, locals_of_interest=LOCALS)
print(answer(spark.sql("SELECT baseOffset, endOffset, size FROM segments WHERE topic = 'payments' ORDER BY baseOffset")))
answer(spark.sql("""
    SELECT offset, position FROM index
    WHERE topic = 'payments' AND segment LIKE '%59.log' ORDER BY offset
"""))

# %%
predict(
    "segments-query-reads",
    "How many of the five segments will be read?",
    ___,
    lambda: len(query.plan()[0].ranges),
)

# %%
predict(
    "bytes-query-reads",
    "How many of the 2965 bytes of the segment that begins at 59 will be read?",
    ___,
    lambda: query.plan()[0].ranges[0].size,
)

# %%
query_walk(walk).play()

# %% [markdown]
# A frame is a line of the source; the picture above it shows the stage. The frames of `byte_ranges` answer both questions. File names tell which segments matter. The offset index tells where to begin: at a batch that starts at or before offset 100. The task drops the records before 100.
#
# Now a task. It reads `clicks` with `offset >= 950`:

# %%
query = Query(NIGHT / "broker-1", "topic = 'clicks' AND offset >= 950")
READ = {"KafkaLogReader.read", "RecordRows.of", "decoded_runs"}
LOCALS = {"position", "end", "size", "rows", "start"}
[task] = query.plan()
walk = step_through(query.read, task, into=READ, locals_of_interest=LOCALS)
query_walk(walk).play()

# %% [markdown]
# Uncompressed batches are decoded many at a time into columns, and from there into Arrow's format, which Spark takes as it is.
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
    "How many does a query for orders from 07:00 on read?",
    ___,
    lambda: len(late.plan()[0].ranges),
)

# %%
print(answer(spark.sql("""
    SELECT substring_index(segment, '/', -1) AS segment, count(*) AS orders, count_if(hour(timestamp) IN (20, 21)) AS before_ten
    FROM records WHERE topic = 'orders' GROUP BY segment ORDER BY segment
""")))
gaps = spark.sql("""
    SELECT min(gap) AS least, max(gap) AS most
    FROM (SELECT position - lag(position) OVER (PARTITION BY segment ORDER BY offset) AS gap FROM index WHERE topic = 'clicks')
""").first()
erratum(
    "Every index.interval.bytes an entry is written into the index",
    "when more than so many bytes have come since the last entry, the next batch gets one: entries are further apart, by up to a batch",
    f"index.interval.bytes=1000, and entries are {gaps.least} to {gaps.most} bytes apart",
)

# %% [markdown]
# The second segment has some: a till without a network sent its evening sales at four in the morning. Files and indexes tell how *late* a segment reaches, not how early: `.timeindex` notes the largest timestamp so far, never the
# smallest. So a condition `timestamp >= …` prunes, and `timestamp < …` does not.
#
# ### Which topics grow?
#
# The table `batches` comes from the batch headers; no record is decoded. From two o'clock on the web site sends three times as many clicks an hour, each as long as before. Its codec has changed, too:

# %%
growth = spark.sql("""
    SELECT topic, date_format(maxTimestamp, 'HH') AS hour, sum(size) AS bytes, sum(records) AS records
    FROM batches WHERE topic IN ('clicks', 'orders', 'payments', 'prices') AND NOT control
    GROUP BY topic, hour, date_trunc('DAY', maxTimestamp) ORDER BY topic, date_trunc('DAY', maxTimestamp), hour
""")
bytes_of = {row.hour: row.bytes for row in growth.where("topic = 'clicks'").collect()}
answer(spark.sql("""
    SELECT codec, min(maxTimestamp) AS first, count(*) AS batches, sum(records) AS records, round(sum(size) / sum(records), 1) AS bytes_a_record
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
# From two o'clock on the web site does not compress. In the morning `kafka-log-dirs.sh` said the same sizes of partitions as the table `segments`:

# %%
import json

[logs] = json.loads(told("log-dirs").splitlines()[-1])["brokers"][0]["logDirs"]
kafkas = {each["partition"]: each["size"] for each in logs["partitions"]}
sizes = spark.sql("SELECT concat(topic, '-', partition) AS partition, sum(size) AS size FROM segments GROUP BY ALL").collect()
print(dict(sorted(kafkas.items())), " equal:", kafkas == {row.partition: row.size for row in sizes if row.partition in kafkas})
bars_over_time(growth.select("topic", "hour", "bytes"), "Bytes of each hour, by topic")

# %% [markdown]
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
# A broker that is killed writes no snapshot. Then the batches must tell: a transaction is open until its producer's marker comes. The job `transactions` (not the table) reads the headers of batches. Names of producers are in `__transaction_state`, the topic of the transaction coordinator: the key has the name, and the value begins with two bytes for its version and eight for the id. The second table is from Kafka's `kafka-transactions.sh list` in the morning; in the third, the job's, `committed` and `aborted` count transactions.

# %%
from minikafka.spark.jobs.byte_ranges import ranges
from minikafka.spark.jobs.transactions import transactions

told_by_batches = transactions(ranges(spark, [NIGHT / "broker-1"], bounds="log_end"))
print(answer(spark.sql("""
    SELECT CAST(substring(key, 5) AS STRING) AS transactional_id, o.producerId
    FROM records r JOIN open_ones o ON conv(hex(substring(value, 3, 8)), 16, 10) = o.producerId
    WHERE topic = '__transaction_state' GROUP BY ALL
""")))
print(told("transactions"))
answer(told_by_batches.select("producerId", "records", "committed", "aborted", "abortedRecords", "openOffset", "openRecords").orderBy("producerId"))

# %% [markdown]
# The till `till-2` began a transaction at 01:40, sent three payments, and never ended it. (A broker allows at most `transaction.max.timeout.ms`, 15 minutes by default. In this night it was raised.) While that transaction is open, no `read_committed` reader gets to its first
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
TransactionLanes(log, "Payments from offset 64 on: producer 5 is till-2").snap("in the morning").play(since=64)

# %% [markdown]
# Every committed batch from the last stable offset on is hidden, but the files have it. The sum without aborted and open transactions:

# %%
answer(spark.sql(f"""
    SELECT count(*) AS payments, sum({AMOUNT}) AS amount
    FROM (SELECT * FROM records WHERE topic = 'payments') r
    LEFT ANTI JOIN transactions a ON a.producerId = r.producerId AND r.offset BETWEEN a.firstOffset AND a.lastOffset
    LEFT ANTI JOIN open_ones o ON o.producerId = r.producerId AND r.offset >= o.since
"""))

# %% [markdown]
# That is the bank's sum. **No consumer can ask for just these records.**
#
# ### Who is behind, and by how much time?
#
# The table `groups` has the newest committed offset of each group and partition, from the topic `__consumer_offsets`. A group reads next at its committed offset.

# %%
behind = spark.sql("""
    SELECT g.group AS name, g.topic, g.offset AS committed, count_if(r.offset >= g.offset) AS records, count(*) AS of_all,
           min_by(r.timestamp, r.offset) FILTER (WHERE r.offset >= g.offset) AS since, max(r.timestamp) AS newest
    FROM groups g JOIN records r ON r.topic = g.topic AND r.partition = g.partition
    GROUP BY g.group, g.topic, g.offset ORDER BY name
""")
behind.createOrReplaceTempView("behind")
answer(behind.select("name", "topic", "committed", "records", "of_all"))

# %%
predict(
    "group-behind-longest",
    "Which group is behind by the longest time?",
    ___,
    lambda: spark.sql("SELECT max_by(name, newest - since) FROM behind").first()[0],
)

# %%
spans_of_time(spark.sql("""
    SELECT name, coalesce(since, newest) AS since, newest, concat(records, ' records')
    FROM behind ORDER BY since
"""), "From the first record that a group has not had to the newest one")

# %% [markdown]
# `dashboard` has most to read, but its first unread record is the youngest of the three that are behind. `mail` stopped before eleven in the evening. `billing` has read every committed payment that it may: it is not slow, it is stuck, behind `till-2`.
# `LAG` is what `kafka-consumer-groups.sh` said:

# %%
said = [line.split() for line in told("consumer-groups").splitlines()]
lags = {words[0]: int(words[5]) for words in said if words[0] in ("billing", "dashboard", "mail", "warehouse")}
came = {row.name: row.records for row in spark.sql("SELECT name, records FROM behind").collect()}
bars = [(name, *bar) for name in came for bar in (("LAG", lags[name]), ("records", came[name]))]
bars_by_name(bars, "LAG, and records to come")

# %%
erratum(
    "The difference between two offsets is the number of messages between them",
    "it counts offsets. Markers take offsets and are no messages, compaction leaves holes, and of the rest some were aborted",
    f"LAG of billing is {lags['billing']}; records to come: {came['billing']}",
)

# %% [markdown]
# ### Would compaction pay?
#
# `prices` is compacted; the cleaner has not run this night. Eight products, two of which are dropped with a tombstone during the night, get their prices twice an hour; there are two segments. A round reads all but the active segment, and keeps the newest record of each key.

# %%
stays = spark.sql("""
    SELECT offset, active, offset >= active OR offset = max(IF(offset < active, offset, NULL)) OVER (PARTITION BY key) AS stays
    FROM (SELECT max(baseOffset) AS active FROM segments WHERE topic = 'prices') CROSS JOIN records WHERE topic = 'prices'
""")
answer(stays.selectExpr("count(*) AS records", "count_if(offset < active) AS in_the_first_segment"))

# %%
predict(
    "records-left-after-round",
    "How many of the 170 records are left after a round?",
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
# `orders` is on both brokers. Broker 2 failed at five in the morning, so its copy is shorter. Below the high watermark of both, the copies must be equal, offset by offset. (Copies of a compacted topic may differ: each broker cleans its own.)

# %%
one = spark.read.format("minikafka").load(str(NIGHT / "broker-1" / "orders-0"))
two = spark.read.format("minikafka").load(str(NIGHT / "broker-2" / "orders-0"))
DIFFER = """
    SELECT offset, one.value AS broker_1, two.value AS broker_2 FROM {one} one FULL JOIN {two} two USING (offset)
    WHERE offset < {mark} AND NOT (one.key <=> two.key AND one.value <=> two.value AND one.timestamp <=> two.timestamp)
"""
print(answer(spark.sql(DIFFER, one=one, two=two, mark=two.count())))
beyond = spark.read.format("minikafka").option("bounds", "log_end").load(str(NIGHT / "broker-2"))
erratum(
    "An ordinary consumer sees the messages from the log start offset to LEO",
    "to the high watermark. What is above may be truncated, so it is no row, either",
    f"broker 2 has {beyond.count()} orders, a consumer of it would get {other.count()}",
)

# %% [markdown]
# The table has no rows: the copies are equal. (Of the two orders above broker 2's mark its copy cannot tell.) Now somebody changes one digit on a copy of broker 2's disk: order 31 comes from `till-2` instead of `till-1`. Whoever does it knows the format.

# %%
from minikafka.spark.jobs.byte_ranges import table
from minikafka.spark.jobs.verify import verify

forged = copied_night(broker=2)
forge(forged, "orders", 20, b"till-1", b"till-2")
found = verify(table(spark, "verify", [forged], {})).collect()

# %%
predict(
    "verify-on-forged-copy",
    "verify checks checksums, offsets, indexes and snapshots. Does it find the change? (True or False)",
    ___,
    lambda: bool(found),
)

# %%
answer(spark.sql(DIFFER, one=one, two=spark.read.format("minikafka").load(str(forged)), mark=two.count()))

# %% [markdown]
# A checksum says that a batch is as when the checksum was computed. Only the other copy tells whether the leader wrote it.
#
# ### Damage
#
# On a copy of broker 1's disk one bit is flipped in the middle of a segment of `clicks`, a segment of `payments` has lost its last bytes, and an index entry of `orders` is wrong. `mode=PERMISSIVE` makes a row of each damage that the query meets instead of ending it; the column `_corrupt` names
# file, position and exception. (The table of codecs tells how many clicks a batch has on average.)

# %%
broken = copied_night(broker=1)
damage(broken)
kept = spark.read.format("minikafka").option("mode", "PERMISSIVE").load(str(broken))
clicks = kept.where("topic = 'clicks' AND _corrupt IS NULL").count()

# %%
predict(
    "clicks-missing",
    "One bit of a batch is wrong. How many of the 960 clicks are missing?",
    ___,
    lambda: 960 - clicks,
)

# %%
answer(kept.where("_corrupt IS NOT NULL").selectExpr(
    "topic", "substring_index(_corrupt.file, '/', -1) AS file", "_corrupt.position", "_corrupt.exception"
).orderBy("topic"))

# %% [markdown]
# One checksum covers all records of a batch, so the whole batch is left out; the batches behind it are sound. A broker is stricter. This is the first finding of `verify` in each segment and index, and what Kafka would do about it after an unclean stop:

# %%
findings = verify(table(spark, "verify", [broken], {}))
answer(spark.sql("""
    SELECT substring_index(file, '/', -2) AS file, min(position) AS position, min_by(what, position) AS what, min_by(nextStart, position) AS nextStart
    FROM {findings} WHERE file NOT LIKE '%timeindex' AND position IS NOT NULL GROUP BY file ORDER BY file
""", findings=findings))

# %% [markdown]
# Kafka would cut the segment of clicks, the log's last, at the damage, with every sound batch behind it; an older segment is not scanned. Only a query *before* the next start can still read them. (The wrong index entry harms no query: the source checks in the log what an index says.)
#
# ### As large as you like
#
# `grow` appends the night's clicks to a copy until it has as many gigabytes as you say, about a minute for each. Try the queries again. A query brings every row into Spark's JVM; a job such as
# `transactions` or `verify` adds up in the workers. `minikafka spark --help` lists the jobs; `--master spark://…` runs one on a cluster.

# %%
GIGABYTES = 0
large = copied_night(broker=1)
added = grow(large, GIGABYTES)
batches = spark.read.format("minikafka").option("table", "batches").load(str(large / "clicks-0"))
print("clicks:", batches.selectExpr("sum(records)").first()[0], " of these added:", added)

# %% [markdown]
# ### Back from Parquet
#
# The orders go into a Parquet archive, and back: `write_log_dir` makes a log directory of a table, with segments, indexes and checkpoints; the column `offset` says where each record
# belongs. A broker can start on the directory if its cluster knows the topic under that id (the `topic_id` of `write_log_dir`) and has put the partition on this broker; else it is a stray to the broker. Apache Kafka's own `UnifiedLog` opens both directories here, and reads them as for a consumer.

# %%
from minikafka.lab import scratch
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
# The same questions after each operation of a workload: to the **data source**, on the directory that a log is writing; to **Spark**, from the lines alone, without any file; to **Apache Kafka**, a consumer's reads of its own `UnifiedLog`. What does a reader get with `read_uncommitted`, and
# with `read_committed`? Which records have a timestamp at least eight seconds after the start (`since_then`, a query that prunes)?

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
# Now a bug is planted into the source: it takes the largest timestamp of a segment's last batch for the segment's largest.

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
    "For since_then after that operation, how many witnesses contradict the source? (1 or 2)",
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
# They have a notebook of their own: [A log directory at scale: rebuild](13-log-directory-at-scale-rebuild.ipynb), five functions.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | which records a consumer gets: high watermark, last stable offset, aborted transactions, markers | bounds come from the files; after a kill they lag behind what consumers have seen | objects of tiered storage, paths in an object store |
# | positions by the offset index, segments by the largest timestamp of the time index | the source does not know who led a partition: you choose the copy | streams that follow a broker |
# | CRC, formats, codecs, names of exceptions | no fetch sessions, quotas or authorization: a reader of the files may read all | a cluster of Spark; the queries are the same there |
#
# *What is different here:* the night lasted a minute. Real brokers and clients wrote the files, with timestamps of a night; markers and commits have the true time. Spark runs with two threads.
# *What Spark is told:* in part 5 the lines of the workload; in the exercises tables that the source has read, and no code of minikafka.
#
# **A question to take along.** A consumer group with `isolation.level=read_committed` shows a LAG that grows; its members are up, poll, and report no error. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether it is slow or stuck. If the committed offset does not move, compare it with the partition's last stable offset: an open transaction holds the reader there. `kafka-transactions.sh find-hanging`, or
# `describe-producers` for that partition, shows `CurrentTransactionStartOffset`; on a disk it is the table `producers`. Then whose it is (`kafka-transactions.sh list`), and why it is not ended. The coordinator aborts it after `transaction.timeout.ms`, at most `transaction.max.timeout.ms`, unless
# that was raised or the coordinator does not know the transaction; then `kafka-transactions.sh abort` aborts it. If the offset moves, the group is slow: the age of its first unread record says by how much.
#
# </details>

# %% [markdown]
# ### Card
#
# - Which records count is not in the records. It is in the high watermark, in markers, in indexes and snapshots beside them.
# - A query ends at the high watermark that the broker has written to disk, with `read_committed` at the last stable offset.
# - Pruning saves work. It never changes an answer.
# - `timestamp >= …` prunes and `timestamp < …` does not: files tell how late a segment reaches, not how early.
# - A checksum says that a batch is as when the checksum was computed. Only the other copy tells whether the leader wrote it.
#
# ![A query of a log directory](../diagrams/log_directory.svg)
#
# | question | table, option or job of the data source |
# |:---|:---|
# | which topics grow? | `batches`, without decoding a record; `segments` |
# | who left a transaction open? | `producers`; after a kill the job `transactions` |
# | which transactions were aborted? | `transactions` |
# | who is behind? | `groups`, joined with the records |
# | what does a broker note of its partitions? | `checkpoints` |
# | what lies above the high watermark? | `bounds=log_end` |
# | what is damaged? | the job `verify`; `mode=PERMISSIVE` makes a row of each that a query meets |
# | are two copies equal? | the records of both, joined by offset below the high watermark of both |

# %% [markdown]
# **Next:** your own disks: `spark.read.format("minikafka").load("/var/lib/kafka/data")`.
