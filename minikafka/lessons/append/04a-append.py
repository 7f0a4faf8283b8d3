# %% [markdown]
# # Append
#
# *What a log does with a batch before, while and after it writes it, and what is left when it refuses.*
#
# ## 1. The question
#
# **Time:** about forty minutes to read, forty-five minutes to rebuild.
# **Before:** *Segments* and *High watermark*.
#
# **Afterwards you can decide:** which check refused a producer, what the refusal has changed all the same, when a leader compresses
# a batch again, and what is safe after an append.
#
# What goes wrong without an `append` that does more than write? Here two batches go to the segment as producers sent them. Every
# producer numbers the records of each batch from 0.

# %%
from minikafka.lab import OffsetRuler, SegmentShelf, ___, changed_fields, diagram, erratum, fetched, fresh_log, planted, predict
from minikafka.lab import records, scratch, sent, side_by_side, step_through, three_witnesses, wake_witnesses
from minikafka.lessons.append.refusals import refuse, refused_appends
from minikafka.log.append_origin import AppendOrigin

bare = fresh_log()
for first in (0, 3):
    bare.active_segment.append(2, records(3, 1, first=first))
wake_witnesses()
SegmentShelf(bare, "As the producers sent them").snap("two batches, the records 0 1 2 and 3 4 5").play()

# %%
predict(
    "read-offset-3",
    "A consumer reads on at offset 3: 'the records 3 4 5', 'the records 0 1 2', or 'nothing'?",
    ___,
    lambda: "nothing" if bare.active_segment.read(3, 1000) is None else "the records 3 4 5",
)

# %%
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason

got, log = bare.active_segment.read(3, 1000), fresh_log()
print("offsets in the file:", [record.offset for batch in bare.active_segment.log.batches() for record in batch])
print("reading at offset 3:", got)
for first in (0, 3):
    log.append_as_leader(records(3, 1, first=first), leader_epoch=0)
print("with the real append:", [record.offset for batch in log.active_segment.log.batches() for record in batch])
print("reading at offset 3:", [bytes(record.value).decode() for batch in log.read(3, 1000).records.batches() for record in batch])

# %% [markdown]
# Without the real `append` no reader finds the records `3`, `4` and `5`. **To append is to give order:** an offset to each record, an epoch to each leader. The write itself is one line in the middle.
#
# (`records(3, 1)` is a batch of three records with values of one byte. A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 compares them with minikafka.)
#
# ## 2. The picture

# %%
diagram("append")

# %% [markdown]
# - **Leader epoch:** the number of a leader's reign. The leader writes it into each batch; followers keep it.
# - **Origin:** who sends the batch. CLIENT is checked most, COORDINATOR (a group's offsets, a transaction's markers) less, REPLICATION
#   (a follower's fetch) least. RAFT_LEADER is for the metadata log alone.
# - **Magic:** the version of the batch format. Today's producers send 2; old logs may hold 0 and 1.
# - **Codec:** how the records of a batch are compressed: none, gzip, snappy, lz4 or zstd.
# - **Recovery point:** below it everything is known to be on the device.
#
# ## 3. The rules
#
# 1. A refused append writes no record: LEO stays.
# 2. A leader gives offsets from LEO on, without a gap. A follower keeps its leader's offsets; gaps are allowed (compaction leaves them).
# 3. After an append LEO is the last offset + 1.
# 4. A leader that keeps the codec keeps the records' bytes: it writes into the header alone.
# 5. The recovery point is never above LEO.
#
# (`sent("3x1")` is a batch of three records of one byte, as it comes over the network; `damage=crc` flips a bit. The header has 61 bytes.)

# %%
log, batch = fresh_log(), sent("3x1")
body = bytes(batch.buffer)[61:]
info = log.append_as_leader(batch, leader_epoch=0)
refused = step_through(log.append_as_leader, sent("1x1 damage=crc"), leader_epoch=0)
[stored] = log.active_segment.log.batches()
print("rule 1:", type(refused.raised).__name__, log.log_end_offset == 3)
print("rules 2, 3:", info.first_offset == 0, log.log_end_offset == info.last_offset + 1)
print("rule 4:", bytes(stored.load_full_batch().buffer)[61:] == body)
print("rule 5:", log.recovery_point <= log.log_end_offset)

# %% [markdown]
# ## 4. The source, walked
#
# ### On a leader
#
# A leader of epoch 0 has ten records, all replicated. It leads again, in epoch 1, and gets a batch of three. (`twin` is an equal log. The prediction runs on it, so the walk starts from the same state.)

# %%
leader, twin = fresh_log(name="leader-0"), fresh_log(name="leader-0")
for each in (leader, twin):
    for number in range(5):
        each.append_as_leader(records(2, 1, first=2 * number), leader_epoch=0)
    each.update_high_watermark(10)
print("LEO", leader.log_end_offset, " HW", leader.high_watermark, " epochs", leader.leader_epoch_cache.epoch_entries)

# %%
predict(
    "append-last-offset",
    "The last_offset of the answer, for a batch of three on a log that ends at 10?",
    ___,
    lambda: twin.append_as_leader(sent("3x1"), leader_epoch=1).last_offset,
)

# %%
walk = step_through(
    leader.append_as_leader,
    sent("3x1"),
    leader_epoch=1,
    watch=leader,
    into={"Log._append"},
    locals_of_interest={"append_info", "size", "segment", "place", "validation"},
)
leader_info = walk.result
walk.play()

# %% [markdown]
# After step 2 *first_offset* is 0, as the producer wrote it. Step 5 makes it 10, and writes offset and epoch into the received bytes. LEO moves in step 10; HW stays at 10, because no follower
# has fetched the new records. Step 6 comes before steps 7 to 9, which can still refuse.
#
# ### On a follower
#
# The follower is empty. When it asked, it knew only epoch 0. Its fetch brings five batches of epoch 0, and one of epoch 1, which another leader wrote.

# %%
follower, twin = fresh_log(name="follower-0"), fresh_log(name="follower-0")
print([(b.base_offset, b.partition_leader_epoch) for b in fetched(leader).batches()])

# %%
predict(
    "follower-end-after-copy",
    "Where does the follower end after append_as_follower(fetched(leader), leader_epoch=0)?",
    ___,
    lambda: twin.append_as_follower(fetched(leader), leader_epoch=0) and twin.log_end_offset,
)

# %%
follower.append_as_follower(fetched(leader), leader_epoch=0)
print("the follower ends at", follower.log_end_offset)
step_through(
    fresh_log().append_as_follower,
    fetched(leader, 8),
    leader_epoch=0,
    into={"analyze_and_validate_records"},
    locals_of_interest={"partition_leader_epoch", "skip_remaining_batches", "is_monotonic", "size", "valid_bytes"},
).play()

# %% [markdown]
# The walk shows step 2 on the last two batches, one of each epoch: it skips the batch of the later epoch (since 4.0.1; in the 3.9 line since 3.9.1). A follower runs no validator and does not check `max.message.bytes`. It refuses damaged
# bytes as a leader does. It checks its leader's offsets twice: in step 2 between the batches of a set (`OffsetsOutOfOrderException`), in step 5 between the set and the log (`UnexpectedAppendOffsetException`).
#
# The follower asks again, in epoch 1, and gets the skipped batch. Then come offsets 20 and 21, which leave a gap, and then a batch that begins at 21.

# %%
follower_info = follower.append_as_follower(fetched(leader, 10), leader_epoch=1)
gap = follower.append_as_follower(sent("2x1 offset=20 leader_epoch=1"), leader_epoch=1)
print("asked again, up to", follower_info.last_offset)
print("with a gap,", gap.first_offset, "to", gap.last_offset, " LEO", follower.log_end_offset)

# %%
predict(
    "follower-end-after-overlap",
    "Where does the follower end after offsets 21 and 22, of which it has the first? (a number, or the name of an exception)",
    ___,
    lambda: follower.append_as_follower(sent("2x1 offset=21 leader_epoch=1"), leader_epoch=1) and follower.log_end_offset,
)

# %%
gappy = fresh_log({"internal.segment.bytes": 100})
gappy.append_as_follower(sent("1x10 offset=0 leader_epoch=0"), leader_epoch=0)
gappy.append_as_follower(sent("1x10 offset=50 leader_epoch=0"), leader_epoch=0)
erratum(
    "A new segment's base offset is LEO",
    "it is the greater one of LEO and the first offset of the incoming set",
    f"LEO was 1, the segments are {[segment.base_offset for segment in gappy.log_segments]}",
)

# %%
erratum(
    "Step 2 deletes badly formatted messages. A batch of magic 2 must begin at offset 0",
    "that step (here 3) cuts off what follows the last whole batch, and no more; a bad batch is an exception in step 2. Only a batch from a "
    "client must begin at 0; those of coordinators and of leaders may begin anywhere",
    [f"second batch cut short: {fresh_log().append_as_leader(sent('3x1', '3x1 damage=torn'), 0).num_messages} records appended",
     f"its CRC wrong: {type(step_through(fresh_log().append_as_leader, sent('3x1', '3x1 damage=crc'), 0).raised).__name__}",
     f"sent at 5 by a coordinator, stored at {fresh_log().append_as_leader(sent('2x1 offset=5'), 0, AppendOrigin.COORDINATOR).first_offset}"],
)  # fmt: skip

# %% [markdown]
# ### The answer, field by field
#
# Step 2 makes `LogAppendInfo`, step 5 completes it, step 15 returns it. Three side by side: the leader's, a follower's for two batches in one append, and
# that of a topic with LogAppendTime, for a batch of five seconds ago.

# %%
two = fresh_log()
follower_info = two.append_as_follower(fetched(leader, 8), leader_epoch=1)
stamping = fresh_log({"message.timestamp.type": "LogAppendTime"})
stamped_info = stamping.append_as_leader(sent("3x1 ts=now-5000"), leader_epoch=1)
side_by_side(leader=leader_info, follower=follower_info, own_time=stamped_info)

# %%
raised = fresh_log()
for number in range(6):
    raised.append_as_leader(records(1, 1), leader_epoch=0)
raised.truncate_fully_and_start_at(6, 4)
erratum(
    "logStartOffset is the first message's offset. Since 0.11 lastOffset and lastOffsetOfFirstBatch are the same. The codec is the stored one (targetCodec)",
    "logStartOffset is the log start of the log at that moment. lastOffsetOfFirstBatch came with 2.0 and is never updated: a follower's fetch brings many "
    "batches, and a leader still has to assign offsets. The codec is that of what came in; step 5 works out the other one from the topic",
    f"appended at {(info := raised.append_as_leader(records(2, 1), 0)).first_offset}, log_start_offset {info.log_start_offset}; follower: "
    f"{follower_info.last_offset} and {follower_info.last_offset_of_first_batch}; {[name for name in leader_info.__slots__ if 'compression' in name]}",
)

# %% [markdown]
# - **first_offset, last_offset:** inclusive; −1 if nothing valid came in. On a follower magic 0 and 1 hide the first one: −1, too.
# - **last_leader_epoch:** that of the incoming batch. A producer knows none: None on a leader.
# - **max_timestamp:** of the batch after step 5, so with LogAppendTime it is the topic's. **log_append_time:** else −1.
# - **log_start_offset:** of the *log*. **source_compression:** the last incoming codec that is not NONE.
# - **last_offset_of_first_batch:** from step 2, so the leader's is still the producer's. **num_messages:** last − first + 1, gaps included.
#
# ### The validator
#
# `LogValidator` (step 5, leaders only) reads each record, and normally changes two header fields, offset and epoch. The CRC does not cover them, so it stays.

# %%
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
# With LogAppendTime a bit and a timestamp change, so the CRC is computed again. The records keep the producer's timestamps; readers ignore them because of the bit. If records are bad, the exception lists each of them:

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
# The **source** codec is the incoming batch's. The **target** codec comes from the topic's `compression.type`: `producer`, the default, keeps
# the source, `uncompressed` is none, any other value is a codec. The last column compares the bytes after the header with those that were sent.

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
# ### What the segment is asked: RollParams
#
# In step 8 the active segment decides from a `RollParams` whether it must end: two limits, three measures of the append, and the clock. The segment's first batch is of noon.

# %%
from minikafka.log.log_segment import RollParams

NOON = 1_700_000_000_000
log = fresh_log({"internal.segment.bytes": 300})
log.append_as_leader(records(7), leader_epoch=0)
segment = log.active_segment
asked = RollParams(max_segment_ms=1000, max_segment_bytes=300, max_timestamp_in_messages=NOON,
                   max_offset_in_messages=9, messages_size=100, now=NOON)  # fmt: skip
print("bytes:", segment.size, " as it is:", segment.should_roll(asked))

# %%
predict(
    "roll-an-hour-later",
    "segment.ms is 1000. Does the segment roll when the append comes an hour later, with a record of noon? (True or False)",
    ___,
    lambda: segment.should_roll(asked._replace(now=NOON + 3_600_000)),
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
# In step 10 `LogSegment.append` offers an entry to the time index with each entry in the offset index. Five batches have timestamps
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
    "How many entries has the time index?",
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
# The offered entry is the largest timestamp so far, with the last offset of its batch. The index takes it only if it is larger than its last
# one (`TimeIndex.maybeAppend`). A roll or a close offers it once more, due or not.
#
# ### When an append is safe: the recovery point
#
# A write ends in the system's memory. Step 14 flushes when `flush.messages` records or more are not flushed. A log with `flush.messages=5` gets appends of 2, 2, 2 and 1 records.

# %%
log, points = fresh_log({"flush.messages": 5}), []
for count in (2, 2, 2, 1):
    log.append_as_leader(records(count), leader_epoch=0)
    points.append(log.recovery_point)
print("the default of flush.messages:", f"{LogConfig().flush_interval:,}")

# %%
predict(
    "recovery-point-after-appends",
    "flush.messages=5. The recovery point after the appends of 2, 2, 2 and 1 records?",
    ___,
    lambda: points[-1],
)

# %%
log.roll()
print("recovery points:", points, " LEO", log.log_end_offset, " after a roll:", log.recovery_point)
log.time.sleep(0)
print("after the task that the roll has left behind:", log.recovery_point)
log.append_as_leader(records(1), leader_epoch=0)
log.flush(force_flush_active_segment=True)
print("one more record and a flush, as before a clean shutdown:", log.recovery_point, " LEO", log.log_end_offset)
erratum("A log is flushed after each append",
        "only when flush.messages records have come together, and by default never for that reason",
        f"flush.messages=5, appends of 2, 2, 2, 1: recovery points {points}")  # fmt: skip

# %% [markdown]
# Four things raise the recovery point: step 14 (by default never); the task `flush-log` after a roll (to the new segment's base); a flush by `LogManager` (by time, or before a clean shutdown); a
# log start that rises above it.
#
# ### Refused
#
# A segment of at most 300 bytes holds one batch. A **new** leader, epoch 1, gets a second batch that does not fit beside it. Its sequence
# number is 12 instead of 9 (a producer with an id counts its records), so the batch is refused.

# %%
refusal = refuse(
    "a sequence out of order",
    """
    config internal.segment.bytes=300
    append_as_leader [9x10 pid=7 epoch=0 seq=0]
    append_as_leader leader_epoch=1 [9x10 pid=7 epoch=0 seq=12]
    """,
)
print(refusal.error)

# %%
predict(
    "segments-after-refused-append",
    "How many segments has the log after the refused append?",
    ___,
    lambda: len(refusal.walk.frames[-1].after.segments),
)

# %%
print(*(str(frame).partition(" [")[0] for frame in refusal.walk.frames[-4:]), sep="\n")
closed = fresh_log()
closed.append_as_leader(records(1, 1), leader_epoch=0)
closed.close_handlers()
walk = step_through(closed.append_as_leader, records(1, 1), leader_epoch=0, into={"Log._append"})
print("closed: step", walk.frames[-1].step.number, walk.frames[-1].outcome)
refused_appends()

# %% [markdown]
# Steps 6 and 8 had happened when step 9 refused. They leave an epoch without records and an empty segment, both harmless, in Kafka 4.3.0 too. *closed* can come at any moment, when the disk has failed and the broker has
# closed the files. The table has the other refusals. Up to step 5 nothing is left. From step 7 on a new leader's epoch stays, from step 9 on also a rolled segment; *nothing* there means that the leader was not
# new and the segment had room.
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
log.maybe_increment_log_start_offset(2, Reason.CLIENT_RECORD_DELETION)
ruler.snap("DeleteRecords to 2: the log start rises, no byte goes")
log.delete_old_segments()
ruler.snap("a segment is deleted: the log start is the base of the first that stays")
log.maybe_increment_log_start_offset(8, Reason.LEADER_OFFSET_INCREMENTED)
print(ruler.snap("a follower hears of its leader's log start, 8").frames[-1])

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
    "a deletion only raises it; a truncation only lowers it, to its own target; a full truncation sets it, either way",
    [f"{f.caption.split(':')[0]}: {f.before.log_start} → {f.offsets.log_start}" for f in (ruler.frames[5], *ruler.frames[7:])],
)

# %% [markdown]
# A load takes the log start from a checkpoint file, if that is above the base of the first segment: what DeleteRecords has hidden stays hidden.

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
# First sound batches and bad ones. Spark's running sum over the batches that a leader must accept is LEO after each. Then a topic that flushes after every 5 records.

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

offsets = Workload.parse("""
config internal.segment.bytes=300 max.message.bytes=250
append_as_leader [3x10]
append_as_leader [2x10 damage=crc]
append_as_leader [9x10]
append_as_leader [1x200]
append_as_leader leader_epoch=1 [4x10]
append_as_leader [1x10 offset=3]
append_as_leader [2x10] [2x10]
""")
agree(*three_witnesses(offsets))

# %%
flushing = Workload.parse("""
config flush.messages=5
append_as_leader [3x10]
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [4x10]
append_as_leader [6x10]
""")
ours, spark, kafka = three_witnesses(flushing)
agree(ours, spark, kafka)

# %% [markdown]
# Now a planted bug: in the second workload minikafka waits for one record more before it flushes.

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
# In [Append: rebuild](04-append-rebuild.ipynb): four functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | fifteen steps, their order, every check and exception, what a refusal leaves | one lock for the log | step 9 from within: the next lesson |
# | every byte that the leader writes into a header | no `Partition`, which completes the answer with HW's change | `acks`, which are answered one level up |
# | when a batch is built anew, its bytes, and when the device is asked to flush | gzip packs by this machine's zlib, as Kafka's JVM does: a Python built with another zlib writes other bytes | down-conversion, gone since 4.0; magic 0 and 1 on followers |
#
# *What Spark is told:* the size of each batch. It works out the rest from the workload.
#
# **A question to take along.** All your producers send lz4, and the leaders' processors are twice as busy as the followers'. What do you check first?
#
# <details><summary>One answer</summary>
#
# `compression.type` of the topics. If it names another codec than lz4, the leader, and only the leader, unpacks and packs every batch again:
# followers store what they fetch. `minikafka dump-log` shows the codec of each stored batch.
#
# </details>

# %% [markdown]
# ### Card
#
# - A leader gives offsets from LEO on, without a gap. A follower keeps its leader's offsets, and gaps are allowed.
# - A refused append writes no record: LEO stays. A new leader's epoch and an empty segment may be left behind.
# - A leader that keeps the codec keeps the records' bytes and writes into the header alone. Where the codecs differ, it builds a new batch.
# - A follower runs no validator and asks for no `max.message.bytes`. It refuses damaged bytes as a leader does.
# - An append is not a flush. What lies at or above the recovery point may still be in the system's memory.
#
# ![The steps of an append](../diagrams/append.svg)
#
# | step | what a leader refuses | exception |
# |:---|:---|:---|
# | 2 | a client's batch that does not begin at offset 0 | `InvalidRecordException` |
# | 2 | a batch above `max.message.bytes` | `RecordTooLargeException` |
# | 2 | a batch in which a bit has flipped on the way | `CorruptRecordException` |
# | 5 | two batches in one append | `InvalidRecordException` |
# | 5 | a timestamp from the far future; no key for a compacted topic | `RecordValidationException` |
# | 7 | a batch that is larger than a segment | `RecordBatchTooLargeException` |
# | 9 | a sequence out of order | `OutOfOrderSequenceException` |
# | 9 | a producer that has been replaced | `InvalidProducerEpochException` |
# | 9 | a batch of no transaction, while one of its producer is open | `InvalidTxnStateException` |

# %% [markdown]
# **Next:** *Producers and transactions*, where step 9 remembers who has sent what.
