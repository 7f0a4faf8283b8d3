# %% [markdown]
# # Damaged and missing files
#
# *What a start notices of the files of a log, what it makes anew, and what it believes as it is.*
#
# ## 1. The question
#
# **Time:** about forty minutes to read, half an hour to rebuild. **Before:** *Crash and recovery*.
#
# **Afterwards you can decide:** which files of a log you may delete, what to do about an index that you suspect, and what a start does not tell you.
#
# A bank writes each transfer as a transaction. The first is committed, the second aborted. Then the broker is stopped cleanly. Somebody who needs room on
# the disk deletes a file of 34 bytes, the log's `.txnindex`, and starts the broker again. It starts without a warning. What goes wrong without that file?

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
# A segment without aborted transactions has no `.txnindex` either, so nobody misses the file. The marker that aborts the second transfer still stands in the `.log`, but
# a clean start does not read it. **A start makes a file anew only where it misses it or scans the segment. All else it believes.**
#
# (`load` makes a log of a directory, by default as after an unclean stop; `clean=True`: the last stop was clean. `another` copies a directory, `remove` deletes files of it,
# `flip` changes one bit. A `___` is a blank for you to fill. Spark and Apache Kafka are starting for part 5.)
#
# ## 2. The picture

# %%
diagram("damaged_files")

# %% [markdown]
# - **Sanity check:** what a load asks of each segment that it opens.
# - **To recover a segment:** check each batch, cut the `.log` at the first bad one, build the three indexes anew.
# - **Snapshot** (`.snapshot`): the producers as they were at one offset. **Epoch file** (`leader-epoch-checkpoint`): where each leader's epoch began.
# - **Recovery point:** after an unclean stop the segment that holds it and all above it are scanned, whatever the sanity check said.
#
# Two directories: a real broker closed `orders-0` cleanly; another one was killed by `kill -9` and left these files. The two longest are indexes of the active segment, not yet trimmed to their entries:

# %%
orders, killed = "data/orders-0", killed_broker()
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
print(*(f"{size:12,}  {name}" for name, size in sizes(killed).items()), sep="\n")

# %% [markdown]
# ## 3. The rules
#
# 1. A segment whose `.index` is missing or whose `.txnindex` fails the sanity check is recovered when it is opened, after any stop.
# 2. Of a segment that it does not recover, a load believes the entries of the offset index and the time index.
# 3. Loading twice gives the same bytes as loading once.
#
# (Printed below: base offset, entries of the offset index, entries of the time index.)

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
# `orders-0` after its clean stop, without the offset index of segment 30:

# %%
step_through(
    load, missing, TOPIC, clean=True,
    into={"LogSegment.sanity_check", "LogLoader._recover_segment"},
    locals_of_interest={"bytes_truncated"},
).play()  # fmt: skip

# %% [markdown]
# Three questions to each segment: is the `.index` there, was the time index made just now, does no entry of the `.txnindex` end below the segment? The first one fails for segment 30, and
# `LogLoader.loadSegmentFiles` has it recovered.
#
# ### Damage and a missing index
#
# The killed broker's directory, without the index of segment 30, and with a bad bit in that segment's first batch. (With the bad bit alone the scan ends the log there, at 30.)

# %%
bad = flip(another(killed), "030.log", 100)
both = remove(another(bad), "030.index")
predict(
    "log-end-bad-bit",
    "Segment 30 has a bad bit in its first batch, and no .index. After an unclean stop the log ends at?",
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
# **The log has a hole.** Segment 30 is empty, 41 and 56 stay, and a reader of 30 gets 41 without an error, after any stop. `LogLoader.loadSegmentFiles` recovers the segment without an index
# when it opens it (phase 4 of *Loading*), and ignores how much was cut. The scan (phase 5) finds that segment sound and goes on.
#
# ### Indexes that are wrong
#
# Next, a missing time index, then the changed bit of rule 2:

# %%
missing = remove(another(orders), "030.timeindex")
predict(
    "time-index-after-load",
    "The time index of segment 30 is missing, the stop was clean. How many entries has it after the load?",
    ___,
    lambda: load(missing, TOPIC, clean=True).log_segments[2].time_index.entries,
)

# %%
for copy in (another(orders), another(changed)):
    log = load(copy, TOPIC, clean=True)
    found = log.read(38, 1_048_576, FetchIsolation.LOG_END).records
    print(tuple(log.log_segments[2].offset_index.entry(0)), " a read from 38 begins with batch", next(found.batches()).base_offset)

# %% [markdown]
# The time index is made anew, empty, and stays so. Retention by time then takes the file's modification time for that of its newest record. With the changed bit a reader of 38 gets the next
# segment, without an error. If you suspect an index, stop the broker, check by `minikafka verify` that the `.log` is sound, and delete the `.index`.
#
# ### Snapshots
#
# After an unclean stop, with the recovery point at 0:

# %%
for name, directory in (("all snapshots", killed), ("none", remove(another(killed), *sizes(killed, ".snapshot")))):
    producers = load(another(directory), TOPIC).producer_state_manager
    print(f"{name}: {len(producers.active_producers)} producers, open transaction from {producers.first_undecided_offset}")

# %% [markdown]
# The scan notes all producers. After each segment `LogLoader.recoverSegment` writes a snapshot.
#
# ### The epoch cache
#
# Epoch 0 began at offset 0, epoch 2 at 24. `leader-epoch-checkpoint` is lost; the recovery point is 24. Recovery reads epochs from the batches.

# %%
lost = remove(another(killed), "epoch-checkpoint")
predict(
    "epoch-0-first-offset",
    "The first offset of epoch 0 after the load?",
    ___,
    lambda: load(another(lost), TOPIC, recovery_point=24).leader_epoch_cache.epoch_entries[0].start_offset,
)

# %%
for clean, point in ((False, 24), (False, 0), (True, 24)):
    log = load(another(lost), TOPIC, clean=clean, recovery_point=point)
    print("clean  " if clean else "unclean", point, [(e.epoch, e.start_offset) for e in log.leader_epoch_cache.epoch_entries], sizes(log.dir, "checkpoint"))

# %% [markdown]
# Epoch 0 begins with its first batch that was *read*. The scan makes an entry only for an epoch greater than every one before it, none for a lower one or −1. After a clean stop
# an empty file replaces the lost one, and this replica cannot say where an epoch ended.
#
# ### The index of aborted transactions
#
# Back to the file of part 1. In the killed broker's directory that of segment 41 is lost. Is it made anew?

# %%
for clean in (False, True):
    log = load(remove(another(killed), "041.txnindex"), TOPIC, clean=clean, recovery_point=24)
    log.update_high_watermark(log.log_end_offset)
    aborted = log.read(41, 1_048_576, FetchIsolation.TXN_COMMITTED).aborted_transactions
    print("clean" if clean else "unclean", "stop: aborted transactions named to a reader:", len(aborted))

# %% [markdown]
# The scan makes it anew; a clean start does not. The card at the end says which files you may delete.
#
# ### Checkpoints that don't fit
#
# The checkpoints of recovery point and log start are written every minute by default, so a load limits them to what the log holds. One case is
# different: if the log ends **below** the checkpoint's log start, what is left counts as deleted. The load drops it and begins an empty log at the log start.
#
# ### Offsets that overflow
#
# An index keeps an offset as four bytes relative to the base. Old versions of compaction could make a segment whose last offset is too far off: `retryOnOffsetOverflow` splits it and begins the phase again.

# %%
directory = far_apart(2**31 + 9)
print("before:", sizes(directory, ".log"))
walk = step_through(load, directory, into={"split_overflowed_segment", "replace_segments"}, locals_of_interest={"new_segments", "total_size"})
print("after: ", sizes(directory, ".log"))
walk.play()

# %%
erratum(
    "retryOnOffsetOverflow picks an OverflowPositionStrategy (LATEST, EARLIEST, PRODUCER or RESTART) and goes on to the nextOffsetStrategy",
    "invented. It is a loop: on LogSegmentOffsetOverflowException split the segment, then call the same phase again",
    " → ".join(f"{frame.method.name} {frame.step.number}" for frame in walk.frames),
)

# %% [markdown]
# ## 5. Three witnesses
#
# A clean stop, and then the first segment's `.index` is deleted (`damage=remove:0.index`). minikafka and Kafka load what is left. Spark is told the lines without the damage:
# where a start makes a loss good, nobody sees a difference. In the second cell minikafka and Kafka load the killed broker's directory, damaged in three ways, and each file is compared.

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
# Now a planted bug: minikafka does not ask whether an `.index` is there. The file is then made when it is first used.

# %%
with planted("a missing offset index is not missed"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "missing-index-differs-in",
    "In which quantity do the witnesses differ first? ('log_end_offset', 'segments', 'index_entries', or 'result' for that of the read)",
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
# No reader gets a wrong answer: a scan from byte 0 of the file finds every batch. In a segment of a gigabyte each such read would be slow, and no later start asks again: the file is there now, empty.
#
# ## 6. Exercises
#
# In [Damaged and missing files: rebuild](08b-damaged-files-rebuild.ipynb): two functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what is asked after which stop, what is recovered, cut and rebuilt | one thread; a broker has `num.recovery.threads.per.data.dir` | disks that fail while loading |
# | splitting a segment, and the retry | no metrics | tiered storage |
#
# *What Spark is told:* the size of each batch; of the damage, nothing.
#
# **A question to take along.** A consumer of one partition goes from the end of a segment to the segment after the next one, without an error. The topic is not compacted, and the broker has last been stopped
# cleanly. What do you check first?
#
# <details><summary>One answer</summary>
#
# The files of the segment in between. Is its `.log` empty, or much smaller than the others? Then its `.index` was missing at a start, the segment was recovered, and what was bad was cut: look in the broker's
# log for *Found invalid messages in log segment* (and, if the stop before was clean, *Could not find offset index file*), and compare with other replicas. Is the `.log` whole? Then suspect its `.index`: check by `minikafka verify`, stop the broker, delete the `.index`.
#
# </details>

# %% [markdown]
# ### Card
#
# - After any stop a load recovers a segment whose `.index` is missing or whose `.txnindex` fails the sanity check. It checks little else.
# - What such a recovery cuts leaves a hole: the segments above stay, and no reader is told.
# - The entries of offset and time indexes are believed. Only the scan after an unclean stop makes those of the scanned segments anew.
# - A `.txnindex`, the epoch file, or all snapshots that are gone are not missed after a clean stop. What they said is forgotten.
# - If you suspect an index: stop the broker, check by `minikafka verify` that the `.log` is sound, and delete the `.index`.
#
# ![What a start asks of the files](../diagrams/damaged_files.svg)
#
# | file, with the broker stopped | may you delete it? | what happens |
# |:---|:---|:---|
# | `.index` | yes, if the `.log` beside it is sound | the segment is recovered; if its `.log` was not sound, the log keeps a hole |
# | `.timeindex` | only together with its `.index` | alone it is made anew, empty, and stays so unless the segment is scanned |
# | `.snapshot` | no | after a clean stop, with none left, the producers are forgotten |
# | `.txnindex` | no | an unclean start makes it anew for each segment that it scans; else nobody notices, and `read_committed` consumers get the records of an aborted transaction |
# | `leader-epoch-checkpoint` | no | an unclean start notes the epochs of the segments that it scans; of other epochs this replica cannot say where they ended, and nobody notices |
# | `.deleted`, `.cleaned`, `.swap` | leave them to the load | a `.swap` may be the only copy |
# | `.log` | no | its records are gone |

# %% [markdown]
# **Next:** *Background tasks*: what a broker flushes, writes down and deletes by the clock.
