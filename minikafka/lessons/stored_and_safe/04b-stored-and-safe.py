# %% [markdown]
# # Stored and safe
#
# *Which bytes a leader stores, in which segment, and which marks say what is safe.*
#
# ## 1. The question
#
# **Time:** about fifty minutes to read, forty-five minutes to rebuild. **Before:** *Append*.
#
# **Afterwards you can decide:** when a leader compresses a batch again, when a segment ends, what is on the device, and who can move
# the log start.
#
# What goes wrong if a leader does not look into each record? In a compacted topic a cleaner keeps the newest record of each key.
# Now three records without keys arrive. This log stores them as a follower does, without looking into them.

# %%
from minikafka.lab import OffsetRuler, SegmentShelf, ___, changed_fields, diagram, erratum, fresh_log, log_after, planted, predict
from minikafka.lab import records, scratch, sent, step_through, three_witnesses, wake_witnesses
from minikafka.witness import Workload, agree, minikafka_log, run

keyless = "config cleanup.policy=compact\nappend_as_follower [3x10]\nroll\nupdate_high_watermark leo\n"
raw, cleaned = log_after(Workload.parse(keyless)), log_after(Workload.parse(f"{keyless}clean"))
wake_witnesses()
SegmentShelf(raw, "Stored without a check").snap("three records without keys, then a new segment").play()

# %%
predict(
    "keyless-records-after-cleaning",
    "The cleaner has run. How many of the three records are left?",
    ___,
    lambda: len([record for batch in cleaned.log_segments[0].log.batches() for record in batch]),
)

# %%
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason

for name, each in (("before", raw), ("after", cleaned)):
    print(name, [record.offset for batch in each.log_segments[0].log.batches() for record in batch])
leader = fresh_log({"cleanup.policy": "compact"})
print("sent to a leader:", type(step_through(leader.append_as_leader, sent("3x10"), leader_epoch=0).raised).__name__)

# %% [markdown]
# The cleaner drops records without a key: the three stored records are gone. A real leader refuses them. **Followers, indexes and
# cleaners trust what a leader has stored.**
#
# (`append_as_follower [3x10]` is a line of a workload: a batch of three records with values of 10 bytes. A `___` is a blank for you to fill. Spark and Apache Kafka are starting for
# part 5.)
#
# ## 2. The picture

# %%
diagram("stored_and_safe")

# %% [markdown]
# The numbers are the steps of an append in the lesson *Append*.
#
# - **Codec:** the compression of a batch's records: none, gzip, snappy, lz4 or zstd.
# - **Device:** the disk itself. A write ends in the system's memory; a **flush** takes it to the device.
# - **Recovery point:** below it everything is known to be on the device, or deleted.
# - **Log start:** the first offset that may be read.
#
# ## 3. The rules
#
# 1. If a leader keeps a batch's codec, it also keeps the records' bytes: it writes into the header alone.
# 2. The recovery point is never above LEO.
# 3. While a log is open, only a truncation lowers its log start.
#
# (`sent("3x1")` is a batch of three records of one byte, as it comes over the network. Its header has 61 bytes.)

# %%
log, batch = fresh_log({"flush.messages": 3}), sent("3x1")
body = bytes(batch.buffer)[61:]
log.append_as_leader(batch, leader_epoch=0)
log.update_high_watermark(3)
[stored] = log.active_segment.log.batches()
print("rule 1:", bytes(stored.load_full_batch().buffer)[61:] == body)
raised = [log.maybe_increment_log_start_offset(offset, Reason.CLIENT_RECORD_DELETION) for offset in (2, 1)]
log.truncate_to(1)
print("rule 2:", log.recovery_point == log.log_end_offset == 1)
print("rule 3:", raised == [True, False], log.log_start_offset == 1)

# %% [markdown]
# ## 4. The source, walked
#
# ### The validator
#
# `LogValidator` (step 5, leaders only) reads each record, and normally changes two header fields, offset and epoch. The CRC does not cover these two, so it stays the same. (`ts` gives the timestamps of the records.)

# %%
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_config import LogConfig

log, stamped = fresh_log(), fresh_log({"message.timestamp.type": "LogAppendTime"})
batch = sent("3x10 ts=now-9000,now-8000")
original = bytes(batch.buffer)
for _ in range(4):
    log.append_as_leader(sent("1x1"), leader_epoch=5)
log.append_as_leader(batch, leader_epoch=5)
changed_fields(original, batch.buffer)

# %%
batch = sent("3x10 ts=now-9000,now-8000")
info = stamped.append_as_leader(batch, leader_epoch=5)
print("log_append_time:", info.log_append_time, " max_timestamp:", info.max_timestamp)
changed_fields(original, batch.buffer)

# %% [markdown]
# With LogAppendTime the leader also changes a bit and a timestamp, so it computes the CRC again. The records keep the producer's timestamps; readers ignore them because of the bit. If some records are bad, the exception lists each of them:

# %%
log = fresh_log({"cleanup.policy": "compact"})
walk = step_through(log.append_as_leader, sent("3x10"), leader_epoch=0)
print(type(walk.raised).__name__, *walk.raised.record_errors, sep="\n")
erratum(
    "LogAppendInfo.errorMessage is an error code. Batches are limited by the broker's setting max.message.bytes, 1 MB",
    "it was a text, and is gone: the errors of single records are a list, each with its place in the batch. max.message.bytes is the topic's "
    "setting (the broker's is message.max.bytes), and its default is 1 MiB + 12",
    f"{walk.raised.record_errors[0]}; {LogConfig().max_message_size} = 1024 * 1024 + {LogConfig().max_message_size - 1024 * 1024}",
)

# %% [markdown]
# ### Compression: source and target
#
# The **source** codec is the incoming batch's. The **target** codec comes from the topic's `compression.type`: `producer`, the default, keeps the source; `uncompressed` means none; any other value is a codec. The last column compares the bytes after the header with those that were sent.

# %%
for topic in ("producer", "uncompressed", "gzip", "lz4"):
    for codec in ("none", "gzip"):
        log, batch = fresh_log({"compression.type": topic}), sent(f"40x50 codec={codec}")
        body = bytes(batch.buffer)[61:]
        log.append_as_leader(batch, leader_epoch=0)
        [stored] = log.active_segment.log.batches()
        same = bytes(stored.load_full_batch().buffer)[61:] == body
        print(f"topic {topic:12}  sent {codec:4}  stored {stored.compression_type.name.lower():4}  records as sent: {same}")

# %%
log = fresh_log({"compression.type": "gzip"})
log.append_as_leader(sent("commit pid=7 epoch=0"), 0, AppendOrigin.COORDINATOR, transaction_version=0)
[marker] = log.active_segment.log.batches()
print("a marker in a topic with gzip:", marker.compression_type.name.lower())
level_9, batch = fresh_log({"compression.type": "gzip", "compression.gzip.level": 9}), sent("40x50 codec=gzip")
body = bytes(batch.buffer)[61:]
level_9.append_as_leader(batch, leader_epoch=0)
[stored] = level_9.active_segment.log.batches()

# %% [markdown]
# If the codecs are the same, the leader checks the records and leaves them alone. If they differ, it builds a new batch; step 5b checks its size again. A leader never compresses a marker.

# %%
predict(
    "leader-recompresses-gzip",
    "The topic wants gzip at level 9 and gets gzip at another level. Does the leader compress the batch again? (True or False)",
    ___,
    lambda: bytes(stored.load_full_batch().buffer)[61:] != body,
)

# %% [markdown]
# `LogValidator.validateMessagesAndAssignOffsetsCompressed` compares the codecs' types, not their levels.
#
# ### When the segment must end: RollParams
#
# In step 8 the active segment decides whether it must end. A `RollParams` tells it two limits, three measures of the append, and the time. Here the timestamp of the segment's first batch is noon.

# %%
from minikafka.log.log_segment import RollParams

NOON = 1_700_000_000_000
log = fresh_log({"internal.segment.bytes": 300})
log.append_as_leader(records(7), leader_epoch=0)
segment = log.active_segment
asked = RollParams(max_segment_ms=1000, max_segment_bytes=300, max_timestamp_in_messages=NOON,
                   max_offset_in_messages=9, messages_size=100, now=NOON)  # fmt: skip
print("bytes:", segment.size, " as it is:", segment.should_roll(asked))
an_hour_later = segment.should_roll(asked._replace(now=NOON + 3_600_000))

# %%
predict(
    "roll-an-hour-later",
    "segment.ms is 1000. The append comes an hour later, with a record whose timestamp is noon. Does the segment roll? (True or False)",
    ___,
    lambda: an_hour_later,
)

# %%
for changed in ({"messages_size": 300 - segment.size}, {"messages_size": 301 - segment.size}, {"max_offset_in_messages": 2**31},
                {"max_timestamp_in_messages": NOON + 1000}, {"max_timestamp_in_messages": NOON + 1001}):  # fmt: skip
    print(changed, "→", segment.should_roll(asked._replace(**changed)))

# %% [markdown]
# The clock counts only if the segment's first batch has no timestamp (`LogSegment.timeWaitedForRoll`). An empty segment never rolls by time.
#
# ### When the time index gets an entry
#
# Whenever `LogSegment.append` (step 10) adds an entry to the offset index, it offers one to the time index. Five batches have timestamps
# of minute 0, 3, 1, 2 and 5; an entry is due with every batch but the first:

# %%
log = fresh_log({"index.interval.bytes": 0})
for minute in (0, 3, 1, 2, 5):
    log.append_as_leader(sent(f"1x10 ts=now+{60_000 * minute}"), leader_epoch=0)
segment = log.active_segment
print("offset index:", [segment.offset_index.entry(number).offset for number in range(segment.offset_index.entries)])

# %%
predict(
    "time-index-entries",
    "How many entries does the time index have?",
    ___,
    lambda: segment.time_index.entries,
)

# %%
times = [segment.time_index.entry(number) for number in range(segment.time_index.entries)]
print("time index:", [(f"minute {(time - NOON) // 60_000}", offset) for time, offset in times])
late = fresh_log()
late.append_as_leader(records(1), leader_epoch=0)
first_segment, before = late.active_segment, late.active_segment.time_index.entries
late.roll()
print("a segment too short for an entry: before the roll", before, " after it", first_segment.time_index.entries)

# %% [markdown]
# The offered entry is the largest timestamp so far, with the last offset of its batch. The index takes it only if this timestamp is larger than
# that of its last entry (`TimeIndex.maybeAppend`). A roll or a close offers it once more, even if no entry is due.
#
# ### When an append is safe: the recovery point
#
# Step 14 flushes when `flush.messages` or more records are not flushed yet. A log with `flush.messages=5` gets appends of 2, 2, 2 and 1 records.

# %%
log, points = fresh_log({"flush.messages": 5}), []
for count in (2, 2, 2, 1):
    log.append_as_leader(records(count), leader_epoch=0)
    points.append(log.recovery_point)
print("the default of flush.messages:", f"{LogConfig().flush_interval:,}")

# %%
predict(
    "recovery-point-after-appends",
    "flush.messages=5. Where is the recovery point after the appends of 2, 2, 2 and 1 records?",
    ___,
    lambda: points[-1],
)

# %%
again = fresh_log({"flush.messages": 5})
for _ in range(2):
    again.append_as_leader(records(2), leader_epoch=0)
before = again.recovery_point
walk = step_through(again.append_as_leader, records(2), leader_epoch=0, watch=again, into={"Log._flush"})
print("the third append moves the recovery point:", before, "→", again.recovery_point)
walk.play()

# %%
log.roll()
print("recovery points:", points, " LEO", log.log_end_offset, " after a roll:", log.recovery_point)
log.time.sleep(0)
print("after the task flush-log of the roll:", log.recovery_point)
log.append_as_leader(records(1), leader_epoch=0)
log.flush(force_flush_active_segment=True)
print("one more record and a flush, as before a clean shutdown:", log.recovery_point, " LEO", log.log_end_offset)
erratum("A log is flushed after each append",
        "only when flush.messages or more records are not flushed: with the default, never",
        f"flush.messages=5, appends of 2, 2, 2, 1: recovery points {points}")  # fmt: skip

# %% [markdown]
# Four things raise the recovery point: step 14 (by default never); the task `flush-log` after a roll (to the new segment's base); a flush by `LogManager` (by time, or before a clean shutdown); a
# log start that rises above it.
#
# ### LEO's four moments, the log start's five

# %%
diagram("append_offsets")

# %%
log = fresh_log({"retention.bytes": 230})
ruler = OffsetRuler(log, "What moves LEO and the log start").snap("load: both at 0")
for number in range(6):
    log.append_as_leader(records(1, first=number), leader_epoch=0)
ruler.snap("append: LEO is the last offset + 1")
before = log.log_end_offset_metadata
log.roll()
ruler.snap("roll: LEO stays, its place is new")
print("LEO's place:", before, "→", log.log_end_offset_metadata)

# %%
for number in range(6, 9):
    log.append_as_leader(records(1, first=number), leader_epoch=0)
log.update_high_watermark(9)
ruler.snap("three more records, all replicated")
step_through(log.maybe_increment_log_start_offset, 2, Reason.CLIENT_RECORD_DELETION, watch=log).play()

# %%
ruler.snap("DeleteRecords to 2: the log start rises, no byte is deleted")
log.delete_old_segments()
ruler.snap("a segment is deleted: the log start is the base of the first that stays")
log.maybe_increment_log_start_offset(8, Reason.LEADER_OFFSET_INCREMENTED)
print(ruler.snap("a follower learns its leader's log start, 8").frames[-1])

# %%
walk = step_through(log.maybe_increment_log_start_offset, 10, Reason.CLIENT_RECORD_DELETION)
print("DeleteRecords above the high watermark:", walk.frames[-1].outcome)
log.truncate_to(7)
ruler.snap("truncation to 7: LEO falls, and the log start with it")
log.truncate_fully_and_start_at(20)
ruler.snap("full truncation: both begin anew at 20").play()

# %%
erratum(
    "A truncation may change the log start, as the deletion of segments does",
    "a deletion only raises it. A truncation only lowers it, to the offset at which it cuts. A full truncation raises or lowers it",
    [f"{f.caption.split(':')[0]}: {f.before.log_start} → {f.offsets.log_start}" for f in (ruler.frames[5], *ruler.frames[7:])],
)

# %% [markdown]
# A load takes the log start from a checkpoint file, if that is above the base of the first segment. So records that DeleteRecords has hidden stay hidden.

# %%
from minikafka.log.log import Log

log, loaded = fresh_log(), []
log.append_as_leader(records(5, 1), leader_epoch=0)
log.close()
for start in (0, 3):
    log = Log.create(log.dir, log.config, start, scheduler=log.scheduler, time=log.time)
    loaded.append(log.log_start_offset)
    log.close()

# %%
erratum(
    "At initialization the log start is the first segment's base offset",
    "it is the greater one of that and the checkpoint",
    f"first base 0, checkpoints 0 and 3: log starts {loaded}",
)

# %% [markdown]
# ## 5. Three witnesses
#
# The topic of this workload flushes after every 5 records, and a segment ends after a second.

# %%
flushing = Workload.parse("""
config flush.messages=5 segment.ms=1000
append_as_leader [3x10]
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [4x10]
append_as_leader [6x10]
append_as_leader [1x10 ts=now+1001]
""")
ours, spark, kafka = three_witnesses(flushing)
agree(ours, spark, kafka)

# %% [markdown]
# Now a planted bug: minikafka waits for one record more before it flushes.

# %%
with planted("a flush waits for one record more"):
    sick = run(flushing, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "recovery-points-differ-after",
    "After which operation, counted from 0, do the recovery points differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "recovery-point-contradicted-by",
    "How many of the other two witnesses contradict minikafka about the recovery point? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# In [Stored and safe: rebuild](04b-stored-and-safe-rebuild.ipynb): two functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | every byte that the leader writes into a header | gzip uses the zlib of this Python: if the JVM has another zlib, the bytes differ | down-conversion, gone since 4.0 |
# | when a leader builds a new batch, and its bytes | | a crash, and what the recovery point is for: *Crash and recovery* |
# | when the log flushes; all marks | | `LogManager`, which flushes by time: *Background tasks* |
#
# *What Spark is told:* the size of each batch. It works out its other values from the workload.
#
# **A question to take along.** All your producers send lz4, and the leaders' processors are twice as busy as the followers'. What do you check first?
#
# <details><summary>One answer</summary>
#
# `compression.type` of the topics. If it names another codec than lz4, the leader decompresses every batch and compresses it again. Followers do not:
# they store what they fetch. `minikafka dump-log` shows the codec of each stored batch.
#
# </details>

# %% [markdown]
# ### Card
#
# - A leader reads each record. One bad record is enough to refuse the whole batch, and the exception lists all bad ones.
# - If a leader keeps a batch's codec, it writes into the header alone. If the codecs differ, it builds a new batch.
# - For the age of a segment the records' timestamps count, not the clock. The time index holds them, too.
# - An append is not a flush. Records at or above the recovery point may still be in the system's memory alone.
# - DeleteRecords raises the log start, never above the high watermark, and changes no segment. While a log is open, only a truncation lowers its log start.
#
# ![How a leader stores a batch](../diagrams/stored_and_safe.svg)
#
# | what happens | log start | recovery point | LEO |
# |:---|:---|:---|:---|
# | append | stays | LEO, as soon as `flush.messages` records or more are not flushed; else it stays | the last offset + 1 |
# | roll | stays | the new segment's base, a little later | stays |
# | DeleteRecords; on a follower: its leader names a higher log start | rises | not below the log start | stays |
# | segments deleted | rises | not below the log start | stays |
# | truncation | not above LEO | not above LEO | falls |
# | full truncation to an offset | that offset | not above LEO | that offset |

# %% [markdown]
# **Next:** *Producers and transactions*, where step 9 remembers who has sent what.
