# %% [markdown]
# # High watermark
#
# *Up to which offset are records safe? One number says so, and all of replication serves to move it.*
#
# [中文](zh/03-high-watermark.ipynb)
#
# ## 1. The question
#
# **Time:** about an hour to read, an hour to rebuild. **Before:** the lesson *Segments*.
#
# **Afterwards you can decide:** why a consumer does not see a record that is already on the leader's disk, which replica holds it back, and
# what `acks=all` waits for.
#
# What goes wrong without a high watermark? Take it away: let a consumer read everything that the leader has. The leader holds the records `0`, `1` and `2`. The follower has fetched two of them so far.

# %%
from minikafka.lab import OffsetRuler, ___, copied_log, diagram, erratum, fresh_log, planted, predict
from minikafka.lab import records, replicate, scratch, step_through, three_witnesses, values_of, wake_witnesses
from minikafka.lessons.high_watermark.replicas import Replicas
from minikafka.log.fetch_isolation import FetchIsolation

leader, follower = fresh_log(name="leader-0"), fresh_log(name="follower-0")
for number in range(3):
    leader.append_as_leader(records(1, 1, first=number), leader_epoch=0)
replicate(leader, follower, up_to=2)
wake_witnesses()
Replicas(leader, ["follower"]).fetch("follower", 2).play()

# %%
follower.append_as_leader(records(1, 1, first=7), leader_epoch=1)
seen = values_of(leader, FetchIsolation.LOG_END)

# %%
predict(
    "offset-2-after-failover",
    "The consumer has read 0, 1 and 2. The leader dies; the follower leads, and takes the record 7. What does the consumer find at offset 2 now? (a number)",
    ___,
    lambda: int(values_of(follower, FetchIsolation.LOG_END)[2]),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.

# %%
print("a consumer without high watermark saw", seen)
print("the same consumer, asking again, sees", values_of(follower, FetchIsolation.LOG_END))

# %% [markdown]
# Offset 2 was the record `2`, and now it is the record `7`. Whoever paid out money on the strength of the first one has a problem. The mark was
# at 2 all the time, up to where the follower had fetched. A consumer that stops there would never have seen the first one:

# %%
from minikafka.log.log_offset_metadata import LogOffsetMetadata

print("high watermark", leader.high_watermark, " a consumer sees", values_of(leader, FetchIsolation.HIGH_WATERMARK))

# %% [markdown]
# **A record is shown when every in-sync replica has it, and not before.** The high watermark is that line.

# %% [markdown]
# ## 2. The picture

# %%
diagram("high_watermark")

# %% [markdown]
# - **LEO**, log end offset: the next offset to be written. No record is there yet.
# - **HW**, high watermark: below it every in-sync replica has every record.
# - **ISR**, in-sync replicas: the leader, and the followers that keep up.
# - **Log start:** the first offset that may be read. **LSO**, last stable offset: HW, or less while a transaction is open.
#
# All these but the log start are **exclusive**: a mark of 2 means that 0 and 1 are committed.
#
# Here is the directory of the last lesson again. A broker does not forget the mark when it stops: it writes the marks of all its partitions to
# one file for each log directory, every few seconds. That file lies beside `orders-0`.

# %%
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile

TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
orders = copied_log("data/orders-0", TOPIC)
checkpoint = OffsetCheckpointFile(Path("data/replication-offset-checkpoint")).read()
print("the log alone:", orders.high_watermark, " the broker's checkpoint:", checkpoint[orders.topic_partition])

# %%
erratum(
    "The high watermark begins at the log start offset",
    "only inside the log's constructor; Partition.createLog then sets the value of the checkpoint",
    f"{orders.high_watermark} after opening, {orders.update_high_watermark(checkpoint[orders.topic_partition])} after that",
)

# %% [markdown]
# ## 3. The rules
#
# 1. log start ≤ LSO ≤ HW ≤ LEO.
# 2. A consumer sees the records below HW, a follower those below LEO.
# 3. On the leader, fetches only ever raise HW, and never above LEO. (A start or a truncation may lower it.)
# 4. HW is *at most* the least end among the in-sync replicas, and reaches it once nothing else holds it. (The end is LEO for the leader, the offset of the last fetch for a follower.)
# 5. On a follower, HW is what the leader says, but never more than the follower has.
#
# Each is checked here on a log of ten records. Follower 1 fetches from 8, follower 2 from 6; a third one has four records, and is
# told of the leader's mark:

# %%
log = fresh_log()
for number in range(10):
    log.append_as_leader(records(1, 1, first=number), leader_epoch=0)
replicas = Replicas(log).fetch("follower 1", 8).fetch("follower 2", 6)
print("rule 1:", log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset)
seen = [len(values_of(log, isolation)) for isolation in (FetchIsolation.HIGH_WATERMARK, FetchIsolation.LOG_END)]
print("rule 2:", seen == [log.high_watermark, log.log_end_offset], " consumer and follower see", seen)
moved = log.maybe_increment_high_watermark(LogOffsetMetadata(3))
print("rule 3:", moved is None and log.high_watermark > 3, " asked to go down to 3 it stays at", log.high_watermark)
print("rule 4:", log.high_watermark == min(log.log_end_offset, 8, 6))

# %%
third = fresh_log(name="follower-0")
replicate(log, third, up_to=4)
print("rule 5:", third.maybe_update_high_watermark(log.high_watermark) == min(log.high_watermark, third.log_end_offset))

# %%
erratum(
    "Followers read up to the high watermark, plain consumers up to LEO",
    "the other way round: consumers (HIGH_WATERMARK) read below HW, followers (LOG_END) below LEO, or nothing would ever be replicated",
    f"of {log.log_end_offset} records a consumer sees {len(values_of(log, FetchIsolation.HIGH_WATERMARK))}, "
    f"a follower {len(values_of(log, FetchIsolation.LOG_END))}",
)

# %% [markdown]
# ## 4. The source, walked
#
# ### An offset and its place
#
# A mark is more than a number. `LogOffsetMetadata` has the offset, the base offset of its segment, and the byte within it. With the
# place at hand a read knows where to stop, and two marks on one segment tell how many bytes lie between them.

# %%
orders = copied_log("data/orders-0", TOPIC)
snapshot = orders.fetch_offset_snapshot()
print("log end:", snapshot.log_end_offset)
print("high watermark:", snapshot.high_watermark)
bare = LogOffsetMetadata(33)
print("bare:", bare, " only an offset:", bare.message_offset_only)

# %% [markdown]
# `(offset=90, segment=[75:915])`: the next record goes to byte 915 of the segment that begins at 75. A **bare** mark has −1 in both places.
# `maybe_convert_to_offset_metadata` looks a place up, by reading one byte at that offset. (A prediction that is an exception's name
# goes in quotes. Two are possible in this lesson: `"KafkaException"` for a question that has no answer, and
# `"IllegalArgumentException"` for an argument that can't be right.)

# %%
here, there = (orders.maybe_convert_to_offset_metadata(offset) for offset in (30, 36))
print(here, there, " bytes between:", there.position_diff(here))
print("on one segment:", here.on_same_segment(there), " the first on an older one:", here.on_older_segment(snapshot.log_end_offset))

# %%
predict(
    "position-diff-to-end",
    "What does there.position_diff(snapshot.log_end_offset) give? (a number, or the name of an exception)",
    ___,
    lambda: there.position_diff(snapshot.log_end_offset),
)

# %% [markdown]
# 36 lies in the file of segment 30, the log end in that of segment 75. Bytes can be counted within one file only. That is also why
# there are two methods to ask first, and one of them is often described wrongly:

# %%
erratum(
    "onOlderSegment tells whether the given offset is on an older segment",
    "it tells whether this offset is on an older segment than the given one",
    f"{here}.on_older_segment({snapshot.log_end_offset}) → {here.on_older_segment(snapshot.log_end_offset)}",
)

# %% [markdown]
# ### Many ways, one setter

# %%
diagram("high_watermark_methods")

# %% [markdown]
# `update_high_watermark` is for beginnings: a load, a truncation, a log start that has overtaken the mark. Again there are ten records, with the
# mark at 6; it is set to 12.

# %%
log, twin = fresh_log(), fresh_log()
for each in (log, twin):
    for number in range(10):
        each.append_as_leader(records(1, 1, first=number), leader_epoch=0)
    each.update_high_watermark(6)
ruler = OffsetRuler(log, "The mark moves").snap("ten records, the mark at 6")

# %%
predict(
    "update-beyond-log-end",
    "update_high_watermark(12) on a log that ends at 10 returns?",
    ___,
    lambda: twin.update_high_watermark(12),
)

# %%
step_through(log.update_high_watermark, 12, watch=log, into={"Log.update_high_watermark", "Log._update_high_watermark_metadata"}).play()

# %% [markdown]
# The method takes what it is given and forces it into the bounds of the log. The setter sets one field. Readers take no lock for it: a frozen triple is replaced by another in one assignment. Then the others
# are told: the producers' state, listeners, and the last stable offset. `update_high_watermark` can also move the mark **back**:

# %%
ruler.snap("update_high_watermark(12)")
log.update_high_watermark(4)
ruler.snap("update_high_watermark(4): it may fall").play()

# %% [markdown]
# ### The leader's method
#
# `Partition` calls `maybe_increment_high_watermark` after an append, after a fetch that tells something new, after a change of the
# ISR, and when a leader begins. The mark only goes up. And above LEO?

# %%
predict(
    "increment-beyond-log-end",
    "maybe_increment_high_watermark(LogOffsetMetadata(11)) on a log that ends at 10? (a value, or the name of an exception)",
    ___,
    lambda: twin.maybe_increment_high_watermark(LogOffsetMetadata(11)),
)

# %%
walk = step_through(log.maybe_increment_high_watermark, LogOffsetMetadata(11), watch=log)
print(walk.frames[-1].outcome)

# %%
step_through(
    log.maybe_increment_high_watermark,
    log.log_end_offset_metadata,
    watch=log,
    into={"Log.maybe_increment_high_watermark", "Log._update_high_watermark_metadata"},
).play()

# %% [markdown]
# It returns the **old** mark when it moved, and None when it did not: the caller wants to know whether waiting producers can be answered.
# (In between, step 3 looks up the place of the old mark, and keeps it by the setter. *Fetching the metadata* below tells why.)
#
# The same offset on a newer segment is *forward*, too. After a roll the log end has the same offset and another place. Here the roll itself
# takes the mark along, or a reader would believe that the bound lies in a file that is full:

# %%
before = log.fetch_offset_snapshot().high_watermark
log.roll()
print(before, "→", log.fetch_offset_snapshot().high_watermark)

# %%
erratum(
    "The mark is corrected when the new log end is below it",
    "when it is at or below it: equality refreshes the place after a roll or an append",
    f"the log end stayed {log.log_end_offset}, the mark went from {before} to {log.fetch_offset_snapshot().high_watermark}",
)

# %% [markdown]
# ### The follower's method
#
# A follower learns the mark from the leader's answers. `maybe_update_high_watermark` limits it to what the follower has, and
# reports only a change:

# %%
follower = fresh_log(name="follower-0")
replicate(log, follower, up_to=5)
for told in (3, 8, 8, 2):
    print("leader says", told, " changed to:", follower.maybe_update_high_watermark(told), " HW:", follower.high_watermark)

# %% [markdown]
# Told 8, it goes to 5: the follower has no more. Told 8 again it reports nothing. Told 2 it goes **back** to 2: a follower
# believes its leader. (A new leader's mark may lag behind for a moment.)
#
# ### Fetching the metadata
#
# `update_high_watermark(34)` in the next cell knows an offset and no place. The first reader that needs the place looks it up, once, and
# the mark keeps what the lookup found. The lookup is a read. In this log a batch has three records, and offset 34 lies inside one. Where
# will the mark be after the lookup?

# %%
orders, twin = (copied_log("data/orders-0", TOPIC) for _ in range(2))
for each in (orders, twin):
    each.update_high_watermark(34)
batch = next(batch for batch in orders.log_segments[2].log.batches() if batch.last_offset >= 34)
print("set to", orders.high_watermark, "in the batch from", batch.base_offset, "to", batch.last_offset)

# %%
predict(
    "mark-after-first-read",
    "The high watermark after the first read up to it?",
    ___,
    lambda: twin.fetch_offset_snapshot().high_watermark.message_offset,
)

# %%
walk = step_through(
    orders.read, 30, 1_048_576, FetchIsolation.HIGH_WATERMARK,
    watch=orders, into={"Log._fetch_high_watermark_metadata", "Log._update_high_watermark_metadata"},
)  # fmt: skip
walk.play()

# %% [markdown]
# A read finds whole batches, and reports where a batch begins: the mark moved from 34 down to 33, merely by a read. Real Kafka 4.3.0 does the same (part 5 proves it). It is harmless, and no breach of
# rule 3: marks that come from fetches lie between batches, and the lookup leaves such a mark where it is.
#
# ### A leader and two followers
#
# Now everything together. The fetches come as a table; each row is one request that reaches the leader. *fetch from x* says: I have
# everything below x. The leader learns about a follower in no other way.

# %%
fetches = [
    ("follower 1", 0), ("follower 2", 0), ("follower 1", 5), ("follower 2", 3),
    ("follower 2", 5), ("follower 1", 8), ("follower 2", 8),
]  # fmt: skip
leader = fresh_log()
for number in range(8):
    leader.append_as_leader(records(1, 1, first=number), leader_epoch=0)
replicas = Replicas(leader)
for name, offset in fetches:
    replicas.fetch(name, offset)

# %%
predict(
    "mark-after-follower-fetch",
    "The fetch of follower 1 from 5 came when follower 2 had fetched from 0. The mark after it?",
    ___,
    lambda: replicas.frames[3].hw,
)

# %%
replicas.play()

# %% [markdown]
# The mark comes one round late: a follower has records 0 to 4 on its disk from the moment of the answer, but the leader knows only when the
# next fetch asks for 5. The answer to that fetch still carries the old mark if it has records: the leader reads first and raises its
# mark afterwards. So the followers hear of the new mark from a later answer. (A fetch that finds nothing waits at the leader and is read
# anew before it is answered; then the new mark may be in it.)
#
# Drag the fetches yourself. This leader has 12 records; the mark rises once both followers have fetched. Can you make it fall?

# %%
playground = Replicas(fresh_log(), title="Drag a follower")
for number in range(12):
    playground.append(records(1, 1, first=number))
playground.drag()

# %% [markdown]
# You can't: drag a follower back, and the mark stays. Only the ISR can hold it or free it. Back to the first leader: it gets four more
# records, follower 1 fetches all of them, follower 2 is slow and leaves the ISR.

# %%
for number in range(8, 12):
    replicas.append(records(1, 1, first=number))
replicas.fetch("follower 1", 12)
held = leader.high_watermark
replicas.shrink("follower 2")
print("held at", held, " without follower 2:", leader.high_watermark)

# %% [markdown]
# ## 5. Three witnesses
#
# The same workload, run by **minikafka**, worked out by **Spark** from the lines alone, and run by the real **Apache Kafka**. `isr 1` takes follower
# 2 out, `isr 1,2` takes it back while it still lags. (A broker would not: its `Partition` lets a follower in only when it has reached
# the mark. Here it shows that the log itself guards the mark.) Choosing the least end is `Partition`'s work as well: minikafka's
# does it for both logs, Spark has a query of its own.

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
isr 1,2
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 4
fetch 2 1
isr 1
isr 1,2
fetch 2 3
read 0 isolation=high_watermark
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %% [markdown]
# The marks after each operation. (The `isr 1,2` at the top is the state at the start, not an operation; operation 0 is the first append.)

# %%
print("high watermark by minikafka:", ours.column("high_watermark"))
print("high watermark by Spark:    ", spark.column("high_watermark"))

# %% [markdown]
# And the surprise of part 4, the mark that a read moved from 34 to 33, on a log with batches of three. Spark's rules do not reach a mark inside a
# batch: a dash is its silence. So this is for Kafka to confirm:

# %%
surprise = Workload.parse("append_as_leader [3x10]\nappend_as_leader [3x10]\nupdate_high_watermark 4\nread 0 isolation=high_watermark")
ours_2, spark_2, kafka_2 = three_witnesses(surprise)
for witness in filter(None, (ours_2, spark_2, kafka_2)):
    print(f"{witness.witness:12}", witness.column("high_watermark"))
print("the witnesses agree:", bool(agree(ours_2, spark_2, kafka_2)))

# %% [markdown]
# Now a bug is planted: the leader's mark may fall. After which operation (0 is the first append) will the witnesses differ first, and
# how many of the other two contradict minikafka there? (The first thing to differ is the *result* of the call, which comes before the marks.)

# %%
with planted("the leader's high watermark may fall"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "mark-differs-after",
    "After which operation do the witnesses differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "mark-result-contradicted-by",
    "About the result of that operation, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)
print("high watermark with the bug:", sick.column("high_watermark"))

# %% [markdown]
# *Result* is what the call returned: the old mark if it moved. The sound log did not move it, so it returned none. The last
# line shows the fall itself.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [High watermark: rebuild](03-high-watermark-rebuild.ipynb), four functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | every method that moves the mark, its checks, its exceptions | followers are rows of a table, not brokers | `Partition`, which asks the ISR, and also waits for a follower that has caught up and is about to join it (a later lesson) |
# | the lookup of the place, and that it moves a mark inside a batch | the lock is Python's | `min.insync.replicas`, below which the mark stands still |
# | what the mark tells to producers' state and to the last stable offset | no metrics | how the ISR itself is agreed upon |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. Everything else Spark works out from the workload.
#
# **A question to take along.** Consumers of one partition see nothing new, while its leader's LEO grows. What do you check first?
#
# <details><summary>One answer</summary>
#
# Which in-sync replica has the least end: the mark waits for it. A follower that is slow but not slower than `replica.lag.time.max.ms` stays in
# the ISR and holds everybody back. If the ISR is smaller than `min.insync.replicas`, the mark stands still altogether.
# For `read_committed` consumers look at the last stable offset next: an open transaction holds that one back.
#
# </details>

# %% [markdown]
# ### Card
#
# - Below the high watermark every in-sync replica has every record. A record is shown to consumers then, and not before.
# - log start ≤ LSO ≤ HW ≤ LEO. A mark of 2 means that 0 and 1 are committed.
# - A follower tells its leader how far it is by the offset from which it fetches, and in no other way. So the mark comes one round late.
# - On the leader, fetches only ever raise HW, and never above LEO. The in-sync replica with the least end holds it.
# - On a follower, HW is what the leader says, but never more than the follower has. It may go back.
#
# ![How the high watermark rises](../diagrams/high_watermark.svg)
#
# | who reads | up to where |
# |:---|:---|
# | a follower | below LEO |
# | a consumer | below HW |
# | a consumer with `read_committed` | below LSO: that is HW, or less while a transaction is open |
# | each of them | from the log start on |

# %% [markdown]
# **Next:** *Append*, where LEO moves, fifteen steps at a time.
