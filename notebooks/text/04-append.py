# %% [markdown]
# # Append
#
# *What a log does with a batch before, while and after it writes it, and what is left when it refuses.*
#
# ## 1. The question
#
# **Time:** about ninety minutes to read, forty for the functions of part 6, fifty for its four rungs. **Before:** the lessons *Segments* and *High watermark*.
# **Afterwards you can decide:** which check refused a producer and what the refusal has changed all the same, why a retry makes
# no duplicate, what holds `read_committed` consumers back, and where each of these stands in Kafka's source.
#
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete the functions of part 6. A `___` is
# a blank for you to fill. The first cell takes a few seconds: it wakes Spark and Apache Kafka, which will say in part 5 whether minikafka
# is right.

# %%
from minikafka.lab import OffsetRuler, Producer, TransactionLanes, ___, changed_fields, diagram, erratum, fetched, files_of
from minikafka.lab import fresh_log, open_log, planted, predict, records, refuse, refused_appends, scratch, sent, side_by_side
from minikafka.lab import step_through, three_witnesses, values_of, wake_witnesses
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason

wake_witnesses()

# %% [markdown]
# What goes wrong without an `append` that does more than write? Take the rest away: the bytes go to the segment as producers sent them, and
# every producer numbers the records of each batch from 0. (The 2 is the last offset of the batch, which a segment is told.)

# %%
bare = fresh_log()
for first in (0, 3):
    bare.active_segment.append(2, records(3, 1, first=first))
print("offsets in the file:", [record.offset for batch in bare.active_segment.log.batches() for record in batch])
print("reading at offset 3:", bare.active_segment.read(3, 1000))

# %% [markdown]
# Six records are in the file, and at offset 3 there is nothing: the records `3`, `4` and `5` are lost to every reader. Now with offsets,
# but without a memory of producers. A producer sends three records, the answer gets lost, and it sends them again. (`sent` makes a batch as it
# comes over the network: `3x1` is three records with values of one byte; `pid`, `epoch` and `seq` say who sends, see part 2.)

# %%
forgetful, log = fresh_log(), fresh_log()
for _ in range(2):
    forgetful.append_as_leader(records(3, 1), leader_epoch=0)
    log.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0"), leader_epoch=0)
print("without producer id:", values_of(forgetful, FetchIsolation.LOG_END))
print("with id and sequence, the log ends at", log.log_end_offset)

# %% [markdown]
# **To append is to give order:** an offset to each record, an epoch to each leader, a place to each producer's batch. The write
# itself is one line in the middle.

# %% [markdown]
# ## 2. The picture

# %%
diagram("append")

# %% [markdown]
# - **Leader epoch:** the number of a leader's reign. The leader writes it into each batch; followers keep it.
# - **Origin:** who sends the batch. CLIENT is checked most, COORDINATOR (a group's offsets, a transaction's markers) less, REPLICATION
#   (a follower's fetch) least. RAFT_LEADER, the fourth, is for the metadata log alone.
# - **Magic:** the version of the batch format. It is 2 in all that today's producers send; 0 and 1 are found in old logs.
# - **Producer id, epoch, sequence:** who produces, in which incarnation, and the number of the batch's first record, counted per partition.
# - **Marker:** a batch of one control record that commits or aborts a producer's transaction. The transaction's coordinator sends it, and says
#   by which version of the protocol (**transaction version** 0, 1 or 2).
# - **LSO**, last stable offset: below it every transaction is decided, and its marker is below the high watermark.

# %%
log = fresh_log()
log.append_as_leader(records(3, 1), leader_epoch=0)
log.update_high_watermark(3)
erratum(
    "LSO is the log stable offset, and smaller than LEO",
    "it is the last stable offset; LSO ≤ HW ≤ LEO, and all three are equal when nothing is open or unreplicated",
    f"three records, replicated: LSO {log.last_stable_offset}, HW {log.high_watermark}, LEO {log.log_end_offset}",
)

# %% [markdown]
# ## 3. The rules
#
# 1. A refused append writes no record: LEO stays.
# 2. A leader gives offsets from LEO on, without a gap. A follower keeps its leader's offsets; gaps are allowed (compaction leaves them).
# 3. After an append LEO is the last offset + 1.
# 4. A client's batch with a producer id is written once, and in sequence, while the log remembers that producer.
# 5. Nothing at or above the first record of an undecided transaction is stable: LSO is not above it.
#
# Each is checked here on a leader; a follower's gap comes in part 4:

# %%
log = fresh_log()
info = log.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0 txn"), leader_epoch=0)
refused = step_through(log.append_as_leader, sent("1x1 damage=crc"), leader_epoch=0)
print("rule 1:", type(refused.raised).__name__, log.log_end_offset == 3)
print("rules 2, 3:", info.first_offset == 0, log.log_end_offset == info.last_offset + 1)
log.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0 txn"), leader_epoch=0)
print("rule 4:", log.log_end_offset == 3)
log.update_high_watermark(3)
print("rule 5:", log.last_stable_offset == 0, "although HW is", log.high_watermark)

# %% [markdown]
# ## 4. The source, walked
#
# ### On a leader
#
# A leader of epoch 0 has ten records, all of them replicated. It leads for a second time, in epoch 1, and gets a batch of three.

# %%
leader, twin = fresh_log(name="leader-0"), fresh_log(name="leader-0")
for each in (leader, twin):
    for number in range(5):
        each.append_as_leader(records(2, 1, first=2 * number), leader_epoch=0)
    each.update_high_watermark(10)
print("LEO", leader.log_end_offset, " HW", leader.high_watermark, " epochs", leader.leader_epoch_cache.epoch_entries)

# %%
predict(
    "The last_offset of the answer, for a batch of three on a log that ends at 10?",
    ___,
    lambda: twin.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0"), leader_epoch=1).last_offset,
)

# %% [markdown]
# Go through the steps. The numbers are those of the comments in `Log._append`; beside each stands the link to Kafka's `UnifiedLog.append`.

# %%
walk = step_through(
    leader.append_as_leader,
    sent("3x1 pid=7 epoch=0 seq=0"),
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
# What the follower did not do: no validator, no `max.message.bytes`. Step 9 ran (its caption is the same for both), but for a follower it
# only works out the producers' new states: sequences are not checked, duplicates are not looked for, and an older producer epoch is only a
# warning in the broker's log. Can it still refuse? Another follower is sent a batch of producer 7's transaction, and then one of the same producer
# that belongs to none. (A leader refuses that one; here nobody did.)

# %%
other = fresh_log()
other.append_as_follower(sent("1x1 pid=7 epoch=0 seq=0 txn offset=0 leader_epoch=0"), leader_epoch=0)
predict(
    "Producer 7's transaction is open. Where does the follower end after its plain batch at 1? (a number, or the name of an exception)",
    ___,
    lambda: other.append_as_follower(sent("1x1 pid=7 epoch=0 seq=1 offset=1 leader_epoch=0"), leader_epoch=0) and other.log_end_offset,
)

# %%
walk = step_through(other.append_as_follower, sent("1x1 pid=7 epoch=0 seq=1 offset=1 leader_epoch=0"), leader_epoch=0, into={"Log._append"})
print("step", walk.frames[-1].step.number, type(walk.raised).__name__, " LEO", other.log_end_offset)

# %% [markdown]
# It can: what fits no state of the producer is refused by leaders and followers alike. So are damaged bytes, offsets out of order and offsets
# below LEO; *Refused*, further down, has them all.
#
# Back to the first follower. Asking again, in epoch 1, it gets the batch that was left out. Then come offsets 20 and 21, which leave a gap, and
# then something that begins at 21, which it has already:

# %%
follower_info = follower.append_as_follower(fetched(leader, 10), leader_epoch=1)
gap = follower.append_as_follower(sent("2x1 offset=20 leader_epoch=1"), leader_epoch=1)
print("asked again, up to", follower_info.last_offset)
print("with a gap,", gap.first_offset, "to", gap.last_offset, " LEO", follower.log_end_offset)
try:
    follower.append_as_follower(sent("2x1 offset=21 leader_epoch=1"), leader_epoch=1)
except Exception as error:
    print(type(error).__name__, "for", error.first_offset, "to", error.last_offset)

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
# The text that this course grew from counts twelve steps, on Kafka 2.5. They are all here, under other numbers:
#
# | older text | here | what became of it |
# |---|---|---|
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
# leader's, the follower's two batches in one append, and a leader's answer to a batch that it already had.

# %%
two = fresh_log()
follower_info = two.append_as_follower(fetched(leader, 8), leader_epoch=1)
again = leader.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0", now=1_700_000_005_000), leader_epoch=1)
side_by_side(leader=leader_info, follower=follower_info, duplicate=again)

# %% [markdown]
# - **first_offset, last_offset:** inclusive; −1 where nothing valid came in. Magic 0 and 1 hide the first one from a follower: −1, too.
# - **last_leader_epoch:** of the batch as it came in. A producer knows no epoch: None on a leader.
# - **max_timestamp:** of the batch after step 5. **log_append_time:** −1, unless the topic stamps its own time. For a duplicate it is the old
#   batch's time, while `max_timestamp` is that of the retry, five seconds later.
# - **log_start_offset:** of the *log*. **valid_bytes:** whole batches. **source_compression:** the last codec that is not NONE.
# - **last_offset_of_first_batch:** stands in for the first offset where that is unknown. It comes from step 2: the leader's still says 2, as the
#   producer counted. **num_messages:** last − first + 1, so a gap counts, too.
# - **record_errors, leader_hw_change:** filled in by others: by whoever catches a validation error, and by `Partition`.

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
# ### Refused
#
# A segment of at most 300 bytes holds one batch. A **new** leader, epoch 1, gets a second batch that would not fit beside it, and whose sequence
# is wrong: 12 where 9 was due. The batch is refused. How many segments has the log now?

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
# ### Duplicates, answered from memory
#
# A producer may have five requests in flight. The log keeps the last five batches of each producer, so any of them can come again:

# %%
log = fresh_log()
producer = Producer(log, 7)
batches = [(producer.send(2).first_offset, producer.last) for _ in range(6)]
print([(b.first_seq, b.last_seq, b.last_offset) for b in log.producer_state_manager.active_producers[7].batch_metadata])

# %%
answers = [step_through(log.append_as_leader, sent(words), leader_epoch=0) for _, words in batches]
for (first, _), walk in zip(batches, answers):
    print("written at", first, "→", f"answered {walk.result.first_offset}" if walk.result else type(walk.raised).__name__)
print("LEO", log.log_end_offset)

# %% [markdown]
# (The list above has first sequence, last sequence and last offset of each.) The last five are answered as they were the first time, and the
# log does not grow. The oldest, sequence 0, is out of order: it is no longer remembered, and it is not the next one due. Now the broker restarts. What it
# knows of producers comes from a snapshot file, which has room for one batch of each.

# %%
log.close()
log = open_log(log.dir)

# %%
predict(
    "The batch before the last one (sequence 8) comes again after the restart: its offset, or the name of the exception?",
    ___,
    lambda: log.append_as_leader(sent(batches[-2][1]), leader_epoch=0).first_offset,
)

# %%
print([(b.first_seq, b.last_offset) for b in log.producer_state_manager.active_producers[7].batch_metadata])
print("the last one:", log.append_as_leader(sent(batches[-1][1]), leader_epoch=0).first_offset)

# %% [markdown]
# Sequence 8 was refused with `OutOfOrderSequenceException`: the snapshot had the last batch. That is enough to go on in sequence, and for the retry of the last batch.
#
# Which sequence may a producer begin with? Here are four batches of a producer that this log has never seen: in epoch 3, twice in epoch 4, and then
# once more in epoch 3.

# %%
log = fresh_log()
for words in ("2x1 pid=9 epoch=3 seq=40", "1x1 pid=9 epoch=4 seq=42", "1x1 pid=9 epoch=4 seq=0", "1x1 pid=9 epoch=3 seq=42"):
    walk = step_through(log.append_as_leader, sent(words), leader_epoch=0)
    print(words, "→", f"written at {walk.result.first_offset}" if walk.result else type(walk.raised).__name__)

# %% [markdown]
# An unknown producer may begin anywhere: its records may have been deleted, and what was known of it with them. (Only transactions of
# version 2 must begin at 0.) A new epoch begins at 0, with no batches to remember, and from then on the old epoch is refused.
#
# Rule 4 has two conditions: the batch is a client's, and the log remembers the producer. One batch is sent twice: by a client, by a
# coordinator, and by a client that was silent in between for ten minutes more than `producer.id.expiration.ms`, a day.

# %%
DAY, TEN_MINUTES = 86_400_000, 600_000
for origin, silence in ((AppendOrigin.CLIENT, 0), (AppendOrigin.COORDINATOR, 0), (AppendOrigin.CLIENT, DAY + TEN_MINUTES)):
    log = fresh_log()
    first = log.append_as_leader(sent("2x1 pid=7 epoch=0 seq=0"), 0, origin)
    log.time.sleep(silence)
    again = log.append_as_leader(sent("2x1 pid=7 epoch=0 seq=0"), 0, origin)
    print(f"{origin.name:11}  silent for {silence:10,} ms: first {first.first_offset}, then {again.first_offset}, LEO {log.log_end_offset}")

# %% [markdown]
# A coordinator's batch is checked for its epoch, but not for its sequence, and is never taken for a duplicate: it is written twice. And a producer that
# is silent for a day is forgotten at the next check (there is one every ten minutes). From then on it is unknown, and may begin anywhere, even where it was.
#
# ### A transaction, opened, aborted, indexed
#
# Producers 7 and 8 write transactions, and somebody else writes outside of any. Each has a lane; the brackets are transactions, and the
# line through all lanes is the last stable offset.

# %%
log = fresh_log()
seven, eight = Producer(log, 7, transactional=True), Producer(log, 8, transactional=True)
lanes = TransactionLanes(log).snap("an empty log")
seven.send(3)
lanes.snap("7 sends three records: a transaction is open from the first one on")
log.update_high_watermark(log.log_end_offset)
print(lanes.snap("they are replicated, HW follows").frames[-1])

# %%
eight.send(2)
log.append_as_leader(records(2, 1), leader_epoch=0)
log.update_high_watermark(log.log_end_offset)
lanes.snap("8 opens a transaction, a producer without one writes between, all is replicated")
abort = seven.end("abort")
lanes.snap("7's abort marker is written")
print("marker at", abort.first_offset, " HW", log.high_watermark)

# %%
predict(
    "The marker is written and HW has not passed it. The last stable offset?",
    ___,
    lambda: log.last_stable_offset,
)

# %%
log.update_high_watermark(log.log_end_offset)
lanes.snap("the marker is replicated: LSO moves on to 8's transaction")
eight.end("commit")
log.update_high_watermark(log.log_end_offset)
lanes.snap("8 commits: nothing is undecided")
lanes.play()

# %% [markdown]
# A marker on one disk may be lost with it. The transaction is decided for good only when the high watermark has passed it.
#
# The aborted one is in the transaction index, a file of its own that only segments with aborted transactions have. Its entry was written
# with the marker, in step 12. The last field says where LSO will go once the marker is replicated: to the first record of the oldest
# transaction that is open then, 8's at 3.

# %%
[entry] = log.active_segment.txn_index.all_aborted_txns()
print(entry)
print([name for name in files_of(log) if "txnindex" in name], log.active_segment.txn_index.file.stat().st_size, "bytes")

# %%
before = len(log.active_segment.txn_index.all_aborted_txns())
seven.end("abort")
print("entries before", before, " after a marker without a transaction", len(log.active_segment.txn_index.all_aborted_txns()))

# %% [markdown]
# A marker without an open transaction completes nothing and is not indexed. (Up to 2.7 an abort marker was indexed
# all the same, as a transaction that began at that marker.)
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
# Now transactions. Spark gives each record its producer's next marker, and finds the last stable offset without a notion of append. `consume`
# is what a consumer sees; `maybe_increment_high_watermark leo` stands for followers that have fetched everything. (Markers of transaction
# version 0 keep the producer's epoch.)

# %%
workload = Workload.parse("""
append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
maybe_increment_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [1x10]
maybe_increment_high_watermark leo
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
maybe_increment_high_watermark leo
consume read_committed=true
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
print("last stable offset by minikafka:", ours.column("last_stable_offset"))
print("last stable offset by Spark:    ", spark.column("last_stable_offset"))

# %% [markdown]
# A bug is planted: a marker lets its transaction go as soon as it is written, replicated or not. After which operation (counted from 0) will
# the witnesses differ first, and how many of the other two contradict minikafka there?

# %%
with planted("a marker frees its transaction before it is replicated"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "After which operation do the last stable offsets differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "About the last stable offset after that operation, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference; each call of `hint()` reveals a
# little more; `solution()` shows one way.

# %%
from minikafka.lab.exercises.append import first_offsets, last_stable, log_start, sequences

# %% [markdown]
# **Exercise 1, the offsets that a leader gives, in Spark.** *Why: to tell from a day's requests which ones a log has taken.*
# `appends.sparkSession.sql("SELECT … FROM {appends}", appends=appends)` queries the table.

# %%
def offsets_given(appends, max_message_bytes):
    """appends: DataFrame of t, batches, base_offset, records, bytes (of the largest batch), crc_ok; all from clients.
    Returns a DataFrame of t, first_offset (null: refused), in the order of t; the log begins at 0."""
    return ___


first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, a producer's sequences.** *Why: OutOfOrderSequenceException in a producer's log, and the question who is wrong.*

# %%
def answers_to(batches):
    """batches: [(epoch, first sequence, records), …] of one producer, to an empty log. Returns for each the first offset at
    which it is stored, or the name of the exception: InvalidProducerEpochException, OutOfOrderSequenceException."""
    return ___


sequences.check(answers_to)

# %% [markdown]
# **Exercise 3, the last stable offset, in Spark.** *Why: one forgotten transaction stops every read_committed consumer.*

# %%
def stable_offsets(events, marks):
    """events: DataFrame of t, producer (null: none), kind (data, plain, commit, abort), first, last offset; `data` is
    transactional. marks: DataFrame of t, hw. Returns a DataFrame of t, lso for each t of marks, in the order of t."""
    return ___


last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 4, the log start's moments.** *Why: a log start that moved is data that is gone; know who can move it.*

# %%
def new_log_start(event, offset, log_start, hw):
    """event: "delete records", "leader's log start", "segments deleted" (offset: base of the first that stays), "truncate" or
    "truncate fully". Returns the log start offset afterwards; a refused event changes nothing."""
    return ___


log_start.check(new_log_start)

# %% [markdown]
# ### Rebuild
#
# Four methods that decide what a producer's batch becomes, and who must wait for it. minikafka runs with your function in the method's place, on workloads that this page does not show, and Apache Kafka
# does the same: what can be observed after each operation must agree, and at the end every byte on the disk. `hint()` helps; `solution()` opens
# after a try of your own.

# %%
from minikafka.lab.rebuild.ladders.append import checks, finds, stable, unstable

finds

# %%
def find_duplicate_batch(self, batch):
    """self: the ProducerStateEntry of the batch's producer. Returns the BatchMetadata that batch repeats, or None."""
    return ___


finds.check(find_duplicate_batch)

# %%
from minikafka.common.errors import OutOfOrderSequenceException

checks

# %%
def _check_sequence(self, producer_epoch, first_seq, offset):
    """self: a ProducerAppendInfo; the batch's epoch, first sequence and offset. Raises OutOfOrderSequenceException, or returns nothing."""
    return ___


checks.check(_check_sequence)

# %%
stable

# %%
def last_stable_offset(self):
    """self: a Log with first_unstable_offset (an offset or None) and high_watermark. Returns an offset, exclusive."""
    return ___


stable.check(last_stable_offset)

# %%
unstable

# %%
def first_unstable_offset(self):
    """self: a ProducerStateManager with ongoing_txns and unreplicated_txns. Returns a LogOffsetMetadata, or None."""
    return ___


unstable.check(first_unstable_offset)

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |---|---|---|
# | fifteen steps, their order, every check and exception, what a refusal leaves | one lock of Python's for the log | verification of transactions, and their version 2 with its epoch bumps |
# | every byte that the leader writes into a batch | `Partition`, which completes the answer with HW's change, is not there | `acks`, which are answered one level up |
# | five batches remembered, one in a snapshot; the transaction index | no metrics, no quotas | down-conversion, gone since 4.0; magic 0 and 1 on followers |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. Everything else Spark works out from the workload.
#
# **A question to take along.** A service reads with `read_committed` and has seen nothing for an hour; others, which read uncommitted, are
# up to date. What do you check first?
#
# <details><summary>One answer</summary>
#
# The last stable offset of the partition against its high watermark. If it is behind, somebody's transaction is open from that very offset:
# `kafka-transactions.sh describe-producers` names the producer, and `minikafka dump-log` shows its first batch there. An open transaction ends by
# `transaction.timeout.ms` at the latest, unless its coordinator knows nothing of it (those are what `find-hanging` finds); then an administrator aborts
# it. And look whether the high
# watermark itself moves: a marker that is not replicated decides nothing.
#
# </details>
#
# **Next:** *Read*, where the three marks become three kinds of readers.
