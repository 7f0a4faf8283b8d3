# %% [markdown]
# # A log directory at scale
#
# *Both brokers of a small shop are switched off. Here are copies of their disks. What happened last night?*
#
# ## 1. The question
#
# **Time:** fifty minutes to read, forty minutes to rebuild. **Before:** *Read*, for high watermark and last stable offset; *Compaction*; some SQL.
#
# **Afterwards you can decide:** whether a question to a cluster needs the cluster, what a query of a disk reads, whether a group that is behind is slow or stuck, and whether two copies of a topic are equal.
#
# The web site and two tills write to the topic `payments`, in transactions. The bank has their sum. What goes wrong without a reader that knows more than the format of the files? Here is one who reads every segment from its first byte to its last, and adds up all payments.

# %%
from minikafka.lab import ___, answer, bars_over_time, diagram, erratum, planted, predict, query_walk, spans_of_time, step_through
from minikafka.lessons.log_directory.source_by_hand import Query
from minikafka.lessons.log_directory.shop_night import NIGHT, copied_night, damage, forge, grow, noted, read_views, told
from minikafka.lessons.log_directory.shop_night import paid_by_hour, spark_of_the_shop, sum_committed, wake_spark

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
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark has been starting, which does most of the work on this page, and Apache Kafka, a witness in part 5.
#
# (The reader skips the markers of transactions. `noted` has what was noted while the brokers were up.)

# %%
print("in the files:", in_the_files)
print("at the bank: ", noted("bank"))

# %% [markdown]
# Too much. Some of these payments were taken back: their transactions were aborted, and the records stay in the log all the same. A consumer with `isolation.level=read_committed` does not get them. No broker is there to serve a consumer, but
# the data source `minikafka` reads a broker's disk as a consumer would. This Spark knows it (`minikafka.spark.register`), and it needs nothing but the path:

# %%
spark = spark_of_the_shop()
night = spark.read.format("minikafka").option("isolation.level", "read_committed").load(str(NIGHT / "broker-1"))
AMOUNT = "get_json_object(CAST(value AS STRING), '$.amount')"
answer(spark.sql(f"SELECT count(*) AS payments, sum({AMOUNT}) AS amount FROM {{night}} WHERE topic = 'payments'", night=night))

# %% [markdown]
# Too little! Three readers, three sums, and every one of them has read sound files. **Which records count is not in the records.** It is in the high watermark, in markers, in indexes and snapshots beside them. This page asks them all, first for one
# small shop, and in a way that works for a thousand disks.

# %% [markdown]
# ## 2. The picture

# %%
diagram("log_directory")

# %% [markdown]
# - **Row:** a record as a consumer would get it, with Kafka's columns: key, value, topic, partition, offset, timestamp.
# - **Bounds:** from which offset to which one a query reads a partition. The end is the high watermark that the broker has written down; for `read_committed` it is the last stable offset.
# - **Byte range:** whole batches of one segment, from one position in its file to another. **Task:** some byte ranges, read by one worker.
# - **Pruned:** left out of the plan, because no row that the query asks for can be there.
# - **Table:** what the source reads besides records: `batches`, `segments`, `index`, `transactions` (those that were aborted), `producers` (out of the snapshots), `checkpoints`, `groups` (what consumer groups have committed).
# - **Late record:** one with a timestamp below one that came before it.
#
# In the errata of this page, *older text* is one of those that the course grew from. `read_views` makes a view of each table, and of the records for readers with `read_uncommitted` (`records`) and `read_committed` (`committed`).
# Nothing is read by that. Here is what the shop has:

# %%
read_views(spark, NIGHT / "broker-1")
answer(spark.sql("""
    SELECT topic, count(*) AS segments, sum(size) AS bytes FROM segments
    GROUP BY topic ORDER BY topic
"""))

# %% [markdown]
# ## 3. The rules
#
# 1. Every offset from the log start to the bound is a row, or a marker, or was removed by compaction.
# 2. A query ends at the high watermark. A record that is above it is no row, however sound it is (`bounds=log_end` asks for it).
# 3. A row of `read_committed` is a row of `read_uncommitted`, and lies below the first transaction that is open.
# 4. Pruning spares work. It never changes an answer.
# 5. Every batch is read by one task, however many tasks there are.
#
# Each rule as two numbers that must be equal. (Broker 2 has a copy of `orders`. With the option `pushFilters` the conditions of a query prune; without it Spark reads all, and throws away.)

# %%
marks = spark.read.format("minikafka").option("table", "checkpoints").load(str(NIGHT / "broker-2"))
other = spark.read.format("minikafka").load(str(NIGHT / "broker-2"))
answer(spark.sql("""
    SELECT 1 AS rule, (SELECT count(*) FROM records WHERE topic = 'payments') + count_if(control) AS one, max(lastOffset) + 1 AS other
    FROM batches WHERE topic = 'payments'
    UNION ALL SELECT 2, max(r.offset) + 1, max(m.offset) FROM {other} r JOIN {marks} m WHERE file LIKE '%replication-offset-checkpoint'
    UNION ALL SELECT 3, count(*), count(r.offset) FROM committed c LEFT JOIN records r ON r.topic = c.topic AND r.offset = c.offset
""", other=other, marks=marks))

# %%
pruned = spark.read.format("minikafka").option("pushFilters", "true").load(str(NIGHT / "broker-1"))
many = spark.read.format("minikafka").option("maxBytesPerTask", "3000").load(str(NIGHT / "broker-1"))
answer(spark.sql("""
    SELECT 4 AS rule, (SELECT count(*) FROM {pruned} WHERE timestamp >= timestamp'2023-11-15 05:00:00') AS one,
           count_if(timestamp >= timestamp'2023-11-15 05:00:00') AS other FROM records
    UNION ALL SELECT 5, count(DISTINCT topic, partition, offset), count(*) FROM {many}
""", pruned=pruned, many=many))

# %% [markdown]
# Beside a running broker the rules are the same. The broker writes its high watermarks down every five seconds, so a query lags behind by so much; what retention or compaction takes away while a query runs is still read for a minute, because a
# file that a broker deletes is only renamed at first; a longer query may miss it, and says so. A stream (`spark.readStream.format("minikafka")`) notes in Spark's own checkpoint which offsets it has handed over, so that nothing is skipped. A batch cut off by a kill is handed over again: exactly once needs a sink that recognises it.

# %% [markdown]
# ## 4. The source, walked
#
# ### What a query reads
#
# `payments` has these segments:

# %%
answer(spark.sql("SELECT baseOffset, endOffset, size FROM segments WHERE topic = 'payments' ORDER BY baseOffset"))

# %% [markdown]
# Somebody asks for the payments from offset 100 on. With `pushFilters` Spark hands such conditions to the source before anything is planned. `Query` calls the source's own code, as Spark does, but here in this notebook, where one can look at it.

# %%
query = Query(NIGHT / "broker-1", "topic = 'payments' AND offset >= 100")
PLAN = {"KafkaLogReader.partitions", "Bounds.readable", "byte_ranges", "tasks_of"}
LOCALS = {"first", "last", "log_end", "high_watermark", "start", "end", "segment", "end_offset", "positions", "total", "room", "filled"}
walk = step_through(query.plan, into=PLAN, locals_of_interest=LOCALS)

# %%
predict(
    "segments-query-reads",
    "How many of the five segments will be read?",
    ___,
    lambda: len(query.plan()[0].ranges),
)

# %% [markdown]
# The segment that begins at 59 has an offset index. An entry has a batch's last offset, and the byte at which this batch begins:

# %%
answer(spark.sql("""
    SELECT offset, position FROM index
    WHERE topic = 'payments' AND segment LIKE '%59.log' ORDER BY offset
"""))

# %%
predict(
    "bytes-query-reads",
    "And how many of the 2965 bytes of the segment that begins at 59? (all of them, or fewer: a number)",
    ___,
    lambda: query.plan()[0].ranges[0].size,
)

# %%
query_walk(walk).play()

# %% [markdown]
# A frame is a line of the source here, and the picture on top says whose. Those of `byte_ranges` answer both questions. No record has been touched so far. The names of the files tell which segments matter. The offset index tells where to begin: at a batch that starts at or before offset 100. It is the
# search that a broker does for a fetch (lesson *Read*). The task drops the records before 100.
#
# Now the task. `offset >= 950` of `clicks` leaves little to read:

# %%
query = Query(NIGHT / "broker-1", "topic = 'clicks' AND offset >= 950")
READ = {"KafkaLogReader.read", "RecordRows.of", "decoded_runs", "batch_pieces"}
LOCALS = {"position", "end", "size", "used", "rows", "start"}
[task] = query.plan()
walk = step_through(query.read, task, into=READ, locals_of_interest=LOCALS)
query_walk(walk).play()

# %% [markdown]
# Batches that are not compressed are decoded many at a time, straight into columns, and from there into Arrow's format, which Spark takes as it is. No Python object is made for a record, and none for a column that nobody asks for.
#
# Time is harder than offsets. The shop asks what was ordered before ten in the evening. The table has the largest timestamp of each segment of `orders`:

# %%
answer(spark.sql("SELECT baseOffset, endOffset, largestTimestamp FROM segments WHERE topic = 'orders' ORDER BY baseOffset"))

# %%
TEN_MS = 1_699_999_200_000  # 22:00
early = Query(NIGHT / "broker-1", f"topic = 'orders' AND timestamp < {TEN_MS}")
late = Query(NIGHT / "broker-1", f"topic = 'orders' AND timestamp >= {TEN_MS + 9 * 3_600_000}")

# %%
predict(
    "segments-before-22",
    "In how many of the three segments does the query look for orders before 22:00?",
    ___,
    lambda: len(early.plan()[0].ranges),
)

# %%
predict(
    "segments-from-07",
    "And in how many for orders from 07:00 on?",
    ___,
    lambda: len(late.plan()[0].ranges),
)

# %%
answer(spark.sql("""
    SELECT substring_index(segment, '/', -1) AS segment, count(*) AS orders, count_if(hour(timestamp) IN (20, 21)) AS before_ten
    FROM records WHERE topic = 'orders' GROUP BY segment ORDER BY segment
"""))

# %% [markdown]
# The second segment has some: a till without a network sent at four in the morning what it had sold in the evening. Files and indexes tell how *late* a segment reaches, not how early. `.timeindex` notes the largest timestamp so far, never the
# smallest. So a condition `timestamp >= …` prunes, and `timestamp < …` does not.

# %%
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
# ### Which topics grow?
#
# The table `batches` answers this without decoding a record: sizes, counts and codecs stand in the batches' headers.

# %%
growth = spark.sql("""
    SELECT topic, date_format(maxTimestamp, 'HH') AS hour, sum(size) AS bytes, sum(records) AS records
    FROM batches WHERE topic IN ('clicks', 'orders', 'payments', 'prices') AND NOT control
    GROUP BY topic, hour, date_trunc('DAY', maxTimestamp) ORDER BY topic, date_trunc('DAY', maxTimestamp), hour
""")
answer(growth.where("topic = 'clicks' AND hour IN ('00', '01', '02', '03')").select("hour", "records"))

# %% [markdown]
# From two o'clock on the web site sends three times as many clicks an hour, each as long as before. What else has changed stands in the headers, too:

# %%
answer(spark.sql("""
    SELECT codec, min(maxTimestamp) AS first, count(*) AS batches, sum(records) AS records, round(sum(size) / sum(records), 1) AS bytes_a_record
    FROM batches WHERE topic = 'clicks' GROUP BY codec ORDER BY first
"""))

# %%
bytes_of = {row.hour: row.bytes for row in growth.where("topic = 'clicks'").collect()}

# %%
predict(
    "bytes-growth-factor",
    "By which factor do the bytes of an hour grow from one to two o'clock? (a whole number, rounded)",
    ___,
    lambda: round(bytes_of["02"] / bytes_of["01"]),
)

# %%
bars_over_time(growth.select("topic", "hour", "bytes"), "Bytes of each hour, by topic")

# %% [markdown]
# The new version of the web site does not compress. `kafka-log-dirs.sh` said this in the morning about the sizes of partitions; the table `segments` says the same:

# %%
import json

[logs] = json.loads(told("log-dirs").splitlines()[-1])["brokers"][0]["logDirs"]
kafkas = {each["partition"]: each["size"] for each in logs["partitions"]}
sizes = spark.sql("SELECT concat(topic, '-', partition) AS partition, sum(size) AS size FROM segments GROUP BY ALL").collect()
print(dict(sorted(kafkas.items())), " equal:", kafkas == {row.partition: row.size for row in sizes if row.partition in kafkas})

# %% [markdown]
# ### Who left a transaction open?
#
# A broker that stops writes a snapshot of what it knows about producers, and so the answer is a line in a table:

# %%
open_ones = spark.sql("""
    SELECT producerId, producerEpoch, openTransactionFirstOffset AS since, lastTimestamp
    FROM producers WHERE topic = 'payments' AND openTransactionFirstOffset IS NOT NULL
    AND snapshotOffset = (SELECT max(snapshotOffset) FROM producers WHERE topic = 'payments')
""")
open_ones.createOrReplaceTempView("open_ones")
answer(open_ones)

# %% [markdown]
# A broker that is killed writes no snapshot. Then the batches must tell: a transaction is open as long as no marker of its producer has come. The job `transactions` looks at their headers, in as many tasks as there are byte ranges:

# %%
from minikafka.spark.jobs.byte_ranges import ranges
from minikafka.spark.jobs.transactions import transactions

told_by_batches = transactions(ranges(spark, [NIGHT / "broker-1"], bounds="log_end"))
answer(told_by_batches.select("producerId", "records", "committed", "aborted", "abortedRecords", "openOffset", "openRecords").orderBy("producerId"))

# %% [markdown]
# Producer ids say little. Names stand in `__transaction_state`, the topic of the transaction coordinator: the key has the name, and the value begins with two bytes for its version and eight for the id.

# %%
answer(spark.sql("""
    SELECT CAST(substring(key, 5) AS STRING) AS transactional_id, o.producerId
    FROM records r JOIN open_ones o ON conv(hex(substring(value, 3, 8)), 16, 10) = o.producerId
    WHERE topic = '__transaction_state' GROUP BY ALL
"""))

# %%
print(told("transactions"))

# %% [markdown]
# Kafka's `kafka-transactions.sh list` said the same in the morning. The till `till-2` began a transaction at 01:40, sent three payments, and was never heard of again. (A broker allows a transaction at most `transaction.max.timeout.ms`, a quarter of an hour by default. In this night it was raised.) As long as that transaction is open, no reader with `read_committed` comes past its first
# offset. Web and `till-1` went on and committed. The bank knows of all that was committed; a consumer gets what the second reader of part 1 got.

# %%
predict(
    "payments-transaction-hides",
    "How many payments that were committed does that one transaction hide?",
    ___,
    lambda: noted("bank")["payments"] - spark.table("committed").where("topic = 'payments'").count(),
)

# %% [markdown]
# A broker would not give them out, and so the source does not. But everything is there. This is the sum without what was aborted and without what is open, wherever the high watermark and the last stable offset are:

# %%
answer(spark.sql(f"""
    SELECT count(*) AS payments, sum({AMOUNT}) AS amount
    FROM (SELECT * FROM records WHERE topic = 'payments') r
    LEFT ANTI JOIN transactions a ON a.producerId = r.producerId AND r.offset BETWEEN a.firstOffset AND a.lastOffset
    LEFT ANTI JOIN open_ones o ON o.producerId = r.producerId AND r.offset >= o.since
"""))

# %% [markdown]
# That is the bank's sum. The first reader counted what was aborted, the second one stopped where a consumer stops; **this question is one that no consumer can ask.**
#
# ### Who is behind, and by how much time?
#
# All topics were written from eight in the evening to eight in the morning. Committed offsets are records of the topic `__consumer_offsets`; the table `groups` has the newest one of each group and partition. A group reads next at its committed offset. All records there and above are still to come.

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
# `dashboard` has most to read, and is the fastest of the three that are behind: its records are young. `mail` stopped before eleven in the evening. And `billing`? It reads committed payments, and has read all that it may: it is not slow, it is stuck, behind `till-2`.
# Here is what `kafka-consumer-groups.sh` said. Compare the column LAG with the records above.

# %%
print("\n".join(line[:80].rstrip() for line in told("consumer-groups").splitlines() if not line.startswith("Consumer group")))

# %%
lag = int(next(line for line in told("consumer-groups").splitlines() if line.startswith("billing")).split()[5])
erratum(
    "The difference between two offsets is the number of messages between them",
    "it counts offsets. Markers take offsets and are no messages, compaction leaves holes, and of the rest some were aborted",
    f"LAG of billing is {lag}; records to come: {spark.sql('SELECT records FROM behind WHERE name = ' + repr('billing')).first().records}",
)

# %% [markdown]
# ### Would compaction pay?
#
# `prices` is compacted; the cleaner has not come by this night. Eight products get their prices twice an hour, and there are two segments. A round reads all but the active segment, and keeps the newest record of each key.

# %%
stays = spark.sql("""
    SELECT offset, active, offset >= active OR offset = max(IF(offset < active, offset, NULL)) OVER (PARTITION BY key) AS stays
    FROM (SELECT max(baseOffset) AS active FROM segments WHERE topic = 'prices') CROSS JOIN records WHERE topic = 'prices'
""")
answer(stays.selectExpr("count(*) AS records", "count_if(offset < active) AS in_the_first_segment"))

# %%
predict(
    "records-left-after-round",
    "How many of the 170 records would be left after a round?",
    ___,
    lambda: stays.where("stays").count(),
)

# %%
print("Kafka's own cleaner, on a copy of the disk:", noted("compaction"))

# %% [markdown]
# It would pay: four fifths of the bytes go. What Kafka's cleaner left was found by starting a broker on the disk after the night; the query has asked the disk alone.
#
# ### Are the replicas equal?
#
# `orders` is on both brokers. Broker 2 failed at five in the morning, so its copy is shorter. Below the high watermark of both, the copies must be equal, offset by offset (of a compacted topic they need not be: each broker cleans its own copy):

# %%
one = spark.read.format("minikafka").load(str(NIGHT / "broker-1" / "orders-0"))
two = spark.read.format("minikafka").load(str(NIGHT / "broker-2" / "orders-0"))
DIFFER = """
    SELECT offset, one.value AS broker_1, two.value AS broker_2 FROM {one} one FULL JOIN {two} two USING (offset)
    WHERE offset < {mark} AND NOT (one.key <=> two.key AND one.value <=> two.value AND one.timestamp <=> two.timestamp)
"""
answer(spark.sql(DIFFER, one=one, two=two, mark=two.count()))

# %%
beyond = spark.read.format("minikafka").option("bounds", "log_end").load(str(NIGHT / "broker-2"))
erratum(
    "An ordinary consumer sees the messages from the log start offset to LEO",
    "to the high watermark. What is above may be cut off again, so it is no row, either",
    f"broker 2 has {beyond.count()} orders, a consumer of it would get {other.count()}",
)

# %% [markdown]
# No rows: equal. (Of the two orders above broker 2's mark nobody can say so from its copy.) Now somebody with an editor changes one letter on a copy of broker 2's disk: order 31 comes from `till-2`, and no longer from `till-1`. They know the format, and write the right checksum into the batch. (`verify` is a job:
# it does the work of `minikafka verify` in Spark, from many segments at a time.)

# %%
from minikafka.spark.jobs.byte_ranges import table
from minikafka.spark.jobs.verify import verify

forged = copied_night(broker=2)
forge(forged, "orders", 20, b"till-1", b"till-2")
found = verify(table(spark, "verify", [forged], {})).collect()

# %%
predict(
    "verify-on-forged-copy",
    "verify checks checksums, offsets, indexes and snapshots. Does it find anything in the forged copy? (True or False)",
    ___,
    lambda: bool(found),
)

# %%
answer(spark.sql(DIFFER, one=one, two=spark.read.format("minikafka").load(str(forged)), mark=two.count()))

# %% [markdown]
# A checksum says that a batch is as it was written. Whether it was written by the leader, only the other copy can tell.
#
# ### Damage
#
# On a copy of broker 1's disk a bit is flipped in the middle of a segment of `clicks`, a segment of `payments` has lost its last bytes, and an entry of an index of `orders` is wrong. `mode=PERMISSIVE` makes a row of each damage instead of ending the query; the column `_corrupt` names
# file, position and exception. (The table of codecs, above, says how many clicks a batch has.) All tasks look at once, on as many machines as there are.

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
# Which records of a batch are damaged, nobody can say, so the batch goes as a whole; the batches behind it are sound. A broker is stricter. This is the first that `verify` finds in each segment and index, and what Kafka would do about it after an unclean stop:

# %%
findings = verify(table(spark, "verify", [broken], {}))
answer(spark.sql("""
    SELECT substring_index(file, '/', -2) AS file, min(position) AS position, min_by(what, position) AS what, min_by(nextStart, position) AS nextStart
    FROM {findings} WHERE file NOT LIKE '%timeindex' AND position IS NOT NULL GROUP BY file ORDER BY file
""", findings=findings))

# %% [markdown]
# The segment of clicks would be cut at the damage, with every sound batch behind it. A query of the disk *before* that start is the last chance to get them. (The entry in the index of `orders` harms no query: what an index says is checked in the log.)
#
# ### As large as you like
#
# `grow` lets the night of the clicks go on, on a copy, until it has as many gigabytes as you say, a minute for each. Then try the queries again: the plan, the batches, the records. A query brings every row that it reads into Spark's JVM. A job such as
# `transactions` or `verify` decodes and adds up in the workers and brings sums; `minikafka spark --help` lists the jobs, and `minikafka spark transactions DIR --master spark://…` runs one on a cluster.

# %%
GIGABYTES = 0
large = copied_night(broker=1)
added = grow(large, GIGABYTES)
batches = spark.read.format("minikafka").option("table", "batches").load(str(large / "clicks-0"))
print("clicks:", batches.selectExpr("sum(records)").first()[0], " of these added:", added)

# %% [markdown]
# ### Back from Parquet
#
# The orders go into an archive, as Parquet. A year later somebody needs them in Kafka again. `write_log_dir` makes a log directory of a table, with segments, indexes and checkpoints as a broker would have written them; the column `offset` says where each record
# belongs. No broker takes part. One can start on the directory if its cluster knows the topic under that id, the `topic_id` of `write_log_dir`, and has put the partition on this broker; else it would
# take the directory for a stray.

# %%
from minikafka.lab import scratch
from minikafka.spark import write_log_dir

archive, restored = str(scratch("archive")), scratch("restored")
one.selectExpr("offset", "timestamp", "key", "value").write.parquet(archive)
write_log_dir(spark.read.parquet(archive), str(restored), topic="orders", settings={"compression.type": "zstd"})
print(*sorted(path.name for path in (restored / "orders-0").iterdir()), sep="\n")

# %%
from minikafka.lessons.log_directory.shop_night import read_by_kafka

before, after = read_by_kafka(NIGHT / "broker-1" / "orders-0"), read_by_kafka(restored / "orders-0")

# %%
predict(
    "restored-directory-same-records",
    "Does a consumer get the same records, with offsets and times, from the restored directory? (True or False)",
    ___,
    lambda: before == after,
)

# %% [markdown]
# Apache Kafka's own `UnifiedLog` has opened both directories and read them as it reads for a consumer. (A whole broker takes longer to start than a cell of this page should; the project's tests let one start on such a directory, and a consumer read from it.) Batches, their
# codec and the producers' ids are others than before. Keys, values, offsets and timestamps are the same, and the late orders are late again.

# %% [markdown]
# ## 5. Three witnesses
#
# The same questions after each operation of a workload: by the **data source**, of the directory that a log is writing; by **Spark** from the lines alone, without any file; by **Apache Kafka**, a consumer's reads of its own `UnifiedLog`. What does a reader get with `read_uncommitted`, and
# with `read_committed`; and which records are eight seconds old or younger, counted from the start (`since_then`), a question that is pruned?

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
agree(ours, spark_says, kafka)

# %%
for number in (4, 5, 9, 11, 15):
    row = ours.rows[number]
    print(f"{number:2} {workload.operations[number]!s:60.60} committed {len(row['read_committed']):2}  since then {row['since_then']}")

# %% [markdown]
# Now a bug is planted into the source: it takes the largest timestamp of a segment's last batch for the largest in the segment.

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
    "About the question with since_then, after that operation: how many witnesses contradict the source? (1 or 2)",
    ___,
    lambda: sum(w.value(found.first_difference.operation, "since_then") != sick.value(found.first_difference.operation, "since_then") for w in (spark_says, kafka) if w),
)

# %%
print(found.first_difference)

# %% [markdown]
# The rows are all there, for whoever does not ask about time: `read_uncommitted` and `read_committed` agree. A reader that prunes too much says nothing wrong. It leaves something out, and nobody misses it: rule 4.

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
# | positions by the offset index, segments by the largest timestamp of the time index | a partition's leader is not known: whose copy it is, you decide | streams that follow a broker |
# | CRC, formats, codecs, names of exceptions | no fetch sessions, quotas, authorization: whoever may read the files may read all | a cluster of Spark; the queries are the same there |
#
# *What is different here:* the night lasted a minute. Real brokers wrote the files, real clients sent the records, with timestamps of a night; markers and commits have the true time. Spark runs with two threads, in this process's own JVM.
# *What Spark is told:* in part 5 the lines of the workload; in part 6 tables that the source has read, and no code of minikafka.
#
# **A question to take along.** A consumer group with `isolation.level=read_committed` shows a LAG that grows; its members are up, poll, and report no error. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether it is slow or stuck. If the committed offset does not move at all, compare it with the partition's last stable offset: a transaction that is open holds the reader there, whatever the members do. `kafka-transactions.sh find-hanging`, or
# `describe-producers` for that partition, shows `CurrentTransactionStartOffset`; on a disk it is the table `producers`. Then whose it is (`kafka-transactions.sh list`), and why nobody ends it: the coordinator aborts it after `transaction.timeout.ms`, at most the broker's `transaction.max.timeout.ms`, unless
# that was raised, or the coordinator knows nothing of it; then `kafka-transactions.sh abort` does. If the offset does move, the group is slow, and the age of the first record that it has not had says by how much.
#
# </details>

# %% [markdown]
# ### Card
#
# - Which records count is not in the records. It is in the high watermark, in markers, in indexes and snapshots beside them.
# - A query ends at the high watermark that the broker has written down, with `read_committed` at the last stable offset.
# - Pruning spares work. It never changes an answer.
# - `timestamp >= …` prunes and `timestamp < …` does not: files tell how late a segment reaches, not how early.
# - A checksum says that a batch is as it was written. Whether the leader wrote it, only the other copy can tell.
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
# | what is damaged? | the job `verify`; `mode=PERMISSIVE` makes a row of each damage |
# | are two copies equal? | the records of both, joined by offset below the high watermark of both |

# %% [markdown]
# **Next:** your own disks: `spark.read.format("minikafka").load("/var/lib/kafka/data")`.
