# %% [markdown]
# # Append
#
# *What a log does with a batch before, while and after it writes it, and what is left when it refuses.*
#
# ## 1. The question
#
# **Time:** about forty-five minutes to read, forty-five minutes to rebuild.
# **Before:** *Segments* and *High watermark*.
#
# **Afterwards you can decide:** which check refused a producer and what the refusal has changed all the same, when a leader packs
# a batch anew, what is safe after an append, and where each of these stands in Kafka's source.
#
# What goes wrong without an `append` that does more than write? Take the rest away: the bytes of two batches go to the segment as producers sent them, and
# every producer numbers the records of each batch from 0.

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
got = bare.active_segment.read(3, 1000)

# %%
predict(
    "read-offset-3",
    "Somebody reads on, at offset 3: 'the records 3 4 5', 'the records 0 1 2', or 'nothing'?",
    ___,
    lambda: "nothing" if got is None else "the records 3 4 5",
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.
#
# (`records(3, 1)` is a batch of three records with values of one byte. The 2 is the last offset of the batch, which a segment is told.)

# %%
print("offsets in the file:", [record.offset for batch in bare.active_segment.log.batches() for record in batch])
print("reading at offset 3:", got)

# %% [markdown]
# Six records are in the file, and at offset 3 there is nothing: the records `3`, `4` and `5` are lost to every reader. The same two
# batches through the real `append`:

# %%
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason

log = fresh_log()
for first in (0, 3):
    log.append_as_leader(records(3, 1, first=first), leader_epoch=0)
print("offsets in the file:", [record.offset for batch in log.active_segment.log.batches() for record in batch])
print("reading at offset 3:", [bytes(record.value).decode() for batch in log.read(3, 1000).records.batches() for record in batch])

# %% [markdown]
# **To append is to give order:** an offset to each record, an epoch to each leader. The write itself is one line in the middle.
# (A third order, the place of a batch among those of its producer, has the next lesson to itself.)

# %% [markdown]
# ## 2. The picture

# %%
diagram("append")

# %% [markdown]
# - **Leader epoch:** the number of a leader's reign. The leader writes it into each batch; followers keep it.
# - **Origin:** who sends the batch. CLIENT is checked most, COORDINATOR (a group's offsets, a transaction's markers) less, REPLICATION
#   (a follower's fetch) least. RAFT_LEADER, the fourth, is for the metadata log alone.
# - **Magic:** the version of the batch format. It is 2 in all that today's producers send; 0 and 1 are found in old logs.
# - **Codec:** how the records of a batch are compressed: none, gzip, snappy, lz4 or zstd.
# - **Recovery point:** below it everything is known to be on the device. What lies above may still be in the system's memory.
#
# Step 9 asks about producers; the next lesson is about it.
#
# ## 3. The rules
#
# 1. A refused append writes no record: LEO stays.
# 2. A leader gives offsets from LEO on, without a gap. A follower keeps its leader's offsets; gaps are allowed (compaction leaves them).
# 3. After an append LEO is the last offset + 1.
# 4. A leader that keeps the codec keeps the records' bytes: it writes into the header alone.
# 5. The recovery point is never above LEO.
#
# Each is checked here on a leader; a follower's gap comes in part 4. (`sent` makes a batch as it comes over the network: `3x1` are three records
# with values of one byte, and `damage=crc` flips a bit. The header has 61 bytes.)

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
# A leader of epoch 0 has ten records, all of them replicated. It leads for a second time, in epoch 1, and gets a batch of three.
# (`twin` is a log with the same past. The prediction tries the append on it, so that the walk below begins where the question stands.)

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

# %% [markdown]
# Go through the steps. The numbers are those of the comments in `Log._append`; beside each stands the link to Kafka's `UnifiedLog.append`.

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
# In step 2 the answer-to-be still says *first_offset 0*: that is what the producer wrote. Step 5 makes it 10, and writes offset and epoch into the
# very bytes that came in. LEO moves in step 10; HW stays at 10, for nobody has fetched the new records yet.
# (Step 11 asks for a mark at or above the *new* log end, so it changes nothing here.)
#
# Step 6 comes before steps 7 to 9, which can still refuse. Remember that when we come to refusals.
#
# ### On a follower
#
# The follower has nothing yet. Its fetch brings all batches of the leader, five of epoch 0 and one of epoch 1. When it asked, it
# knew of epoch 0 only. A batch of a later epoch than that was written by a leader other than the one that it asked and follows.

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
step_through(
    follower.append_as_follower,
    fetched(leader),
    leader_epoch=0,
    watch=follower,
    into={"Log._append"},
    locals_of_interest={"append_info", "size", "segment", "place"},
).play()

# %% [markdown]
# Batches of a later epoch than the one it asked in are left out (since 4.0.1; in the 3.9 line since 3.9.1). That is decided in step 2, batch by batch. Here with the last two batches, one of each epoch:

# %%
step_through(
    fresh_log().append_as_follower,
    fetched(leader, 8),
    leader_epoch=0,
    into={"analyze_and_validate_records"},
    locals_of_interest={"partition_leader_epoch", "skip_remaining_batches", "is_monotonic", "size", "valid_bytes"},
).play()

# %% [markdown]
# What the follower did not do: no validator, no `max.message.bytes`. It refuses damaged bytes as a leader does. A leader asks of a producer's offsets that they begin at 0 and are as many as its records. A follower looks
# at its leader's offsets twice: in step 2, between the batches of a set (`OffsetsOutOfOrderException`), and in step 5, between the set and the log (`UnexpectedAppendOffsetException`). *Refused*, further down, has all refusals.
#
# Asking again, in epoch 1, the follower gets the batch that was left out. Then come offsets 20 and 21, which leave a gap. What if
# something comes next that begins at 21?

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

# %% [markdown]
# A gap shows in the file names, too: the first offset of a set may lie above LEO, and a new segment is named after it.

# %%
gappy = fresh_log({"internal.segment.bytes": 100})
gappy.append_as_follower(sent("1x10 offset=0 leader_epoch=0"), leader_epoch=0)
gappy.append_as_follower(sent("1x10 offset=50 leader_epoch=0"), leader_epoch=0)
erratum(
    "A new segment's base offset is LEO",
    "it is the greater one of LEO and the first offset of the incoming set",
    f"LEO was 1, the segments are {[segment.base_offset for segment in gappy.log_segments]}",
)

# %% [markdown]
# ### The twelve steps of the older text
#
# The text that this course grew from counts twelve steps, on Kafka 2.5. They are all here, under other numbers. (Who has read no such text can pass over the table.)
#
# | older text | here | what became of it |
# |:---|:---|:---|
# | 1 analyze and validate | 2 | size limit no longer asked on followers; later epochs skipped |
# | 2 trim | 3 | the same |
# | 3 assign offsets, validate | 5, leader | the same |
# | 4 sizes after the validator | 5b | the same |
# | (else: monotonic, not below LEO) | 2 and 5, follower | the order is checked in step 2 now |
# | 5 leader epoch cache | 6 | the same |
# | 6 size against the segment | 7 | the same |
# | 7 roll | 8 | the same |
# | 8 producers and transactions | 9 | two checks of newer transactions came in (part 7: not shown) |
# | 9 write, 10 move LEO | 10 | one call, `LocalLog.append` |
# | 11 update producers | 12 and 13 | the high watermark's place has a step of its own, 11 |
# | 12 return | 14 and 15 | the same: flush if it is time, then return |
#
# Step 1, the topic id, is new; step 4 was there without a number.

# %%
erratum(
    "Step 2 deletes badly formatted messages",
    "that step (here 3) cuts off what follows the last whole batch, and no more; a bad batch is an exception in step 2",
    [f"second batch cut short: {fresh_log().append_as_leader(sent('3x1', '3x1 damage=torn'), 0).num_messages} records appended",
     f"its CRC wrong: {type(step_through(fresh_log().append_as_leader, sent('3x1', '3x1 damage=crc'), 0).raised).__name__}"],
)  # fmt: skip

# %%
erratum(
    "A batch of magic 2 must begin at offset 0",
    "only one from a client; batches of coordinators and of leaders may begin anywhere",
    f"sent at 5 by a coordinator, stored at {fresh_log().append_as_leader(sent('2x1 offset=5'), 0, AppendOrigin.COORDINATOR).first_offset}",
)

# %% [markdown]
# ### The answer, field by field
#
# `LogAppendInfo` is made in step 2 from what came in, completed in step 5, and handed out in step 15. Three of them side by side: the
# leader's, the follower's two batches in one append, and that of a topic that stamps its own time, which got a batch of five seconds ago.

# %%
two = fresh_log()
follower_info = two.append_as_follower(fetched(leader, 8), leader_epoch=1)
stamping = fresh_log({"message.timestamp.type": "LogAppendTime"})
stamped_info = stamping.append_as_leader(sent("3x1 ts=now-5000"), leader_epoch=1)
side_by_side(leader=leader_info, follower=follower_info, own_time=stamped_info)

# %% [markdown]
# - **first_offset, last_offset:** inclusive; −1 where nothing valid came in. Magic 0 and 1 hide the first one from a follower: −1, too.
# - **last_leader_epoch:** of the batch as it came in. A producer knows no epoch: None on a leader.
# - **max_timestamp:** of the batch after step 5, so the third one is the topic's. **log_append_time:** −1, unless the topic stamps its own time.
# - **log_start_offset:** of the *log*. **valid_bytes:** whole batches. **source_compression:** the last codec that is not NONE.
# - **last_offset_of_first_batch:** stands in for the first offset where that is unknown. It comes from step 2: the leader's still says 2, as the
#   producer counted. **num_messages:** last − first + 1, so a gap counts, too.
# - **record_errors, leader_hw_change:** filled in by others: by whoever catches a validation error, and by `Partition`.
#
# A producer's retry is answered with what a log remembers of the first time; the next lesson shows that answer.

# %%
raised = fresh_log()
for number in range(6):
    raised.append_as_leader(records(1, 1), leader_epoch=0)
raised.truncate_fully_and_start_at(6, 4)
erratum(
    "logStartOffset is the offset of the first message of the set",
    "it is the log start offset of the log at that moment",
    f"appended at {(info := raised.append_as_leader(records(2, 1), 0)).first_offset}, log_start_offset {info.log_start_offset}",
)

# %%
erratum(
    "Since 0.11 lastOffset and lastOffsetOfFirstBatch are the same",
    "the second field came with 2.0, and is never updated: a follower's fetch brings many batches, and a leader still has to assign offsets",
    f"{follower_info.last_offset} and {follower_info.last_offset_of_first_batch}",
)

# %%
erratum(
    "LogAppendInfo says the codec in which the batch is stored (targetCodec)",
    "it says the codec of what came in; the other one is worked out in step 5, from the topic, and kept nowhere",
    [name for name in leader_info.__slots__ if "codec" in name or "compression" in name],
)

# %% [markdown]
# ### The validator
#
# `LogValidator` (step 5, leaders only) reads each record, and normally changes two fields of the header. The CRC stays: offset and
# epoch lie in front of what it covers, so that a broker can set them without touching the rest.

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
# A topic with LogAppendTime pays for it: a bit and a timestamp change under the CRC, so the CRC is worked out anew. The records keep
# the producer's timestamps; readers ignore them because of the bit.
#
# If a record is bad, all records of the batch are looked at, and the exception lists what is wrong with each:

# %%
log = fresh_log({"cleanup.policy": "compact"})
walk = step_through(log.append_as_leader, sent("3x10"), leader_epoch=0)
print(type(walk.raised).__name__, *walk.raised.record_errors, sep="\n")

# %%
erratum(
    "LogAppendInfo.errorMessage is an error code",
    "it was a text, and is gone: the errors of single records are a list, each with its place in the batch",
    walk.raised.record_errors[0],
)

# %%
erratum(
    "Batches are limited by the broker's setting max.message.bytes, 1 MB",
    "that is the topic's setting (the broker's is message.max.bytes), and its default is 1 MiB + 12",
    f"{LogConfig().max_message_size} = 1024 * 1024 + {LogConfig().max_message_size - 1024 * 1024}",
)

# %% [markdown]
# ### Compression: source and target
#
# The **source** codec is the incoming batch's, the **target** codec is what `compression.type` of the topic makes of it: `producer`, the default, keeps
# the source, `uncompressed` is none, any other value is a codec. Eight batches, and what the file holds of them afterwards. (The last column
# compares the bytes behind the header with those that were sent.)

# %%
for topic in ("producer", "uncompressed", "gzip", "lz4"):
    for codec in ("none", "gzip"):
        log, batch = fresh_log({"compression.type": topic}), sent(f"40x50 codec={codec}")
        body = bytes(batch.buffer)[61:]
        log.append_as_leader(batch, leader_epoch=0)
        [stored] = log.active_segment.log.batches()
        same = bytes(stored.load_full_batch().buffer)[61:] == body
        print(f"topic {topic:12}  sent {codec:4}  stored {stored.compression_type.name.lower():4}  records as sent: {same}")

# %% [markdown]
# Where source and target are one codec, the leader checks the records and leaves them alone. Where they differ it builds a new batch, record by record,
# and that is why step 5b asks about the size once more.
#
# A codec has levels. This topic wants gzip at level 9, and a producer has used gzip at its default level. Will the leader compress
# the batch again?

# %%
level_9, batch = fresh_log({"compression.type": "gzip", "compression.gzip.level": 9}), sent("40x50 codec=gzip")
body = bytes(batch.buffer)[61:]
level_9.append_as_leader(batch, leader_epoch=0)
[stored] = level_9.active_segment.log.batches()

# %%
predict(
    "leader-recompresses-gzip",
    "The topic wants gzip at level 9 and gets gzip at another level. Does the leader compress the batch again? (True or False)",
    ___,
    lambda: bytes(stored.load_full_batch().buffer)[61:] != body,
)

# %% [markdown]
# `LogValidator.validateMessagesAndAssignOffsetsCompressed` compares the codecs' types. The level matters only to whoever compresses. And one kind
# of batch is never compressed by a leader, whatever the topic says: the marker that ends a transaction.

# %%
log = fresh_log({"compression.type": "gzip"})
log.append_as_leader(sent("commit pid=7 epoch=0"), 0, AppendOrigin.COORDINATOR, transaction_version=0)
[stored] = log.active_segment.log.batches()
print("a marker in a topic with gzip:", stored.compression_type.name.lower())

# %% [markdown]
# ### What the segment is asked: RollParams
#
# Step 8 asks the active segment whether it must end here. The question is a small value, `RollParams`: two limits, three measures of
# the append, and the clock. Here is one question, changed in one field at a time. The segment's first batch is of noon.

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
# The clock counts only where the segment's first batch has no timestamp: then the age of the segment stands in for it (`LogSegment.timeWaitedForRoll`). And
# an empty segment never rolls by time (`LogSegment.shouldRoll` asks for bytes first).
#
# ### When the time index gets an entry
#
# Step 10 hands the batches to `LogSegment.append`. With each entry in the offset index it offers one to the time index. Five batches, with timestamps
# of minute 0, 3, 1, 2 and 5; every batch but the first is due for an entry:

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
# What is offered is the largest timestamp so far, with the last offset of the batch that brought it. It is taken only if it is larger than the last
# entry's (`TimeIndex.maybeAppend`). When a segment ends, by a roll or a close, the largest timestamp is offered once more, due or not: so a search
# by time knows of each closed segment how far it reaches.
#
# ### When an append is safe: the recovery point
#
# A write ends in the system's memory. Step 14 flushes when `flush.messages` records or more are not flushed yet. Here are appends of 2, 2, 2 and 1 records
# to a log with `flush.messages=5`.

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
print("recovery points:", points, " LEO", log.log_end_offset)
log.roll()
print("after a roll:", log.recovery_point)
log.time.sleep(0)
print("after the task that the roll has left behind:", log.recovery_point)
log.append_as_leader(records(1), leader_epoch=0)
print("one more record:", log.recovery_point)
log.flush(force_flush_active_segment=True)
print("after a flush, as before a clean shutdown:", log.recovery_point, " LEO", log.log_end_offset)

# %% [markdown]
# Three things raise it: step 14; the task `flush-log`, which a roll leaves behind (up to the new segment's base);
# and a flush by the broker's `LogManager`, which comes by time or before a clean shutdown (lesson *Storage layer*). A log start that rises above it takes it along.
# With the default of `flush.messages` the first one never comes.

# %%
erratum(
    "A log is flushed after each append",
    "only when flush.messages records have come together, and by default never for that reason",
    f"flush.messages=5, appends of 2, 2, 2, 1: recovery points {points}",
)

# %% [markdown]
# ### Refused
#
# A segment of at most 300 bytes holds one batch. A **new** leader, epoch 1, gets a second batch that would not fit beside it, and whose sequence
# number is wrong: 12 where 9 was due. (A producer with an id counts its records; step 9 looks at that.) The batch is refused. How many segments has the log now?

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
refusal.walk.play()

# %% [markdown]
# Steps 6 and 8 had happened when step 9 refused: an epoch without records, and an empty segment. Neither does harm, and both
# are there when you look into the directory and wonder. Kafka 4.3.0 leaves the same (the tests ask it). Here are the ways to be refused, each
# on a log of its own:

# %%
refused_appends()

# %% [markdown]
# Read the last column downwards. Up to step 5 a refusal leaves nothing. From step 7 on a new leader's epoch stays, from step 9 on a
# rolled segment too; where it says *nothing* after step 9, the leader was not new and the segment had room. No refusal writes a
# record. One more can come at any moment, when the disk has failed and the broker has let go of the files:

# %%
closed = fresh_log()
closed.append_as_leader(records(1, 1), leader_epoch=0)
closed.close_handlers()
walk = step_through(closed.append_as_leader, records(1, 1), leader_epoch=0, into={"Log._append"})
print("step", walk.frames[-1].step.number, walk.frames[-1].outcome)

# %% [markdown]
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

# %% [markdown]
# Above the high watermark nobody may raise it:

# %%
walk = step_through(log.maybe_increment_log_start_offset, 10, Reason.CLIENT_RECORD_DELETION)
print(walk.frames[-1].outcome)

# %% [markdown]
# A truncation below the log start takes it along, and a full one sets it anew:

# %%
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
# The fifth moment is load itself, which is more than *the base of the first segment*. What DeleteRecords has hidden must stay hidden, so the broker keeps
# the log start in a checkpoint file:

# %%
log = fresh_log()
log.append_as_leader(records(5, 1), leader_epoch=0)
log.close()
loaded = []
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
# First offsets: sound batches and bad ones go to minikafka, to Spark, and to Kafka. Spark's running sum over the batches that a leader must
# accept is LEO after each, and that is the first offset of the next.

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

# %% [markdown]
# Now flushing. The topic flushes after every 5 records, and a bug is planted: minikafka waits for one record more. After which operation (counted
# from 0) will the recovery points differ first, and how many of the other two witnesses contradict minikafka there?

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

# %%
with planted("a flush waits for one record more"):
    sick = run(flushing, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "recovery-points-differ-after",
    "After which operation do the recovery points differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "recovery-point-contradicted-by",
    "About the recovery point after that operation, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Append: rebuild](04-append-rebuild.ipynb), four functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | fifteen steps, their order, every check and exception, what a refusal leaves | one lock of Python's for the log | step 9 from within: the next lesson |
# | every byte that the leader writes into a header | `Partition`, which completes the answer with HW's change, is not there | `acks`, which are answered one level up |
# | when a batch is built anew, the bytes of a batch that is compressed anew, and when the device is asked to flush | gzip packs by this machine's zlib, as Kafka's JVM does: a Python built with another zlib writes other bytes | down-conversion, gone since 4.0; magic 0 and 1 on followers |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. Everything else Spark works out from the workload.
#
# **A question to take along.** All your producers send lz4, and the leaders' processors are twice as busy as the followers'. What do you check first?
#
# <details><summary>One answer</summary>
#
# `compression.type` of the topics. Where it names another codec than lz4, every batch is unpacked and packed again by its leader, and by the leader alone:
# followers store what they fetch. `minikafka dump-log` shows the codec of each stored batch. Leaders also unpack what keeps its codec, to look at
# each record, but do not pack it again.
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
