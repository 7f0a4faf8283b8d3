# %% [markdown]
# # Read
#
# *Three readers ask one log for the same offset and get three different answers. None of them gets a copy.*
#
# ## 1. The question
#
# **Time:** about an hour to read, an hour and twenty minutes to rebuild. **Before:** *Segments*, *High watermark* and *Append*.
#
# **Afterwards you can decide:** why one consumer stands still while another one goes on, what a fetch limit of your consumer really limits,
# and what the difference between two offsets does not tell you.
#
# A bank writes each transfer as two records of one transaction. The first is committed. The second is
# aborted: Ada has no such sum. The third is not finished yet. All of this is in the log, and every in-sync replica has it. What goes wrong without isolation?

# %%
from minikafka.lab import OffsetRuler, ___, copied_log, delivered, diagram, erratum, fresh_log, log_after, planted, predict
from minikafka.lab import records, replicate, scratch, search_index, step_through, three_witnesses, transaction, values_seen, wake_witnesses
from minikafka.log.fetch_isolation import FetchIsolation

bank = fresh_log(name="bank-0")
transaction(bank, 1, "Ada −40", "Bob +40", end="commit")
transaction(bank, 2, "Ada −90", "Bob +90", end="abort")
transaction(bank, 3, "Bob −10")
wake_witnesses()
OffsetRuler(bank, "The bank's log").snap("40 committed, 90 aborted, 10 not finished").play()

# %%
seen = values_seen(bank, FetchIsolation.HIGH_WATERMARK)

# %%
predict(
    "bobs-sum-without-isolation",
    "A reader without isolation adds up all of Bob's records below the high watermark. What sum does it find?",
    ___,
    lambda: sum(int(value.replace("Bob", "").replace("−", "-")) for value in seen if value.startswith("Bob")),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.

# %%
print("without:", seen)

# %% [markdown]
# Whoever reads that way up to the high watermark pays Bob 90 out of thin air, and takes 10 that arrive nowhere. The aborted records
# can't be taken out of the log: it is append-only. So the *reader* must be told how far to read, and what to skip:

# %%
from minikafka.lessons.read.read_lanes import ReadLanes
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason
from minikafka.witness import Workload, agree, minikafka_log, run

print("read_committed:", values_seen(bank, FetchIsolation.TXN_COMMITTED))

# %% [markdown]
# **The log is the same for everybody. What differs is the bound at which a reader is stopped, and a list of what it must skip.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("read")

# %% [markdown]
# - **Isolation:** who reads, and so how far: `LOG_END` is a follower, `HIGH_WATERMARK` a `read_uncommitted` consumer, `TXN_COMMITTED` a
#   `read_committed` one. **Bound:** the first offset that this reader does not get.
# - **LSO**, last stable offset: the bound of `read_committed`. Below it every transaction is decided.
# - **Marker:** a control record that ends a transaction. It takes an offset like any record.
# - **Transaction index** (`.txnindex`): the aborted transactions whose markers lie in a segment.
# - **View:** a file, a first and a last byte. It is what a read gives back.
#
# The log of this lesson, one operation per line (`2x10`: two records with values of 10 bytes). Producer 7 aborts, producer 8 commits, producer 9
# is not done, and the last append has not reached the followers.

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

# %%
quiet = log_after(Workload.parse("append_as_leader [3x10]\nmaybe_increment_high_watermark leo"))
erratum(
    "LSO is the Log Stable Offset, an offset smaller than the log end",
    "the Last Stable Offset, min(first unstable offset, HW): LSO ≤ HW ≤ LEO, and all equal when nothing is open or waits",
    f"nothing open: LSO {quiet.last_stable_offset}, HW {quiet.high_watermark}, LEO {quiet.log_end_offset}",
)

# %% [markdown]
# ## 3. The rules
#
# 1. log start ≤ LSO ≤ HW ≤ LEO.
# 2. No reader gets anything at or above its bound: LEO for a follower, HW for `read_uncommitted`, LSO for `read_committed`.
# 3. An answer begins with the first byte of the batch that holds the start (in a gap: of the next batch).
# 4. An answer comes from one segment.
# 5. A start below the log start or above LEO is refused. A start from the bound up to LEO gives an empty answer.
#
# Each is a line of code. `log.read` takes the start, a limit in bytes (here a MiB, far more than there is), the isolation, and
# `min_one_message`, which part 4 explains.

# %%
bounds = dict(zip(FetchIsolation, (log.log_end_offset, log.high_watermark, log.last_stable_offset)))
bases = [segment.base_offset for segment in log.log_segments]
answers = [
    (start, bound, list(log.read(start, 1_048_576, isolation).records.batches()))
    for isolation, bound in bounds.items() for start in range(18)
]  # fmt: skip
print("rule 1:", 0 <= log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset)
print("rule 2:", all(batch.last_offset < bound for _, bound, batches in answers for batch in batches))

# %%
print("rule 3:", all(batches[0].base_offset <= start <= batches[0].last_offset for start, _, batches in answers if batches))
print("rule 4:", not any(batch.base_offset in bases for _, _, batches in answers for batch in batches[1:]))
print("rule 5:", all(bool(batches) == (start < bound) for start, bound, batches in answers))
print("from 18:", {lane.words for lane in ReadLanes(log).read(18).frames[0].lanes})

# %% [markdown]
# ## 4. The source, walked
#
# ### Three readers
#
# One slider position is one read with a limit of a MiB; the slider is the start. What will a follower that reads from 0 get? It may see
# everything, and all of the log is far less than a MiB.

# %%
predict(
    "follower-answer-last-offset",
    "The last offset in the answer to a follower that reads from 0?",
    ___,
    lambda: [batch.last_offset for batch in log.read(0, 1_048_576, FetchIsolation.LOG_END).records.batches()][-1],
)

# %%
lanes = ReadLanes(log)
for start in range(19):
    lanes.read(start)
lanes.play(at=0)

# %% [markdown]
# Look at four places:
#
# - From **0**: the aborted records 3 and 4 are **sent to everybody**. The `read_committed` consumer gets a list with them, and skips.
# - From **6**: the answer begins at 5, for a read begins with a batch, never inside one. Offset 5 is dropped by the consumer.
# - From **11**: producer 9 is not done. Its own records *and the plain ones behind them* wait for it.
# - From **16**: beyond HW, below LEO. For both consumers that is no error: the answer is empty, and they ask again later.
#
# (The older text has followers and plain consumers the wrong way round; the lesson *High watermark* shows why that can't be.)

# %%
at_hw = log.read(15, 1_048_576, FetchIsolation.HIGH_WATERMARK)
erratum(
    "Consumers see the range up to and including the HW, up to and including the LSO",
    "both bounds are exclusive: the offset HW is the first that is not committed",
    f"read at HW {log.high_watermark}: {at_hw.records.size_in_bytes} bytes; the highest offset shown is "
    f"{max(batch.last_offset for _, bound, batches in answers if bound == log.high_watermark for batch in batches)}",
)

# %%
at_lso, above = (log.read(start, 1_048_576, FetchIsolation.TXN_COMMITTED) for start in (11, 14))
erratum(
    "Reading at LEO gives an empty answer: the first check of the method",
    "so it was in 2.5.0; since 2.5.1 the range (log start to LEO) is checked first, then the start is compared with the reader's own bound, "
    "which may be far below LEO",
    f"LEO {log.log_end_offset}, bound LSO {log.last_stable_offset}. From 11, at the bound: empty, with the bound's place "
    f"{at_lso.fetch_offset_metadata}; from 14, above it: empty, with the place of the batch that holds 14, {above.fetch_offset_metadata}",
)

# %% [markdown]
# ### The walk
#
# Three methods, one inside the other: `Log.read` finds the bound, `LocalLog.read` the segment, `LogSegment.read` the bytes.

# %%
step_through(
    log.read, 10, 1_048_576, FetchIsolation.TXN_COMMITTED,
    watch=log,
    into={"Log.read", "LocalLog.read", "LogSegment.read"},
    locals_of_interest={"max_offset_metadata", "segment", "max_position", "start", "adjusted_max_size", "fetch_size", "offset_metadata"},
).play()  # fmt: skip

# %% [markdown]
# The bound is not a number but a **place**: `(offset=11, segment=[9:95])`. In step 4 of `LocalLog.read` byte 95 becomes the end of what may be
# read, without a look at any record. That is why marks carry their position with them.
#
# ### When a segment has nothing
#
# Compaction takes records out, and what is left may have holes. This follower has three records from 0 on, and three from 20 on, in two segments:

# %%
holes = log_after(Workload.parse("""
config internal.segment.bytes=150
append_as_follower [3x10]
append_as_follower [3x10 offset=20]
"""))
print("segments", [segment.base_offset for segment in holes.log_segments], " LEO", holes.log_end_offset)

# %%
predict(
    "read-from-5-begins",
    "At which offset does the answer to a read from 5 begin? (a number, or the name of an exception)",
    ___,
    lambda: holes.read(5, 1_048_576, FetchIsolation.LOG_END).fetch_offset_metadata.message_offset,
)

# %%
walk = step_through(
    holes.read, 5, 1_048_576, FetchIsolation.LOG_END,
    into={"LocalLog.read"}, locals_of_interest={"segment", "max_position"},
)  # fmt: skip
walk.play()

# %% [markdown]
# Steps 4 and 5 run twice: the loop of step 3 goes on to the next segment. The same holes are the reason why the difference between two offsets is not a number of messages. (Nobody has told this
# follower of a high watermark, so HW is 0 and all of its log lies above.)

# %%
erratum(
    "LEO − HW is the number of messages between high watermark and log end",
    "it counts offsets. Markers take offsets and are no messages; compacted logs have holes",
    f"LEO − HW = {holes.log_end_offset - holes.high_watermark}, messages: "
    f"{sum(1 for segment in holes.log_segments for batch in segment.log.batches() for _ in batch)}",
)

# %% [markdown]
# ### From an offset to a byte
#
# A log with a longer index: 60 batches, of 1, 2, 3, 4, 1, 2, … records from offset 0 on. To find offset 106, first the index is searched by halving…

# %%
many = fresh_log({"index.interval.bytes": 300})
for number in range(60):
    many.append_as_leader(records(1 + number % 4, first=many.log_end_offset), leader_epoch=0)
search_index(many.active_segment.offset_index, 106)

# %% [markdown]
# …then the file is scanned from the byte that the entry names. How many batches does the scan look at before it has the one with 106?

# %%
predict(
    "batches-scan-looks-at",
    "How many batches does the scan look at (the one found included)?",
    ___,
    lambda: sum(batch.base_offset <= 106 for batch in many.active_segment.log.batches_from(4140)),
)

# %%
entry = many.active_segment.offset_index.lookup(106)
scan = [(b.base_offset, b.last_offset) for b in many.active_segment.log.batches_from(entry.position) if b.base_offset <= 106]
print("from byte", entry.position, "on:", scan)
print("found:", tuple(many.active_segment.translate_offset(106)))
print("bytes between entries, unless you say otherwise: more than", fresh_log().config.index_interval)

# %% [markdown]
# (Offset, byte and size of the batch.) The scan reads headers of batches, never their records, and `index.interval.bytes` says how far it has to go.
#
# ### How much
#
# The limit is your `max.partition.fetch.bytes`, or what the partitions before it have left of `fetch.max.bytes`, if that is less. It counts bytes, and
# bytes know nothing of batches. We read from 9, where batches of 95 bytes lie, with a limit of 120:

# %%
predict(
    "bytes-read-from-9",
    "How many bytes has the answer to read(9, 120, LOG_END, True)?",
    ___,
    lambda: log.read(9, 120, FetchIsolation.LOG_END).records.size_in_bytes,
)

# %% [markdown]
# The reader drops what is left over (frame 1). And if not even the first batch fits? Frames 2 and 3 read from 4 with a limit of 50, with
# `min_one_message` and without it; in frame 4 the partitions before it have left nothing:

# %%
limits = ReadLanes(log, "Limits")
limits.read(9, 120).read(4, 50).read(4, 50, min_one_message=False).read(4, 0, min_one_message=False)
limits.play(at=1)

# %%
one = log.read(4, 1, FetchIsolation.LOG_END)
erratum(
    "minOneMessage returns at least one message",
    "at least one whole batch, however large; and a fetch request allows it only until its first partition with data",
    f"limit 1 byte: {one.records.size_in_bytes} bytes, {sum(1 for batch in one.records.batches() for _ in batch)} messages",
)

# %% [markdown]
# Without that rule a consumer whose limit is below the largest batch would be stuck for ever. Where the first batch itself is cut (frame 3), the
# answer is marked `first_entry_incomplete`, and the broker sends an empty one in its place.
#
# ### What was aborted
#
# `read_committed` has a second half. The bound says that everything below it is *decided*; the list says what was decided against.
# It comes from the transaction index of the segment in which the **marker** lies:

# %%
for segment in log.log_segments:
    for entry in segment.txn_index.all_aborted_txns():
        print("segment", segment.base_offset, "lists producer", entry.producer_id, "from", entry.first_offset, "to", entry.last_offset,
              " last stable offset then", entry.last_stable_offset)  # fmt: skip

# %% [markdown]
# There are four segments. The records of `read(0, …, TXN_COMMITTED)` come from segment 0 alone, they end below offset 5, and the answer names
# producer 7, as we saw. The indexes are asked from that segment on, one after the other, until an entry's last stable offset is not below
# the end of what was read: then all of that was decided when the entry was written. How many segments are asked?

# %%
walk = step_through(
    log.read, 0, 1_048_576, FetchIsolation.TXN_COMMITTED,
    into={"LocalLog._add_aborted_transactions", "TransactionIndex.collect_aborted_txns"},
    locals_of_interest={"upper_bound_offset", "aborted_txn", "found", "higher"},
)  # fmt: skip

# %%
predict(
    "transaction-indexes-asked",
    "read(0, …, TXN_COMMITTED) is answered from segment 0. How many segments' transaction indexes are asked?",
    ___,
    lambda: sum(frame.returned for frame in walk.frames if frame.method.name == "TransactionIndex.collect_aborted_txns"),
)

# %%
walk.play()

# %% [markdown]
# Two indexes were asked, the one of segment 0 and the one of segment 5 (step 2 is a generator: it runs only when step 3 draws from it, so its calls stand
# last). The entry in segment 5 says by its *last_stable_offset* that all below 5, the end of what was read, was decided when it
# was written: no later index can add to that, and segment 9 is not asked. What overlaps with the offsets that were read is named. Now the consumer's
# part: it walks the batches, and from a producer's first offset on the list up to its abort marker it skips that producer's batches.

# %%
for start in (0, 5):
    found = log.read(start, 1_048_576, FetchIsolation.TXN_COMMITTED)
    named = [tuple(txn) for txn in found.aborted_transactions]
    print("list:", named, " fates:", [(record.offset, fate) for record, fate in delivered(found, start)])

# %% [markdown]
# The second list names producer 7 although none of its records is in the answer; its marker is. The list may name more producers than needed, but never fewer.
#
# ### Out of range
#
# The story's log once more. This time the offsets below 6 are deleted (DeleteRecords raised the log start).

# %%
log = log_after(Workload.parse(STORY))
log.maybe_increment_log_start_offset(6, Reason.CLIENT_RECORD_DELETION)
print("log start", log.log_start_offset, " segments", [segment.base_offset for segment in log.log_segments])

# %%
predict(
    "deleted-record-still-sent",
    "Is the deleted record 5 still sent to somebody? (True or False)",
    ___,
    lambda: 5 in [record.offset for batch in log.read(6, 1_048_576, FetchIsolation.LOG_END).records.batches() for record in batch],
)

# %%
ReadLanes(log, "Log start 6").read(5).read(6).read(17).read(18).play(at=0)

# %% [markdown]
# A deleted record may still be sent, for the file is cut off nowhere: the batch that holds 6 begins at 5, and the consumer drops what it did not
# ask for. A start below the log start or above LEO is refused with `OffsetOutOfRangeException`. A consumer then does
# what its `auto.offset.reset` says: begin at the earliest offset, at the latest, since 4.0 at a time that lies a given duration back
# (`by_duration`), or hand the error to the application (`none`). A follower has no such setting: it asks its leader where the log begins
# and ends, and truncates or begins anew.
#
# May a follower be read from? The older text says that only the leader serves reads.

# %%
follower = fresh_log(name="follower-0")
replicate(quiet, follower, up_to=3)
follower.maybe_update_high_watermark(quiet.high_watermark)
seen = [record.offset for record, _ in delivered(follower.read(0, 1_048_576, FetchIsolation.HIGH_WATERMARK), 0)]
erratum(
    "Only the leader serves reads",
    "since 2.4 a consumer may read from a follower in its own rack (preferred read replica), up to that follower's HW",
    f"a follower's log, read with HIGH_WATERMARK: offsets {seen}",
)

# %% [markdown]
# ### By timestamp
#
# *Everything since noon* asks for an offset. Back to the broker's orders, a minute apart:

# %%
orders = copied_log("data/orders-0", {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1})
first = next(orders.log_segments[0].log.records()).timestamp
step_through(
    orders.fetch_offset_by_timestamp, first + 40 * 60_000 + 1,
    into={"LogSegment.find_offset_by_timestamp"}, locals_of_interest={"timestamp_offset", "position"},
).play()  # fmt: skip

# %%
for name, timestamp in (("earliest", -2), ("latest", -1), ("largest timestamp", -3), ("in 1970", 0), ("tomorrow", first + 86_400_000)):
    found = orders.fetch_offset_by_timestamp(timestamp)
    print(f"{name:18}", found and (found.offset, found.timestamp))

# %% [markdown]
# (Offset and timestamp. *Earliest* and *latest* are marks and not records: −1. *Latest* is the log end here; a broker gives a consumer its own bound, HW
# or LSO.) Timestamps come from producers, and need not be in order. Here are three records: at noon, 5 seconds later, 2 seconds later.

# %%
mixed = fresh_log()
noon = mixed.time.milliseconds()
for milliseconds in (0, 5000, 2000):
    mixed.append_as_leader(records(1, timestamp=noon + milliseconds), leader_epoch=0)

# %%
predict(
    "offset-found-by-timestamp",
    "Which offset does fetch_offset_by_timestamp(noon + 2000) find?",
    ___,
    lambda: mixed.fetch_offset_by_timestamp(noon + 2000).offset,
)

# %% [markdown]
# Offset 1, the record of noon + 5000: the first, by offset, that is **not older**. Offset 2 has exactly that timestamp, but comes after it. Whoever
# reads from the answer on misses nothing of that time or later, and may get what is older in between.
#
# ### A view of the file
#
# What came back from all these reads? Not bytes:

# %%
log = log_after(Workload.parse(STORY))
view = log.read(6, 1_048_576, FetchIsolation.HIGH_WATERMARK).records
print(type(view).__name__, "of", view.file.name, "from byte", view.start, "to", view.end)

# %%
diagram("read_file")

# %% [markdown]
# `write_to` tells the kernel which bytes of which file go to which socket. They never enter the program. Here are both ends of a socket pair, to watch it:

# %%
import socket

sender, receiver = socket.socketpair()
walk = step_through(view.write_to, sender, 0, view.size_in_bytes, into={"FileRecords.write_to", "FileChannel.transfer_to"})
received = receiver.recv(4096)
print(*walk.frames[-2:], sep="\n")
print(len(received), "bytes received, the file's own:", received == view.file.read_bytes()[view.start : view.end])

# %% [markdown]
# That is **zero copy**, and it explains the rest of this lesson: whole batches, compressed as the producer sent them, aborted records and markers
# among them. To leave one out the broker would have to touch the bytes. (With TLS it has to, and zero copy is gone.)
#
# A view is fixed when it is made. Does it grow with the file, and what if the file is cut underneath it? (Three names, if you think of an exception:
# `EOFException`, `OffsetOutOfRangeException`, and the general one of the storage code, `KafkaException`.)

# %%
view = log.read(15, 1_048_576, FetchIsolation.LOG_END).records
log.append_as_leader(records(1), leader_epoch=0)
print("view:", view.size_in_bytes, "bytes, file:", view.file.stat().st_size, "bytes")
log.truncate_to(15)
print("view:", view.size_in_bytes, "bytes, file:", view.file.stat().st_size, "bytes")

# %%
predict(
    "write-to-sender-now",
    "What does view.write_to(sender, 0, view.size_in_bytes) do now? (a number of bytes, or the name of an exception)",
    ___,
    lambda: view.write_to(sender, 0, view.size_in_bytes),
)

# %% [markdown]
# Neither 95 bytes nor none, but a `KafkaException`: *Size of FileRecords … has been truncated during write: old size 95, new size 0*. The reader
# was promised bytes, and they are gone. Kafka's `FileRecords.writeTo` throws the same; the broker closes that connection, and the client
# has to connect and ask again.
# Only the length is checked: once as much has been appended again, different bytes go out.

# %%
log.append_as_leader(records(2, first=90), leader_epoch=1)
print(view.write_to(sender, 0, view.size_in_bytes), "bytes sent, of the batch that was written there afterwards")

# %% [markdown]
# ### What the broker adds
#
# `Log.read` is not the last word. `Partition.fetchRecords` calls it for every fetch and hands on more than the records:

# %%
from minikafka.cluster.log_read_info import LogReadInfo

print(*LogReadInfo._fields, sep="\n")

# %% [markdown]
# The four marks are noted **before** the read. A record that is appended meanwhile must not count against a follower: it asked for everything
# that there was. The marks travel in the response, so a follower learns the leader's high watermark and log start with each fetch.
# `diverging_epoch` is for a follower whose log differs from the leader's: it gets no records, but an epoch and the offset at which that epoch ends on the
# leader; from these it works out where to cut (the lesson *Replication and leader epochs*).

# %% [markdown]
# ## 5. Three witnesses
#
# The story once more, with consumers in it. `consume` gives the offsets that an application sees. Spark's rule for records of transactions is one
# sentence; plain records need no marker, only the second half holds for them:

# %%
from minikafka.witness.log.queries import committed

print(committed.rule)

# %%
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
agree(ours, spark, kafka)

# %%
for operation in (4, 8, 12, 13):
    print(workload.operations[operation], "→", spark.value(operation, "result"))

# %% [markdown]
# And the exercise of the older text: how many messages lie between HW and LEO? By code, by Spark, by Kafka:

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

# %% [markdown]
# Now a bug is planted in minikafka: aborted transactions are looked up in the index of the segment that was read, and in no other. After
# which operation (counted from 0) will the witnesses differ first, and how many of the other two contradict minikafka there?

# %%
with planted("aborted transactions are looked up in one segment"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "aborted-list-missed-after",
    "After which operation is the list missed first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "consumer-view-contradicted-by",
    "About what that consumer sees, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Read: rebuild](06-read-rebuild.ipynb), five functions and three rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | bounds, order of checks, exceptions, the place that an answer names | readers beside a writer are safe by Python's lock, not by volatile fields | the fetch request: many partitions, one limit for all, waiting for `fetch.min.bytes` |
# | whole batches first, the cut at the limit, `min_one_message` | the consumer here is a function, not a client | fetch sessions; reading from tiered storage |
# | the transaction index and its list; views and sendfile | no metrics | a timestamp's answer at the level of the partition: nothing at or above the reader's bound |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. Everything else Spark works out from the workload.
#
# **A question to take along.** A `read_committed` consumer of one partition sees nothing new for ten minutes. A console consumer that reads
# uncommitted sees new records all the time. What do you check first?
#
# <details><summary>One answer</summary>
#
# The last stable offset against the high watermark: if it lags, a transaction is open. `kafka-transactions.sh describe-producers` shows for a partition
# whose it is, and where it began. (`find-hanging` would still be silent: it looks for transactions without a record for 15 minutes, unless told otherwise.)
# One stuck producer holds back all records after its own, whoever wrote them, plain ones too, until `transaction.timeout.ms` aborts
# it. If the two are equal, look at the consumer: it may be skipping a long run of aborted records.
#
# </details>

# %% [markdown]
# ### Card
#
# - The log is the same for everybody. What differs is the bound at which a reader is stopped, and a list of what it must skip.
# - An answer begins with the batch that holds the start, and comes from one segment. The consumer drops what it has not asked for.
# - Aborted records are sent to everybody. A `read_committed` consumer gets a list of the aborted transactions, and skips their records.
# - One open transaction holds back all records after its own from `read_committed` consumers, whoever wrote them.
# - A read gives back a view: a file, a first and a last byte. The kernel sends these bytes, and without TLS they never enter the program.
#
# ![The way of a read](../diagrams/read.svg)
#
# | a read | what it gives |
# |:---|:---|
# | of a follower, `LOG_END` | batches below LEO |
# | of a `read_uncommitted` consumer, `HIGH_WATERMARK` | batches below HW |
# | of a `read_committed` consumer, `TXN_COMMITTED` | batches below LSO, and the list of aborted transactions |
# | with a start from the bound up to LEO | an empty answer; the consumer asks again later |
# | with a start below the log start or above LEO | `OffsetOutOfRangeException` |
# | with a limit below the first batch, and `min_one_message` | that whole batch |

# %% [markdown]
# **Next:** *Loading*: how all of this comes back from a directory of files.
