# %% [markdown]
# # Compaction
#
# *How a log forgets what is superseded, and nothing else; and what must not be forgotten too soon.*
#
# ## 1. The question
#
# **Time:** fifty minutes to read, an hour and a half to rebuild. **Before:** *Segments*; *Producers and transactions*; *Read*.
#
# **Afterwards you can decide:** why a compacted topic is larger than its table, why a cleaner leaves a log alone, how long a consumer may be
# away before it misses a deletion, and how much memory a cleaner needs.
#
# A topic keeps settings: the key is a setting's name, the value what it was set to. Settings `a`, `b` and `c` are made, then `a` is changed ten times. What goes wrong without compaction? The log is told to keep at least the newest 400 bytes, and to let go of older segments.

# %%
from minikafka.lab import SegmentShelf, ___, diagram, erratum, fresh_log, planted, predict, scratch, step_through, three_witnesses
from minikafka.lab import wake_witnesses
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
    "The older segments are gone. A consumer reads from the beginning: how many of the three settings does it find?",
    ___,
    lambda: len(table(by_size)),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.
#
# Whoever reads the topic from its beginning, and lets a later record of a key replace the earlier one, has the table of all settings. Here two logs have the same records. The first let go of what is older, as in the lesson *Segments*; the second is compacted.
#
# (`write(log, "a=1 b=1")` appends one batch of two records with the keys `a` and `b`, and raises the high watermark to the log end. `table(log)` is the table
# that a consumer builds.)

# %%
from minikafka.lessons.compaction.cleaning import Cleaning, cleaned_by_both

Cleaning(compacted).turn()
for log in (by_size, compacted):
    print(table(log), log.size, "bytes")

# %% [markdown]
# Settings `b` and `c` were made once and hold to this day. Retention has lost them, because they are old. Compaction has kept them, in fewer
# bytes, because nothing came after them. **Retention forgets what is old. Compaction forgets what is superseded.**

# %%
from minikafka.lessons.compaction.compaction_shelves import CompactionShelves
from minikafka.lessons.compaction.offset_map_slots import OffsetMapSlots, tries
from minikafka.lessons.compaction.colliding_keys import COLLIDING_KEYS
from minikafka.log.cleaner import cleanable_offsets as bounds
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log_config import LogConfig

# %% [markdown]
# ## 2. The picture

# %%
diagram("compaction")

# %% [markdown]
# - **First dirty offset**, or **cleaner point**: below it the log has been cleaned before. It stands in the file `cleaner-offset-checkpoint`. The part
#   below it is the log's **tail**; the part from it up to the next point of this list is the **head**.
# - **First uncleanable offset:** from here on it is too early to clean.
# - **Dirty ratio:** of the bytes below the first uncleanable offset, the share that is dirty.
# - **Offset map:** key → offset of its newest record. The cleaner's memory, of a fixed size.
# - **Tombstone:** a record with a key and no value. It deletes the key.
# - **Delete horizon:** the time from which on a tombstone may go.
#
# In the errata of this page, *older text* is the one that the course grew from.

# %% [markdown]
# ## 3. The rules
#
# 1. A record that stays keeps its offset, its key and its value, and records keep their order.
# 2. After a cleaning no key has two records below the cleaner point.
# 3. Whoever reads the committed records of the log from its beginning has the same table after a cleaning as before.
# 4. Nothing at or above the first uncleanable offset is touched.
# 5. Log start, high watermark and log end stay. So does what the log knows of its producers.
#
# Here they are on a log of three segments with a deletion and a transaction that was aborted. (`-b` writes a tombstone of `b`. `transaction="abort"` makes the batch a transaction, and its
# marker follows. `Cleaning(log).turn()` is one turn of a cleaner's thread: it grabs the dirtiest of its logs and cleans it.)

# %%
HOUR = 3_600_000
SMALL = {"cleanup.policy": "compact", "internal.segment.bytes": 260, "min.cleanable.dirty.ratio": 0.1, "delete.retention.ms": HOUR}
settings = fresh_log(SMALL)
for batch in ("a=1 b=1", "c=1 a=2", "-b d=1", "a=3 e=1"):
    write(settings, batch)
write(settings, "c=9 d=9", producer=7, transaction="abort")
write(settings, "f=1 a=4")
before, known, offsets = rows(settings), table(settings), settings.fetch_offset_snapshot()
active, producers = settings.active_segment.log.file.read_bytes(), str(settings.producer_state_manager.active_producers)

# %%
cleaning, shelves = Cleaning(settings), CompactionShelves(settings, "Three segments and a cleaning")
turn = shelves.around("first turn", cleaning.turn)
after = rows(settings)
keys = [key for offset, key, _ in after if offset < turn.end]
print("rule 1:", [row for row in before if row in after] == after)
print("rule 2:", len(keys) == len(set(keys)), keys)
print("rule 3:", table(settings) == known, known)
print("rule 4:", settings.active_segment.log.file.read_bytes() == active)
print("rule 5:", settings.fetch_offset_snapshot() == offsets, str(settings.producer_state_manager.active_producers) == producers)

# %%
shelves.play()

# %% [markdown]
# Above lies the log as it was, below what it became, and a line leads from each survivor to its new place. Three things on this picture may surprise you: `−b` is still
# there, `c=1` at offset 2 has survived `c=9` at 8, and something is left of the transaction that was aborted. Part 4 comes to all three.

# %% [markdown]
# ## 4. The source, walked
#
# ### From where to where
#
# Before anything is cleaned, the manager works out from which offset to which a log may be cleaned. Here is one that was never cleaned: four segments of four records, at 0, 4, 8
# and 12. The high watermark is 14, the log ends at 16, and since offset 9 a transaction of producer 7 is open.

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
    "The first uncleanable offset that cleanable_offsets gives for this log?",
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

# %% [markdown]
# Step 3 of `cleanable_offsets` names an offset, step 3 of the method around it a segment: a cleaning takes whole segments, so the offset is rounded down to a base. One
# open transaction holds up the cleaning of all that comes after it.

# %%
turn = cleaning.clean(walk.result)
erratum(
    "All segments but the active one are compacted; afterwards the cleaner point is the active segment's base offset",
    "a cleaning ends at the last stable offset, at min.compaction.lag.ms, or where the offset map is full; the point is the map's latest offset + 1",
    f"active segment {prices.active_segment.base_offset}, last stable offset {prices.last_stable_offset}, cleaned up to {turn.end}",
)

# %% [markdown]
# `min.compaction.lag.ms` ends a cleaning before the first segment whose youngest record is younger than that; a consumer that is not that far behind sees every record, if timestamps are close to the time of the append. One minute, say
# (`grab` gives the log that is to be cleaned, or nothing):

# %%
waiting = fresh_log({"cleanup.policy": "compact", "min.compaction.lag.ms": 60_000}, name="waiting-0")
write(waiting, "a=1 a=2", roll=True)
for wait in (59_999, 1):
    waiting.time.sleep(wait)
    print(Cleaning(waiting).grab())

# %% [markdown]
# ### Whose turn it is
#
# A cleaning rewrites a whole log, so the manager chooses with care. Three logs have been cleaned before, and something has been added since. A log is
# not cleaned at a ratio of 0.3 or less (`min.cleanable.dirty.ratio`; a topic that says nothing has 0.5). Each line below has the base offset and the bytes of a log's segments: the first is clean, the last is
# active and still empty.

# %%
logs = []
for name, clean, dirty in (("orders", 3000, 900), ("users", 9000, 4000), ("prices", 300, 400)):
    logs.append(fresh_log({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.3}, name=f"{name}-0"))
    write(logs[-1], f"a={'x' * clean}", roll=True)
    Cleaning(logs[-1]).turn()
    write(logs[-1], f"b={'x' * dirty}", roll=True)
    print(f"{name:7}", [(segment.base_offset, segment.size) for segment in logs[-1].log_segments])

# %%
predict(
    "log-grabbed-first",
    "Which log is grabbed first? ('orders-0', 'users-0' or 'prices-0')",
    ___,
    lambda: Cleaning(*logs).grab().log.name,
)

# %%
cleaning = Cleaning(*logs)
for turn in iter(cleaning.turn, None):
    print(f"{turn.log:8} {turn.ratio:.3f} dirty, cleaned up to {turn.end}")
print(logs[0].name, "is left alone:", round(logs[0].log_segments[1].size / logs[0].size, 3), " default ratio:", waiting.config.min_cleanable_ratio)

# %% [markdown]
# `users` had the most dirty bytes, `prices` the greatest share. `orders` is left alone, and could be for ever. `max.compaction.lag.ms` is the way out: a log
# is cleaned, however small its ratio is, if the first batch of one of its dirty segments is older than that. (The active segment does not count.)

# %%
late = fresh_log({"cleanup.policy": "compact", "max.compaction.lag.ms": 3_600_000}, name="late-0")
write(late, f"a={'x' * 900}", roll=True)
Cleaning(late).turn()
write(late, "b=1", roll=True)
for wait in (3_600_000, 1):
    late.time.sleep(wait)
    print(Cleaning(late).grab())

# %% [markdown]
# ### The offset map
#
# The cleaner must know the newest offset of each key in the head, and keys may be long and many. The map is one block of memory with slots of 24 bytes: an MD5 digest of
# the key and an offset. `log.cleaner.dedupe.buffer.size` says how large the blocks of all cleaner threads are together. There are no pointers and no lists: if a slot is taken by another
# digest, the next **try** reads four bytes that begin one byte further on in the digest, and looks there.
#
# A map of 8 slots gets the keys `a`, `b`, `c`, `d`, each with an offset. Then comes `e`. Here is where the first four went, and which slots the first four tries for `e` name:

# %%
slots = OffsetMapSlots(8)
print({key: slots.put(key, offset) for offset, key in enumerate("abcd")}, " e:", tries("e", 8))
print(slots.map.slots, "slots of", slots.map.BYTES_PER_ENTRY, "bytes")

# %%
predict(
    "slot-of-e",
    "Into which slot goes e?",
    ___,
    lambda: slots.put("e", 4),
)

# %%
slots = OffsetMapSlots(8)
for offset, key in enumerate("abcdeag"):
    slots.put(key, offset)
print("offset of c:", slots.get("c"), " of h:", slots.get("h"))
slots.play()

# %% [markdown]
# Go back through the frames. A key that is put in again keeps its slot and gets the new offset: `a` has 5. `g` met `a`, `e`, `b` and `a` again before its fifth try found a
# free slot. `get` walks the same way, and stops at the digest that it seeks, or at an empty slot: `h` is not there. Two keys with equal digests would be one
# to the map. Nobody meets two such keys by chance, but they can be made:

# %%
one, other = COLLIDING_KEYS
slots.map.put(one, 20)
print("two keys of", len(one), "bytes, equal:", one == other, " the map has", slots.map.get(one), "for one and", slots.map.get(other), "for the other")

# %% [markdown]
# The map cannot tell them apart, and a record with one of these keys would be thrown away in favour of a later one with the other.
#
# The fuller a map, the longer these walks. So only a share of the slots is used, `log.cleaner.io.buffer.load.factor`. And what if there are more keys?
# Here a batch of six records meets a map of 4 slots, of which 3 are used.

# %%
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
# `d` found no room, and the turn ended there, in the middle of a batch. What lies above stays as it is, duplicates and all; the next turn begins where this one ended. The log is clean in
# the end, but each turn has rewritten it from its beginning. A map that is too small costs time and disk, not correctness. How much is enough follows from the number of keys in the
# head, not from their length: the last line above says it for a million.
#
# ### Two passes and a swap
#
# Back to the log of part 3, which has been cleaned up to 11. Two records more, and its last segment is rolled:

# %%
write(settings, "a=5 c=2", roll=True)
cleaning = Cleaning(settings)
grabbed = cleaning.grab()
print(grabbed, [segment.base_offset for segment in settings.log_segments])
print(*(f"{offset}:{key}={value}" for offset, key, value in rows(settings)))
INTO = {"Cleaner.do_clean", "Cleaner.build_offset_map", "Cleaner.clean_segments"}
LOCALS = {"segments", "upper_bound_offset", "end_offset", "grouped_segments", "dirty", "cleaned", "segment"}
walk = step_through(cleaning.cleaner.do_clean, grabbed, settings.time.milliseconds(), into=INTO, locals_of_interest=LOCALS)

# %% [markdown]
# The log has ten records: these nine, and at offset 10 the marker of the transaction that was aborted. The horizon of the tombstone at 4 is an hour away. The walk below has been run, but is not shown yet. How many records did it write?

# %%
predict(
    "records-second-pass-writes",
    "How many of the ten records are written by the second pass?",
    ___,
    lambda: walk.result[1].messages_written,
)

# %%
walk.play()

# %% [markdown]
# In step 7 of `clean_segments` the new segment takes the place of the old ones, by renaming files; the lesson *Loading* stops after each of these renames.
# The thread then writes the end that `do_clean` returned into the checkpoint. The walk called `do_clean` itself, without a thread, so the file still has what the turn in part 3 left: version, number of lines, then topic, partition and first dirty offset.

# %%
print((settings.dir.parent / "cleaner-offset-checkpoint").read_text())
stats = walk.result[1]
erratum(
    "Only the log's head needs work",
    "the head fills the map, but head and tail are written anew, all segments from the log's beginning",
    f"read for the map: {stats.map_messages_read} records, read by the second pass: {stats.messages_read}, written: {stats.messages_written}",
)

# %% [markdown]
# **Groups.** A log that shrinks must not end as thousands of tiny files. So neighbours that fit into one segment together are written into one. Here are five
# segments of 97 bytes each, and a limit of 180. Of the first four only one record in four will stay:

# %%
small, twin = (fresh_log({**SMALL, "internal.segment.bytes": 180}) for _ in range(2))
for each in (small, twin):
    for key in "bcde":
        write(each, f"a=1 a=2 a=3 {key}=1")
    write(each, "a=4 f=1 f=2 f=3", roll=True)
print([(segment.base_offset, segment.size) for segment in small.log_segments])

# %%
predict(
    "segments-after-one-turn",
    "How many segments has this log after one turn, the empty active one included?",
    ___,
    lambda: Cleaning(twin).turn() and twin.number_of_segments,
)

# %%
cleaning, shelves = Cleaning(small), CompactionShelves(small, "Groups")
shelves.around("first turn", cleaning.turn)
write(small, "a=5 f=4 g=1", roll=True)
for number, segment in enumerate(small.log_segments[:-1], 1):
    segment.set_last_modified(1000 * number)
shelves.around("second turn", cleaning.turn)
shelves.play()

# %% [markdown]
# The cleaner decides which segments to join by their sizes *before* the cleaning. So the first turn joined none, and the second found small ones.

# %%
erratum(
    "Small files are put into groups of at most 1 GB",
    "the limit is the topic's segment.bytes for the .log files, segment.index.bytes for each kind of index, and 2³¹ − 1 for the span of offsets",
    f"limit {small.config.segment_size} bytes: {[(segment.base_offset, segment.size) for segment in small.log_segments]}",
)

# %% [markdown]
# (Between the turns the files' times were set to 1000, 2000, … ms, one for each segment, to see what becomes of them.)

# %%
erratum(
    "A cleaning does not change when a file was last modified",
    "the new file gets the time of the last file of its group",
    f"times of the files: {[segment.last_modified for segment in small.log_segments[:3]]}",
)

# %% [markdown]
# **Records without a key.** A compacted topic refuses them. But a topic may have taken some in before it was compacted:

# %%
keyless = fresh_log()
write(keyless, "=1 a=1", roll=True)
keyless.update_config(LogConfig({"cleanup.policy": "compact"}))
refused = step_through(write, keyless, "=2").raised
turn = Cleaning(keyless).turn()
erratum(
    "Without keys only deletion is possible",
    "a compacted topic refuses records without a key; those from before it was compacted go at the first cleaning",
    f"an append: {type(refused).__name__}; a cleaning: {turn.stats.invalid_messages_read} without a key, left {rows(keyless)}",
)

# %% [markdown]
# ### The three lives of a tombstone
#
# Offset 2 deletes `a`. A consumer, call it the slow one, has read offsets 0 and 1 and pauses there. The deletion is written at noon; two hours later a cleaner comes by for the first time; `delete.retention.ms` is one hour.

# %%
log = fresh_log(SMALL)
noon = log.time.milliseconds()
write(log, "a=1 b=1")
slow = table(log)
write(log, "-a", roll=True)
log.time.sleep(2 * HOUR)
cleaning, shelves = Cleaning(log), CompactionShelves(log, "The lives of a tombstone")
turn = shelves.around("first turn", cleaning.turn)
horizons = {batch.base_offset: batch.delete_horizon_ms for batch in log.log_segments[0].log.batches()}

# %%
predict(
    "hours-until-tombstone-goes",
    "From how many hours after noon on may the tombstone go?",
    ___,
    lambda: (horizons[2] - noon) // HOUR,
)

# %%
print("the slow one's table:", slow, " in the log:", rows(log))
print("delete horizons, in hours after noon:", {base: horizon and (horizon - noon) / HOUR for base, horizon in horizons.items()})

# %%
diagram("compaction_tombstone")

# %% [markdown]
# The first cleaning that keeps a tombstone gives its batch a **delete horizon**. It stands in the batch's header, where the base timestamp was. (In part 3 `d=1`
# had the sign of a horizon, too: it shares the batch of `−b`. A horizon takes only tombstones and markers away.) Two more turns, one a
# millisecond before the horizon, one at the very millisecond (a few records are added each time, so that there is something dirty):

# %%
for words, caption, wait in (("c=1 d=1", "a millisecond before the horizon", HOUR - 1), ("c=2 d=2", "at the horizon", 1)):
    log.time.sleep(wait)
    write(log, words, roll=True)
    shelves.around(caption, cleaning.turn)
    print(caption, rows(log))

# %%
shelves.play()

# %% [markdown]
# Three states. *Written*: no clock runs yet. *With a horizon*: the clock runs. *Gone*: removed by the first cleaning at or after the horizon. `delete.retention.ms` does not count from the deletion.
#
# Now the slow consumer comes back. It goes on at offset 2, with the table that it has. What does it believe of `a`?

# %%
predict(
    "slow-consumer-value-a",
    "The slow consumer's value of a, when it has read to the end? (a text, or None if it has none)",
    ___,
    lambda: table(log, start=2, so_far=slow).get("a"),
)

# %%
print("the slow one:", table(log, start=2, so_far=slow), " a new one:", table(log))
erratum(
    "A tombstone stays while its segment's file is younger than a horizon that is worked out from the last clean segment's file",
    "so it is for batches of magic 0 and 1. A batch of magic 2 carries its own: the time of the first cleaning that kept the tombstone + delete.retention.ms",
    f"a millisecond before the horizon: there; at the horizon: {'there' if 2 in [offset for offset, _, _ in rows(log)] else 'gone'}",
)

# %% [markdown]
# No error, and no gap that it could notice: offsets are missing in every compacted log. It has a row that nobody else has. The clock begins at the first cleaning that keeps the tombstone. That cleaning takes away the older row, too, so
# whoever has that row read it before. (Unless the map was full: a tombstone above its end gets its horizon all the same, while the older row stays for the next turn.)
#
# **A consumer that keeps a table must never be `delete.retention.ms` or more behind.** One that was away for longer throws its table away and reads from the beginning.
#
# ### Transactions
#
# Six batches: one without a producer id, producer 7's and its abort marker, producer 8's and its commit marker, and one that supersedes all rows before it.

# %%
mixed, twin, walked = (fresh_log(SMALL) for _ in range(3))
for each in (mixed, twin, walked):
    write(each, "a=1 b=1")
    write(each, "a=9 b=9", producer=7, transaction="abort")
    write(each, "b=2 c=2", producer=8, transaction="commit")
    write(each, "a=3 b=3 c=3", roll=True)
print([(batch.base_offset, batch.last_offset) for segment in mixed.log_segments for batch in segment.log.batches()])

# %%
predict(
    "batches-after-one-turn",
    "How many of the six batches are left after a turn?",
    ___,
    lambda: Cleaning(twin).turn() and sum(1 for segment in twin.log_segments for _ in segment.log.batches()),
)

# %% [markdown]
# Here is step 4 of `clean_segments` from near by, for the four batches of the two transactions. (Batches of no transaction are taken several at a time, by the same rules.) Step 1 decides about the batch as a
# whole: with `DELETE_EMPTY` it goes if none of its records stays, with `RETAIN_EMPTY` its header stays in any case. `places` are the places, within the batch, of the records that stay.

# %%
step_through(Cleaning(walked).turn, into={"_filter_batch"}, locals_of_interest={"batch_retention", "places"}).play()

# %% [markdown]
# The fates of what is left take several turns:

# %%
cleaning, shelves = Cleaning(mixed), CompactionShelves(mixed, "Two transactions")
shelves.around("1. a first turn", cleaning.turn)
write(mixed, "d=7", producer=7, transaction="commit", roll=True)
for caption, wait in (("2. producer 7 has written again", 0), ("3. once more", 0), ("4. an hour later", HOUR), ("5. a day later", 24 * HOUR)):
    mixed.time.sleep(wait)
    shelves.around(caption, cleaning.turn)
    aborted = sum(len(segment.txn_index.all_aborted_txns()) for segment in mixed.log_segments)
    print(f"{caption:32} aborted transactions in the indexes: {aborted}, producers: {[*mixed.producer_state_manager.active_producers]}")
    write(mixed, "e=1", roll=True)

# %%
shelves.play()

# %% [markdown]
# Go through the frames from the first on.
#
# 1. Of the first batch nothing is left. Of the two producers' batches headers are left, without records: each holds its producer's last sequence number, which the log must
#    know to recognise a duplicate. A marker stays as long as anything of its transaction does.
# 2. Producer 7 has a newer last batch, so the old header goes.
# 3. The abort marker finds nothing of its transaction any more, and gets a horizon, like a tombstone. Its transaction's entry in the index is gone.
# 4. The horizon is reached, and the abort marker goes. Segment 0 is left without a byte; the next turn joins it with the one behind it.
# 5. The log has forgotten both producers (`producer.id.expiration.ms`): producer 8's header goes. Its marker will get a horizon at the next turn.
#
# Aborted records never get into the offset map: in part 3 `c=9` hid nothing. They go when their segment is first written anew, newest of their
# key or not, even above the point where a full map has ended the cleaning.

# %%
erratum(
    "Of each key exactly the newest record survives",
    "of the part that is cleaned, and of transactions that are not aborted; tombstones, markers and empty batches stay for a time",
    f"after the first turn: {shelves.frames[1].after[0]}",
)

# %% [markdown]
# ## 5. Three witnesses
#
# The same workload by **minikafka**, by **Spark** from the lines alone, by the real **Apache Kafka**, whose own `LogCleaner` takes its turns at `clean`. (`keys=3 data=1`: keys are drawn from three,
# beginning with the second: `key-1`, `key-2`, `key-0`. A value `null` makes a tombstone. `consume` tells which offsets a consumer sees.)

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config cleanup.policy=compact delete.retention.ms=1000 min.cleanable.dirty.ratio=0
append_as_leader [3x10 keys=3]
append_as_leader [2x10 keys=3 data=1]
append_as_leader [1x10 keys=3 data=0 pid=7 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
append_as_leader [1xnull keys=3 data=1]
roll
maybe_increment_high_watermark leo
consume start
clean
consume start
append_as_leader [1x10 keys=3 data=2]
roll
maybe_increment_high_watermark leo
tick 1000
clean
consume start
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
print(*(f"{number:2} {workload.operations[number]}: {ours.value(number, 'result')}" for number in (7, 8, 9, 14, 15)), sep="\n")

# %% [markdown]
# Bytes are the stricter judge. Each file of both directories after the last turn:

# %%
cleaned_by_both(workload)

# %% [markdown]
# Now a bug is planted: when the offset map is built, a record counts although its transaction was aborted. (Operation 0 is the first append, the aborted record comes with operation 2.)

# %%
with planted("an aborted record counts as the newest of its key"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "compaction-differs-after",
    "After which operation do minikafka and another witness differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "compaction-contradicted-by",
    "About what the consumer of operation 9 sees, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: sum(witness.value(9, "result") != sick.value(9, "result") for witness in (spark, kafka) if witness),
)

# %%
print(found.first_difference)
print("operation 9, a consumer sees", sick.value(9, "result"), " and should see", spark.value(9, "result"))

# %% [markdown]
# The row of `key-0` at offset 0 was thrown away in favour of the one at 5, which was aborted and went as well. A live row is lost for good, and no reader gets an error.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Compaction: rebuild](10-compaction-rebuild.ipynb), three functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what stays and what goes, offsets, headers, indexes, the transaction index, times of files, to the byte | one cleaner, its turns taken by hand; Kafka runs `log.cleaner.threads` of them | topics with `compact,delete`, whose old segments a turn deletes as well |
# | the offset map: digests, slots, tries, when it is full | no metrics | batches that were compressed: they are written anew with the same codec |
# | the choice of the log, the checkpoint, the bounds | buffers for decompression are made anew for each batch | throttling, pausing and aborting, partitions that turned out to be uncleanable |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. All else Spark works out from the workload.
#
# **A question to take along.** A compacted topic of a few thousand keys takes 200 GB, and grows. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether its checkpoint moves: `cleaner-offset-checkpoint` in the log directory. If it does not, who holds it? A last stable offset that stands still (a transaction that nobody ends; `kafka-transactions.sh
# find-hanging`), a high watermark that stands still (a follower that lags), `min.compaction.lag.ms`, or an active segment that is never rolled because `segment.ms` is long and
# little is written. Then whether the cleaner lives, and whether it has given the partition up: the metrics `DeadThreadCount` and `uncleanable-partitions-count`, and the broker's log. Such a partition is
# left alone until the broker starts again. The ratio is hardly the cause here: with few keys the tail is small, and the ratio is near 1. (With millions of keys and
# 200 GB of tail, as much again must be dirty before the default lets a cleaner come.)
#
# </details>

# %% [markdown]
# ### Card
#
# - Retention forgets what is old. Compaction forgets what is superseded.
# - A record that stays keeps its offset, its key and its value. So offsets are missing in a compacted log, and that is no error.
# - Nothing at or above the first uncleanable offset is touched. One open transaction holds up the cleaning of all that comes after it.
# - The cleaner takes the log with the greatest share of dirty bytes. It leaves one alone whose share is not above `min.cleanable.dirty.ratio`, unless `max.compaction.lag.ms` is over.
# - A consumer that keeps a table must never be `delete.retention.ms` or more behind.
#
# ![A log in four parts](../diagrams/compaction.svg)
#
# | in the part that is cleaned | what becomes of it |
# |:---|:---|
# | the newest record of its key | stays |
# | an older record of the key | goes |
# | a tombstone, the newest of its key | gets a delete horizon; goes at the first cleaning at or after it |
# | a record of an aborted transaction | goes, newest or not, and hides no other record |
# | a marker | stays as long as anything of its transaction does; then it gets a horizon, and goes |
# | a producer's last batch without any record left | its header stays until the producer writes again or is forgotten |
# | a record whose key found no room in the offset map | stays as it is until a later turn |

# %% [markdown]
# **Next:** the produce path: from a producer's request to the append.
