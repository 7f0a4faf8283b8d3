# %% [markdown]
# # Loading
#
# *How a directory of files becomes a log again.*
#
# ## 1. The question
#
# **Time:** about fifty-five minutes to read, an hour and twenty-five minutes to rebuild.
# **Before:** *Segments*, *Producers and transactions*, *Read isolation*.
#
# **Afterwards you can decide:** which files a start deletes, what `.swap` files mean, and which checkpoints a log trusts.
#
# What goes wrong without a careful load? Here are 28 records in five segments. Compaction renames files to replace the first four by two new ones, and the process dies in the middle. The next load is careless: it opens every `.log` file, and renames nothing.

# %%
from minikafka.lab import SegmentShelf, ___, diagram, erratum, fresh_log, planted, predict, records, scratch, step_through
from minikafka.lab import three_witnesses, values_of, wake_witnesses
from minikafka.lab.stage.damage import SMALL, another, flip, load, loaded_by_both, remove, sizes, stopped_at_each_rename
from minikafka.log.fetch_isolation import FetchIsolation

log = fresh_log(SMALL)
for number in range(14):
    log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
wake_witnesses()
SegmentShelf(log, "Before the compaction").snap("28 records in five segments").play()

# %%
from minikafka.lessons.loading.copied_segments import replace_by_copies

stops = stopped_at_each_rename(log, lambda: replace_by_copies(log, [0, 6], [12, 18]))
half_done = stops[18]
with planted("a .swap file keeps its name"):
    careless = load(another(half_done), SMALL, clean=True)
seen = values_of(careless, FetchIsolation.LOG_END, start=careless.log_start_offset)
print(*sizes(half_done, "log"), *sizes(half_done, ".log.swap"), *sizes(half_done, ".log.deleted"), sep="\n")

# %%
predict(
    "records-after-careless-load",
    "The process left these files. How many of the 28 records does a reader see?",
    ___,
    lambda: len(seen),
)

# %% [markdown]
# A `___` is a blank for you to fill. Spark and Apache Kafka are starting; part 5 needs them.
#
# (`stopped_at_each_rename` copies the directory after each rename; this is the copy after rename 18. `sizes` lists files, `load` makes a log of a directory, and `clean` says that the last stop was clean.)

# %%
print("the log begins at", careless.log_start_offset, "and ends at", careless.log_end_offset)
print("a reader sees", seen)

# %% [markdown]
# 24 of 28 records are gone, without an error. With the real load:

# %%
from minikafka.lab.stage.killed_broker import killed_broker
from minikafka.lab.stepper.crash_theatre import CrashTheatre

log = load(another(half_done), SMALL, clean=True)
print("the log begins at", log.log_start_offset, "and ends at", log.log_end_offset)
print(len(values_of(log, FetchIsolation.LOG_END)), "records from the first segment; segments", [s.base_offset for s in log.log_segments])

# %% [markdown]
# **A process can die between any two files that it changes. The load finds in the names how far the
# change had come, and undoes or completes it.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("loading")

# %% [markdown]
# - **Clean stop:** the broker closed its logs and left the file `.kafka_cleanshutdown`. **Unclean:** the file is missing.
# - **Recovery point:** all records with offsets below it are known to be on the device (flushed).
# - **Checkpoint:** a small file for all partitions of a disk, such as `recovery-point-offset-checkpoint`.
# - **To recover a segment:** to read it, check each batch, cut at the first bad one, and rebuild its indexes.
# - **Snapshot:** what the log knows of its producers before one offset, in a file of that name.
#
# A real broker wrote `data/orders-0` and closed it:

# %%
orders = "data/orders-0"
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
print(*(f"{size:6}  {name}" for name, size in sizes(orders).items()), sep="\n")
erratum(
    "Names are always 20 characters; .snapshot is made for idempotent or transactional producers; .log is changed to .deleted",
    "20 digits and a suffix; a snapshot is written for every log at roll, close and recovery; .deleted is appended",
    f"a log without any producer id, after a roll: {sizes(fresh_log().roll(5).log.file.parent, 'snapshot')}",
)

# %% [markdown]
# (The course shows the last three digits of a name.)
#
# | suffix or name | what it is |
# |:---|:---|
# | `.deleted` | appended to the whole name: to be deleted |
# | `.cleaned` | an unfinished new segment |
# | `.swap` | a complete new segment |
# | `leader-epoch-checkpoint` | at which offset each leader epoch began |
# | `partition.metadata` | the topic's id |
# | `-delete`, `-future`, `-stray` | end of a *directory's* name: topic deleted, replica being moved, replica not assigned here |
#
# ### How files change their names

# %%
diagram("loading_names")

# %% [markdown]
# ## 3. The rules
#
# 1. A replacement of segments is either undone or completed, never half.
# 2. After the load each index has its `.log`, there is at least one segment, and the indexes of the last one have room to grow.
# 3. After a clean stop the load checks no batch, except in segments whose `.index` is missing or `.txnindex` bad. Other damage stays hidden.
# 4. base of the first segment ≤ log start ≤ recovery point ≤ LEO, whatever the checkpoints say. The high watermark begins at the log start.
# 5. Loading twice gives the same bytes as loading once.

# %%
logs = [load(another(stop), SMALL, clean=True) for stop in stops]
print("rule 1:", sorted({tuple(segment.base_offset for segment in log.log_segments) for log in logs}), "after", len(stops), "stops")
log = load(another(orders), TOPIC, clean=True)
print("rule 2:", [(segment.base_offset, segment.offset_index.max_entries) for segment in log.log_segments])
damaged = flip(another(orders), "030.log", 100)
print("rule 3:", load(damaged, TOPIC, clean=True).log_end_offset, "is the log end, with or without a flipped bit in segment 30")

# %%
log = load(another(orders), TOPIC, clean=True, recovery_point=5000, log_start=20)
marks = [log.log_segments[0].base_offset, log.log_start_offset, log.recovery_point, log.log_end_offset]
print("rule 4:", log.high_watermark == log.log_start_offset and marks == sorted(marks), marks)
once = load(another(orders), TOPIC, clean=True)
once.close()
twice = load(another(once.dir), TOPIC, clean=True)
twice.close()
print("rule 5:", all((twice.dir / file.name).read_bytes() == file.read_bytes() for file in once.dir.iterdir()), len(sizes(once.dir)), "files")

# %% [markdown]
# ## 4. The source, walked
#
# ### Seven phases
#
# Somebody put five more files into the orders' directory.

# %%
littered = another(orders)
for name in (f"{15:020}.log.deleted", f"{200:020}.index", f"{7:020}.snapshot", f"{0:020}.min.opt", "notes.txt"):
    (littered / name).write_bytes(b"")
walk = step_through(
    load, littered, TOPIC, clean=True,
    into={"LogLoader.load", "LogLoader._remove_temp_files_and_collect_swap_files"},
    locals_of_interest={"swap_files", "new_recovery_point", "next_offset", "new_log_start_offset", "log_end_offset"},
)  # fmt: skip

# %%
predict(
    "leftovers-taken-away",
    "A .log.deleted, an .index without a .log, a .snapshot where no segment begins, a .min.opt, a notes.txt: how many of the five does the load delete?",
    ___,
    lambda: 5 - len([name for name in sizes(littered) if name.endswith((".deleted", "200.index", "007.snapshot", ".opt", ".txt"))]),
)

# %%
walk.play()

# %%
erratum(
    "removeTempFilesAndCollectSwapFiles deletes .min.opt and .deleting files",
    "invented. The loader knows .deleted, .cleaned and .swap; it leaves other names alone",
    f"after the load: {[*sizes(littered, 'min.opt'), *sizes(littered, '.txt')]}",
)

# %% [markdown]
# Phase 4 deletes **orphaned** indexes, which have no `.log` (`LogLoader.loadSegmentFiles`). Phase 7 deletes **stray** snapshots, at offsets where no segment begins. It keeps the newest of them if no segment begins above it (here `…090.snapshot`).
#
# ### Phases 1 to 3: a replacement cut off half way
#
# `replace_segments` puts new segments in the place of old ones: compaction one for several (`Cleaner.cleanSegments`), splitting several for one (`splitOverflowedSegment`). As in part 1, one new segment replaces 0 and 6, another 12 and 18. The crash theatre stops after each rename and loads.

# %%
log = fresh_log(SMALL)
for number in range(14):
    log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
theatre = CrashTheatre(log, "A replacement of segments")
theatre.stop_in(lambda: replace_by_copies(log, [0, 6], [12, 18]), only=["rename"])
outcomes = [[name for name, _ in frame.after if name.endswith(".log")] for frame in theatre.frames]

# %%
predict(
    "load-undoes-or-completes",
    "The upper new segment is .swap; the lower one's .index is still .cleaned. Does the load undo or complete the replacement? ('undoes' or 'completes')",
    ___,
    lambda: "undoes" if outcomes[3] == outcomes[0] else "completes",
)

# %%
for found in (outcomes[0], outcomes[-1]):
    print(outcomes.count(found), "crashes leave", found)
print("others:", sum(found not in (outcomes[0], outcomes[-1]) for found in outcomes), " log ends:", {frame.end for frame in theatre.frames})
theatre.play()

# %% [markdown]
# Phase 1 drops every `.swap` file whose offset is at or above that of the lowest `.cleaned` file. Phase 2 deletes **all** segments whose base lies in the range of the other `.swap` segments, from their lowest base to their last record. Phase 3 renames the `.swap` files.

# %%
erratum(
    "swap files with an offset greater than the smallest .cleaned one are dropped; a swap's original log is deleted with it",
    "greater or equal: the .log of the lowest new segment may be .swap while its index is .cleaned; the old segments stay until all new files are .swap",
    f"after 4 renames {theatre.frames[3].effects[0].words} … and segments {outcomes[3]}",
)

# %% [markdown]
# ### Phase 4: files are opened, not read
#
# The log **maps** its active segment's indexes **into memory** at the full length of `segment.index.bytes` (`AbstractIndex`), and cuts them at a roll or a close.

# %%
log = load(another(orders), TOPIC, clean=True)
print("open: ", {name: size for name, size in sizes(log.dir, ".index").items() if size > 100}, " max", log.config.max_index_size)
log.close()
print("closed:", {name: size for name, size in sizes(log.dir, ".index").items() if name == "…075.index"})

# %% [markdown]
# ### Phase 5: where the log ends
#
# After a clean stop `LogSegment.readNextOffset` reads batch headers of the last segment, from its last index entry to the end of the file.
#
# Retention deletes all records of this log: the active segment rolls, then the old one goes.

# %%
log = fresh_log({**SMALL, "retention.bytes": 0})
for number in range(3):
    log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
log.update_high_watermark(log.log_end_offset)
print(log.delete_old_segments(), "segment deleted")
log.close()
print(sizes(log.dir))
emptied = another(log.dir)

# %%
predict(
    "empty-file-log-end",
    "One .log file of 0 bytes is left. Where does the log end after a clean load?",
    ___,
    lambda: load(another(emptied), SMALL, clean=True).log_end_offset,
)

# %% [markdown]
# The name of an **empty active segment** says where the next record goes. Without any segment the load makes an empty one at the checkpointed log start, or at 0:

# %%
alone = remove(another(emptied), *sizes(emptied, ".log"))
for checkpoint in (0, 6):
    log = load(another(alone), SMALL, clean=True, log_start=checkpoint)
    print("log start", log.log_start_offset, " log end", log.log_end_offset, sizes(log.dir, ".log"))

# %% [markdown]
# Now the **recovery point**.

# %%
predict(
    "recovery-point-clean-stop",
    "The orders end at 90, the checkpoint says 24. What is the recovery point after a clean stop?",
    ___,
    lambda: load(another(orders), TOPIC, clean=True, recovery_point=24).recovery_point,
)

# %% [markdown]
# A clean stop flushes every log before it closes it (`LogManager.shutdown`). Next, two checkpointed starts for a log that ends at 65:

# %%
killed = killed_broker()
for checkpoint in (20, 100):
    log = load(another(killed), TOPIC, log_start=checkpoint)
    print("log start", log.log_start_offset, " LEO", log.log_end_offset, " segments", [segment.base_offset for segment in log.log_segments])

# %% [markdown]
# The checkpointed recovery point is a hint: the load moves it into the log's bounds. The log start is no hint: records below it count as deleted. If a log ends **below** its checkpointed start, the load begins an empty log there (`LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd`).
#
# ### Phase 6: epochs
#
# The file of epochs may be older or newer than the log.

# %%
newer = another(orders)
(newer / "leader-epoch-checkpoint").write_text("0\n4\n0 0\n1 50\n2 90\n3 120\n")
predict(
    "epoch-entries-after-load",
    "Epochs begin at 0, 50, 90 and 120, the log ends at 90. How many epochs does the load keep?",
    ___,
    lambda: len(load(another(newer), TOPIC, clean=True).leader_epoch_cache.epoch_entries),
)

# %%
for log_start in (0, 60):
    log = load(another(newer), TOPIC, clean=True, log_start=log_start)
    print("log start", log.log_start_offset, [(entry.epoch, entry.start_offset) for entry in log.leader_epoch_cache.epoch_entries])

# %% [markdown]
# An entry **at** the log end goes, too. So do entries below the log start, but the epoch that holds the log start now begins there.
#
# ### Phase 7: producers
#
# The killed broker's snapshots name two producers. We remove them, and load as after a clean stop.

# %%
cleared = remove(another(killed), *sizes(killed, ".snapshot"))
predict(
    "producers-known-after-load",
    "Without snapshots, how many producers does the log know after the load?",
    ___,
    lambda: len(load(another(cleared), TOPIC, clean=True).producer_state_manager.active_producers),
)

# %%
for name, directory in (("all snapshots", killed), ("no snapshots", cleared), ("…056.snapshot damaged", flip(another(killed), "056.snapshot", 20))):
    log = load(another(directory), TOPIC, clean=True)
    producers = log.producer_state_manager
    print(f"{name}: {len(producers.active_producers)} producers, open transaction from {producers.first_undecided_offset}")
    print("   ", sizes(log.dir, ".snapshot"))

# %% [markdown]
# After a clean stop the load assumes that a log **without any snapshot** had no producers. It reads nothing, writes three *empty* snapshots, at the bases of the last two segments and at the log end, and forgets the open transaction. So never delete the snapshots of a directory that was closed cleanly.
#
# With snapshots the load takes the newest one at or below the log end, and reads the batches behind it. It deletes a **damaged** one (its CRC is wrong), and takes the one before.

# %%
erratum(
    "Segments are loaded first, then swaps are completed by recovering them, then the log is recovered",
    "that was so in 2.5. Since 3.0 the load renames .swap files, also the indexes, before it loads any segment",
    " → ".join(frame.step.text.split(",")[0] for frame in walk.frames if frame.method.name == "LogLoader.load" and frame.step.number in "134"),
)

# %% [markdown]
# ## 5. Three witnesses
#
# **minikafka** and **Apache Kafka** run the workload, **Spark** derives its results from the lines alone. `reopen` closes the log and loads it.

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config internal.segment.bytes=1000 index.interval.bytes=150 segment.index.bytes=1200
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [2x10]
update_high_watermark leo
reopen
append_as_leader [2x10]
read 0
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %% [markdown]
# minikafka and Kafka also load and close littered directories, and we compare each file. (Numbers are the theatre's renames.)

# %%
cases = {"littered": littered, "epochs from the future": newer, "no snapshots": cleared, "emptied": emptied, "no segment": alone}
stops_to_compare = {renames: theatre.directory(renames - 1) for renames in (3, 4, 6, 9, 19)}
equal = {name: loaded_by_both(directory, TOPIC, clean=True).equal for name, directory in cases.items()}
equal | {renames: loaded_by_both(directory, SMALL, clean=True).equal for renames, directory in stops_to_compare.items()}

# %% [markdown]
# We plant a bug: the load takes the last index entry as the segment's end. A batch has 95 bytes here,
# and `index.interval.bytes` is 150. `reopen` is operation 5, counted from 0.

# %%
with planted("a segment ends where its index does"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)
predict(
    "log-end-after-reopen",
    "Where does the sick log end after reopen?",
    ___,
    lambda: sick.value(5, "log_end_offset"),
)

# %%
predict(
    "reopen-contradicted-by",
    "The recovery point is wrong, too. How many witnesses contradict minikafka about it (1 or 2)?",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# The next append uses offsets 6 and 7 a second time. An index never says where a log ends.
#
# ## 6. Exercises
#
# [Loading: rebuild](07-loading-rebuild.ipynb) has four functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the seven phases, each file they make, rename or delete, to the byte | one thread; a broker has `num.recovery.threads.per.data.dir` | `LogManager`, which reads the checkpoints (09b) |
# | what the load trusts after a clean stop | no metrics | disks that fail while loading |
# | the order of renames | the theatre's new segments are copies | logs in tiered storage |
#
# *What Spark is told:* the size of each batch, from the record builder.
#
# **A question to take along.** A disk was full and the broker stopped. While it was down, somebody deleted the largest `.swap` and `.deleted` files of a compacted
# topic. What do you check first?
#
# <details><summary>One answer</summary>
#
# Which segments are left? `minikafka ls` and `verify` name them, and say what a start would do. (Compaction leaves gaps, too: compare with another replica.) The `.deleted` files are no loss. But if no `.cleaned` file is left, a `.swap` may have been the only copy. Then, if another replica is whole and leads, move the partition's directory away with this broker down, and let it fetch anew.
#
# </details>

# %% [markdown]
# ### Card
#
# - A replacement of segments is either undone or completed, never half. The load finds in the files' names how far it had come.
# - After a clean stop the load checks no batch, except where `.index` is missing or `.txnindex` bad. Damage stays hidden.
# - After a clean stop the last segment alone says where the log ends: from its last index entry on, the load goes from batch to batch to the end of the file.
# - The recovery point in its checkpoint is a hint: after a clean stop the recovery point is the log's end. The log start in its checkpoint is no hint: records below it count as deleted.
# - After a clean stop the load assumes that a log without any snapshot never had producers.
#
# ![The seven phases of a load](../diagrams/loading.svg)
#
# | what the load finds | what it does |
# |:---|:---|
# | `.deleted` | deletes it |
# | `.cleaned` | deletes it, and every `.swap` whose offset is at or above that of the lowest `.cleaned` |
# | another `.swap` | puts it in the place of all segments in its range, and gives it its final name |
# | `.index`, `.timeindex` or `.txnindex` without its `.log` | deletes it |
# | `.snapshot` where no segment begins | deletes it; keeps the newest of them if no segment begins above it |
# | the newest `.snapshot`, damaged | deletes it, and takes the one before |
# | no segment at all | makes an empty one at the checkpointed log start |
# | a name that it does not know | leaves it alone |

# %% [markdown]
# **Next:** *Crash and recovery*: what phase 5 does when the last stop was not a clean one.
