# %% [markdown]
# # Producers and transactions
#
# *What a log remembers of its producers, so that a retry makes no duplicate, an old producer is refused, and `read_committed` never gets half a transaction.*
#
# ## 1. The question
#
# **Time:** about fifty-five minutes to read, an hour and thirty minutes to rebuild. **Before:** *High watermark* and *Append*.
#
# **Afterwards you can decide:** when a retry makes no duplicate, who caused an `OutOfOrderSequenceException` or `InvalidProducerEpochException`, and what holds `read_committed` consumers back.
#
# What goes wrong without such a memory? A producer sends three records. The broker writes them, its answer gets lost, the producer sends them again.

# %%
from minikafka.lab import OffsetRuler, Producer, ___, diagram, erratum, files_of, fresh_log, open_log, planted, predict
from minikafka.lab import records, scratch, sent, step_through, three_witnesses, values_of, wake_witnesses
from minikafka.lab.widgets.transaction_lanes import TransactionLanes
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation

forgetful = fresh_log()
forgetful.append_as_leader(records(3, 1), leader_epoch=0)
wake_witnesses()
OffsetRuler(forgetful, "A log without a memory").snap("three records are written, and the answer is lost").play()

# %%
forgetful.append_as_leader(records(3, 1), leader_epoch=0)
got = values_of(forgetful, FetchIsolation.LOG_END)

# %%
predict(
    "records-after-retry",
    "The three records arrived twice. How many does a consumer get?",
    ___,
    lambda: len(got),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.
#
# Now the same with a memory. (`sent` makes a batch as it comes over the network. `3x1` is three records with values of one byte; `pid`, `epoch` and `seq` are explained in part 2.)

# %%
log = fresh_log()
for _ in range(2):
    log.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0"), leader_epoch=0)
print("without producer id:", got)
print("with id and sequence, the log ends at", log.log_end_offset)

# %% [markdown]
# Without a memory every record is there twice. With a memory the log answered the second batch like the first, and did not write it.
# **The log remembers producers, not records:** a few numbers for each.

# %% [markdown]
# ## 2. The picture

# %%
diagram("producers")

# %% [markdown]
# - **Producer id:** who produces. **Epoch:** a newer instance of a producer has a higher one. **Sequence:** the number of the batch's first
#   record, counted per partition.
# - **Transaction:** one producer's batches with the transactional bit, from the first one to a marker.
# - **Marker:** a batch of one control record that commits or aborts a producer's transaction. The transaction coordinator sends it, under
#   a version of the protocol (**transaction version** 0, 1 or 2).
# - **LSO**, last stable offset: below it every transaction is decided, and its marker is below the high watermark.
# - **Snapshot:** a file with what the log knows of all producers before an offset. Its name is that offset.

# %%
log = fresh_log()
log.append_as_leader(records(3, 1), leader_epoch=0)
log.update_high_watermark(3)
erratum(
    "LSO is the log stable offset, and smaller than LEO",
    "it is the last stable offset; LSO ≤ HW ≤ LEO, and all three are equal when no transaction is open and everything is replicated",
    f"three records, replicated: LSO {log.last_stable_offset}, HW {log.high_watermark}, LEO {log.log_end_offset}",
)

# %% [markdown]
# ## 3. The rules
#
# 1. The log writes a client's batch with a producer id once, while it remembers the batch: a retry gets the first answer.
# 2. In an epoch sequences go on without a gap; a new epoch begins at 0.
# 3. The log refuses a batch of an older epoch, and nothing changes.
# 4. LSO is not above the first record of a transaction that is open, or whose marker HW has not passed.
# 5. LSO ≤ HW ≤ LEO.

# %%
log = fresh_log()
once = [log.append_as_leader(sent("3x1 pid=7 epoch=0 seq=0 txn"), leader_epoch=0).first_offset for _ in range(2)]
gap = step_through(log.append_as_leader, sent("1x1 pid=7 epoch=0 seq=4 txn"), leader_epoch=0)
log.append_as_leader(sent("1x1 pid=8 epoch=1 seq=0"), leader_epoch=0)
zombie = step_through(log.append_as_leader, sent("1x1 pid=8 epoch=0 seq=1"), leader_epoch=0)
log.update_high_watermark(4)
print("rule 1:", once == [0, 0])
print("rules 2, 3:", type(gap.raised).__name__, type(zombie.raised).__name__, log.log_end_offset == 4)
print("rule 4:", log.last_stable_offset == 0, "although HW is", log.high_watermark)
print("rule 5:", log.last_stable_offset <= log.high_watermark <= log.log_end_offset)

# %% [markdown]
# ## 4. The source, walked
#
# ### Step 9, from within
#
# Step 9 of an append looks at each batch that has a producer id. Is it a retry? May this producer write? What will the log know of it afterwards?
# The log keeps the new state only after it has written the batch. Here is a producer's second batch.

# %%
log = fresh_log()
log.append_as_leader(sent("2x1 pid=7 epoch=0 seq=0"), leader_epoch=0)
step_through(
    log.append_as_leader,
    sent("3x1 pid=7 epoch=0 seq=2"),
    leader_epoch=0,
    watch=log,
    into={"analyze_and_validate_producer_state"},
    locals_of_interest={"entry", "duplicate", "first_offset_metadata", "completed_txn"},
).play()

# %% [markdown]
# All that the log now knows of the producer:

# %%
entry = log.producer_state_manager.active_producers[7]
for name in entry.__slots__:
    known = getattr(entry, name)
    print(f"{name:25}", [tuple(batch) for batch in known] if name == "batch_metadata" else known)

# %% [markdown]
# For each batch the log keeps the last sequence, the last offset, the number of records after the first one, and a timestamp.
#
# ### Duplicates, answered from memory
#
# A producer may have five requests in flight. This one sends six batches of two records, and then all six again.

# %%
numbered = fresh_log()
producer = Producer(numbered, 7)
batches = [(producer.send(2).first_offset, producer.last) for _ in range(6)]
oldest_again = step_through(numbered.append_as_leader, sent(batches[0][1]), leader_epoch=0)

# %%
predict(
    "oldest-batch-again",
    "The oldest batch (sequence 0) comes again. What is the answer? (its offset, or an exception's name)",
    ___,
    lambda: oldest_again.result.first_offset if oldest_again.result else type(oldest_again.raised).__name__,
)

# %%
known = [(b.first_seq, b.last_seq, b.last_offset) for b in numbered.producer_state_manager.active_producers[7].batch_metadata]
print("first and last sequence, last offset:", known)
answers = [step_through(numbered.append_as_leader, sent(words), leader_epoch=0) for _, words in batches]
for (first, _), walk in zip(batches, answers):
    print("written at", first, "→", f"answered {walk.result.first_offset}" if walk.result else type(walk.raised).__name__)
print("LEO", numbered.log_end_offset)

# %% [markdown]
# The log answers the last five as it did the first time. It no longer remembers sequence 0, and expects 12. Now the broker restarts, and reads a snapshot file of what it knew of producers.

# %%
numbered.close()
numbered = open_log(numbered.dir)
predict(
    "batch-again-after-restart",
    "The batch before the last one (sequence 8) comes again. What is the answer? (its offset, or an exception's name)",
    ___,
    lambda: numbered.append_as_leader(sent(batches[-2][1]), leader_epoch=0).first_offset,
)

# %%
print([(b.first_seq, b.last_offset) for b in numbered.producer_state_manager.active_producers[7].batch_metadata])
print("the last one:", numbered.append_as_leader(sent(batches[-1][1]), leader_epoch=0).first_offset)

# %% [markdown]
# The log refused sequence 8 with `OutOfOrderSequenceException`: a snapshot has only the last batch of each producer.
#
# Which sequence may a producer begin with? This log has never seen producer 9.

# %%
log = fresh_log()
for words in ("2x1 pid=9 epoch=3 seq=40", "1x1 pid=9 epoch=4 seq=42", "1x1 pid=9 epoch=4 seq=0", "1x1 pid=9 epoch=3 seq=42"):
    walk = step_through(log.append_as_leader, sent(words), leader_epoch=0)
    print(words, "→", f"written at {walk.result.first_offset}" if walk.result else type(walk.raised).__name__)

# %% [markdown]
# An unknown producer may begin with any sequence: its records may have been deleted, and its state with them. (Only in transactions
# of version 2 it must begin at 0.) A new epoch begins at 0, and ends the old one.
#
# ### Epochs fence
#
# Producer 7 hangs. Its successor registers under the same transactional id, and gets the same producer id with a higher epoch. Then the first one wakes up.

# %%
log = fresh_log()
zombie, successor = Producer(log, 7, epoch=0), Producer(log, 7, epoch=1)
zombie.send(2)
print("the successor writes at", successor.send(1).first_offset)
walk = step_through(zombie.send, 1)
print("the zombie:", type(walk.raised).__name__, " LEO", log.log_end_offset)

# %% [markdown]
# In version 2 of the protocol a marker also brings a new epoch, so that a late batch of the last transaction can't slip into the next. An open
# transaction of epoch 0 gets three markers: of epoch 0, of epoch 1, and of epoch 1 again.

# %%
log = fresh_log()
log.append_as_leader(sent("1x1 pid=7 epoch=0 seq=0 txn"), leader_epoch=0)
markers = [
    step_through(log.append_as_leader, sent(f"commit pid=7 epoch={epoch}"), 0, AppendOrigin.COORDINATOR, transaction_version=2)
    for epoch in (0, 1, 1)
]

# %%
predict(
    "markers-refused",
    "Three markers come, with epochs 0, 1 and 1. How many are refused?",
    ___,
    lambda: sum(walk.raised is not None for walk in markers),
)

# %%
print([type(walk.raised).__name__ if walk.raised else f"written at {walk.result.first_offset}" for walk in markers])
late = step_through(log.append_as_leader, sent("1x1 pid=7 epoch=0 seq=1 txn"), 0)
print("a late batch of epoch 0:", type(late.raised).__name__)

# %% [markdown]
# While the transaction was open, the log refused the marker with the known epoch: it could be a late one. Afterwards nothing is open, so the coordinator's retry does no harm, and the log writes it.
#
# ### Where the memory ends
#
# Rule 1 has two conditions: a client sent the batch, and the log remembers the producer. Here one batch is sent twice: by a client, by a
# coordinator, and by a client that is silent in between for `producer.id.expiration.ms` (a day) and ten minutes.

# %%
DAY, TEN_MINUTES = 86_400_000, 600_000
for origin, silence in ((AppendOrigin.CLIENT, 0), (AppendOrigin.COORDINATOR, 0), (AppendOrigin.CLIENT, DAY + TEN_MINUTES)):
    log = fresh_log()
    first = log.append_as_leader(sent("2x1 pid=7 epoch=0 seq=0"), 0, origin)
    log.time.sleep(silence)
    again = log.append_as_leader(sent("2x1 pid=7 epoch=0 seq=0"), 0, origin)
    print(f"{origin.name:11}  silent for {silence:10,} ms: first {first.first_offset}, then {again.first_offset}, LEO {log.log_end_offset}")

# %% [markdown]
# The log checks the epoch of a coordinator's batch, but not its sequence, and looks for no duplicate: it wrote the batch twice.
# Every ten minutes the log forgets the producers that were silent for a day. Such a producer may begin with any sequence, even a used one.
# Silence counts from the timestamp of its last batch. A producer with an open transaction is not forgotten (`ProducerStateManager.isProducerExpired`).
#
# ### On a follower
#
# A follower keeps producers' states as its leader does. It does not check sequences and does not look for duplicates. An older epoch only causes a warning: the leader has checked all of that. Now a follower gets a batch of producer 7's transaction, then a plain one of producer 7. (A leader would refuse it.)

# %%
other = fresh_log()
other.append_as_follower(sent("1x1 pid=7 epoch=0 seq=0 txn offset=0 leader_epoch=0"), leader_epoch=0)
predict(
    "follower-end-open-transaction",
    "Where does the follower's log end after the plain batch at 1? (a number, or an exception's name)",
    ___,
    lambda: other.append_as_follower(sent("1x1 pid=7 epoch=0 seq=1 offset=1 leader_epoch=0"), leader_epoch=0) and other.log_end_offset,
)

# %%
walk = step_through(other.append_as_follower, sent("1x1 pid=7 epoch=0 seq=1 offset=1 leader_epoch=0"), leader_epoch=0, into={"Log._append"})
print("step", walk.frames[-1].step.number, type(walk.raised).__name__, " LEO", other.log_end_offset)

# %% [markdown]
# Leaders and followers both refuse a plain batch within its producer's transaction.
#
# ### A transaction, opened, aborted, indexed
#
# Producers 7 and 8 write transactions, another producer writes plain records. Brackets are transactions; the line through all lanes is the last stable offset.

# %%
log = fresh_log()
seven, eight = Producer(log, 7, transactional=True), Producer(log, 8, transactional=True)
lanes = TransactionLanes(log).snap("an empty log")
seven.send(3)
lanes.snap("7 sends three records: a transaction is open from the first one on")
log.update_high_watermark(log.log_end_offset)
print(lanes.snap("the records are replicated: HW rises").frames[-1])

# %%
eight.send(2)
log.append_as_leader(records(2, 1), leader_epoch=0)
log.update_high_watermark(log.log_end_offset)
lanes.snap("8 opens a transaction, another producer writes plain records, all is replicated")
abort = seven.end("abort")
lanes.snap("7's abort marker is written")
print("marker at", abort.first_offset, " HW", log.high_watermark)
lso_after_marker = log.last_stable_offset

# %%
predict(
    "stable-offset-after-marker",
    "The marker is written, and HW has not passed it. Where is LSO?",
    ___,
    lambda: lso_after_marker,
)

# %%
log.update_high_watermark(log.log_end_offset)
lanes.snap("the marker is replicated: LSO moves on to 8's transaction")
eight.end("commit")
log.update_high_watermark(log.log_end_offset)
lanes.snap("8 commits: every transaction is decided")
lanes.play()

# %% [markdown]
# A marker on only one disk may be lost with that disk. The transaction is decided for good when HW has passed its marker.
#
# Step 12 wrote the aborted transaction to the transaction index, a file that only segments with aborted transactions have. The last field of the entry says where LSO goes once the marker is replicated: to the first record of the oldest open transaction, that of producer 8, at 3.

# %%
[entry] = log.active_segment.txn_index.all_aborted_txns()
print(entry)
print([name for name in files_of(log) if "txnindex" in name], log.active_segment.txn_index.file.stat().st_size, "bytes")

# %%
before = len(log.active_segment.txn_index.all_aborted_txns())
seven.end("abort")
print("entries before", before, " after a marker without a transaction", len(log.active_segment.txn_index.all_aborted_txns()))

# %% [markdown]
# A marker without an open transaction completes nothing and is not indexed.

# %%
log = fresh_log()
Producer(log, 7, transactional=True).send(3)
log.update_high_watermark(3)
before = log.first_unstable_offset
log.truncate_to(0)
erratum(
    "maybeIncrementFirstUnstableOffset raises the first unstable offset",
    "in spite of its name, it takes the value from the producers' state each time, even if it is lower or None",
    f"a transaction open from {before}; after a truncation to 0: {log.first_unstable_offset}",
)

# %% [markdown]
# ### The snapshot
#
# After a restart the log needs this memory again. Reading all records for it would take long, so the log writes snapshots. Watch their names:

# %%
log = fresh_log({"internal.segment.bytes": 300})
seven, eight = Producer(log, 7), Producer(log, 8, transactional=True)
for word, action in {"two appends": lambda: (seven.send(4), eight.send(2)), "a flush": lambda: log.flush(force_flush_active_segment=False),
                     "an append that rolls": lambda: seven.send(9), "a roll": log.roll, "two more appends": lambda: (seven.send(1), eight.send(1)),
                     "a clean close": log.close}.items():  # fmt: skip
    action()
    print(f"{word:22}", [int(name.split(".")[0]) for name in files_of(log) if name.endswith(".snapshot")])

# %% [markdown]
# A roll writes one, and so does a clean close. (Recovery writes more.) A roll's snapshot has the name of the new segment. The last snapshot holds:

# %%
from minikafka.log.producer.snapshot_file import read_snapshot

last = log.dir / [name for name in files_of(log) if name.endswith(".snapshot")][-1]
for entry in read_snapshot(last):
    words = [f"{batch.first_seq}..{batch.last_seq}" for batch in entry.batch_metadata]
    print("producer", entry.producer_id, " batches", words, " open from", entry.current_txn_first_offset)
erratum(
    "The snapshot is on the device before the new segment is opened",
    "since 3.1 it is written after the new segment is there, since 3.7 without a flush; the task flush-log, which the roll schedules, flushes it",
    [frame.step.text for frame in step_through(fresh_log().roll, into={"Log.roll"}).frames][:2],
)

# %% [markdown]
# ## 5. Three witnesses
#
# Two transactions, and a plain record. For each record Spark finds its producer's next marker. `consume`
# is what a consumer sees; `maybe_increment_high_watermark leo` stands for followers that have fetched everything. (Markers of transaction
# version 0 keep the producer's epoch.)

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

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
print("last stable offset by minikafka:", ours.column("last_stable_offset"))
print("last stable offset by Spark:    ", spark.column("last_stable_offset"))
agree(ours, spark, kafka)

# %% [markdown]
# We plant a bug: LSO passes a transaction as soon as its marker is written, replicated or not. Operations count from 0.

# %%
with planted("LSO passes a transaction before its marker is replicated"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "stable-offsets-differ-after",
    "After which operation do the last stable offsets differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "stable-offset-contradicted-by",
    "How many witnesses contradict minikafka's last stable offset there (1 or 2)?",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# [Producers and transactions: rebuild](05-producers-and-transactions-rebuild.ipynb) has four functions and six rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | five batches remembered, one in a snapshot; every check of epoch and sequence, its order and its exception | one Python lock for the log | how a transaction is verified with its coordinator before its first batch |
# | when a transaction opens, what its marker completes, what the index holds | no metrics of producers | the coordinator's own log, and how it decides |
# | snapshots, to the byte | | how recovery rebuilds this memory: lesson *Crash and recovery* |
#
# *What Spark is told:* the size of each batch, from the record builder. Spark works out the rest from the workload.
#
# **A question to take along.** A `read_committed` service has seen nothing for an hour. Services that read uncommitted are up to date. What do you check first?
#
# <details><summary>One answer</summary>
#
# Compare the partition's last stable offset with its high watermark. If it is lower, the transaction that holds it begins there:
# `kafka-transactions.sh describe-producers` names the producer, and `minikafka dump-log` shows its first batch. After `transaction.timeout.ms` the
# coordinator aborts an open transaction (it looks every ten seconds), unless it does not know this transaction. `find-hanging` finds such transactions, and an administrator
# aborts them. Also look whether the high watermark moves: a marker that is not replicated decides nothing.
#
# </details>

# %% [markdown]
# ### Card
#
# - The log remembers producers, not records: of each producer the last five batches. A snapshot, written at each roll and at a clean close, keeps only the last one.
# - Within an epoch the sequence numbers go on without a gap. A new epoch begins at 0, and from then on the old one is refused.
# - A producer that is silent for `producer.id.expiration.ms` is forgotten, unless it has an open transaction.
# - A transaction is decided for good when the high watermark has passed its marker. Until then LSO is not above its first record.
# - A follower checks no sequences and looks for no duplicates: its leader has done that.
#
# ![What the log knows of producers](../diagrams/producers.svg)
#
# | a client's batch | what the leader's log does |
# |:---|:---|
# | the next sequence | writes it |
# | one of the last five batches again | gives the first answer, and writes nothing |
# | an older batch again | `OutOfOrderSequenceException` |
# | after a restart, the batch before the last one again | `OutOfOrderSequenceException` |
# | a sequence that leaves a gap | `OutOfOrderSequenceException` |
# | a new epoch that does not begin at 0 | `OutOfOrderSequenceException` |
# | an older epoch | `InvalidProducerEpochException` |
# | an unknown producer | writes it, whatever its sequence; in a transaction of version 2 it must be 0 |

# %% [markdown]
# **Next:** *Read isolation*: three kinds of readers, each stopped at its own mark.
