# %% [markdown]
# # Loading
#
# *How a directory of files becomes a log again: what the load takes away, what it completes, what it believes, and what it rebuilds.*
#
# ## 1. The question
#
# **Time:** about forty minutes to read, fifty minutes to rebuild.
# **Before:** *Segments*, *Producers and transactions*, *Read*.
#
# **Afterwards you can decide:** which files of a partition's directory a start takes away and why, what a directory full of `.swap` files
# means, and which checkpoints a log believes.
#
# What goes wrong without a careful load? Here are 28 records in five segments. Compaction is about to replace the first four segments by two new
# ones, by renaming file after file. The process dies in the middle. The next load opens every file that ends in `.log`, and renames nothing.

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
    "These files are there after the process died. How many of the 28 records does a reader see?",
    ___,
    lambda: len(seen),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.
#
# Four old `.log` files are called `.deleted` already, two new ones are still called `.swap`. (`stopped_at_each_rename` keeps a copy of the directory for each moment at which the process may have died; this is the moment after rename 18. The new
# segments are plain copies, because only the renaming matters. `sizes` lists files, `load` makes a log of a directory, and `clean` says that the last stop was a clean one. `planted` puts a bug into
# minikafka for the length of a block.)

# %%
print("the log begins at", careless.log_start_offset, "and ends at", careless.log_end_offset)
print("a reader sees", seen)

# %% [markdown]
# There was no error, and 24 of 28 records are gone. The same directory with the real load:

# %%
from minikafka.lab.stage.killed_broker import killed_broker
from minikafka.lab.stepper.crash_theatre import CrashTheatre

log = load(another(half_done), SMALL, clean=True)
print("the log begins at", log.log_start_offset, "and ends at", log.log_end_offset)
print(len(values_of(log, FetchIsolation.LOG_END)), "records from the first segment; segments", [s.base_offset for s in log.log_segments])

# %% [markdown]
# **Whoever changes a directory can be interrupted between any two files. Loading is the other half of every such change**: it finds in the names how far the
# work had come, and undoes or completes it.

# %% [markdown]
# ## 2. The picture

# %%
diagram("loading")

# %% [markdown]
# - **Clean stop:** the broker closed its logs and left the file `.kafka_cleanshutdown`. **Unclean:** the file is missing. This lesson is about clean
#   starts and about what every start does; *Crash and recovery* is about phase 5 after an unclean stop.
# - **Recovery point:** all records with offsets below it are known to be on the device (flushed).
# - **Checkpoint:** a small file for all partitions of a disk, such as `recovery-point-offset-checkpoint`: one line a partition, written now and then.
# - **To recover a segment:** to read all of it, check each batch, cut at the first bad one, and build its indexes anew.
# - **Snapshot:** what the log knows of its producers (last sequence numbers, open transactions) before one offset, in a file of that name.
#
# In the errata of this page, *older text* is the one that the course grew from.
#
# A real broker wrote `data/orders-0` and closed it. Here is what it left:

# %%
orders = "data/orders-0"
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
print(*(f"{size:6}  {name}" for name, size in sizes(orders).items()), sep="\n")

# %% [markdown]
# (Names have 20 digits before the dot; the course shows the last three.)
#
# | suffix or name | what it is | who takes it away |
# |:---|:---|:---|
# | `.log` | the batches of one segment | retention, compaction, truncation |
# | `.index`, `.timeindex` | offset → byte, timestamp → offset | go with their `.log` |
# | `.txnindex` | aborted transactions; only where there are any | goes with its `.log` |
# | `.snapshot` | producers before the offset in its name | goes with the segment that begins there; the load, where none does |
# | `.deleted` | appended to the whole name: on its way out | a task after `file.delete.delay.ms`, or the next load |
# | `.cleaned` | a new segment that is being written | renamed `.swap`, or the next load |
# | `.swap` | a new segment that is complete | renamed to its final name, by the next load if need be |
# | `leader-epoch-checkpoint` | which leader's epoch began at which offset | stays |
# | `partition.metadata` | the topic's id | stays |
# | `-delete`, `-future`, `-stray` | end of a *directory's* name: topic deleted, replica being moved, replica of nobody | a task, the move, you |
#
# Beside the directory, for all partitions of a disk: `recovery-point-offset-checkpoint`, `log-start-offset-checkpoint`,
# `replication-offset-checkpoint`, `cleaner-offset-checkpoint`, and `.kafka_cleanshutdown`.

# %%
erratum(
    "Names are always 20 characters; .snapshot is made for idempotent or transactional producers; .log is changed to .deleted",
    "20 digits and a suffix; a snapshot is written for every log at roll, close and recovery; .deleted is appended",
    f"a log without any producer id, after a roll: {sizes(fresh_log().roll(5).log.file.parent, 'snapshot')}",
)

# %% [markdown]
# ### How files change their names

# %%
diagram("loading_names")

# %% [markdown]
# ## 3. The rules
#
# 1. A replacement of segments is either undone or completed, never half.
# 2. After the load each index has its `.log`, there is at least one segment, and the indexes of the last one have room to grow.
# 3. After a clean stop no batch is checked, except in a segment that has lost its `.index`: damage stays where it is, and stays hidden.
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
# The orders were closed cleanly, but somebody has littered the directory with five files. Which of them are still there after a load?

# %%
littered = another(orders)
for name in (f"{15:020}.log.deleted", f"{200:020}.index", f"{7:020}.snapshot", f"{0:020}.min.opt", "notes.txt"):
    (littered / name).write_bytes(b"")
walk = step_through(
    load, littered, TOPIC, clean=True,
    into={"LogLoader.load", "LogLoader._remove_temp_files_and_collect_swap_files", "LogLoader.recover_log"},
    locals_of_interest={"swap_files", "new_recovery_point", "next_offset", "new_log_start_offset", "log_end_offset"},
)  # fmt: skip

# %%
predict(
    "leftovers-taken-away",
    "A .log.deleted, an .index without a .log, a .snapshot where no segment begins, a .min.opt, a notes.txt: how many of the five does the load take away?",
    ___,
    lambda: 5 - len([name for name in sizes(littered) if name.endswith((".deleted", "200.index", "007.snapshot", ".opt", ".txt"))]),
)

# %%
walk.play()

# %%
erratum(
    "removeTempFilesAndCollectSwapFiles deletes .min.opt and .deleting files",
    "invented. The loader knows .deleted, .cleaned and .swap; what has another name is left alone",
    f"after the load: {[*sizes(littered, 'min.opt'), *sizes(littered, '.txt')]}",
)

# %% [markdown]
# An index without its `.log` is called **orphaned** (`LogLoader.loadSegmentFiles` in phase 4). Phase 7 deletes the **stray** snapshots: those at offsets
# where no segment begins, except the newest, if no segment begins above it. That exception is the snapshot at the log end, `…090.snapshot`, which
# a clean stop writes for this very load.
#
# ### Phases 1 to 3: a replacement cut off half way
#
# `replace_segments` puts new segments in the place of old ones. Compaction calls it with several old segments and one
# new one (`Cleaner.cleanSegments`), splitting with one old segment and several new ones (`splitOverflowedSegment`). Here both come together, as in part 1:
# segments 0 and 6 are to be replaced by one, 12 and 18 by another. The theatre stops after each rename and loads what is there.

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
    "The upper new segment is .swap already, of the lower one only the .log is, its .index still .cleaned. The load…? ('undoes' or 'completes')",
    ___,
    lambda: "undoes" if outcomes[3] == outcomes[0] else "completes",
)

# %%
theatre.play()

# %%
for found in (outcomes[0], outcomes[-1]):
    print(outcomes.count(found), "crashes leave", found)
print("others:", sum(found not in (outcomes[0], outcomes[-1]) for found in outcomes), " log ends:", {frame.end for frame in theatre.frames})

# %% [markdown]
# How the load decides: in phase 1 every `.swap` file whose offset is at or above that of the lowest `.cleaned` file is dropped. In phase 2 the `.swap`
# segments that remain replace **all** segments whose base lies in their range: from the lowest base to the end of the last record. In phase 3 they get
# their names.

# %%
erratum(
    "swap files with an offset greater than the smallest .cleaned one are dropped; a swap's original log is deleted with it",
    "greater or equal: the .log of the lowest new segment may be .swap while its index is .cleaned; originals stay until all is .swap",
    f"after 4 renames {theatre.frames[3].effects[0].words} … and segments {outcomes[3]}",
)

# %% [markdown]
# ### Phase 4: files are opened, not read
#
# The stopped orders had index files of two entries each. While a segment is active its index files are long: the whole length of
# `segment.index.bytes` is **mapped into memory** at once (`AbstractIndex`), so an entry is written by storing eight bytes, without a system call. Files are
# cut to their entries when the segment is rolled or closed.

# %%
log = load(another(orders), TOPIC, clean=True)
print("open: ", {name: size for name, size in sizes(log.dir, ".index").items() if size > 100}, " max", log.config.max_index_size)
log.close()
print("closed:", {name: size for name, size in sizes(log.dir, ".index").items() if name == "…075.index"})

# %% [markdown]
# A `.log` file can have its full length before it is written, too, if the topic has `preallocate`. A clean close cuts it (`FileRecords.trim`).

# %%
log = fresh_log({**SMALL, "preallocate": "true"})
log.append_as_leader(records(2), leader_epoch=0)
print("open:  ", sizes(log.dir, ".log"), " bytes of batches:", log.size)
log.close()
print("closed:", sizes(log.dir, ".log"))

# %% [markdown]
# ### Phase 5: where the log ends
#
# After a clean stop nothing is scanned. `LogSegment.readNextOffset` asks the last segment alone: from its last index entry on it goes from batch to
# batch, reading headers, up to the end of the file.
#
# Retention has deleted all records of a log: the active segment was rolled first, then the old ones went. The log is closed. Its directory has one `.log` file
# of 0 bytes.

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
    "One .log file of 0 bytes. After a clean load the log ends at?",
    ___,
    lambda: load(another(emptied), SMALL, clean=True).log_end_offset,
)

# %% [markdown]
# An **empty active segment** says by its name where the next record goes. So the rule needs one more line: without a single segment the load makes an
# empty one, at the checkpointed log start. If the checkpoint says nothing either, that is offset 0. (Its `.index` does not exist before it is used. A load
# that misses an `.index` recovers the segment; in an empty one there is nothing to read.)

# %%
alone = remove(another(emptied), *sizes(emptied, ".log"))
for checkpoint in (0, 6):
    log = load(another(alone), SMALL, clean=True, log_start=checkpoint)
    print("log start", log.log_start_offset, " log end", log.log_end_offset, sizes(log.dir, ".log"))

# %% [markdown]
# Now the **recovery point**. The checkpoint file of a broker is written once a minute; say that it holds 24. The stop was clean.

# %%
predict(
    "recovery-point-clean-stop",
    "The orders end at 90, the checkpoint says 24, the stop was clean. The recovery point after the load?",
    ___,
    lambda: load(another(orders), TOPIC, clean=True, recovery_point=24).recovery_point,
)

# %% [markdown]
# A clean stop flushes every log before it closes it (`LogManager.shutdown`), so all that is there is known to be on the device.

# %%
killed = killed_broker()
for checkpoint in (20, 100):
    log = load(another(killed), TOPIC, log_start=checkpoint)
    print("log start", log.log_start_offset, " LEO", log.log_end_offset, " segments", [segment.base_offset for segment in log.log_segments])

# %% [markdown]
# This was another directory, one that ends at 65. The two checkpoints that a load gets, recovery point and log start, are hints, bent to what is there, with one exception:
# records below the checkpointed log start count as deleted. Where a log ends **below** that start, its upper part
# was lost, and all that is left is deleted records: they are dropped, and an empty log begins at the start
# (`LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd`). The high watermark has a checkpoint of its own, which the load does not read.
#
# ### Phase 6: epochs
#
# The file of epochs was written at another moment than the log. Say that it names four: 0 from 0 on, 1 from 50, 2 from 90, 3 from 120.
# The log ends at 90.

# %%
newer = another(orders)
(newer / "leader-epoch-checkpoint").write_text("0\n4\n0 0\n1 50\n2 90\n3 120\n")
predict(
    "epoch-entries-after-load",
    "Epochs begin at 0, 50, 90 and 120, the log ends at 90. How many entries has the cache after the load?",
    ___,
    lambda: len(load(another(newer), TOPIC, clean=True).leader_epoch_cache.epoch_entries),
)

# %%
for log_start in (0, 60):
    log = load(another(newer), TOPIC, clean=True, log_start=log_start)
    print("log start", log.log_start_offset, [(entry.epoch, entry.start_offset) for entry in log.leader_epoch_cache.epoch_entries])

# %% [markdown]
# An entry that begins **at** the log end goes as well: nothing was written in its epoch. At the other end, what was before the log start goes, and
# the epoch that holds the log start now begins there.
#
# ### Phase 7: producers
#
# A directory with producers is that of the killed broker, which *Crash and recovery* looks into. For now let it pass for one that was stopped cleanly. It knows
# two producers. Then all its snapshots are deleted.

# %%
cleared = remove(another(killed), *sizes(killed, ".snapshot"))
predict(
    "producers-known-after-load",
    "No snapshot is left, the stop counts as clean. How many producers does the log know after the load?",
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
# After a clean stop a log **without any snapshot** is taken for one that never had producers: three *empty* snapshots are written, at the
# bases of the last two segments and at the log end, ten bytes each, and the open transaction is forgotten. Nothing is read. So never delete the snapshots of a
# directory that was closed cleanly.
#
# With snapshots the newest one at or below the log end is loaded, and the batches behind it are read. A snapshot that is **damaged** is found out by its CRC and
# deleted, and the one before it serves.
#
# ### What became of `Log.scala`
#
# Much that is written about this code names `kafka.log.Log`, one Scala class. `LogLoader` and `LogSegments` came out of it in 3.0, `UnifiedLog` and `LocalLog` are its two halves
# since 3.1, and all of them are Java today. Which way to look:
#
# | in 2.5: `Log.scala` | in 4.3: | here |
# |:---|:---|:---|
# | the constructor's block | `UnifiedLog.create` | `Log.create` |
# | `loadSegments` | `LogLoader.load` | `LogLoader.load` |
# | `removeTempFilesAndCollectSwapFiles` | `LogLoader`, same name | phase 1 |
# | `completeSwapOperations` | none: `.swap` is taken off in `load` | phases 2 and 3 |
# | `loadSegmentFiles`, `recoverSegment`, `recoverLog` | `LogLoader`, same names | phases 4 and 5 |
# | `retryOnOffsetOverflow`, `splitOverflowedSegment` | `LogLoader`; the splitting in `LocalLog` | `segment_files` |
# | `loadProducerState`, `rebuildProducerState` | `UnifiedLog.rebuildProducerState` | phase 7 |
# | `replaceSegments`, `deleteSegmentFiles` | `LocalLog`; `UnifiedLog.replaceSegments` calls it | `segment_files` |
# | `append`, `read`, `roll`, `truncateTo` | `UnifiedLog`, the files' part in `LocalLog` | `Log`, `LocalLog` |
# | the names of files (`logFile`, `offsetFromFile` …) | `LogFileUtils` | `log_file_utils` |

# %%
erratum(
    "Segments are loaded first, then swaps are completed by recovering them, then the log is recovered",
    "so it was in 2.5. Since 3.0 .swap files are renamed, indexes and all, before any segment is loaded",
    " → ".join(frame.step.text.split(",")[0] for frame in walk.frames if frame.method.name == "LogLoader.load" and frame.step.number in "134"),
)

# %% [markdown]
# ## 5. Three witnesses
#
# The same workload by **minikafka**, by **Spark** from the lines alone, by the real **Apache Kafka**. `reopen` closes the log and loads it.

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
# A workload can't litter a directory. For that there are two witnesses, and a stricter comparison: both load the same directory and close the log; then
# each file is compared byte by byte.

# %%
cases = {"littered": littered, "epochs from the future": newer, "no snapshots": cleared, "emptied": emptied, "no segment": alone}
{name: loaded_by_both(directory, TOPIC, clean=True).equal for name, directory in cases.items()}

# %%
stops_to_compare = {renames: theatre.directory(renames - 1) for renames in (3, 4, 6, 9, 19)}
{renames: loaded_by_both(directory, SMALL, clean=True).equal for renames, directory in stops_to_compare.items()}

# %% [markdown]
# Now a bug is planted: the load believes that a segment ends where its index does, and does not read the batches behind the last entry. A batch has 95 bytes here,
# and `index.interval.bytes` is 150. Where does the log end after `reopen` (operation 5, counted from 0)?

# %%
with planted("a segment ends where its index does"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "log-end-after-reopen",
    "Eight records in four batches. Where does the sick log end after reopen?",
    ___,
    lambda: sick.value(5, "log_end_offset"),
)

# %%
predict(
    "reopen-contradicted-by",
    "The recovery point after reopen is wrong, too. How many of the other two witnesses contradict minikafka about it? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# Spark has no rule for recovery points, and its silence is no contradiction. The next append gives offsets 6 and 7 a second time. An index is a shortcut to a place from which to read; it never says where a log ends.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Loading: rebuild](07-loading-rebuild.ipynb), four functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the seven phases, each file they make, rename or delete, to the byte | one thread; a broker loads several logs at a time, `num.recovery.threads.per.data.dir` | `LogManager`, which finds the directories and reads the checkpoints (*Storage layer*) |
# | what is believed after a clean stop | no metrics, no progress in JMX | disks that fail while loading: the whole log directory goes offline |
# | the order of renames | the new segments in the theatre are copies; compaction's have fewer records | logs in tiered storage |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. Everything else Spark works out from the workload.
#
# **A question to take along.** A disk was full, the broker stopped, and somebody made room by deleting the largest `.swap` and `.deleted` files of a compacted
# topic, while the broker was down. What do you check first?
#
# <details><summary>One answer</summary>
#
# Which segments are left: `minikafka ls DIRECTORY` and `minikafka verify DIRECTORY` name them and what a start would do, without changing
# a byte. (A gap between two segments proves nothing by itself: compaction leaves gaps, too. Compare with another replica.) The `.deleted` files were on their way out. A `.swap` file is another matter: once no `.cleaned` file is left, the old segments may be gone already, and
# the `.swap` was the only copy. Then the partition has to come from another replica: with the broker down, move its directory away, and let the follower
# fetch it anew.
#
# </details>

# %% [markdown]
# ### Card
#
# - A replacement of segments is either undone or completed, never half. The load finds in the files' names how far it had come.
# - After a clean stop the load checks no batch, except in a segment that has lost its `.index`. Damage stays hidden.
# - After a clean stop the last segment alone says where the log ends: from its last index entry on, the load goes from batch to batch to the end of the file.
# - The recovery point and the log start in the checkpoints are hints. But records below that log start count as deleted.
# - After a clean stop a log without any snapshot is taken for one that never had producers.
#
# ![The seven phases of a load](../diagrams/loading.svg)
#
# | what the load finds | what it does |
# |:---|:---|
# | `.deleted` | deletes it |
# | `.cleaned` | deletes it, and every `.swap` whose offset is at or above that of the lowest `.cleaned` |
# | another `.swap` | puts it in the place of all segments in its range, and gives it its final name |
# | `.index` or `.timeindex` without its `.log` | deletes it |
# | `.snapshot` where no segment begins | deletes it, unless it is the newest and no segment begins above it |
# | `.snapshot` that is damaged | deletes it; the one before it serves |
# | no segment at all | makes an empty one at the checkpointed log start |
# | a name that it does not know | leaves it alone |

# %% [markdown]
# **Next:** *Crash and recovery*: what phase 5 does when the last stop was not a clean one.
