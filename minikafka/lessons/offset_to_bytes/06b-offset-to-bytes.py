# %% [markdown]
# # From an offset to bytes
#
# *A reader names an offset and a number of bytes. The broker answers with a piece of a file.*
#
# ## 1. The question
#
# **Time:** about fifty minutes to read, forty minutes to rebuild. **Before:** *Segments* and *Append*.
#
# **Afterwards you can decide:** what your fetch limit limits, where a consumer that asks by time begins, and what a broker does with the bytes of a fetch.
#
# A reader takes at most 150 bytes of a partition with each fetch (a consumer by `max.partition.fetch.bytes`, a follower by
# `replica.fetch.max.bytes`), and it can use whole batches only. One batch of the log below is larger than that. What goes wrong if the limit holds for this batch, too?

# %%
from minikafka.lab import SegmentShelf, ___, copied_log, diagram, erratum, fresh_log, log_after, planted, predict
from minikafka.lab import records, scratch, search_index, step_through, three_witnesses, wake_witnesses
from minikafka.lessons.offset_to_bytes.fetches import positions

orders = fresh_log({"index.interval.bytes": 200}, name="orders-0")
for count, size in ((3, 10), (2, 10), (2, 10), (2, 10), (2, 10), (2, 10), (2, 120), (2, 10)):
    orders.append_as_leader(records(count, size, first=orders.log_end_offset), leader_epoch=0)
wake_witnesses()
SegmentShelf(orders, "The file of orders-0").snap("eight batches, by their offsets").play()

# %%
predict(
    "fetches-without-exception-end",
    "No answer may have more than 150 bytes. The reader begins at 0 and fetches ten times. For which offset does it ask next?",
    ___,
    lambda: positions(orders, 150, fetches=10, min_one_message=False)[-1],
)

# %%
from minikafka.lessons.offset_to_bytes.answer_on_file import AnswersOnFile
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.witness import Workload, agree, minikafka_log, run

print("without:", positions(orders, 150, fetches=10, min_one_message=False))
print("with:   ", positions(orders, 150, fetches=10, min_one_message=True))

# %% [markdown]
# With `min_one_message` the first batch of an answer may exceed the limit. Without it the reader stands still for good, and never gets what
# lies behind the large batch. **An offset leads to a batch, and the batch to a byte. From that byte on the limit counts bytes; only the first
# batch may exceed it.**
#
# (A `___` is a blank for you to fill. Spark and Apache Kafka have been starting since the first cell; part 5 compares them with minikafka.)
#
# ## 2. The picture

# %%
diagram("read_bytes")

# %% [markdown]
# - **Start:** the offset that a reader asks for. **Limit:** the most bytes that it wants of this partition. In a fetch of several partitions it is
#   what the partitions before this one have left of `fetch.max.bytes`, if that is less.
# - **Index entry:** the last offset of a batch, and the byte at which this batch begins. There is one for every few kilobytes of the file, not for every batch.
# - **Scan:** reading the headers of batches, one after the other, from an entry's byte on.
# - **View:** a file, a first byte, and the byte behind the last one.
#
# How far a reader may read: see *Read isolation*. Here each reader is a follower (`LOG_END`), whose bound is the log end. The log of this lesson
# has 60 batches of 1, 2, 3, 4, 1, 2, … records:

# %%
many = fresh_log({"index.interval.bytes": 300})
for number in range(60):
    many.append_as_leader(records(1 + number % 4, first=many.log_end_offset), leader_epoch=0)
print("LEO", many.log_end_offset, " file:", many.size, "bytes, index entries:", many.active_segment.offset_index.entries)
print("bytes between entries by default: more than", fresh_log().config.index_interval)

# %% [markdown]
# ## 3. The rules
#
# 1. An answer begins with the first byte of the batch that holds the start (in a hole: of the next batch).
# 2. An answer has at most as many bytes as the limit says. With `min_one_message` its first batch is whole, however large.
# 3. The bytes of an answer are those of the file, unchanged.

# %%
reads = [(start, limit) for start in range(many.log_end_offset) for limit in (1, 120, 1_048_576)]
views = [(start, limit, many.read(start, limit, FetchIsolation.LOG_END).records) for start, limit in reads]
answers = [(start, limit, view, list(view.batches())) for start, limit, view in views]
file = many.active_segment.log.file.read_bytes()
print("rule 1:", all(batches[0].base_offset <= start <= batches[0].last_offset for start, _, _, batches in answers))
print("rule 2:", all(view.size_in_bytes <= max(limit, batches[0].size_in_bytes) for _, limit, view, batches in answers))
print("rule 3:", all(view.read(0, view.size_in_bytes) == file[view.start : view.end] for _, _, view, _ in answers))

# %% [markdown]
# ## 4. The source, walked
#
# ### From an offset to a byte
#
# A read finds offset 106 in two steps: a binary search in the index, then a scan of the file from the entry's byte.

# %%
search_index(many.active_segment.offset_index, 106)

# %%
predict(
    "batches-scan-looks-at",
    "How many batches does the scan look at, including the one with 106?",
    ___,
    lambda: sum(batch.base_offset <= 106 for batch in many.active_segment.log.batches_from(4140)),
)

# %%
entry = many.active_segment.offset_index.lookup(106)
scan = [(b.base_offset, b.last_offset) for b in many.active_segment.log.batches_from(entry.position) if b.base_offset <= 106]
print("from byte", entry.position, "on:", scan)
print("found (offset, byte, size of the batch):", tuple(many.active_segment.translate_offset(106)))

# %% [markdown]
# The scan reads batch headers, never records. Now a reader asks for 107, which lies *inside* a batch, with a limit of 300 bytes:

# %%
step_through(
    many.read, 107, 300, FetchIsolation.LOG_END,
    into={"LogSegment.read", "FileRecords.search_for_offset_from_position"},
    locals_of_interest={"start", "base_offset", "offset_metadata", "adjusted_max_size", "fetch_size"},
).play()  # fmt: skip

# %% [markdown]
# Base offsets alone do not decide. The scan meets the batch that begins at 110, looks at the last offset of the batch before, and takes that one, from 106 on.
# The reader drops record 106: it has not asked for it.
#
# ### When a segment has nothing
#
# Compaction removes records, and leaves holes between offsets. This follower has three records from 0 on and three from 20 on:

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
print("the answer begins at", holes.read(5, 1_048_576, FetchIsolation.LOG_END).fetch_offset_metadata)

# %% [markdown]
# Segment 0 has nothing at or above 5, so `LocalLog.read` goes on to the next segment. Because of such holes the difference of two offsets is not a number of messages.
#
# ### How much
#
# Back to `orders`, where the batches that begin at 9 and at 11 have 95 bytes each. We read from 9 with a limit of 120.

# %%
predict(
    "bytes-read-from-9",
    "How many bytes does the answer to read(9, 120, LOG_END, min_one_message=True) have?",
    ___,
    lambda: orders.read(9, 120, FetchIsolation.LOG_END).records.size_in_bytes,
)

# %%
limits = AnswersOnFile(orders, "Limits")
limits.read(9, 120).read(4, 50).read(4, 50, min_one_message=False).read(4, 0, min_one_message=False)
limits.play(at=0)

# %%
one = orders.read(4, 1, FetchIsolation.LOG_END)
erratum(
    "minOneMessage returns at least one message",
    "at least one whole batch, however large. In a fetch request only the first partition with data may have it",
    f"limit 1 byte: {one.records.size_in_bytes} bytes, {sum(1 for batch in one.records.batches() for _ in batch)} messages",
)

# %% [markdown]
# Frame 1: the reader drops the incomplete batch at the end. Frame 2: with `min_one_message` the first batch may exceed the limit.
# Frame 3: without it, the first batch itself is cut. The answer is marked
# `first_entry_incomplete`, and the broker sends an empty one instead. Frame 4: limit 0, as when earlier partitions have used it up.
#
# ### By timestamp
#
# A consumer wants all records since some time, and asks for the offset of the first one. This log, of a broker, has a record each minute; we ask for
# minute 40 and a millisecond:

# %%
minutes = copied_log("data/orders-0", {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1})
first = next(minutes.log_segments[0].log.records()).timestamp
step_through(
    minutes.fetch_offset_by_timestamp, first + 40 * 60_000 + 1,
    into={"LogSegment.find_offset_by_timestamp"}, locals_of_interest={"timestamp_offset", "position"},
).play()  # fmt: skip

# %%
for name, timestamp in (("earliest", -2), ("latest", -1), ("largest timestamp", -3), ("in 1970", 0), ("tomorrow", first + 86_400_000)):
    found = minutes.fetch_offset_by_timestamp(timestamp)
    print(f"{name:18}", found and (found.offset, found.timestamp))
mixed = fresh_log()
noon = mixed.time.milliseconds()
for milliseconds in (0, 5000, 2000):
    mixed.append_as_leader(records(1, timestamp=noon + milliseconds), leader_epoch=0)

# %% [markdown]
# (Each line: offset and timestamp. *Earliest* and *latest* are marks, not records: their timestamp is −1. Here *latest* is the log end; a broker gives a
# consumer its bound, HW or LSO.) Timestamps need not be in order: `mixed` has records of noon, noon + 5000 and noon + 2000 milliseconds.

# %%
predict(
    "offset-found-by-timestamp",
    "Which offset does mixed.fetch_offset_by_timestamp(noon + 2000) find?",
    ___,
    lambda: mixed.fetch_offset_by_timestamp(noon + 2000).offset,
)

# %% [markdown]
# It finds offset 1, of noon + 5000: the first record, by offset, that is **not older** than noon + 2000. A consumer that reads from there misses nothing since noon + 2000.
#
# ### A view of the file
#
# A read returns no bytes but a **view**: a file, a first and a last byte. `write_to` tells the kernel which bytes of which file go to which socket.

# %%
diagram("read_file")

# %%
from minikafka.common.at_hand import socketpair  # socket.socketpair; in a browser, the ends of a pipe

view = many.read(106, 300, FetchIsolation.LOG_END).records
print(type(view).__name__, "of", view.file.name, "from byte", view.start, "to", view.end)
sender, receiver = socketpair()
walk = step_through(view.write_to, sender, 0, view.size_in_bytes, into={"FileRecords.write_to", "FileChannel.transfer_to"})
received = receiver.recv(4096)
print(*walk.frames[-3:], sep="\n")
print(len(received), "bytes received, the file's own:", received == view.file.read_bytes()[view.start : view.end])

# %% [markdown]
# That is **zero copy**. The broker does not touch the bytes: it sends the batches as they are stored, compressed ones too, with aborted records and
# markers. (With TLS it has to touch them: no zero copy.) Now a view of 95 bytes, whose file first grows and then is cut:

# %%
view = orders.read(15, 1_048_576, FetchIsolation.LOG_END).records
orders.append_as_leader(records(1), leader_epoch=0)
print("view:", view.size_in_bytes, "bytes, file:", view.file.stat().st_size, "bytes")
orders.truncate_to(15)
print("view:", view.size_in_bytes, "bytes, file:", view.file.stat().st_size, "bytes")
written = step_through(view.write_to, sender, 0, view.size_in_bytes)

# %%
predict(
    "write-to-sender-now",
    "What does view.write_to(sender, 0, view.size_in_bytes) give now? (the number of bytes sent, 'EOFException', 'KafkaException' or 'OffsetOutOfRangeException')",
    ___,
    lambda: type(written.raised).__name__ if written.raised else written.result,
)

# %%
orders.append_as_leader(records(2, first=90), leader_epoch=1)
print(view.write_to(sender, 0, view.size_in_bytes), "bytes sent: those of the batch that was written there afterwards")

# %% [markdown]
# The first `write_to` raises a `KafkaException`: *Size of FileRecords … has been truncated during write: old size 95, new size 0*. Kafka's `FileRecords.writeTo` throws the same.
# The broker closes that connection, and the client connects and asks again. `write_to` checks only the length: when as many bytes have been appended again, it sends these other bytes.
#
# ## 5. Three witnesses
#
# From the lines Spark works out which offsets exist, and how many records each `count` finds.

# %%
workload = Workload.parse("""
config index.interval.bytes=100
append_as_leader [3x10]
append_as_leader [5x10]
append_as_leader [2x10]
append_as_leader [4x10]
count 3 10
read 3 max_length=200
read 5 max_length=200
count 5 10
""")
ours, spark, kafka = three_witnesses(workload, only=["counts"])
for operation in range(4, 8):
    print(f"{workload.operations[operation]!s:21} Spark: {spark.value(operation, 'result')!s:10} minikafka: {ours.value(operation, 'result')}")
agree(ours, spark, kafka)

# %% [markdown]
# Now the planted bug: the scan compares base offsets alone, and takes the first batch that begins at or above the start.

# %%
with planted("a scan compares base offsets alone"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "base-offset-scan-differs",
    "After which operation, counted from 0, does the sick log differ from another witness first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "base-scan-contradicted-by",
    "How many of the other two witnesses contradict minikafka there? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)
print("the last count: minikafka", sick.value(7, "result"), "· Spark", spark.value(7, "result"))

# %% [markdown]
# The sick log lost nothing on disk. It only begins its answer one batch too late, and a consumer that starts inside a batch never gets the rest of that batch.
#
# ## 6. Exercises
#
# In [From an offset to bytes: rebuild](06b-offset-to-bytes-rebuild.ipynb): two functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the way from offset to byte, the cut at the limit, `min_one_message` | no metrics | a fetch of many partitions, one limit for all of them |
# | the search by time; views and sendfile | | how a partition limits a search by time to offsets below the reader's bound; tiered storage |
#
# *What Spark is told:* the lines of the appends and of the counts.
#
# **A question to take along.** Since a producer's `batch.size` was raised, a broker sends nearly twice as many bytes of a topic to its consumers, and they get
# the same records as before. What do you check first?
#
# <details><summary>One answer</summary>
#
# Compare the size of the batches (`minikafka dump-log` prints it) with the consumers' `max.partition.fetch.bytes`. An answer is cut at the limit. If a batch is
# a little larger than half of it, each answer holds one whole batch and most of the next one; the consumer drops that piece and fetches it again.
#
# </details>

# %% [markdown]
# ### Card
#
# - A read finds the segment. The segment's index gives a byte, and a scan of batch headers from there on gives the batch.
# - An answer begins with the batch that holds the start. The reader drops the records before the start.
# - The limit counts bytes: the last batch may be cut, and the reader drops it. Only the first batch may exceed the limit.
# - A search by time finds the first record, in the order of offsets, that is not older.
# - A read gives back a view of one segment: a file, a first and a last byte. Without TLS the kernel sends these bytes, and they never enter the program.
#
# ![From an offset to bytes](../diagrams/read_bytes.svg)
#
# | a read | what it gives |
# |:---|:---|
# | with a start inside a batch | that batch, from its first byte on |
# | with a start in a hole | the next batch, perhaps of the next segment |
# | with a limit inside a batch | the bytes up to the limit, a piece of that batch among them |
# | with a limit below the first batch, and `min_one_message` | that whole batch |
# | with a limit below the first batch, without `min_one_message` | a piece of the first batch; the broker sends an empty answer instead |

# %% [markdown]
# **Next:** *Loading*: how a directory of files becomes a log again.
