# %% [markdown]
# # High watermark
#
# *Up to which offset are records safe? One number says so.*
#
# [中文](zh/03-high-watermark.ipynb)
#
# ## 1. The question
#
# **Time:** about an hour to read, an hour to rebuild. **Before:** *Segments*. (Two hours? Part 2 of *Start here*, and leave out *An offset and its place*, *Fetching the metadata* and part 5.)
#
# **Afterwards you can decide:** which replica keeps a consumer from a record on the leader's disk, and what `acks=all` waits for.
#
# What goes wrong without a high watermark? Let a consumer read everything that the leader has: the records `0`, `1` and `2`; the follower has fetched two of them.

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
at_the_follower = values_of(follower, FetchIsolation.LOG_END)

# %%
predict(
    "offset-2-after-failover",
    "The leader dies; the follower becomes leader. A producer sends it the record 7. At which offset does the consumer find this record?",
    ___,
    lambda: at_the_follower.index("7"),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.

# %%
from minikafka.log.log_offset_metadata import LogOffsetMetadata

print("a consumer without high watermark saw", seen)
print("the same consumer, asking again, sees", values_of(follower, FetchIsolation.LOG_END))
print("high watermark", leader.high_watermark, " a consumer sees", values_of(leader, FetchIsolation.HIGH_WATERMARK))

# %% [markdown]
# Offset 2 was the record `2`, now it is `7`. The follower fetched from 2, so the leader knew that it has 0 and 1, and raised the high watermark to 2. A consumer that stops there never sees the record `2`.
#
# **A consumer gets a record only when every in-sync replica has it.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("high_watermark")

# %% [markdown]
# - **LEO**, log end offset: the next offset to be written. No record is there yet.
# - **HW**, high watermark, here also *the mark*: below it every in-sync replica has every record.
# - **ISR**, in-sync replicas: the leader, and the followers that keep up.
# - **Log start:** the first offset that may be read. **LSO**, last stable offset: HW, or less while a transaction is open.
#
# LEO, HW and LSO are **exclusive** bounds: a bound of 2 does not include offset 2. A high watermark of 2 means that 0 and 1 are committed.
#
# Every few seconds a broker writes the marks of its partitions to a file in each log directory. This is that of `data/orders-0`:

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
# 1. LSO ≤ HW ≤ LEO; log start ≤ LSO, except inside a batch.
# 2. A consumer sees the records below HW, a follower those below LEO.
# 3. On the leader, fetches never lower HW, and never raise it above LEO. (A start or a truncation may lower it.)
# 4. HW is *at most* the least end among the in-sync replicas. Two things can keep it lower: a follower that is about to join the ISR, and an ISR below `min.insync.replicas`. (The end is LEO for the leader, the offset of the last fetch for a follower.)
# 5. On a follower, HW is what the leader says, but never more than the follower has.
#
# A log has ten records. Follower 1 fetches from 8, follower 2 from 6; a third has four records:

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
erratum(
    "Followers read up to the high watermark, plain consumers up to LEO",
    "the other way round: consumers (HIGH_WATERMARK) read below HW, followers (LOG_END) below LEO. Otherwise nothing would ever be replicated",
    f"of {log.log_end_offset} records a consumer sees {len(values_of(log, FetchIsolation.HIGH_WATERMARK))}, "
    f"a follower {len(values_of(log, FetchIsolation.LOG_END))}",
)

# %% [markdown]
# ## 4. The source, walked
#
# ### An offset and its place
#
# A mark is a `LogOffsetMetadata`: the offset, its segment's base offset, and the byte in the segment. So a read knows where to stop, and two marks on one segment give the bytes between them.

# %%
orders = copied_log("data/orders-0", TOPIC)
snapshot = orders.fetch_offset_snapshot()
print("log end:", snapshot.log_end_offset)
print("high watermark:", snapshot.high_watermark)
bare = LogOffsetMetadata(33)
print("bare:", bare, " only an offset:", bare.message_offset_only)

# %% [markdown]
# `(offset=90, segment=[75:915])`: the next record goes to byte 915 of the segment that begins at 75. A **bare** mark has −1 in both places.
# `maybe_convert_to_offset_metadata` finds the place of an offset by reading the log there.

# %%
here, there = (orders.maybe_convert_to_offset_metadata(offset) for offset in (30, 36))
print(here, there, " bytes between:", there.position_diff(here))
print("on one segment:", here.on_same_segment(there), " the first on an older one:", here.on_older_segment(snapshot.log_end_offset))

# %%
predict(
    "position-diff-to-end",
    "What does there.position_diff(snapshot.log_end_offset) give? (a number, 'IllegalArgumentException' or 'KafkaException')",
    ___,
    lambda: there.position_diff(snapshot.log_end_offset),
)

# %% [markdown]
# 36 lies in the file of segment 30, the log end in that of segment 75. Bytes can be counted only within one file. So callers compare segments first, by two methods:

# %%
erratum(
    "onOlderSegment tells whether the given offset is on an older segment",
    "it tells whether this offset is on an older segment than the given one",
    f"{here}.on_older_segment({snapshot.log_end_offset}) → {here.on_older_segment(snapshot.log_end_offset)}",
)

# %% [markdown]
# ### Many ways, one setter
#
# `update_high_watermark` is called when a log is loaded or cut, when its start passes the mark, and by the follower's method. Here a log has ten records and the mark 6. We ask for 12. (Its place, `segment=[0:690]`: byte 690 of the segment that begins at 0. `[-1:-1]`: unknown.)

# %%
log, twin = fresh_log(), fresh_log()
for each in (log, twin):
    for number in range(10):
        each.append_as_leader(records(1, 1, first=number), leader_epoch=0)
    each.update_high_watermark(6)
ruler = OffsetRuler(log, "The mark moves").snap("ten records, the mark at 6")
diagram("high_watermark_methods")

# %%
predict(
    "update-beyond-log-end",
    "The log ends at 10. What does update_high_watermark(12) return?",
    ___,
    lambda: twin.update_high_watermark(12),
)

# %%
step_through(log.update_high_watermark, 12, watch=log, into={"Log.update_high_watermark", "Log._update_high_watermark_metadata"}).play()

# %% [markdown]
# A value outside of the log becomes the nearest bound. The setter replaces one immutable object by another, so readers need no lock. It also moves the LSO. `update_high_watermark` can also move the mark **back**:

# %%
ruler.snap("update_high_watermark(12)")
log.update_high_watermark(4)
ruler.snap("update_high_watermark(4): it may fall").play()

# %% [markdown]
# ### The leader's method
#
# `Partition` calls `maybe_increment_high_watermark` after an append, after a fetch that tells something new, after a change of the ISR, and when it becomes leader. The method returns the **old** mark if it moved, else None: so `Partition` knows whether it can answer waiting producers. (With `acks=all` they wait until the mark has passed their records.)

# %%
predict(
    "increment-beyond-log-end",
    "The log ends at 10. What does maybe_increment_high_watermark(LogOffsetMetadata(11)) give? (an offset, 'IllegalArgumentException', 'KafkaException' or 'OffsetOutOfRangeException')",
    ___,
    lambda: twin.maybe_increment_high_watermark(LogOffsetMetadata(11)),
)

# %%
walk = step_through(log.maybe_increment_high_watermark, LogOffsetMetadata(11), watch=log)
print(walk.frames[-1].outcome)
step_through(
    log.maybe_increment_high_watermark,
    log.log_end_offset_metadata,
    watch=log,
    into={"Log.maybe_increment_high_watermark", "Log._update_high_watermark_metadata"},
).play()

# %% [markdown]
# The setter runs twice here: first the old mark 4 gets its place, then the new mark is set.
#
# The same offset on a newer segment counts as *forward*, too. A roll moves log end and mark to a new place with the same offset:

# %%
before = log.fetch_offset_snapshot().high_watermark
log.roll()
print(before, "→", log.fetch_offset_snapshot().high_watermark)
erratum(
    "The mark is corrected when the new log end is below it",
    "also when it is equal to it: the mark then gets its new place after a roll or an append",
    f"the log end stayed {log.log_end_offset}, the mark went from {before} to {log.fetch_offset_snapshot().high_watermark}",
)

# %% [markdown]
# ### The follower's method
#
# A follower learns the mark from the leader's answers. `maybe_update_high_watermark` limits it to the follower's records, and returns it only if it changed:

# %%
follower = fresh_log(name="follower-0")
replicate(log, follower, up_to=5)
for told in (3, 8, 8, 2):
    print("leader says", told, " changed to:", follower.maybe_update_high_watermark(told), " HW:", follower.high_watermark)

# %% [markdown]
# Told 8, the follower goes only to 5: it has no more records. Told 2, it goes **back**: a follower trusts its leader. (A new leader's mark may be behind for a moment.)
#
# ### Fetching the metadata
#
# `update_high_watermark(34)` gets an offset without a place. The first reader that needs the place reads the log there, and sets the mark to the place that this read reports. Offset 34 lies inside a batch.

# %%
orders, orders_twin = (copied_log("data/orders-0", TOPIC) for _ in range(2))
for each in (orders, orders_twin):
    each.update_high_watermark(34)
batch = next(batch for batch in orders.log_segments[2].log.batches() if batch.last_offset >= 34)
print("set to", orders.high_watermark, "in the batch from", batch.base_offset, "to", batch.last_offset)

# %%
predict(
    "mark-after-first-read",
    "At which offset is the mark when a reader has looked up its place?",
    ___,
    lambda: orders_twin.fetch_offset_snapshot().high_watermark.message_offset,
)

# %%
walk = step_through(
    orders.read, 30, 1_048_576, FetchIsolation.HIGH_WATERMARK,
    watch=orders, into={"Log._fetch_high_watermark_metadata", "Log._update_high_watermark_metadata"},
)  # fmt: skip
walk.play()

# %% [markdown]
# A read finds whole batches, so this one moved the mark from 34 down to 33. Rule 3 still holds: a mark that comes from a fetch lies between batches, so no read moves it.
#
# ### A leader and two followers
#
# Each pair below is one fetch that reaches the leader. *Fetch from x* says: I have everything below x. The leader knows nothing else about the follower's log.

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
    "Follower 1 fetches from 5, when follower 2 has fetched only from 0. Where is the mark after this fetch?",
    ___,
    lambda: replicas.frames[3].hw,
)

# %%
replicas.play(at=3)

# %% [markdown]
# The mark is one fetch late. A follower has records 0 to 4 on disk after the response, but the leader knows it only when the
# next fetch asks for 5. The leader reads first and raises the mark after that: a response with records has the old mark.
#
# Drag the fetches yourself. Can you make the mark fall?

# %%
playground = Replicas(fresh_log(), title="Drag a follower")
for number in range(12):
    playground.append(records(1, 1, first=number))
playground.drag()

# %% [markdown]
# You can't. Now the same leader gets four more records. Follower 1 fetches all of them; follower 2 is slow and leaves the ISR.

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
# **minikafka** and the real **Apache Kafka** run the workload; **Spark** derives the results from its lines. `fetch 1 4`: follower 1 fetches from offset 4. `isr 1` takes follower 2 out;
# `isr 1,2` takes it back, although it still lags. (A real broker would wait until it has reached the high watermark.) minikafka's `Partition` computes the least end for both logs. (Operations count from 0, the first append; the `isr 1,2` at the top sets the start.)

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
print("high watermark by minikafka:", ours.column("high_watermark"))
print("high watermark by Spark:    ", spark.column("high_watermark"))
agree(ours, spark, kafka)

# %% [markdown]
# Now a read moves a mark inside a batch. Spark has no rule for that (a dash):

# %%
surprise = Workload.parse("append_as_leader [3x10]\nappend_as_leader [3x10]\nupdate_high_watermark 4\nread 0 isolation=high_watermark")
ours_2, spark_2, kafka_2 = three_witnesses(surprise)
for witness in filter(None, (ours_2, spark_2, kafka_2)):
    print(f"{witness.witness:12}", witness.column("high_watermark"))
print("the witnesses agree:", bool(agree(ours_2, spark_2, kafka_2)))

# %% [markdown]
# We plant a bug: the leader's mark may fall. (The comparison looks at the call's *result* before the high watermark.)

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
    "How many witnesses contradict minikafka's result there (1 or 2)?",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)
print("high watermark with the bug:", sick.column("high_watermark"))

# %% [markdown]
# *Result* is what the call returned: the old mark if it moved. Kafka's log did not move it.
#
# ## 6. Exercises
#
# [High watermark: rebuild](03-high-watermark-rebuild.ipynb) has four functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | every method that moves the mark, its checks, its exceptions | followers are rows of a table, not brokers | `Partition`, which asks the ISR and followers about to join it |
# | the lookup of the place, and that it moves a mark inside a batch | the lock is Python's | `min.insync.replicas`, below which the mark stands still |
# | what a moved mark changes in the producers' state and the last stable offset | no metrics | how the ISR itself is agreed upon |
#
# *What Spark is told:* the size of each batch, from the record builder.
#
# **A question to take along.** Consumers of one partition see nothing new, while its leader's LEO grows. What do you check first?
#
# <details><summary>One answer</summary>
#
# Which in-sync replica has the least end? The mark waits for it. A follower that lags by less than `replica.lag.time.max.ms` stays in the ISR. If the ISR is smaller than `min.insync.replicas`, the mark stands still.
# For `read_committed` consumers look at the last stable offset next: an open transaction holds it.
#
# </details>

# %% [markdown]
# ### Card
#
# - Below the high watermark every in-sync replica has every record. Consumers get only records below it.
# - LSO ≤ HW ≤ LEO. A high watermark of 2 means that 0 and 1 are committed.
# - A follower tells its leader how far it is by the offset from which it fetches, and in no other way. So the mark is one fetch late.
# - On the leader, fetches never lower HW, and never raise it above LEO. The in-sync replica with the least end holds it.
# - On a follower, HW is what the leader says, but never more than the follower has. It may go back.
#
# ![How the high watermark rises](../diagrams/high_watermark.svg)
#
# | who reads | up to where |
# |:---|:---|
# | a follower | below LEO |
# | a consumer | below HW |
# | a consumer with `read_committed` | below LSO: that is HW, or less while a transaction is open or its marker is not below HW |
# | each of them | from the log start on |

# %% [markdown]
# **Next:** *Append*, the fifteen steps that move LEO. (On the path of two hours: [The produce path](11a-produce-path.ipynb).)
