# %% [markdown]
# # Crash and recovery
#
# *What a crash can take from a log, and what the next start cuts, keeps, and never looks at.*
#
# ## 1. The question
#
# **Time:** about fifty minutes to read, fifty-five minutes to rebuild. **Before:** *Loading*.
#
# **Afterwards you can decide:** what a killed broker can have lost, why a start may take half an hour, and where a damaged log ends after the start.
#
# What goes wrong without recovery? The machine loses its power in the fourth of four writes, and the last 20 bytes never reach the disk. The next start trusts the directory and skips recovery. Then a producer appends record `9` and gets an acknowledgement.

# %%
from minikafka.lab import SegmentShelf, ___, diagram, erratum, fresh_log, planted, predict, records, scratch, step_through
from minikafka.lab import three_witnesses, values_of, wake_witnesses
from minikafka.lab.stage.damage import SMALL, another, cut, flip, kill, load, loaded_by_both, sizes
from minikafka.log.fetch_isolation import FetchIsolation

log = fresh_log()
for number in range(4):
    log.append_as_leader(records(1, first=number), leader_epoch=0)
whole = log.size
wake_witnesses()
SegmentShelf(log, "What was to be written").snap(f"four batches of one record, {whole} bytes").play()

# %%
torn = cut(kill(log), ".log", whole - 20)
believed = load(another(torn), clean=True)
acknowledged = believed.append_as_leader(records(1, first=9), leader_epoch=0)
print(whole, "bytes written,", sizes(torn, ".log"), "left")
print("acknowledged: offset", acknowledged.first_offset, " the log ends at", believed.log_end_offset)

# %%
predict(
    "record-9-is-read",
    "Does a reader get record 9? (True or False)",
    ___,
    lambda: "9" in values_of(believed, FetchIsolation.LOG_END),
)

# %%
from minikafka.lab.stage.killed_broker import killed_broker
from minikafka.lab.stepper.crash_theatre import CrashTheatre

print("without recovery a reader sees", values_of(believed, FetchIsolation.LOG_END))
recovered = load(another(torn), clean=False)
recovered.append_as_leader(records(1, first=9), leader_epoch=0)
print("with recovery a reader sees", values_of(recovered, FetchIsolation.LOG_END))

# %% [markdown]
# Without recovery a reader takes the bytes of record `9` as the rest of the torn batch before them. (With `check.crcs`, the default, a consumer throws a `KafkaException` at offset 3 and gets no further.)
# Record 3 was never flushed and is lost in both runs. **Recovery does not save records. It makes sure that readers find later records.**
#
# (`kill(log)` ends the log without closing it and returns its directory; `another` copies a directory; `load` loads one as a log. `clean=True`: the last stop was clean. A `___` is a blank for you to fill. Spark and Apache Kafka are starting for part 5.)
#
# ## 2. The picture

# %%
diagram("crash")

# %% [markdown]
# - **Unclean stop:** the process or the machine died; the file `.kafka_cleanshutdown` is missing.
# - **Page cache:** the system's memory, where a write to a file first arrives. A **flush** (`fsync`) writes it to the device.
# - **Recovery point:** all records below it are known to be on the device, or are deleted. A checkpoint file keeps it for the next start.
# - **To recover a segment:** check each batch, cut the `.log` before the first bad one, rebuild the indexes.
#
# A real broker was killed with `kill -9` and left these files of `orders-0`. The two longest are indexes of the active segment, not yet trimmed to their entries:

# %%
killed = killed_broker()
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
print(*(f"{size:12,}  {name}" for name, size in sizes(killed).items()), sep="\n")

# %% [markdown]
# ## 3. The rules
#
# 1. Written records survive the death of the process. Flushed records survive the death of the machine.
# 2. After an unclean stop the load scans the segment that holds the recovery point and all segments above it. The log ends before the first bad batch that the scan finds.
# 3. The scan checks no batch below that segment. Kafka takes flushed batches to be good.
# 4. A batch survives whole or not at all.
# 5. A load after an unclean stop never raises the recovery point above its checkpoint, except to the log start.
#
# (A segment without an `.index` is an exception to 2 and 3: see *Damaged and missing files*. Part 4 checks rule 4.
# `load` assumes an unclean stop by default; `recovery_point` is the checkpoint's value, by default 0; `flip` changes one bit.)

# %%
log = load(another(killed), TOPIC, recovery_point=24)
print("rule 1:", sum(sizes(killed, ".log").values()), "bytes written,", log.size, "left; the log ends at", log.log_end_offset)
damaged = flip(another(killed), "030.log", 100)
print("rule 2:", load(another(damaged), TOPIC).log_end_offset)
print("rule 3:", load(another(damaged), TOPIC, recovery_point=41).log_end_offset)
print("rule 5:", [load(another(killed), TOPIC, recovery_point=point).recovery_point for point in (0, 24, 5000)])

# %% [markdown]
# ## 4. The source, walked
#
# ### What has been flushed
#
# By default Kafka does not flush at each append. Three things flush a log and move its recovery point: a **roll**, by a background task (`UnifiedLog.roll`); the settings `flush.messages` and `flush.ms`, if set (`flush.ms` also needs a period of the flusher: *Background tasks*);
# a clean stop. The cell appends six records and rolls after the fourth:

# %%
log = fresh_log({"segment.index.bytes": 1200})
for number in range(6):
    if number == 4:
        log.roll()
    log.append_as_leader(records(1, first=number), leader_epoch=0)
print("the task has not run: recovery point", log.recovery_point, " log end", log.log_end_offset)
log.scheduler.run_due_tasks()
safe = log.recovery_point

# %%
predict(
    "recovery-point-after-roll",
    "Four records were written, then a roll, then two more records, and the background task has run. What is the recovery point?",
    ___,
    lambda: safe,
)

# %%
log.flush(force_flush_active_segment=False)
print("after a flush:", log.recovery_point, " the log end:", log.log_end_offset)
reloaded = load(kill(log), SMALL, recovery_point=4)
print("killed, with a checkpoint of 4:", reloaded.recovery_point, " the log end:", reloaded.log_end_offset)
erratum(
    "The checkpoint is the position up to which the log is on disk: the recovery point",
    "the recovery point is in memory and moves at each flush; the checkpoint is a copy in a file, written once a minute by default",
    f"recovery point {log.recovery_point} in memory; a load with a checkpoint of 4 has {reloaded.recovery_point}",
)

# %% [markdown]
# Kafka writes the file after the flush, so its value may be too low, but not too high. (A truncation writes the file at once.)
#
# ### The scan
#
# Now load the killed broker's directory. Its checkpoint says 24, the log end at the last clean stop.

# %%
walk = step_through(
    load, another(killed), TOPIC, recovery_point=24,
    into={"LogLoader.load", "LogLoader.recover_log", "LogLoader._recover_segment"},
    locals_of_interest={"swap_files", "new_recovery_point", "next_offset", "new_log_start_offset", "segment", "bytes_truncated", "log_end_offset"},
)  # fmt: skip

# %%
predict(
    "segments-scanned",
    "The segments begin at 0, 15, 30, 41 and 56, and the recovery point is 24. How many segments does the load scan?",
    ___,
    lambda: sum(frame.method.name == "LogLoader._recover_segment" and frame.step.number == "2" for frame in walk.frames),
)

# %%
walk.play()

# %%
log = load(another(killed), TOPIC, recovery_point=24)
print("log start", log.log_start_offset, " recovery point", log.recovery_point, " HW", log.high_watermark, " LEO", log.log_end_offset)
print("epochs", [(entry.epoch, entry.start_offset) for entry in log.leader_epoch_cache.epoch_entries])
print("producers", [(p.producer_id, p.last_data_offset, p.current_txn_first_offset) for p in log.producer_state_manager.active_producers.values()])
erratum(
    "recoverLog returns LEO as the new recovery point",
    "that was so up to 2.7. Since 2.8 a load after an unclean stop does not move it up to LEO: to read records is not to flush them",
    f"recovery point {log.recovery_point}, LEO {log.log_end_offset}",
)

# %% [markdown]
# (Printed per producer: id, last offset, first offset of its open transaction.) All records are there: `kill -9` ends a process, not the machine. The recovery point stays at 24: reading is not flushing. HW is 0
# until the partition sets it from the checkpoint of high watermarks.
#
# ### Recovering one segment
#
# The long index has 10,485,760 bytes, mostly zeros, and nothing on disk says how many of its entries are real. So recovery reads the batches:

# %%
log = load(another(killed), TOPIC, clean=True)
active = log.active_segment
print("entries before:", active.offset_index.entries, " is it full?", active.offset_index.is_full)
scanned = step_through(active.recover, log.producer_state_manager, log.leader_epoch_cache, locals_of_interest={"valid_bytes", "last_index_entry", "truncated"})
print("entries after: ", active.offset_index.entries, " steps:", len(scanned.frames), " cut:", scanned.result, "bytes")
scanned.play()

# %%
after = load(another(killed), TOPIC, recovery_point=24)
print("…015.index:", sizes(killed)["…015.index"], "→", sizes(after.dir)["…015.index"], "bytes")

# %% [markdown]
# Recovery wrote one entry more for segment 15 than the broker did. After its clean stop at offset 24 the broker counted the bytes since the last entry from 0 again;
# the scan did not. So replicas with equal `.log` files may have different indexes.
#
# ### A crash at the byte you pick
#
# The crash theatre stops an append after each change on disk, and inside the write. The loader then loads each directory; the middle column shows what it does, and in which phase.
# The append's three records do not fit into the second segment.

# %%
print(SMALL)
log = fresh_log(SMALL)
for number in range(5):
    log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
print("segments:", [(segment.base_offset, segment.size) for segment in log.log_segments])
theatre = CrashTheatre(log, "An append that begins a segment")
theatre = theatre.stop_in(lambda: log.append_as_leader(records(3, first=10), leader_epoch=0), every=7)

# %%
predict(
    "segments-after-torn-batch",
    "105 of the new batch's 112 bytes are on the disk. How many segments does the log have after the load?",
    ___,
    lambda: next(sum(name.endswith(".log") for name, _ in frame.after) for frame in theatre.frames if frame.left == 105),
)

# %%
theatre.play()

# %% [markdown]
# The load removes the whole batch; the new file of the roll stays. Now choose a `BYTE` from 0 to 285: there the second of two segments is cut. Run both cells as often as you like.

# %%
log = fresh_log(SMALL)
for number in range(6):
    log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
BYTE = 200
print("segment 6:", [(batch.base_offset, batch.last_offset, batch.size_in_bytes) for batch in log.log_segments[1].log.batches()])
directory = kill(log)

# %%
predict(
    "log-end-after-cut",
    "Segment 6 is cut to BYTE bytes. At which offset does the log end after a load?",
    ___,
    lambda: load(cut(another(directory), "006.log", BYTE)).log_end_offset,
)

# %%
log = load(cut(another(directory), "000.log", 200))
print("the first segment is cut: the log ends at", log.log_end_offset, " segments", [segment.base_offset for segment in log.log_segments])
print(sizes(log.dir, ".deleted"))

# %% [markdown]
# If the first segment is damaged, the load also deletes the sound segment above it.

# %% [markdown]
# ## 5. Three witnesses
#
# `reopen clean=false` kills the log and loads it; Spark computes what a scan must put into the indexes. Spark does not know of damage, so in the second cell only minikafka and Kafka load the same damaged directories, and each file is compared.

# %%
from minikafka.witness import Workload, agree, minikafka_log, run

workload = Workload.parse("""
config internal.segment.bytes=300 index.interval.bytes=60 segment.index.bytes=1200
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [2x10]
append_as_leader [2x10]
update_high_watermark leo
reopen clean=false
append_as_leader [2x10]
append_as_leader [2x10]
read 0
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
damages = {
    "a bit in a batch of segment 30": lambda copy: flip(copy, "030.log", 100),
    "the last 7 bytes": lambda copy: cut(copy, "056.log", sizes(copy)["…056.log"] - 7),
}
print("as it was left:", loaded_by_both(killed, TOPIC, recovery_point=24))
{name: loaded_by_both(killed, TOPIC, damage).equal for name, damage in damages.items()}

# %% [markdown]
# Now a planted bug: after an unclean stop minikafka scans nothing. Right after `reopen` (operation 5, counted from 0) the witnesses still agree, because the
# LEO comes from the last batch, and zeros in an index are not compared.

# %%
with planted("an unclean log is not scanned"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "recovery-differs-after",
    "After which of the two appends, 6 or 7, do minikafka and Kafka differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "recovered-segments-contradicted-by",
    "How many of the other two witnesses contradict minikafka about the segments? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# (`6:95`: the segment that begins at 6 has 95 bytes.) Without a scan the long index of zeros counts as *full*, and a full index makes the log roll. With a torn file this bug would cause the failure of part 1.

# %% [markdown]
# ## 6. Exercises
#
# In [Crash and recovery: rebuild](08a-crash-and-recovery-rebuild.ipynb): two functions and two rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what is scanned, cut, deleted and rebuilt | one thread; a broker has `num.recovery.threads.per.data.dir` | `LogManager`, which reads the checkpoints |
# | what moves the recovery point, and what does not | a real power cut may also lose writes out of order | tiered storage |
#
# *What Spark is told:* the size of each batch.
#
# **A question to take along.** After a power cut a broker with thousands of partitions has been starting for half an hour, and its log says *Recovering
# unflushed segment*. What do you check first?
#
# <details><summary>One answer</summary>
#
# Does it make progress? Then the base offsets rise in the log lines of each partition. (*N recovered* is always 0 in 4.3.0.) A long start is normal after an unclean stop. Don't kill it: the next start would begin at the same recovery points. (Without a power cut, ask why the stop was unclean: often the service manager
# did not wait long enough.) `minikafka verify DIRECTORY` tells what a start would cut, without changing a byte.
#
# </details>

# %% [markdown]
# ### Card
#
# - Written records survive the death of the process. Flushed records survive the death of the machine.
# - After an unclean stop the load scans the segment that holds the recovery point and all segments above it. The log ends before the first bad batch that the scan finds.
# - A batch survives whole or not at all. The load deletes the segments above a cut, even if they are sound.
# - The scan checks no batch below that segment. Kafka takes flushed batches to be good.
# - Recovery does not save records. It makes sure that readers find later records.
#
# ![Where a record is when a crash comes](../diagrams/crash.svg)
#
# | what happened | the log after the start |
# |:---|:---|
# | the process was killed, the machine runs on | has all that was written |
# | the power failed | has all batches below the recovery point, and those above it up to the first bad one |
# | the last batch is torn | ends before that batch; if the log had rolled for that batch, the new file stays, empty |
# | a batch of a scanned segment is bad | ends before that batch; the segments above go, sound or not |
# | a batch below the scanned segments is bad | ends where it did; no one has checked that batch |
# | the stop was unclean, and all is whole | has its recovery point where the checkpoint was: reading is not flushing |

# %% [markdown]
# **Next:** *Damaged and missing files*: what a start notices when a file of a log is gone or wrong, and what it does not.
