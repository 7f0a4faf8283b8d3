# %% [markdown]
# # Segments
#
# *How files hold a log, and how records are found and deleted.*
#
# ## 1. The question
#
# **Time:** about an hour to read, an hour and twenty-five minutes to rebuild. **Before:** you know what a topic, a partition and an offset are.
#
# **Afterwards you can decide:** how large a segment should be, why retention has kept data that you thought was gone, and what an
# index costs.
#
# What goes wrong without segments? Two logs get the same ten batches. The first has one file; the second, below, has files of at most 250 bytes. Both must keep 500 bytes or more.

# %%
from minikafka.lab import OffsetRuler, SegmentShelf, ___, copied_log, diagram, erratum, files_of, fresh_log
from minikafka.lab import planted, predict, records, scratch, search_index, step_through, three_witnesses, wake_witnesses

whole, pieces = fresh_log({"retention.bytes": 500}), fresh_log({"retention.bytes": 500, "internal.segment.bytes": 250})
for log in (whole, pieces):
    for number in range(10):
        log.append_as_leader(records(3, first=3 * number), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)
wake_witnesses()
SegmentShelf(pieces, "The log in pieces").snap(f"{pieces.size} bytes in {pieces.number_of_segments} segments").play()

# %%
sizes = whole.size, pieces.size
deleted = whole.delete_old_segments(), pieces.delete_old_segments()

# %%
predict(
    "bytes-whole-keeps",
    "How many bytes does the log in one file keep?",
    ___,
    lambda: whole.size,
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.
#
# (`internal.segment.bytes` is Kafka's `segment.bytes` for tests, without a lower bound. A log deletes only replicated records: the loop's last line says that all are.)

# %%
for log, size, segments in zip((whole, pieces), sizes, deleted):
    print(size, "bytes; segments deleted:", segments, " bytes kept:", log.size, " log start:", log.log_start_offset)

# %% [markdown]
# The log in one file still has its 1120 bytes; the log in pieces kept 672. **Retention deletes whole segments only.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("segments")

# %% [markdown]
# - **Segment:** a run of batches in one `.log` file, with its indexes. **Base offset:** the offset at which a segment
#   begins; it is the name of its files, with 20 digits.
# - **Active segment:** the last one, and the only one that gets appends.
# - **Roll:** begin a new active segment.
# - **Sparse index:** an entry for some batches only. `.index` leads from an offset to a byte, `.timeindex` from a timestamp to an offset.
# - **Retention:** the rules by which the oldest segments are deleted.
# - **Log start:** the first offset that may be read. **Log end** (LEO): the next offset to be written. **High watermark** (HW):
#   below it everything is replicated. Until there are transactions, LSO is the same as HW.
#
# A real broker wrote `data/orders-0`: 90 orders, three in a batch. On the shelf, arrows are index entries. (A later lesson explains `.snapshot`.)

# %%
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
orders = copied_log("data/orders-0", TOPIC)
print(*files_of(orders)[:7], sep="\n")
SegmentShelf(orders, "What the broker left").snap("orders-0, six segments").play()

# %% [markdown]
# ## 3. The rules
#
# 1. Base offsets grow strictly, and no segment begins above the log end.
# 2. A batch lies in the segment with the greatest base offset that is not above the batch's.
# 3. No segment holds more than `segment.bytes` allowed when it was written.
# 4. An index entry names the last offset of a batch and the byte at which that batch begins; both grow strictly.
# 5. The first batch of a segment has no entry: an empty index already says *begin at byte 0*.
#
# (Here `segment.bytes` is 1000.)

# %%
bases = [segment.base_offset for segment in orders.log_segments]
print("rule 1:", bases == sorted(set(bases)) and bases[-1] <= orders.log_end_offset, bases)
ends = [*bases[1:], orders.log_end_offset]
inside = [s.base_offset <= b.base_offset < end for s, end in zip(orders.log_segments, ends) for b in s.log.batches()]
print("rule 2:", all(inside), "for", len(inside), "batches")
print("rule 3:", all(segment.size <= 1000 for segment in orders.log_segments))

# %%
index = orders.log_segments[1].offset_index
entries = [index.entry(number) for number in range(index.entries)]
batches = list(orders.log_segments[1].log.batches())
begins = {sum(b.size_in_bytes for b in batches[:i]): b.last_offset for i, b in enumerate(batches)}
print("rule 4:", all(begins[entry.position] == entry.offset for entry in entries), [tuple(entry) for entry in entries])
print("rule 5:", all(entry.position > 0 for entry in entries))

# %% [markdown]
# ## 4. The source, walked
#
# ### The map: add, replace, remove, ask
#
# `LogSegments` is a sorted map from base offset to segment. For an offset, **floor** is the segment with the greatest base offset at or below it, **lower** the one strictly below it, **higher** the mirror image of lower.

# %%
from minikafka.log.log_segments import LogSegments

segments = LogSegments(orders.topic_partition)
for segment in orders.log_segments:
    segments.add(segment)
predict(
    "higher-segment-of-15",
    "What is the base offset of segments.higher_segment(15)?",
    ___,
    lambda: segments.higher_segment(15).base_offset,
)

# %%
for name in ("floor_segment", "lower_segment", "higher_segment"):
    found = [getattr(segments, name)(offset) for offset in (0, 14, 15, 89)]
    print(f"{name:15}", [segment and segment.base_offset for segment in found])
erratum(
    "higherEntry gives the first segment whose base offset is ≥ the key",
    "ConcurrentSkipListMap.higherEntry, and so LogSegments.higherSegment, is strictly greater",
    f"higher_segment(15) → {segments.higher_segment(15).base_offset}, floor_segment(15) → {segments.floor_segment(15).base_offset}",
)

# %% [markdown]
# `add` **replaces** a segment of the same base offset and returns it. `remove` takes a segment out of the map, but leaves its files.

# %%
replaced = segments.add(orders.log_segments[2])
print("replaced:", replaced.base_offset, " segments:", segments.number_of_segments)
segments.remove(30)
print("left:", segments.base_offsets, " floor_segment(31) now:", segments.floor_segment(31).base_offset)

# %% [markdown]
# With a hole in the map, `floor_segment` returns a segment without the offset. A read then goes on to the next segment without an error (lesson 06b).
#
# ### Rolling
#
# A log that begins at 10 gets 3, 5, 2 and then 10 records. A segment has room for 353 bytes, exactly what the first three batches need.

# %%
log, twin = (fresh_log({"internal.segment.bytes": 353, "index.interval.bytes": 100}) for _ in range(2))
for each in (log, twin):
    each.truncate_fully_and_start_at(10)
ruler = OffsetRuler(log, "Four appends").snap("an empty log that begins at 10")
for count in (3, 5, 2):
    for each in (log, twin):
        each.append_as_leader(records(count), leader_epoch=0)
    ruler.snap(f"{count} records appended, next offset {log.log_end_offset}")
print("next offsets:", [frame.offsets.leo for frame in ruler.frames])
print("segments:", [(segment.base_offset, segment.size) for segment in log.log_segments])

# %% [markdown]
# The base offset stayed 10. Now come 10 records.

# %%
predict(
    "active-segment-base-offset",
    "What is the base offset of the active segment after 10 more records?",
    ___,
    lambda: twin.append_as_leader(records(10), leader_epoch=0) and twin.active_segment.base_offset,
)

# %% [markdown]
# The stepper stops at each numbered step of the methods that decide about the roll.

# %%
walk = step_through(
    log.append_as_leader,
    records(10),
    leader_epoch=0,
    watch=log,
    into={"Log._maybe_roll", "LogSegment.should_roll", "Log.roll", "LocalLog.roll"},
    locals_of_interest={"size", "waited_ms", "reached_roll_ms", "new_offset", "segment"},
)
walk.play()

# %%
ruler.snap("10 records appended: they did not fit").play()

# %% [markdown]
# `size > max_segment_bytes - messages_size` decided: 353 > 353 − 231. The log checks this **before** the write, so no segment grows past the limit. With `>` a segment may be exactly full.

# %%
timed = fresh_log({"segment.ms": 1000})
for milliseconds in (0, 1000, 1001):
    timed.append_as_leader(records(1, timestamp=1_700_000_000_000 + milliseconds), leader_epoch=0)
    print(f"timestamp +{milliseconds:4} ms:", [segment.base_offset for segment in timed.log_segments])
erratum(
    "A log rolls when its segment is full",
    "LogSegment.shouldRoll has five reasons: size, time, offset index full, time index full, offset too far from the base",
    f"segment.ms = 1000: a new segment after {timed.log_segments[0].size} bytes of {timed.config.segment_size}",
)

# %% [markdown]
# The clock did not move: the log compares the incoming timestamp with that of the segment's first batch.
#
# ### The sparse index
#
# `LogSegment.append` decides for each batch whether it gets an index entry.

# %%
log = fresh_log({"index.interval.bytes": 300})
for number in range(40):
    log.append_as_leader(records(1 + number % 4, first=log.log_end_offset), leader_epoch=0)
index = log.active_segment.offset_index
print("batches: 40, bytes:", log.size, " entries:", index.entries, " first:", tuple(index.entry(0)))

# %%
step_through(
    log.append_as_leader,
    records(5, first=log.log_end_offset),
    leader_epoch=0,
    watch=log,
    into={"LogSegment.append"},
    locals_of_interest={"physical_position", "size_in_bytes", "batch"},
).play()

# %% [markdown]
# Step 4 decides; only then step 5 counts the batch's own bytes. So a segment's first batch gets no entry, and *more than* `index.interval.bytes` lie between two entries.
#
# An entry has four bytes for the offset and four for the byte in the `.log`. Rule 4 printed the entries of segment 15: (23, 363) and (29, 729).

# %%
stored = orders.log_segments[1].offset_index.file.read_bytes()
predict(
    "index-entry-stored-number",
    "Segment 15's first entry leads from offset 23 to byte 363. Which number do its first four bytes hold?",
    ___,
    lambda: int.from_bytes(stored[:4], "big"),
)

# %%
from struct import iter_unpack

print("in the file:", [*iter_unpack(">ii", stored)], " the base offset:", orders.log_segments[1].base_offset)
print(f"the greatest number in four bytes with a sign: {2**31 - 1:,}")

# %% [markdown]
# The file holds **relative offsets**: 8 and 14 are 23 and 29 minus the base offset 15. So no offset in a segment may be more than 2,147,483,647 above its base; that is the last of the five reasons to roll.
#
# A search for offset 65 in the log of 40 batches halves the index, then reads the file from the byte found.

# %%
predict(
    "index-has-entry-65",
    "Does the index have an entry for offset 65 (True or False)?",
    ___,
    lambda: 65 in [index.entry(number).offset for number in range(index.entries)],
)

# %%
search_index(index, 65)

# %%
erratum(
    "The index entry is written first, then the data; its key is the first offset of the batch",
    "since 0.10.1 the data is written first. Since 2.0 the key is a last offset: until 4.0.0 (3.9.0) the last one of all batches that were "
    "appended together, since 4.0.1 (3.9.1) that of the batch itself",
    f"batches of segment 15 end at {[b.last_offset for b in orders.log_segments[1].log.batches()]}, index keys are "
    f"{[e.offset for e in entries]}",
)

# %% [markdown]
# ### Retention
#
# Each rule walks from the oldest segment to the first one that it keeps.
#
# **By size.** `retention.bytes` is a lower bound: the oldest segment is deleted only if the rest still has at least that many bytes. The orders take 5479 bytes; 2000 must stay.

# %%
bounded, bounded_twin = (copied_log("data/orders-0", {**TOPIC, "retention.bytes": 2000}) for _ in range(2))
for each in (bounded, bounded_twin):
    each.update_high_watermark(each.log_end_offset)
print("bytes:", bounded.size, " segments:", [segment.size for segment in bounded.log_segments])
diagram("retention")

# %%
predict(
    "segments-retention-deletes",
    "How many of the 6 segments does retention.bytes=2000 delete?",
    ___,
    lambda: bounded_twin.delete_old_segments(),
)

# %%
walk = step_through(
    bounded.delete_old_segments,
    watch=bounded,
    into={"Log.delete_old_segments", "Log.deletable_segments", "Log._delete_segments"},
    locals_of_interest={"deleted", "upper_bound_offset", "deletable", "number_of_segments", "first_to_stay"},
)
walk.play()

# %% [markdown]
# The log start went up **before** the segments left the map: a reader in between gets *out of range*, and meets no hole. The log renames the files, and deletes them `file.delete.delay.ms` later:

# %%
print(sum(name.endswith(".deleted") for name in files_of(bounded)), "files renamed;", *files_of(bounded)[:2])
bounded.time.sleep(60_000)
print(sum(name.endswith(".deleted") for name in files_of(bounded)), "left a minute later;", files_of(bounded)[0])
erratum(
    "Segments are deleted first, then the log start offset is updated; policies run in the order time, size, log start",
    "4.3.0 moves the log start first, and the order of the policies is log start, size, time",
    " → ".join(f.step.text for f in walk.frames if f.method.name in ("Log.delete_old_segments", "Log._delete_segments")),
)

# %% [markdown]
# **By time.** A segment is as old as its *youngest* record, and is deleted when that is older than `retention.ms`; exactly as old is not enough. Below 0, `retention.ms` and `retention.bytes` set no limit. Four segments, and 7 days:

# %%
day = 86_400_000
aged = fresh_log({"retention.ms": 7 * day})
for age in (10, 1, 9, 0):
    aged.append_as_leader(records(2, timestamp=aged.time.milliseconds() - age * day), leader_epoch=0)
    aged.roll()
aged.update_high_watermark(aged.log_end_offset)
print("deleted:", aged.delete_old_segments(), " left:", [segment.base_offset for segment in aged.log_segments])
print("a producer's clock may be ahead by at most", aged.config.message_timestamp_after_max_ms, "ms")

# %% [markdown]
# The third segment is 9 days old and stays: the walk stopped at the second. A record from the future stops retention until `retention.ms` after its timestamp. A leader refuses records that are further ahead
# than `message.timestamp.after.max.ms`, an hour by default.
#
# Before all segments are deleted, the log begins a new one:

# %%
emptied = fresh_log({"retention.bytes": 0})
emptied.append_as_leader(records(2), leader_epoch=0)
emptied.update_high_watermark(emptied.log_end_offset)
print("deleted:", emptied.delete_old_segments(), " left:", [segment.base_offset for segment in emptied.log_segments])

# %% [markdown]
# **By log start.** DeleteRecords raises the log start; segments wholly below it are deleted at the next round.

# %%
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason as Reason

bounded.maybe_increment_log_start_offset(77, Reason.CLIENT_RECORD_DELETION)
print("log start:", bounded.log_start_offset, " segments:", [segment.base_offset for segment in bounded.log_segments])
print("deleted:", bounded.delete_old_segments(), " left:", [segment.base_offset for segment in bounded.log_segments])

# %% [markdown]
# Segment 75 still holds offset 77, so it stays.
#
# No rule deletes anything at or above the **high watermark**. This log's was never raised:

# %%
stuck = copied_log("data/orders-0", {**TOPIC, "retention.bytes": 2000})
print("high watermark:", stuck.high_watermark, " deleted:", stuck.delete_old_segments())

# %% [markdown]
# ## 5. Three witnesses
#
# **minikafka** runs the workload. **Spark** derives the results from its lines by queries. **Apache Kafka**, the real `UnifiedLog` 4.3.0, runs inside Spark's JVM with the same clock.
# (`[3x10]` is a batch of 3 records with values of 10 bytes, `leo` the log end.)

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config internal.segment.bytes=353 index.interval.bytes=100 retention.bytes=300
truncate_fully_and_start_at 10
append_as_leader [3x10]
append_as_leader [5x10]
append_as_leader [2x10]
append_as_leader [10x10]
append_as_leader [4x10]
update_high_watermark leo
delete_old_segments
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %% [markdown]
# Spark's missing values do not count as agreement.
#
# We plant a bug: minikafka rolls with `>=` where Kafka has `>`. (`config` is not an operation; operation 0 is
# `truncate_fully_and_start_at 10`.)

# %%
with planted("a segment rolls when it would be exactly full"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)
predict(
    "segments-differ-after",
    "After which operation do the segments differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "segments-contradicted-by",
    "How many witnesses contradict minikafka there (1 or 2)?",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# ## 6. Exercises
#
# [Segments: rebuild](02-segments-rebuild.ipynb) has four functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | base offsets, sizes, index entries, file names, to the byte | the map is two sorted lists, copied at each change, not a concurrent skip list | tiered storage, where a segment must be uploaded first |
# | the five reasons to roll, the three rules of retention, their order | no metrics | compaction, which replaces segments |
# | renaming, then deleting later | | jitter, which spreads the rolls of many partitions |
#
# *What Spark is told:* the size of each batch, from the record builder.
#
# **A question to take along.** A partition has 200 GB with `retention.ms` of one day, and the oldest segment's
# file is three weeks old. What do you check first?
#
# <details><summary>One answer</summary>
#
# The largest timestamp in the oldest segment (`minikafka dump-log` prints the batches). One record from the future stops the walk there. Then the high watermark: with fewer in-sync replicas than `min.insync.replicas` it stands still. Then whether the topic is only compacted.
#
# </details>

# %% [markdown]
# ### Card
#
# - Retention deletes whole segments: a file is deleted as a whole or not at all.
# - Only the active segment, the last one, is appended to. The log asks before the write whether it must roll, so no segment grows past `segment.bytes`.
# - The indexes are sparse: an entry comes only after more than `index.interval.bytes`. An entry of the `.index` has two numbers of four bytes: the last offset of a batch, relative to the segment's base offset, and the byte at which this batch begins.
# - Retention asks about the oldest segment first and stops at the first one that must stay. Nothing at or above the high watermark is deleted.
# - A deletion raises the log start first, then renames the files, and deletes them `file.delete.delay.ms` later.
#
# ![The rules of retention](../diagrams/retention.svg)
#
# | what happens | when |
# |:---|:---|
# | the active segment rolls by size | the incoming records do not fit into what is left of `segment.bytes`; exactly full is allowed |
# | it rolls by time | an incoming timestamp is more than `segment.ms` after the segment's first batch |
# | it rolls by its indexes | the offset index or the time index is full |
# | it rolls by offset | an offset would be too far above the base for an index entry |
# | the oldest segment is deleted by log start | it lies wholly below the log start |
# | it is deleted by size | what stays still has at least `retention.bytes` |
# | it is deleted by time | its youngest record is older than `retention.ms` |

# %% [markdown]
# **Next:** *High watermark*, the bound that stopped retention above.
