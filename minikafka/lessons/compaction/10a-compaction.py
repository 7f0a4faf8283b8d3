# %% [markdown]
# # Compaction
#
# *How a log forgets what was replaced, and nothing else.*
#
# ## 1. The question
#
# **Time:** about an hour to read, forty minutes to rebuild. **Before:** *Segments*; *Producers and transactions*; *Read isolation*.
#
# **Afterwards you can decide:** why a compacted topic is larger than its table, why a cleaner leaves a log alone, and how much memory a cleaner needs.
#
# In a topic of settings, `a`, `b` and `c` are set, then `a` is changed ten times. What goes wrong without compaction? Retention keeps at least the newest 400 bytes and deletes older segments.

# %%
from minikafka.lab import Cleaning, CompactionShelves, SegmentShelf, ___, cleaned_by_both, diagram, erratum, fresh_log, planted
from minikafka.lab import predict, scratch, step_through, three_witnesses, wake_witnesses
from minikafka.lab.stage.tables import rows, table, write

by_size = fresh_log({"internal.segment.bytes": 250, "retention.bytes": 400})
compacted = fresh_log({"internal.segment.bytes": 250, "cleanup.policy": "compact"})
for values in ("a=1 b=1 c=1", *(f"a={number}" for number in range(2, 12))):
    for log in (by_size, compacted):
        write(log, values)
wake_witnesses()
SegmentShelf(by_size, "A topic of settings").snap(f"{by_size.size} bytes in {by_size.number_of_segments} segments").play()

# %%
for log in (by_size, compacted):
    print(table(log), log.size, "bytes")
deleted = by_size.delete_old_segments()

# %%
predict(
    "settings-after-retention",
    "Retention has run. How many of the three settings does a consumer find?",
    ___,
    lambda: len(table(by_size)),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.
#
# A consumer that reads from the beginning, and replaces each record by a later one of its key, has the table of settings (`table(log)`). Retention shortened one log; compaction now cleans the other. (`write` appends one batch and raises the high watermark to the log end.)

# %%
from minikafka.lessons.compaction.colliding_keys import COLLIDING_KEYS
from minikafka.lessons.compaction.dirty_ratios import dirty_ratios
from minikafka.lessons.compaction.offset_map_slots import OffsetMapSlots, tries
from minikafka.log.cleaner import cleanable_offsets as bounds
from minikafka.log.log_config import LogConfig

Cleaning(compacted).turn()
for log in (by_size, compacted):
    print(table(log), log.size, "bytes")

# %% [markdown]
# `b` and `c` were old, but no newer record replaced them. **Retention forgets what is old. Compaction forgets what is replaced.**
#
# ## 2. The picture

# %%
diagram("compaction")

# %% [markdown]
# - **First dirty offset**, or **cleaner point**: below it lies the **tail**, which has been cleaned; from it to the first uncleanable offset lies the **head**. The file `cleaner-offset-checkpoint` keeps this offset.
# - **First uncleanable offset:** from here on it is too early to clean.
# - **Dirty ratio:** the bytes of the head, divided by those of tail and head.
# - **Offset map:** key → offset of its newest record. The cleaner's memory; its size is fixed.
# - **Tombstone:** a record with a key and no value. It deletes the key. Unless replaced, it stays at least until its **delete horizon** (◆; next lesson).
#
# ## 3. The rules
#
# 1. A record that stays keeps its offset, its key and its value, and records keep their order.
# 2. After a cleaning no key has two records below the cleaner point.
# 3. Reading the committed records of the log from its beginning gives the same table after a cleaning as before.
# 4. A cleaning changes nothing at or above the first uncleanable offset.
#
# (`-b` writes a tombstone of `b`. `Cleaning(log).turn()`: a cleaner cleans the dirtiest of its logs.)

# %%
SMALL = {"cleanup.policy": "compact", "internal.segment.bytes": 260, "min.cleanable.dirty.ratio": 0.1}
settings = fresh_log(SMALL)
for batch in ("a=1 b=1", "c=1 a=2", "-b d=1", "a=3 e=1"):
    write(settings, batch)
write(settings, "g=1 a=4", roll=True)
write(settings, "f=1 a=5")
before, known, active = rows(settings), table(settings), settings.active_segment.log.file.read_bytes()

# %%
cleaning, shelves = Cleaning(settings), CompactionShelves(settings, "Three segments and a cleaning")
turn = shelves.around("first turn", cleaning.turn)
after = rows(settings)
keys = [key for offset, key, _ in after if offset < turn.end]
print("rule 1:", [row for row in before if row in after] == after)
print("rule 2:", len(keys) == len(set(keys)), keys)
print("rule 3:", table(settings) == known, known)
print("rule 4:", settings.active_segment.log.file.read_bytes() == active)
shelves.play()

# %% [markdown]
# Above is the log before, below the log after. `a` still has two records: the active segment is not cleaned, and its records replace nothing.
#
# ## 4. The source, walked
#
# ### From where to where
#
# This log was never cleaned: four segments of four records. Since offset 9 a transaction is open.

# %%
prices = fresh_log({"cleanup.policy": "compact"}, name="prices-0")
write(prices, "a=1 b=1 c=1 d=1", roll=True)
write(prices, "a=2 b=2 c=2 d=2", roll=True)
write(prices, "a=3")
write(prices, "b=3 c=3", producer=7, transaction="open")
write(prices, "d=3", roll=True)
write(prices, "a=4 b=4 c=4 d=4", replicated=False)
print("high watermark", prices.update_high_watermark(14), " log end", prices.log_end_offset, " segments", [segment.base_offset for segment in prices.log_segments])

# %%
predict(
    "first-uncleanable-offset",
    "Which first uncleanable offset does cleanable_offsets return?",
    ___,
    lambda: bounds.cleanable_offsets(prices, None, prices.time.milliseconds()).first_uncleanable_dirty_offset,
)

# %%
cleaning = Cleaning(prices)
walk = step_through(
    cleaning.grab,
    into={"LogCleanerManager.grab_filthiest_compacted_log", "cleanable_offsets"},
    locals_of_interest={"last_clean", "first_dirty_offset", "first_uncleanable_offset", "log_to_clean", "cleanable_logs"},
)
walk.play()

# %%
turn = cleaning.clean(walk.result)
erratum(
    "All segments but the active one are compacted; afterwards the cleaner point is the active segment's base offset",
    "a cleaning may end earlier: at the last stable offset, at records younger than min.compaction.lag.ms, or where the offset map is full. The point is the map's latest offset + 1",
    f"active segment {prices.active_segment.base_offset}, last stable offset {prices.last_stable_offset}, cleaned up to {turn.end}",
)

# %% [markdown]
# A cleaning takes whole segments, so the manager rounds down to a segment's base. One open transaction delays the cleaning of everything after it.
#
# ### Whose turn it is
#
# A log is cleaned at a dirty ratio above `min.cleanable.dirty.ratio`, here 0.3 (default 0.5). Three logs, with base offset and bytes of each segment: of each log the first segment is clean, the last active and empty.

# %%
logs = []
for name, clean, dirty in (("orders", 3000, 900), ("users", 9000, 4000), ("prices", 300, 400)):
    logs.append(fresh_log({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.3}, name=f"{name}-0"))
    write(logs[-1], f"a={'x' * clean}", roll=True)
    Cleaning(logs[-1]).turn()
    write(logs[-1], f"b={'x' * dirty}", roll=True)
    print(f"{name:7}", [(segment.base_offset, segment.size) for segment in logs[-1].log_segments])
print("default ratio:", fresh_log().config.min_cleanable_ratio)
grabbed_first = Cleaning(*logs).grab().log.name

# %%
predict(
    "log-grabbed-first",
    "Which log does the cleaner take first? ('orders-0', 'users-0' or 'prices-0')",
    ___,
    lambda: grabbed_first,
)

# %%
bars = dirty_ratios(*logs)
print("cleaned, in this order:", *(turn.log for turn in iter(Cleaning(*logs).turn, None)))
bars

# %% [markdown]
# ### The offset map
#
# The map is one block of memory with slots of 24 bytes: an MD5 digest of the key, and an offset. (`log.cleaner.dedupe.buffer.size`: the blocks of all cleaner threads together.) The digest's first four bytes choose the slot. If another key has it, the next **try** takes four bytes from one byte later on.
#
# A map of 8 slots gets `a`, `b`, `c`, `d`, then `e`. Printed: the slots of the first four, and of `e`'s first four tries.

# %%
slots = OffsetMapSlots(8)
print({key: slots.put(key, offset) for offset, key in enumerate("abcd")}, " e:", tries("e", 8))
print(slots.map.slots, "slots of", slots.map.BYTES_PER_ENTRY, "bytes")

# %%
predict(
    "slot-of-e",
    "Into which slot does e go?",
    ___,
    lambda: slots.put("e", 4),
)

# %%
probed = OffsetMapSlots(8)
for offset, key in enumerate("abcdeag"):
    probed.put(key, offset)
print("offset of c:", probed.get("c"), " of h:", probed.get("h"))
one, other = COLLIDING_KEYS
probed.map.put(one, 20)
print("two keys, equal:", one == other, " the map has", probed.map.get(one), "for one and", probed.map.get(other), "for the other")
probed.play()

# %% [markdown]
# A key that comes again keeps its slot: `a` has offset 5. `g` needed five tries. `get` stops at the key's digest or at an empty slot, as for `h`. The map cannot tell keys with equal digests apart, such as the two above: one would replace the other.
#
# The cleaner fills only a share of the slots (`log.cleaner.io.buffer.load.factor`), because a fuller map needs more tries. Here a map of 4 slots, 3 of them usable, gets six records:

# %%
from minikafka.log.cleaner.cleaner_config import CleanerConfig

many, twin = (fresh_log({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.3}) for _ in range(2))
for each in (many, twin):
    write(each, "a=1 b=1 a=2 c=1 d=1 a=3", roll=True)
print([(offset, key) for offset, key, _ in rows(many)])
factor = CleanerConfig.of({}).dedupe_buffer_load_factor
print("load factor:", factor, " keys for 8 slots:", int(8 * factor), " for 4:", int(4 * factor))
print(f"memory for a million keys: {1_000_000 * slots.map.BYTES_PER_ENTRY / factor:,.0f} bytes")

# %%
predict(
    "clean-after-one-turn",
    "Up to which offset is this log clean after one turn?",
    ___,
    lambda: Cleaning(twin, slots=4).turn().end,
)

# %%
cleaning = Cleaning(many, slots=4)
for turn in iter(cleaning.turn, None):
    print(f"from {turn.first_dirty} up to {turn.end}:", [(offset, key) for offset, key, _ in rows(many)])

# %% [markdown]
# `d` found no room, so the turn ended inside a batch. The next turn continues there, and rewrites the log from its beginning. A small map costs time and disk, not correctness. The memory needed depends on the number of keys in the head, not on their length.
#
# ### Two passes and a swap
#
# The log of part 3, clean up to 10, gets two records more and a new segment. Now it has ten records. The horizon of the tombstone at 4 is a day away.

# %%
write(settings, "a=6 c=2", roll=True)
cleaning = Cleaning(settings)
grabbed = cleaning.grab()
print(grabbed, [segment.base_offset for segment in settings.log_segments])
print(*(f"{offset}:{key}={value}" for offset, key, value in rows(settings)))
INTO = {"Cleaner.do_clean", "Cleaner.clean_segments"}
LOCALS = {"segments", "upper_bound_offset", "end_offset", "grouped_segments", "cleaned", "segment"}
walk = step_through(cleaning.cleaner.do_clean, grabbed, settings.time.milliseconds(), into=INTO, locals_of_interest=LOCALS)

# %%
predict(
    "records-second-pass-writes",
    "How many of the ten records does the second pass write?",
    ___,
    lambda: walk.result[1].messages_written,
)

# %%
walk.play()

# %%
print((settings.dir.parent / "cleaner-offset-checkpoint").read_text())
stats = walk.result[1]
erratum(
    "Only the log's head needs work",
    "the map is filled from the head, but head and tail are written anew: all segments from the log's beginning",
    f"read for the map: {stats.map_messages_read} records, read by the second pass: {stats.messages_read}, written: {stats.messages_written}",
)

# %% [markdown]
# Step 7 of `clean_segments` renames files; the lesson *Loading* shows them. Then the cleaner's thread writes the end that `do_clean` returned into the checkpoint. Here no thread ran: the file above is from part 3 (version; number of entries; topic, partition, first dirty offset).
#
# **Groups.** The cleaner joins neighbours that fit into one segment. Here five segments have 97 bytes each; the limit is 180. The cleaning keeps one of four records in each of the first four:

# %%
small, small_twin = (fresh_log({**SMALL, "internal.segment.bytes": 180}) for _ in range(2))
for each in (small, small_twin):
    for key in "bcde":
        write(each, f"a=1 a=2 a=3 {key}=1")
    write(each, "a=4 f=1 f=2 f=3", roll=True)
print([(segment.base_offset, segment.size) for segment in small.log_segments])

# %%
predict(
    "segments-after-one-turn",
    "How many segments, the active one included, does this log have after one turn?",
    ___,
    lambda: Cleaning(small_twin).turn() and small_twin.number_of_segments,
)

# %%
cleaning, shelves = Cleaning(small), CompactionShelves(small, "Groups")
shelves.around("first turn", cleaning.turn)
write(small, "a=5 f=4 g=1", roll=True)
for number, segment in enumerate(small.log_segments[:-1], 1):
    segment.set_last_modified(1000 * number)
shelves.around("second turn", cleaning.turn)
shelves.play()

# %%
erratum(
    "Small files are put into groups of at most 1 GB",
    "the limit is the topic's segment.bytes for the .log files, segment.index.bytes for each kind of index, and 2³¹ − 1 for the span of offsets",
    f"limit {small.config.segment_size} bytes: {[(segment.base_offset, segment.size) for segment in small.log_segments]}",
)

# %%
erratum(
    "A cleaning does not change when a file was last modified",
    "the new file gets the time of the last file of its group",
    f"times of the files: {[segment.last_modified for segment in small.log_segments[:3]]}",
)

# %% [markdown]
# The cleaner joins segments by their sizes *before* the cleaning, so the first turn joined none. (Between the turns the cell set the files' times to 1000, 2000, … ms.)
#
# A compacted topic refuses records without a key. But it may have accepted some before it was compacted:

# %%
keyless = fresh_log()
write(keyless, "=1 a=1", roll=True)
keyless.update_config(LogConfig({"cleanup.policy": "compact"}))
refused = step_through(write, keyless, "=2").raised
turn = Cleaning(keyless).turn()
erratum(
    "Without keys only deletion is possible",
    "a compacted topic refuses records without a key. The first cleaning removes those that it accepted before it was compacted",
    f"an append: {type(refused).__name__}; a cleaning: {turn.stats.invalid_messages_read} without a key, left {rows(keyless)}",
)

# %% [markdown]
# ## 5. Three witnesses
#
# **minikafka**, **Spark** and **Apache Kafka** run the same workload: Spark from the lines alone, Kafka with its own `LogCleaner` at `clean`. The second cell compares every file. (`keys=3`: three keys in turn. Operations count from 0; at operation 6 the high watermark is 6.)

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config cleanup.policy=compact min.cleanable.dirty.ratio=0
append_as_leader [6x10 keys=3]
roll
maybe_increment_high_watermark leo
append_as_leader [3x10 keys=3]
roll
append_as_leader [1x10 keys=3]
clean
consume start
maybe_increment_high_watermark leo
clean
consume start
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
print(*(f"{number:2} {workload.operations[number]}: {ours.value(number, 'result')}" for number in (6, 7, 9, 10)), sep="\n")
cleaned_by_both(workload)

# %% [markdown]
# Now a planted bug: only the active segment limits a cleaning.

# %%
with planted("only the active segment ends a cleaning"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "early-cleaning-contradicted-first",
    "Who contradicts minikafka first, after which operation? ('spark at 7', 'spark at 10', 'Apache Kafka at 6' or 'Apache Kafka at 7')",
    ___,
    lambda: next(f"{witness} at {found.first_difference.operation}" for witness in found.first_difference.values if witness != "minikafka"),
)

# %%
print(found.first_difference)
print("operation 7, a consumer sees", sick.value(7, "result"), " and should see", spark.value(7, "result"))

# %% [markdown]
# The cleaner removed offsets 3 to 5 because of 6 to 8, which are not committed: readers find no row. If the leader dies now and a broker without 6 to 8 leads, this log is truncated to 6, and no row is left. Rule 4 prevents that.
#
# ## 6. Exercises
#
# [Compaction: rebuild](10a-compaction-rebuild.ipynb) has two functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | which records stay, and how they are grouped, to the byte | one cleaner, its turns taken by hand; Kafka runs `log.cleaner.threads` | throttling, pausing, aborting |
# | the offset map: digests, slots, tries | no metrics | uncleanable partitions |
# | the choice of the log, the checkpoint, the bounds | new buffers for each batch | compressed batches: rewritten with the same codec |
#
# *What Spark is told:* the bytes of a batch, from the record builder.
#
# **A question to take along.** A compacted topic of a few thousand keys takes 200 GB, and grows. What do you check first?
#
# <details><summary>One answer</summary>
#
# Do its offsets in `cleaner-offset-checkpoint` grow? If not: an open transaction (`kafka-transactions.sh find-hanging`), a high watermark that stands still, or `min.compaction.lag.ms`. Does the cleaner run, or did it mark the partition uncleanable (`DeadThreadCount`, `uncleanable-partitions-count`, the broker's log)? The ratio is hardly the cause: with few keys the tail is small, and the ratio is near 1.
#
# </details>

# %% [markdown]
# ### Card
#
# - Retention forgets what is old. Compaction forgets what is replaced.
# - A record that stays keeps its offset, its key and its value. So a compacted log has gaps, and that is no error.
# - A cleaning changes nothing at or above the first uncleanable offset. The active segment always lies at or above it. One open transaction delays the cleaning of everything after it.
# - The cleaner takes the log with the greatest share of dirty bytes. It cleans a log only if that share is above `min.cleanable.dirty.ratio`, or `max.compaction.lag.ms` is over.
# - The offset map has 24 bytes a slot, however long the key is. A full map costs another turn, not correctness.
#
# ![A log in four parts](../diagrams/compaction.svg)
#
# | in the part that is cleaned | what becomes of it |
# |:---|:---|
# | the newest record of its key | stays |
# | an older record of the key | goes |
# | a record without a key | goes |
# | a tombstone, the newest of its key | stays until its delete horizon |
# | a record whose key found no room in the offset map | stays as it is until a later turn |

# %% [markdown]
# **Next:** *Tombstones and markers*: the records that must stay, but only for a time.
