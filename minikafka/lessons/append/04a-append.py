# %% [markdown]
# # Append
#
# *Who gives a batch its offsets, what a log checks before it writes, and what is left when it refuses.*
#
# ## 1. The question
#
# **Time:** about forty-five minutes to read, fifty-five minutes to rebuild.
# **Before:** *Segments* and *High watermark*.
#
# **Afterwards you can decide:** which check refused a producer, what a refused append has changed nevertheless, and why a follower copies nothing more.
#
# What goes wrong if an `append` only writes? Here two batches go to the segment as producers sent them. Every
# producer numbers the records of each batch from 0.

# %%
from minikafka.lab import SegmentShelf, ___, diagram, erratum, fetched, fresh_log, planted, predict, records, scratch, sent
from minikafka.lab import side_by_side, step_through, three_witnesses, wake_witnesses
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
    "A consumer asks for offset 3. What does it get: 'the records 3 4 5', 'the records 0 1 2', or 'nothing'?",
    ___,
    lambda: "nothing" if bare.active_segment.read(3, 1000) is None else "the records 3 4 5",
)

# %%
got, log = bare.active_segment.read(3, 1000), fresh_log()
print("offsets in the file:", [record.offset for batch in bare.active_segment.log.batches() for record in batch])
print("reading at offset 3:", got)
for first in (0, 3):
    log.append_as_leader(records(3, 1, first=first), leader_epoch=0)
print("with the real append:", [record.offset for batch in log.active_segment.log.batches() for record in batch])
print("reading at offset 3:", [bytes(record.value).decode() for batch in log.read(3, 1000).records.batches() for record in batch])

# %% [markdown]
# Without the real `append` no reader finds the records `3`, `4` and `5`. **An append gives each record its offset, and each batch its leader's epoch.** The write itself is one line in the middle.
#
# (`records(3, 1)` is a batch of three records with values of one byte. A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 compares them with minikafka.)
#
# ## 2. The picture

# %%
diagram("append")

# %% [markdown]
# - **Leader epoch:** a number that grows with each new leader of the partition. The leader writes it into each batch; followers keep it.
# - **Origin:** who sends the batch. CLIENT is checked most, COORDINATOR (a group's offsets, a transaction's markers) less, REPLICATION
#   (a follower's fetch) least. RAFT_LEADER is for the metadata log alone.
# - **Magic:** the version of the batch format. Today's producers send 2; old logs may hold 0 and 1.
#
# (The next lesson, *Stored and safe*, shows the steps that change bytes and make them safe.)
#
# ## 3. The rules
#
# 1. A refused append writes no record: LEO stays.
# 2. A leader gives offsets from LEO on, without a gap. A follower keeps its leader's offsets; gaps are allowed (compaction leaves them).
# 3. After an append LEO is the last offset + 1.
#
# (`sent("3x1")` is a batch of three records of one byte, as it comes over the network; `damage=crc` flips a bit. The follower's batch begins at offset 7.)

# %%
log, follower = fresh_log(), fresh_log()
given = log.append_as_leader(sent("3x1"), leader_epoch=0)
kept = follower.append_as_follower(sent("2x1 offset=7 leader_epoch=0"), leader_epoch=0)
refused = step_through(log.append_as_leader, sent("1x1 damage=crc"), leader_epoch=0)
print("rule 1:", type(refused.raised).__name__, log.log_end_offset == 3)
print("rule 2:", given.first_offset == 0, kept.first_offset == 7)
print("rule 3:", log.log_end_offset == given.last_offset + 1, follower.log_end_offset == kept.last_offset + 1)

# %% [markdown]
# ## 4. The source, walked
#
# ### On a leader
#
# A leader of epoch 0 has ten records, all replicated. It becomes leader again, in epoch 1, and gets a batch of three. (`twin` is an equal log. The prediction runs on it, so the walk starts from the same state.)

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
    "The log ends at 10 and gets a batch of three. What is the answer's last_offset?",
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
# has fetched the new records. Step 6 notes the new epoch before steps 7 to 9, which can still refuse the batch.
#
# ### On a follower
#
# The follower is empty. When it sent its fetch, it knew only epoch 0. The answer has five batches of epoch 0, and one of epoch 1.

# %%
follower, follower_twin = fresh_log(name="follower-0"), fresh_log(name="follower-0")
print([(b.base_offset, b.partition_leader_epoch) for b in fetched(leader).batches()])

# %%
predict(
    "follower-end-after-copy",
    "At which offset does the follower's log end after append_as_follower(fetched(leader), leader_epoch=0)?",
    ___,
    lambda: follower_twin.append_as_follower(fetched(leader), leader_epoch=0) and follower_twin.log_end_offset,
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
# bytes as a leader does. It checks its leader's offsets twice: step 2 compares the batches of one append with each other (`OffsetsOutOfOrderException`), step 5 compares them with the log (`UnexpectedAppendOffsetException`).
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
    "The follower has offset 21, and gets a batch with 21 and 22. Where does its log end then? (a number, or the name of an exception)",
    ___,
    lambda: follower.append_as_follower(sent("2x1 offset=21 leader_epoch=1"), leader_epoch=1) and follower.log_end_offset,
)

# %%
gappy = fresh_log({"internal.segment.bytes": 100})
gappy.append_as_follower(sent("1x10 offset=0 leader_epoch=0"), leader_epoch=0)
gappy.append_as_follower(sent("1x10 offset=50 leader_epoch=0"), leader_epoch=0)
erratum(
    "A new segment's base offset is LEO",
    "it is the greater one of LEO and the first offset of the append",
    f"LEO was 1, the segments are {[segment.base_offset for segment in gappy.log_segments]}",
)

# %%
erratum(
    "Step 2 deletes badly formatted messages. A batch of magic 2 must begin at offset 0",
    "step 3 here cuts off what follows the last whole batch, and nothing else; a bad batch is an exception in step 2. Only a client's "
    "batch must begin at 0; those of coordinators and of leaders may begin anywhere",
    [f"second batch cut short: {fresh_log().append_as_leader(sent('3x1', '3x1 damage=torn'), 0).num_messages} records appended",
     f"its CRC wrong: {type(step_through(fresh_log().append_as_leader, sent('3x1', '3x1 damage=crc'), 0).raised).__name__}",
     f"sent at 5 by a coordinator, stored at {fresh_log().append_as_leader(sent('2x1 offset=5'), 0, AppendOrigin.COORDINATOR).first_offset}"],
)  # fmt: skip

# %% [markdown]
# ### The answer, field by field
#
# Step 2 makes `LogAppendInfo`, step 5 completes it, step 15 returns it. Three side by side: a leader's, a follower's for two batches in one append, and a leader's with LogAppendTime, for a batch that is five seconds old.

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
    "batches, and a leader still has to assign offsets. The codec is the incoming one; step 5 takes the stored one from the topic's setting",
    f"appended at {(info := raised.append_as_leader(records(2, 1), 0)).first_offset}, log_start_offset {info.log_start_offset}; follower: "
    f"{follower_info.last_offset} and {follower_info.last_offset_of_first_batch}; {[name for name in leader_info.__slots__ if 'compression' in name]}",
)

# %% [markdown]
# - **first_offset, last_offset:** inclusive; −1 if nothing valid came in. On a follower the first one is −1 for magic 0 and 1, too.
# - **last_leader_epoch:** the epoch in the last batch taken. A producer knows none, so it is None on a leader.
# - **max_timestamp:** the largest one after step 5; with LogAppendTime that is the leader's clock. **log_append_time:** that clock, too; without LogAppendTime −1.
# - **log_start_offset:** of the *log*. **source_compression:** the codec (gzip, lz4 …) of the last incoming batch that is compressed; else NONE.
# - **last_offset_of_first_batch:** set in step 2, so on a leader it is still the producer's. **num_messages:** last − first + 1, gaps included.
#
# ### Refused
#
# A segment of at most 300 bytes holds one batch. A **new** leader, epoch 1, gets a second batch, for which the segment has no room. Its sequence number is 12 instead of 9 (a producer with an id counts its records), so the log refuses it.

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
# Steps 6 and 8 were done when step 9 refused the batch. They leave an epoch without records and an empty segment, both harmless, in Kafka 4.3.0 too. Step 4 refuses each append to a *closed* log: for instance, its disk failed and the broker closed the files. The table has the other refusals. A refusal up to step 5b leaves nothing. From step 7 on a new leader's epoch stays, from step 9 on also a rolled segment; *nothing* in those rows means that the leader was not new and the segment had room.
#
# ## 5. Three witnesses
#
# The workload has good batches and bad ones. Spark adds up the records that a leader must accept: the sum is LEO.

# %%
from minikafka.witness import Workload, agree, minikafka_log, run
from minikafka.witness.log.workload import START_MS

workload = Workload.parse("""
config internal.segment.bytes=300 max.message.bytes=250
append_as_leader [3x10]
append_as_leader [2x10 damage=crc]
append_as_leader [9x10]
append_as_leader [1x200]
append_as_leader leader_epoch=1 [4x10]
append_as_leader [1x190]
append_as_leader [1x10 offset=3]
append_as_leader [2x10] [2x10]
""")
print("bytes:", [[batch.size_in_bytes(START_MS) for batch in append.batches] for _, append in workload.appends])
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %% [markdown]
# Now a planted bug. A batch begins with its base offset and its length. The length does not count these 12 bytes, and minikafka forgets them when it compares a batch with `max.message.bytes`. (The columns `result` and `error` are left out here.)

# %%
with planted("a batch counts as 12 bytes smaller than it is"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka, ignore=("message", "result", "error"))

# %%
predict(
    "forgotten-bytes-differ-after",
    "After which operation, counted from 0, does minikafka differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "log-end-contradicted-by",
    "How many of the other two witnesses contradict minikafka about the log end there? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# In [Append: rebuild](04a-append-rebuild.ipynb): two functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | fifteen steps, their order, every check and exception | one lock for the log | steps 5, 8, 10 and 14 from within: the next lesson; step 9: the one after it |
# | what a follower skips, keeps and refuses | no `Partition`, which completes the answer with HW's change | `acks`: the answer to them is given above the log |
# | what a refusal leaves behind | | magic 0 and 1 on followers |
#
# *What Spark is told:* the size of each batch. It works out the rest from the workload.
#
# **A question to take along.** A producer gets errors, and the active segment of its partition has 0 bytes. A colleague wants to delete that
# segment. What do you check first?
#
# <details><summary>One answer</summary>
#
# Which exception the producer got. `OutOfOrderSequenceException`, `InvalidProducerEpochException` and `InvalidTxnStateException` come from step 9, after step 8 has
# begun a segment. The empty segment is harmless: the next append that is accepted is written into it. So help the producer, and do not delete the segment.
#
# </details>

# %% [markdown]
# ### Card
#
# - A leader gives offsets from LEO on, without a gap. A follower keeps its leader's offsets, and gaps are allowed.
# - After an append LEO is the last offset + 1. It is not the number of records.
# - A refused append writes no record: LEO stays. A new leader's epoch and an empty segment may stay.
# - A follower runs no validator and does not check `max.message.bytes`. It refuses damaged bytes as a leader does.
# - If an answer has a batch of a later epoch than the one in which the follower asked, the follower takes neither that batch nor any batch after it.
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
# | 9 | a batch outside of the transaction that its producer has open | `InvalidTxnStateException` |

# %% [markdown]
# **Next:** *Stored and safe*, where a leader writes into batches, and a flush makes them safe.
