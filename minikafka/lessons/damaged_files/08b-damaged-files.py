# %% [markdown]
# # Damaged and missing files
#
# *What a start notices in the files of a log, what it rebuilds, and what it trusts without a check.*
#
# ## 1. The question
#
# **Time:** about forty minutes to read, forty minutes to rebuild. **Before:** *Crash and recovery*.
#
# **Afterwards you can decide:** which files of a log you may delete, what to do about an index that you suspect, and what a start does not tell you.
#
# A bank writes each transfer as a transaction. The first is committed, the second aborted. Then the broker is stopped cleanly. Somebody needs room on the disk, deletes the log's `.txnindex`, a file of 34 bytes, and starts the broker again. It starts without a warning. What goes wrong without that file?

# %%
from minikafka.lab import OffsetRuler, SegmentShelf, ___, diagram, erratum, fresh_log, planted, predict, scratch, step_through
from minikafka.lab import transaction, values_seen, wake_witnesses
from minikafka.lab.stage.damage import another, entries_of, far_apart, flip, kill, load, loaded_by_both, remove, sizes
from minikafka.log.fetch_isolation import FetchIsolation

bank = fresh_log(name="bank-0")
transaction(bank, 1, "Ada −40", end="commit")
transaction(bank, 2, "Ada −90", end="abort")
wake_witnesses()
OffsetRuler(bank, "The bank's log").snap("40 committed, 90 aborted").play()

# %%
bank.close()
whole, without = load(another(bank.dir), clean=True), load(remove(another(bank.dir), ".txnindex"), clean=True)
for log in (whole, without):
    log.update_high_watermark(log.log_end_offset)
print("the files:", sizes(bank.dir))

# %%
predict(
    "aborted-record-after-delete",
    "Does a read_committed consumer now get the aborted record 'Ada −90'? (True or False)",
    ___,
    lambda: "Ada −90" in values_seen(without, FetchIsolation.TXN_COMMITTED),
)

# %%
from minikafka.lab.stage.killed_broker import killed_broker

print("with the file:   ", values_seen(whole, FetchIsolation.TXN_COMMITTED))
print("without the file:", values_seen(without, FetchIsolation.TXN_COMMITTED))

# %% [markdown]
# A segment without aborted transactions has no `.txnindex` either, so the start does not notice that the file is gone. The marker that aborts the second transfer is still in the `.log`, but
# a clean start does not read it. **A start makes a new file only if it notices that the old one is gone, or scans the segment. It trusts everything else.**
#
# (`load` loads a directory as a log, by default as after an unclean stop; `clean=True`: the last stop was clean. `another` copies a directory, `remove` deletes files in it, `flip` changes one bit. A `___` is a blank for you to fill. Spark and Apache Kafka are starting for part 5.)
#
# ## 2. The picture

# %%
diagram("damaged_files")

# %% [markdown]
# - **Sanity check:** three questions that a load asks about each segment that it opens.
# - **To recover a segment:** check each batch, cut the `.log` before the first bad one, rebuild the three indexes.
# - **Snapshot** (`.snapshot`): the producers as they were at one offset. **Epoch file** (`leader-epoch-checkpoint`): the first offset of each leader epoch.
# - **Recovery point:** after an unclean stop the load scans the segment that holds it and all segments above, whatever the sanity check said.
#
# The lesson uses two directories: a real broker closed `orders-0` cleanly; another broker was killed with `kill -9` and left the files below. The two longest are indexes of the active segment, not yet trimmed to their entries:

# %%
orders, killed = "data/orders-0", killed_broker()
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
print(*(f"{size:12,}  {name}" for name, size in sizes(killed).items()), sep="\n")

# %% [markdown]
# ## 3. The rules
#
# 1. After any stop a load recovers a segment whose `.index` is missing or whose `.txnindex` fails the sanity check.
# 2. If a load does not recover a segment, it trusts the entries of the segment's offset index and time index.
# 3. Loading twice gives the same bytes as loading once.
#
# (Printed for each segment: base offset, entries of the offset index, entries of the time index.)

# %%
missing = remove(another(orders), "030.index")
print("before:", before := entries_of(load(another(orders), TOPIC, clean=True)))
print("rule 1:", entries_of(load(another(missing), TOPIC, clean=True)) == before)
changed = flip(another(orders), "030.index", 7)
entries = [tuple(load(another(copy), TOPIC, clean=True).log_segments[2].offset_index.entry(0)) for copy in (orders, changed)]
print("rule 2: the first entry (offset, byte) was", entries[0], "and after one changed bit is", entries[1])
once = kill(load(remove(another(killed), "041.index"), TOPIC))
twice = kill(load(another(once), TOPIC))
print("rule 3:", all((twice / file.name).read_bytes() == file.read_bytes() for file in once.iterdir()), len(list(once.iterdir())), "files")

# %% [markdown]
# ## 4. The source, walked
#
# ### What a load asks
#
# The cell loads `orders-0` after its clean stop, without the offset index of segment 30:

# %%
step_through(
    load, missing, TOPIC, clean=True,
    into={"LogSegment.sanity_check", "LogLoader._recover_segment"},
    locals_of_interest={"bytes_truncated"},
).play()  # fmt: skip

# %% [markdown]
# The load asks of each segment: Is the `.index` there? Was the time index created just now? Does every transaction in the `.txnindex` end at or above the base offset? Segment 30 fails the first question, so
# `LogLoader.loadSegmentFiles` recovers it.
#
# ### Damage and a missing index
#
# In the killed broker's directory we delete the index of segment 30 and flip a bit in that segment's first batch. (With the bad bit alone, the scan ends the log at 30.)

# %%
bad = flip(another(killed), "030.log", 100)
both = remove(another(bad), "030.index")
predict(
    "log-end-bad-bit",
    "Segment 30 has a bad bit in its first batch, and no .index. At which offset does the log end after an unclean stop and a load?",
    ___,
    lambda: load(another(both), TOPIC).log_end_offset,
)

# %%
for clean in (True, False):
    log = load(another(both), TOPIC, clean=clean)
    found = log.read(30, 1_048_576, FetchIsolation.LOG_END).records
    print("clean" if clean else "unclean", "stop: LEO", log.log_end_offset, [(s.base_offset, s.size) for s in log.log_segments])
    print("  a read from 30 begins with batch", next(found.batches()).base_offset)
    print("  Apache Kafka leaves the same files:", loaded_by_both(both, TOPIC, clean=clean).equal)

# %%
shelf = SegmentShelf(load(another(killed), TOPIC), "After an unclean stop").snap("no damage")
for damage, directory in (("a bad bit in segment 30", bad), ("a bad bit in segment 30, and no .index", both)):
    shelf.frames += SegmentShelf(load(another(directory), TOPIC)).snap(damage, 30, note="cut").frames
shelf.play()

# %% [markdown]
# **The log has a hole.** After any stop segment 30 is empty, but 41 and 56 stay: a reader that asks for 30 gets 41, without an error. `LogLoader.loadSegmentFiles` recovers the segment when it opens it
# (phase 4 of *Loading*), and ignores how much was cut. The scan (phase 5) then finds the segment sound and goes on.
#
# ### Indexes that are wrong
#
# First we delete a time index; then we use the changed bit of rule 2:

# %%
missing = remove(another(orders), "030.timeindex")
predict(
    "time-index-after-load",
    "The time index of segment 30 is missing, and the stop was clean. How many entries does it have after the load?",
    ___,
    lambda: load(missing, TOPIC, clean=True).log_segments[2].time_index.entries,
)

# %%
for copy in (another(orders), another(changed)):
    log = load(copy, TOPIC, clean=True)
    found = log.read(38, 1_048_576, FetchIsolation.LOG_END).records
    print(tuple(log.log_segments[2].offset_index.entry(0)), " a read from 38 begins with batch", next(found.batches()).base_offset)

# %% [markdown]
# The load creates an empty time index, and it stays empty. Retention by time then uses the modification time of the `.log` instead of the newest record's timestamp. With the changed bit a reader that asks for 38 gets the next
# segment, without an error. If you suspect an index, stop the broker, check with `minikafka verify` that the `.log` is sound, and delete the `.index`.
#
# ### Snapshots
#
# Two loads after an unclean stop, with the recovery point at 0:

# %%
for name, directory in (("all snapshots", killed), ("none", remove(another(killed), *sizes(killed, ".snapshot")))):
    producers = load(another(directory), TOPIC).producer_state_manager
    print(f"{name}: {len(producers.active_producers)} producers, open transaction from {producers.first_undecided_offset}")

# %% [markdown]
# The scan finds all producers in the batches. After each segment `LogLoader.recoverSegment` writes a snapshot.
#
# ### The epoch cache
#
# Epoch 0 began at offset 0, epoch 2 at 24. `leader-epoch-checkpoint` is lost; the recovery point is 24. Recovery reads epochs from the batches.

# %%
lost = remove(another(killed), "epoch-checkpoint")
predict(
    "epoch-0-first-offset",
    "What is the first offset of epoch 0 after the load?",
    ___,
    lambda: load(another(lost), TOPIC, recovery_point=24).leader_epoch_cache.epoch_entries[0].start_offset,
)

# %%
for clean, point in ((False, 24), (False, 0), (True, 24)):
    log = load(another(lost), TOPIC, clean=clean, recovery_point=point)
    print("clean  " if clean else "unclean", point, [(e.epoch, e.start_offset) for e in log.leader_epoch_cache.epoch_entries], sizes(log.dir, "checkpoint"))

# %% [markdown]
# Epoch 0 now begins at its first batch that the scan *read*. The scan adds an entry only for an epoch greater than all before it, so none for a lower epoch or −1 (no epoch). After a clean stop an empty file replaces the lost one, and
# this replica cannot say where an epoch ended.
#
# ### The index of aborted transactions
#
# Back to the file of part 1. In the killed broker's directory we delete the `.txnindex` of segment 41. Does a start rebuild it?

# %%
for clean in (False, True):
    log = load(remove(another(killed), "041.txnindex"), TOPIC, clean=clean, recovery_point=24)
    log.update_high_watermark(log.log_end_offset)
    aborted = log.read(41, 1_048_576, FetchIsolation.TXN_COMMITTED).aborted_transactions
    print("clean" if clean else "unclean", "stop: aborted transactions named to a reader:", len(aborted))

# %% [markdown]
# The scan rebuilds it; a clean start does not. The card at the end says which files you may delete.
#
# ### Checkpoints that don't fit
#
# A broker writes the checkpoints of recovery point and log start once a minute by default, so they may not fit the files. A load limits them to what the log holds. One case is different: if the log ends **below** the checkpoint's log start,
# Kafka treats what is left as deleted. The load removes it and begins an empty log at that log start.
#
# ### Offsets that overflow
#
# An index stores an offset in four bytes, relative to the base offset. Old versions of compaction could make a segment whose last offset is too far from its base. `retryOnOffsetOverflow` splits the segment and begins the phase again.

# %%
directory = far_apart(2**31 + 9)
print("before:", sizes(directory, ".log"))
walk = step_through(load, directory, into={"split_overflowed_segment", "replace_segments"}, locals_of_interest={"new_segments", "total_size"})
print("after: ", sizes(directory, ".log"))
walk.play()

# %%
erratum(
    "retryOnOffsetOverflow picks an OverflowPositionStrategy (LATEST, EARLIEST, PRODUCER or RESTART) and goes on to the nextOffsetStrategy",
    "invented. It is a loop: on LogSegmentOffsetOverflowException it splits the segment and calls the same phase again",
    " → ".join(f"{frame.method.name} {frame.step.number}" for frame in walk.frames),
)

# %% [markdown]
# ## 5. Three witnesses
#
# The workload stops the log cleanly and deletes the first segment's `.index` (`damage=remove:0.index`). minikafka and Kafka load what is left. Spark gets the workload without the damage: if a start repairs the loss, all three agree.
# In the second cell minikafka and Kafka load the killed broker's directory, damaged in three ways, and each file is compared.

# %%
from minikafka.lessons.damaged_files.damaged_witnesses import three_witnesses
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config internal.segment.bytes=300 index.interval.bytes=60 segment.index.bytes=1200
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [2x10]
update_high_watermark leo
reopen damage=remove:0.index
read 4
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
damages = {
    "no index of segment 41": lambda copy: remove(copy, "041.index"),
    "no snapshots": lambda copy: remove(copy, *sizes(copy, ".snapshot")),
    "no epochs": lambda copy: remove(copy, "epoch-checkpoint"),
}
{name: loaded_by_both(killed, TOPIC, damage).equal for name, damage in damages.items()}

# %% [markdown]
# Now a planted bug: minikafka does not ask whether an `.index` is there. It creates the file when it first uses it.

# %%
with planted("a missing offset index is not noticed"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "missing-index-differs-in",
    "In which quantity do the witnesses differ first? ('log_end_offset', 'segments', 'index_entries', or 'result', which is that of the read)",
    ___,
    lambda: found.first_difference.quantity,
)

# %%
predict(
    "missing-index-contradicted-by",
    "How many of the other two witnesses contradict the minikafka with the bug? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)
print("the read:", sick.value(6, "result"), "· Kafka's:", kafka and kafka.value(6, "result"))

# %% [markdown]
# No reader gets a wrong answer: a scan from byte 0 of the file finds every batch. In a segment of a gigabyte each such read would be slow, and no later start notices: the file exists now, but is empty.
#
# ## 6. Exercises
#
# In [Damaged and missing files: rebuild](08b-damaged-files-rebuild.ipynb): two functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what a load checks after which stop, what it recovers, cuts and rebuilds | one thread; a broker has `num.recovery.threads.per.data.dir` | disks that fail while loading |
# | splitting a segment, and the retry | no metrics | tiered storage |
#
# *What Spark is told:* the size of each batch, but nothing of the damage.
#
# **A question to take along.** A consumer of one partition skips a whole segment without an error. The topic is not compacted, and the last stop of the broker was clean. What do you check first?
#
# <details><summary>One answer</summary>
#
# The files of the skipped segment. Is its `.log` empty, or much smaller than the others? Then probably its `.index` was missing at a start, and the recovery cut bad batches. Look in the broker's log for *Found invalid messages in log segment*
# (after a clean stop, or below the recovery point, also *Could not find offset index file*), and compare with other replicas. Is the `.log` whole? Then suspect its `.index`: stop the broker, check the `.log` with `minikafka verify`, delete the `.index`.
#
# </details>

# %% [markdown]
# ### Card
#
# - After any stop a load recovers a segment whose `.index` is missing or whose `.txnindex` fails the sanity check. It checks little else.
# - If such a recovery cuts batches, the log has a hole: the segments above stay, and no reader gets an error.
# - A load trusts the entries of offset and time indexes, unless it recovers the segment.
# - After a clean stop a load does not notice that a `.txnindex`, the epoch file, or all snapshots are gone. What they said is forgotten.
# - If you suspect an index: stop the broker, check with `minikafka verify` that the `.log` is sound, and delete the `.index`.
#
# ![What a start asks of the files](../diagrams/damaged_files.svg)
#
# | file, with the broker stopped | may you delete it? | what happens |
# |:---|:---|:---|
# | `.index` | yes, if the `.log` beside it is sound | the load recovers the segment; if its `.log` was not sound, the log may have a hole |
# | `.timeindex` | only together with its `.index` | alone it comes back empty, and stays so unless the segment is recovered |
# | `.snapshot` | no | if none is left after a clean stop, the load forgets the producers |
# | `.txnindex` | no | an unclean start rebuilds it for each segment that it scans; otherwise no start notices, and `read_committed` consumers get the records of an aborted transaction |
# | `leader-epoch-checkpoint` | no | an unclean start finds the epochs of the segments that it scans; this replica cannot say where other epochs ended, and no start notices |
# | `.deleted`, `.cleaned`, `.swap` | leave them to the load | a `.swap` may be the only copy |
# | `.log` | no | its records are gone |

# %% [markdown]
# **Next:** *Background tasks*: what a broker flushes, writes down and deletes by the clock.
