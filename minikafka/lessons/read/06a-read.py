# %% [markdown]
# # Read isolation
#
# *Three readers ask one log for the same offset and get three answers.*
#
# ## 1. The question
#
# **Time:** about forty minutes to read, fifty minutes to rebuild. **Before:** *Segments*, *High watermark* and *Append*.
#
# **Afterwards you can decide:** why one consumer stands still while another goes on, what it means that an offset is out of range,
# and why the difference of two offsets is not a number of messages.
#
# A bank writes each transfer as one transaction of two records. The first transfer is committed. The second is aborted, because Ada has
# too little money. The third is still open. The log holds all of these records, and so does every in-sync replica. What goes wrong without isolation?

# %%
from minikafka.lab import OffsetRuler, ___, delivered, diagram, erratum, fresh_log, log_after, planted, predict
from minikafka.lab import replicate, scratch, step_through, three_witnesses, transaction, values_seen, wake_witnesses
from minikafka.log.fetch_isolation import FetchIsolation

bank = fresh_log(name="bank-0")
transaction(bank, 1, "Ada −40", "Bob +40", end="commit")
transaction(bank, 2, "Ada −90", "Bob +90", end="abort")
transaction(bank, 3, "Bob −10")
wake_witnesses()
OffsetRuler(bank, "The bank's log").snap("40 committed, 90 aborted, 10 not finished").play()

# %%
predict(
    "bobs-sum-without-isolation",
    "A reader without isolation adds up all of Bob's records below the high watermark. What sum does it find?",
    ___,
    lambda: sum(int(value[3:].replace("−", "-")) for value in values_seen(bank, FetchIsolation.HIGH_WATERMARK) if value.startswith("Bob")),
)

# %%
from minikafka.lessons.read.read_lanes import ReadLanes
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason
from minikafka.witness import Workload, agree, minikafka_log, run

print("without isolation:", seen := values_seen(bank, FetchIsolation.HIGH_WATERMARK))
print("read_committed:", values_seen(bank, FetchIsolation.TXN_COMMITTED))

# %% [markdown]
# The first reader gives Bob 90 that were aborted, and takes 10 from him that are not committed. An abort takes no record out of the log. **The log is the same for all readers. They differ in the bound where a read stops, and in the list of what to skip.**
#
# (A `___` is a blank for you to fill. Spark and Apache Kafka have been starting since the first cell; part 5 compares them with minikafka.)
#
# ## 2. The picture

# %%
diagram("read")

# %% [markdown]
# - **Isolation:** which reader asks. `LOG_END` is a follower, `HIGH_WATERMARK` a `read_uncommitted` consumer, `TXN_COMMITTED` a
#   `read_committed` one. **Bound:** the first offset that this reader does not get.
# - **LSO**, last stable offset: the bound of `read_committed`. Below it every transaction is decided.
# - **Marker:** a control record that ends a transaction. It takes one offset.
# - **Transaction index** (`.txnindex`): the aborted transactions whose markers lie in a segment.
#
# The log of this lesson, one operation per line (`2x10`: two records with values of 10 bytes). Producer 7 aborts, producer 8 commits,
# producer 9 is still open, and the followers have not fetched the last append.

# %%
STORY = """
config internal.segment.bytes=300 index.interval.bytes=100
append_as_leader [3x10]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
append_as_leader [2x10]
append_as_leader [2x10 pid=9 epoch=0 seq=0 txn]
append_as_leader [2x10]
maybe_increment_high_watermark leo
append_as_leader [2x10]
"""
log = log_after(Workload.parse(STORY))
print("segments", [segment.base_offset for segment in log.log_segments])
print("log start", log.log_start_offset, " LSO", log.last_stable_offset, " HW", log.high_watermark, " LEO", log.log_end_offset)
quiet = log_after(Workload.parse("append_as_leader [3x10]\nmaybe_increment_high_watermark leo"))
erratum(
    "LSO is the Log Stable Offset, an offset smaller than the log end",
    "it is the last stable offset, min(first unstable offset, HW). LSO ≤ HW ≤ LEO; all are equal when no transaction is open and everything is replicated",
    f"nothing open: LSO {quiet.last_stable_offset}, HW {quiet.high_watermark}, LEO {quiet.log_end_offset}",
)

# %% [markdown]
# ## 3. The rules
#
# 1. LSO ≤ HW ≤ LEO; log start ≤ LSO, except inside a batch.
# 2. No reader gets anything at or above its bound: LEO for a follower, HW for `read_uncommitted`, LSO for `read_committed`.
# 3. An answer comes from one segment.
# 4. A start below the log start or above LEO is refused. A start from the bound up to LEO gives an empty answer.
#
# `log.read` takes the start, a limit in bytes (here a MiB, more than the whole log), and the isolation.

# %%
bounds = dict(zip(FetchIsolation, (log.log_end_offset, log.high_watermark, log.last_stable_offset)))
bases = [segment.base_offset for segment in log.log_segments]
reads = [(start, isolation) for isolation in bounds for start in range(18)]
answers = [(start, bounds[isolation], list(log.read(start, 1_048_576, isolation).records.batches())) for start, isolation in reads]
print("rule 1:", 0 <= log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset)
print("rule 2:", all(batch.last_offset < bound for _, bound, batches in answers for batch in batches))
print("rule 3:", not any(batch.base_offset in bases for _, _, batches in answers for batch in batches[1:]))
print("rule 4:", all(bool(batches) == (start < bound) for start, bound, batches in answers), end=", ")
print("from 18:", {lane.words for lane in ReadLanes(log).read(18).frames[0].lanes})
for_a_follower = log.read(0, 1_048_576, FetchIsolation.LOG_END).records

# %% [markdown]
# ## 4. The source, walked
#
# ### Three readers
#
# A follower reads from 0 with a limit of a MiB. It may see the whole log.

# %%
predict(
    "follower-answer-last-offset",
    "A follower reads from 0. What is the last offset in the answer?",
    ___,
    lambda: [batch.last_offset for batch in for_a_follower.batches()][-1],
)

# %%
lanes = ReadLanes(log)
for start in range(19):
    lanes.read(start)
lanes.play(at=0)

# %%
at_hw = log.read(15, 1_048_576, FetchIsolation.HIGH_WATERMARK).records.size_in_bytes
at_lso, above = (log.read(start, 1_048_576, FetchIsolation.TXN_COMMITTED).fetch_offset_metadata for start in (11, 14))
erratum(
    "Consumers see the range up to and including the HW or the LSO. Reading at LEO gives an empty answer: the first check of the method",
    "both bounds are exclusive. The check of LEO came first in 2.5.0; since 2.5.1 the range (log start to LEO) is checked first, then the "
    "start is compared with the reader's own bound, which may be far below LEO",
    f"read at HW {log.high_watermark}: {at_hw} bytes. LEO {log.log_end_offset}, bound LSO {log.last_stable_offset}: a read from "
    f"11, at the bound, is empty and has the bound's place {at_lso}; one from 14 is empty and has the place of the batch that holds 14, {above}",
)

# %% [markdown]
# The slider sets the start of the read:
#
# - From **0**: all three get the aborted records 3 and 4. `read_committed` also gets a list, and skips them.
# - From **6**: the answer begins at 5, because an answer begins with a batch. The consumer drops offset 5.
# - From **11**: producer 9's transaction is open. A `read_committed` consumer gets neither its records *nor the plain ones behind them*.
# - From **16**: the start is above HW and below LEO. Both consumers get an empty answer, no error, and ask again.
#
# ### The walk
#
# `Log.read` finds the bound, `LocalLog.read` the segment. (`LogSegment.read` then finds the bytes: the next lesson.)

# %%
step_through(
    log.read, 10, 1_048_576, FetchIsolation.TXN_COMMITTED,
    watch=log,
    into={"Log.read", "LocalLog.read"},
    locals_of_interest={"max_offset_metadata", "segment", "max_position"},
).play()  # fmt: skip

# %% [markdown]
# The bound is a **place**, offset 11 at byte 95 of segment 9: `(offset=11, segment=[9:95])`. So step 4 of `LocalLog.read` stops the read at byte 95 without reading a record.
#
# ### What was aborted
#
# Below the bound every transaction is *decided*. An aborted one is listed in the transaction index of the segment that holds its **marker**.
# `read(0, …, TXN_COMMITTED)` gets the records below offset 5, all of segment 0. It searches the index of that segment, then those of the next ones. The search
# ends at an entry whose last stable offset is at or above the end of the records read: when that entry was written, every transaction below this end was decided.

# %%
for segment in log.log_segments:
    for entry in segment.txn_index.all_aborted_txns():
        print("segment", segment.base_offset, "lists producer", entry.producer_id, "from", entry.first_offset, "to", entry.last_offset,
              " last stable offset at that time", entry.last_stable_offset)  # fmt: skip
walk = step_through(
    log.read, 0, 1_048_576, FetchIsolation.TXN_COMMITTED,
    into={"LocalLog._add_aborted_transactions", "TransactionIndex.collect_aborted_txns"},
    locals_of_interest={"upper_bound_offset", "aborted_txn", "found", "higher"},
)  # fmt: skip

# %%
predict(
    "transaction-indexes-asked",
    "The log has four segments. In how many transaction indexes does this read search?",
    ___,
    lambda: sum(frame.returned for frame in walk.frames if frame.method.name == "TransactionIndex.collect_aborted_txns"),
)

# %%
walk.play()

# %% [markdown]
# (Step 2 is a generator: it runs when step 3 takes from it.) The entry in segment 5 ends the search. The consumer then skips a
# listed producer's batches, from the listed offset to that producer's abort marker:

# %%
for start in (0, 5):
    found = log.read(start, 1_048_576, FetchIsolation.TXN_COMMITTED)
    named = [tuple(txn) for txn in found.aborted_transactions]
    print("list:", named, " fates:", [(record.offset, fate) for record, fate in delivered(found, start)])

# %% [markdown]
# The second list names producer 7, although the answer has only its marker. A list may name too many transactions, never too few.
#
# ### Out of range
#
# The same log again, after DeleteRecords has raised the log start to 6:

# %%
log = log_after(Workload.parse(STORY))
log.maybe_increment_log_start_offset(6, Reason.CLIENT_RECORD_DELETION)
print("log start", log.log_start_offset, " segments", [segment.base_offset for segment in log.log_segments])

# %%
predict(
    "deleted-record-still-sent",
    "Record 5 is deleted. Does the broker still send it to a reader? (True or False)",
    ___,
    lambda: 5 in [record.offset for batch in log.read(6, 1_048_576, FetchIsolation.LOG_END).records.batches() for record in batch],
)

# %%
ReadLanes(log, "Log start 6").read(5).read(6).read(17).read(18).play(at=0)

# %%
follower = fresh_log(name="follower-0")
replicate(quiet, follower, up_to=3)
follower.maybe_update_high_watermark(quiet.high_watermark)
seen = [record.offset for record, _ in delivered(follower.read(0, 1_048_576, FetchIsolation.HIGH_WATERMARK), 0)]
erratum(
    "Only the leader serves reads",
    "since 2.4, where the broker sets replica.selector.class, a consumer may read from a follower in its own rack, up to that follower's HW",
    f"a follower's log, read with HIGH_WATERMARK: offsets {seen}",
)

# %% [markdown]
# The file still holds the batch that begins at 5. So the broker sends record 5, and the consumer drops it. After an `OffsetOutOfRangeException` a
# consumer does what `auto.offset.reset` says: it begins at the earliest offset, at the latest, or a given duration ago (`by_duration`, since 4.0), or it
# reports the error (`none`). A follower asks where its leader's log begins and ends, and truncates its own log or begins anew.
#
# ### What the broker adds
#
# `Partition.fetchRecords` calls `Log.read`. It notes four marks **before** the read (log start, LSO, HW, LEO), so a record appended meanwhile
# does not make a follower count as behind. The response carries HW and log start: so followers learn them. A follower whose log differs from the
# leader's gets no records. It gets `diverging_epoch`: an epoch, and the offset where that epoch ends on the leader.
#
# ## 5. Three witnesses
#
# `consume` gives the offsets that an application sees. The first line below is Spark's rule for records of transactions; for plain records only its
# second half counts. The second cell asks how many messages lie between HW and LEO. Here all are plain records. Where markers lie between the two
# offsets, their difference is larger than the number of messages.

# %%
from minikafka.witness.log.queries import committed

workload = Workload.parse("""
config internal.segment.bytes=300
append_as_leader [3x10]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
maybe_increment_high_watermark leo
consume read_committed=true
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
maybe_increment_high_watermark leo
consume read_committed=true
append_as_leader [2x10 pid=9 epoch=0 seq=0 txn]
append_as_leader [2x10]
maybe_increment_high_watermark leo
consume read_committed=true
consume
read 0 isolation=txn_committed
""")
ours, spark, kafka = three_witnesses(workload, only=["read_committed"])
print(committed.rule)
for operation in (4, 8, 12, 13):
    print(workload.operations[operation], "→", spark.value(operation, "result"))
agree(ours, spark, kafka)

# %%
waiting = Workload.parse("""
isr 1
append_as_leader [3x10]
fetch 1 3
append_as_leader [4x10]
append_as_leader [5x10]
count hw leo
""")
counted = three_witnesses(waiting, only=["counts"])
print([witness and (witness.witness, witness.value(4, "result")) for witness in counted], " agree:", bool(agree(*counted)))
unread = log_after(Workload.parse(STORY.partition("maybe_increment")[0]))
erratum(
    "LEO − HW is the number of messages between high watermark and log end",
    "it counts offsets. Markers take offsets but are no messages, and compacted logs have holes",
    f"LEO − HW = {unread.log_end_offset - unread.high_watermark}, messages: "
    f"{sum(1 for segment in unread.log_segments for batch in segment.log.batches() if not batch.is_control_batch for _ in batch)}",
)

# %% [markdown]
# Now the planted bug: minikafka searches for aborted transactions only in the index of the segment that it read.

# %%
with planted("aborted transactions are looked up in one segment"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "aborted-list-missed-after",
    "After which operation, counted from 0, do the witnesses differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "consumer-view-contradicted-by",
    "How many of the other two witnesses contradict minikafka about what that consumer sees? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# In [Read isolation: rebuild](06a-read-rebuild.ipynb): four functions and a rung.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | bounds, order of checks, exceptions, places | a lock, not volatile fields, protects readers | the fetch request: many partitions, `fetch.min.bytes` |
# | the transaction index, and when the search in it ends | the consumer is a function | fetch sessions; tiered storage |
#
# *What Spark is told:* the lines of the workload. From them it works out what each consumer sees.
#
# **A question to take along.** A `read_committed` consumer of one partition sees nothing new for ten minutes. A console consumer that reads
# uncommitted sees new records all the time. What do you check first?
#
# <details><summary>One answer</summary>
#
# Compare the last stable offset with the high watermark. If it lags, a transaction is open: `kafka-transactions.sh describe-producers` shows whose, and
# where it began. One stuck producer holds back all records from its first one on, plain ones too. After
# `transaction.timeout.ms` the coordinator aborts its transaction, if it knows it. If the two are equal: is it skipping a long run of aborted records?
#
# </details>

# %% [markdown]
# ### Card
#
# - The log is the same for all readers. They differ in the bound where a read stops, and in the list of what to skip.
# - A follower gets records below LEO, a `read_uncommitted` consumer below HW, a `read_committed` one below LSO.
# - Aborted records are sent to everybody. A `read_committed` consumer gets a list of the aborted transactions, and skips their records.
# - The list may name too many transactions, never too few.
# - From the first record of an open transaction on, `read_committed` consumers get nothing, whoever wrote it.
#
# ![Three readers, three bounds](../diagrams/read.svg)
#
# | a read | what it gives, always of one segment |
# |:---|:---|
# | of a follower, `LOG_END` | batches below LEO |
# | of a `read_uncommitted` consumer, `HIGH_WATERMARK` | batches below HW |
# | of a `read_committed` consumer, `TXN_COMMITTED` | batches below LSO, and the list of aborted transactions |
# | with a start at or above the bound, but not above LEO | an empty answer; the consumer asks again later |
# | with a start below the log start or above LEO | `OffsetOutOfRangeException` |

# %% [markdown]
# **Next:** *From an offset to bytes*: where in the file an answer begins, how many bytes it has, and who sends them.
