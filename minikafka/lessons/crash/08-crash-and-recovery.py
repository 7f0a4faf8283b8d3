# %% [markdown]
# # Crash and recovery
#
# *What a crash can take from a log, what the next start cuts off and what it keeps, and what it never looks at.*
#
# ## 1. The question
#
# **Time:** about forty-five minutes to read, forty-five minutes to rebuild. **Before:** *Loading*.
#
# **Afterwards you can decide:** what a killed broker can have lost and what not, why one start takes seconds and another half an hour,
# which files of a partition's directory you may delete after a crash, and which you must not.
#
# What goes wrong without recovery? Here are four records. In the middle of the fourth write the machine loses its power, and the
# last 20 bytes never reach the disk. The next start believes the directory. Then a producer appends record `9`, and gets its acknowledgement.

# %%
from minikafka.lab import SegmentShelf, ___, diagram, erratum, fresh_log, planted, predict, records, scratch, step_through
from minikafka.lab import three_witnesses, values_of, wake_witnesses
from minikafka.lab.stage.damage import SMALL, another, cut, entries_of, far_apart, flip, kill, load, loaded_by_both, remove, sizes
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

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.
#
# (`kill(log)` ends the log without closing it and gives its directory; `cut` shortens one of its files.
# `load` makes a log of a directory again, and works in it; so it gets a copy, which `another` makes. With `clean=True` it is told that the last stop was a clean one.)

# %%
print("a reader sees", values_of(believed, FetchIsolation.LOG_END))

# %% [markdown]
# Record `9` is acknowledged, and nobody will ever read it: it was written after the first bytes of a batch that has no end, so the reader
# takes its bytes for the rest of that batch. (Our reader does not check the CRC and finds no record there. A consumer does, by its
# `check.crcs`, and throws a `KafkaException`: the batch at offset 3 is invalid. It gets no further.) Now the same with recovery:

# %%
from minikafka.lab.stage.killed_broker import killed_broker
from minikafka.lab.stepper.crash_theatre import CrashTheatre

recovered = load(another(torn), clean=False)
recovered.append_as_leader(records(1, first=9), leader_epoch=0)
print("a reader sees", values_of(recovered, FetchIsolation.LOG_END))

# %% [markdown]
# Record 3 is lost in both. It was never flushed, and no code can bring it back; that is what replicas are for. **Recovery does not save
# records. It makes sure that what comes after can be found.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("crash")

# %% [markdown]
# - **Unclean stop:** the broker's process or its machine died; the file `.kafka_cleanshutdown` is missing.
# - **Page cache:** the system's memory, where a write to a file first arrives. A **flush** (`fsync`) takes it to the device.
# - **Recovery point:** all records with offsets below it are known to be on the device. A checkpoint file keeps it for the next start.
# - **To recover a segment:** to read all of it, check each batch, cut at the first bad one, and build its indexes anew.
# - **Torn:** only a part of a write is there.
#
# In the errata of this page, *older text* is the one that the course grew from.
#
# A real broker was killed with `kill -9` while it wrote `orders-0`. Here is what it left:

# %%
killed = killed_broker()
TOPIC = {"internal.segment.bytes": 1000, "index.interval.bytes": 250, "retention.ms": -1}
print(*(f"{size:12,}  {name}" for name, size in sizes(killed).items()), sep="\n")

# %% [markdown]
# (For the repository the zeros at the end of the two long files were left out, and `killed_broker()` grows them back.) The two long files are the
# indexes of the active segment: nobody cut them to their entries.
#
# ## 3. The rules
#
# 1. What was written survives the death of the process; what was flushed survives that of the machine.
# 2. After an unclean stop the segment that holds the recovery point and all above it are scanned: the log ends before the first batch that the scan finds bad.
# 3. No batch below that segment is checked. What is flushed is taken to be good.
# 4. A batch survives whole or not at all.
# 5. An unclean load never raises the recovery point above its checkpoint, except to the log start.
# 6. Loading twice gives the same bytes as loading once.
#
# (The exception to 2 and 3: a segment whose `.index` is missing or whose `.txnindex` is bad is recovered as soon as it is opened, after any
# stop, before the scan of rule 2 and without regard to its neighbours. Part 4 shows what that can do.) Here are the rules on
# copies of what the broker left, except rule 4, which needs the theatre of part 4. (`load` takes a stop for an unclean one
# unless told otherwise; `recovery_point` is the checkpoint's, by default 0, and then all is scanned. `flip` changes one bit of a file.)

# %%
log = load(another(killed), TOPIC, recovery_point=24)
print("rule 1:", sum(sizes(killed, ".log").values()), "bytes written,", log.size, "left; the log ends at", log.log_end_offset)
damaged = flip(another(killed), "030.log", 100)
print("rule 2:", load(another(damaged), TOPIC).log_end_offset)
print("rule 3:", load(another(damaged), TOPIC, recovery_point=41).log_end_offset)
print("rule 5:", [load(another(killed), TOPIC, recovery_point=point).recovery_point for point in (0, 24, 5000)])

# %%
once = kill(load(another(killed), TOPIC))
twice = kill(load(another(once), TOPIC))
print("rule 6:", all((twice / file.name).read_bytes() == file.read_bytes() for file in once.iterdir()), len(list(once.iterdir())), "files")

# %% [markdown]
# ## 4. The source, walked
#
# ### What has been flushed
#
# Kafka does not flush at each append: by default (`flush.messages`, `flush.ms`) it leaves that to the system, and to the replicas. Three things flush a log and move its recovery point: a **roll**,
# which leaves the flush to a task in the background (`UnifiedLog.roll`); those two settings, where they are set;
# and a clean stop. Six records, a roll after the fourth:

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
    "Four records, a roll, two more records, then the background task has run. The recovery point?",
    ___,
    lambda: safe,
)

# %%
log.flush(force_flush_active_segment=False)
print("after a flush:", log.recovery_point, " the log end:", log.log_end_offset)
reloaded = load(kill(log), SMALL, recovery_point=4)
print("killed, with a checkpoint of 4:", reloaded.recovery_point, " the log end:", reloaded.log_end_offset)

# %%
erratum(
    "The checkpoint is the position up to which the log is on disk: the recovery point",
    "the recovery point is in memory and moves at each flush; the checkpoint is a copy in a file, written once a minute",
    f"recovery point {log.recovery_point} in memory; a load with a checkpoint of 4 has {reloaded.recovery_point}",
)

# %% [markdown]
# That is the price of the checkpoint's age: the records were flushed, the file did not know it yet, and the start reads more than it must. It is never the other way round:
# the file is written after the flush.
#
# ### The scan
#
# The stepper goes through `LogLoader.load` on the killed broker's directory. The recovery point in the checkpoint file was 24: that is where the
# broker had been stopped cleanly before, and it never wrote a newer one. Predict first; the frames come after the question.

# %%
walk = step_through(
    load, another(killed), TOPIC, recovery_point=24,
    into={"LogLoader.load", "LogLoader.recover_log", "LogLoader._remove_temp_files_and_collect_swap_files", "LogLoader._recover_segment"},
    locals_of_interest={"swap_files", "new_recovery_point", "next_offset", "new_log_start_offset", "segment", "bytes_truncated", "log_end_offset"},
)  # fmt: skip

# %%
predict(
    "segments-scanned",
    "The segments begin at 0, 15, 30, 41 and 56, the recovery point is 24. How many of them are scanned?",
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

# %% [markdown]
# (A producer: its id, the last offset it wrote, the first one of its open transaction.) Segment 15 was scanned whole, although the recovery
# point lies in its middle.
#
# All records are there: `kill -9` ends a process, and what it has written lies in the system's memory, safe as long as the machine runs.
# The last producer still has an open transaction, from offset 54 on; its coordinator will abort it.
#
# The recovery point stayed at 24 although all was just read and found good. Being read is not being flushed. And HW is 0: a log knows nothing of replicas;
# its partition sets the mark afterwards, from a checkpoint.

# %%
erratum(
    "recoverLog returns LEO as the new recovery point",
    "so it was up to 2.7. Since 2.8 an unclean load does not move it up to LEO: what was read is not thereby flushed",
    f"recovery point {log.recovery_point}, LEO {log.log_end_offset}",
)

# %% [markdown]
# ### Recovering one segment
#
# The long index files are a trace of the kill: 10,485,760 bytes, of which the first few are entries and the rest zeros. Nothing on disk says
# how many count. So recovery throws them away and reads the batches:

# %%
log = load(another(killed), TOPIC, clean=True)
active = log.active_segment
print("entries before:", active.offset_index.entries, " is it full?", active.offset_index.is_full)
scanned = step_through(active.recover, log.producer_state_manager, log.leader_epoch_cache, locals_of_interest={"valid_bytes", "last_index_entry", "truncated"})
print("entries after: ", active.offset_index.entries, " steps:", len(scanned.frames), " cut:", scanned.result, "bytes")

# %%
scanned.play()

# %%
after = load(another(killed), TOPIC, recovery_point=24)
print("…015.index:", sizes(killed)["…015.index"], "→", sizes(after.dir)["…015.index"], "bytes")

# %% [markdown]
# Segment 15 has one entry more than the broker ever wrote. The count of bytes since the last entry is kept in memory only, and the clean stop at offset
# 24 fell into this segment: after it the broker counted from 0 again. A scan never stops in between. (So two replicas with equal
# `.log` files may well have different indexes.)

# %% [markdown]
# ### A crash at the byte you pick
#
# The crash theatre does an append and stops the world after each effect on disk, and inside the write as well: a power cut may leave any part of
# it. Each directory is loaded by the real loader. Move the slider to choose the byte; the column in the middle says what the load does, and in
# which phase. (`SMALL` are settings for short files, printed by the cell. While its segment grows, an index file has the size `segment.index.bytes`.)
# The append brings three records, which do not fit into the second segment.

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
    "105 of the new batch's 112 bytes are on the disk. How many segments has the log after the load?",
    ___,
    lambda: next(sum(name.endswith(".log") for name, _ in frame.after) for frame in theatre.frames if frame.left == 105),
)

# %%
theatre.play()

# %% [markdown]
# All or nothing: a batch is the unit of survival. The roll before it is another matter: the new file was made, and a cut takes bytes from a file, not
# the file. Your own crash: choose a `BYTE` from 0 to 285 at which the second of two segments is cut, and
# say where the log will end. Change it and run both cells again as often as you like.

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
    "Segment 6 is cut to BYTE bytes. The log ends at?",
    ___,
    lambda: load(cut(another(directory), "006.log", BYTE)).log_end_offset,
)

# %% [markdown]
# What if the damage is in the **first** segment? The log must end there, and everything above has to go, although it is sound:

# %%
log = load(cut(another(directory), "000.log", 200))
print("the log ends at", log.log_end_offset, " segments", [segment.base_offset for segment in log.log_segments])
print(sizes(log.dir, ".deleted"))

# %% [markdown]
# ### Damaged and missing indexes
#
# The directory `orders-0` of the lesson *Segments*, another one, was closed cleanly. We take the offset index of segment 30 away, or its time index, or write nonsense into it.

# %%
orders = "data/orders-0"
missing = remove(another(orders), "030.index")
print("before:", entries_of(load(another(orders), TOPIC, clean=True)))
print("after: ", entries_of(load(missing, TOPIC, clean=True)))

# %% [markdown]
# (Base offset, entries of the offset index, entries of the time index.) A missing offset index is noticed even after a clean stop, and its
# segment is recovered. To recover is also to cut. Take the killed broker's directory, with the bad bit in segment 30 from part 3, where rule 2 made the
# log end at 30, and take the offset index of that segment away as well:

# %%
both = remove(flip(another(killed), "030.log", 100), "030.index")
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

# %% [markdown]
# **The log has a hole.** Segment 30 is empty, 41 and 56 are in place, and a reader of 30 is sent to 41 without an error, after a clean stop and after an
# unclean one. Phase 4 opens one segment after the other and recovers the one without an index, and nobody asks how much was cut there
# (`LogLoader.loadSegmentFiles` ignores what `recoverSegment` returns). When the scan of phase 5 comes, that segment is
# sound, and it goes on to the next.
#
# And a missing time index?

# %%
missing = remove(another(orders), "030.timeindex")
predict(
    "time-index-after-load",
    "The time index of segment 30 is missing, the stop was clean. How many entries has it after the load?",
    ___,
    lambda: load(missing, TOPIC, clean=True).log_segments[2].time_index.entries,
)

# %% [markdown]
# It is made anew, empty, and stays so. From now on a search by time reads this segment from its first byte, and retention by time takes the
# file's modification time for that of its newest record. Now nonsense: one bit in the first entry (offset, byte) of the offset index.

# %%
for copy in (another(orders), flip(another(orders), "030.index", 7)):
    log = load(copy, TOPIC, clean=True)
    found = log.read(38, 1_048_576, FetchIsolation.LOG_END).records
    print(tuple(log.log_segments[2].offset_index.entry(0)), " a read from 38 begins with batch", next(found.batches()).base_offset)

# %% [markdown]
# The load took it, and a reader of offset 38 is sent to the next segment, without an error: it never sees what lies between.
# Contents of offset and time indexes are not checked at all (up to 2.2 the length of the file and the last entry were, which made starts
# slow). If you suspect an index, stop the broker, let `minikafka verify` tell you that the segment's `.log` is sound, and delete the `.index` file: the
# next start recovers that segment, and builds the `.timeindex` anew with it.
#
# ### Snapshots
#
# In *Loading* a log without snapshots forgot its producers after a clean stop. After an unclean one, with the recovery point at 0:

# %%
for name, directory in (("all snapshots", killed), ("none", remove(another(killed), *sizes(killed, ".snapshot")))):
    producers = load(another(directory), TOPIC).producer_state_manager
    print(f"{name}: {len(producers.active_producers)} producers, open transaction from {producers.first_undecided_offset}")

# %% [markdown]
# All batches are read anyway, and what they say of producers is noted on the way. The scan of each segment ends with a snapshot of its own
# (`LogLoader.recoverSegment`), with which the scan of the next one begins.
#
# ### The epoch cache
#
# Epoch 0 began at offset 0, epoch 2 at 24. The file `leader-epoch-checkpoint` is lost; the recovery point is 24 again. Each batch carries its epoch,
# so recovery can put them together again. Where does epoch 0 begin then?

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
# Epoch 0 begins with its first batch that was *read*; only a scan from the beginning finds the true start. The scan makes an entry only at a
# batch whose epoch is greater than every one before it: in the cache epochs only rise, and a lower one, or none (−1), makes no entry. After a clean stop
# the lost file is replaced by an empty one, and nothing is rebuilt: when asked where an epoch ended, this replica has no answer.
#
# ### The index of aborted transactions
#
# A segment without a `.txnindex` is nothing unusual: it has no aborted transactions. So what if the file is lost?

# %%
for clean in (False, True):
    log = load(remove(another(killed), "041.txnindex"), TOPIC, clean=clean, recovery_point=24)
    log.update_high_watermark(log.log_end_offset)
    aborted = log.read(41, 1_048_576, FetchIsolation.TXN_COMMITTED).aborted_transactions
    print("clean" if clean else "unclean", "stop: aborted transactions named to a reader:", len(aborted))

# %% [markdown]
# After a clean stop `read_committed` consumers are given the records of an aborted transaction. To sum up, **with the broker stopped**:
#
# | file | may you delete it? |
# |:---|:---|
# | `.index` | yes, if the `.log` beside it is sound: the segment is recovered, after any stop. Else the log keeps a hole |
# | `.timeindex` | only together with its `.index` |
# | `.snapshot` | no: after a clean stop, with none left, the producers are forgotten |
# | `.txnindex`, `leader-epoch-checkpoint` | no: after a clean stop, and below the recovery point after any, the loss is not noticed |
# | `.deleted`, `.cleaned`, `.swap` | leave them to the load: a `.swap` may be the only copy |
# | `.log` | no |
#
# ### Checkpoints that don't fit
#
# The two checkpoints that a load gets, recovery point and log start, are written every minute by default, the log at every append: they are
# hints, bent to what is there. (The high watermark's is written every 5 seconds; the load does not read it.) Only one of the two outranks the
# log: the log start. Records below it count as deleted. So where a log ends **below** the start that the checkpoint names, its upper part
# was lost, and all that is left is deleted records: it is dropped, and an empty log begins at the start.

# %% [markdown]
# ### Offsets that overflow
#
# An offset in an index takes four bytes, relative to the base. Old versions of compaction could make a segment whose last offset is too
# far off, and recovery may be the first to notice. `retryOnOffsetOverflow` splits that segment and begins the phase again, until no segment overflows. This is the
# one replacement that brings several new segments. (The older text has a *strategy* for it, LATEST, EARLIEST, PRODUCER or RESTART, which stands in no version of Kafka.)

# %%
directory = far_apart(2**31 + 9)
print("before:", sizes(directory, ".log"))
walk = step_through(load, directory, into={"split_overflowed_segment", "replace_segments"}, locals_of_interest={"new_segments", "total_size"})
print("after: ", sizes(directory, ".log"))

# %%
walk.play()

# %%
erratum(
    "retryOnOffsetOverflow picks an OverflowPositionStrategy and goes on to the nextOffsetStrategy",
    "invented. It is a loop: on LogSegmentOffsetOverflowException split the segment, then call the same phase again",
    " → ".join(f"{frame.method.name} {frame.step.number}" for frame in walk.frames),
)

# %% [markdown]
# ## 5. Three witnesses
#
# The same workload by **minikafka**, by **Spark** from the lines alone, by the real **Apache Kafka**. `reopen clean=false` kills the log and loads it;
# Spark knows what a scan of all batches must put into the indexes.

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

# %% [markdown]
# A workload can't tear a file. For that there are two witnesses, and a stricter comparison: both load the same damaged directory and close the log; then
# each file is compared byte by byte. First the directory of the killed broker:

# %%
loaded_by_both(killed, TOPIC, recovery_point=24)

# %%
damages = {
    "a bit in a batch of segment 30": lambda copy: flip(copy, "030.log", 100),
    "the last 7 bytes": lambda copy: cut(copy, "056.log", sizes(copy)["…056.log"] - 7),
    "no index of segment 41": lambda copy: remove(copy, "041.index"),
    "no snapshots": lambda copy: remove(copy, *sizes(copy, ".snapshot")),
    "no epochs": lambda copy: remove(copy, "epoch-checkpoint"),
}
{name: loaded_by_both(killed, TOPIC, damage).equal for name, damage in damages.items()}

# %% [markdown]
# Now a bug is planted: after an unclean stop nothing is scanned. Right after `reopen` (operation 5, counted from 0) the witnesses still agree: the
# last batch tells the LEO, scanned or not, and index entries that are zeros are not compared. After which of the two appends that follow, 6
# or 7, do they differ first? (*Is it full?* in part 4 is the clue.) And how many of the other two contradict minikafka there?

# %%
with planted("an unclean log is not scanned"):
    sick = run(workload, minikafka_log, scratch())
found = agree(sick, spark, kafka)

# %%
predict(
    "recovery-differs-after",
    "After which operation do minikafka and Kafka differ first?",
    ___,
    lambda: found.first_difference.operation,
)

# %%
predict(
    "recovered-segments-contradicted-by",
    "About the segments after that append, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: len(found.first_difference.values) - 1,
)

# %%
print(found.first_difference)

# %% [markdown]
# (`6:95` is a segment that begins at 6 and has 95 bytes.) The index of the active segment is long and
# full of zeros. Unscanned, it counts as *full*, and a full index is a reason to roll. In this workload no file was torn, so the bug loses no
# record; it makes one more tiny segment at each crash. With a torn file it would be the failure of part 1.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Crash and recovery: rebuild](08-crash-and-recovery-rebuild.ipynb), four functions and four rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | what is scanned, cut, deleted and rebuilt, to the byte | one thread; a broker recovers several logs at a time, `num.recovery.threads.per.data.dir` | `LogManager`, which finds the directories and reads the checkpoints |
# | what is checked after which kind of stop, and what is not | no metrics, no progress in JMX | disks that fail while loading: the whole log directory goes offline |
# | splitting a segment, and the retry after it | the power cut in the theatre tears one write; a real one may also lose writes out of order | logs in tiered storage |
#
# *What Spark is told:* how many bytes a batch has comes from the record builder, as a producer would send it; a test holds
# that to the format's own rule. Everything else Spark works out from the workload.
#
# **A question to take along.** After a power cut a broker with thousands of partitions has been starting for half an hour, and its log says *Recovering
# unflushed segment*. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether it makes progress: the base offsets in these lines rise, one line a segment, and each segment is read whole. (*N recovered* in the line always
# says 0 in 4.3.0, by an integer division; the JMX metrics `remainingLogsToRecover` and `remainingSegmentsToRecover` count truly.)
# It is normal after an unclean stop; how much is read depends
# on `recovery-point-offset-checkpoint` (everything above, whole segments) and on `num.recovery.threads.per.data.dir`.
# Don't kill it: the next start would begin at the same recovery points. Why was the stop unclean? Often the service manager's patience was
# shorter than the shutdown. And `minikafka verify DIRECTORY` tells what a start would cut, without changing a byte.
#
# </details>

# %% [markdown]
# ### Card
#
# - What was written survives the death of the process. What was flushed survives that of the machine.
# - After an unclean stop the load scans the segment that holds the recovery point and all above it. The log ends before the first batch that the scan finds bad.
# - A batch survives whole or not at all. What lies above a cut goes, even if it is sound.
# - The scan checks no batch below that segment. What is flushed is taken to be good.
# - Recovery does not save records. It makes sure that what comes after can be found.
#
# ![Where a record is when a crash comes](../diagrams/crash.svg)
#
# | file, with the broker stopped | may you delete it? | what happens |
# |:---|:---|:---|
# | `.index` | yes, if the `.log` beside it is sound | the segment is recovered; if its `.log` was not sound, the log keeps a hole |
# | `.timeindex` | only together with its `.index` | alone it is made anew, empty, and stays so |
# | `.snapshot` | no | after a clean stop, with none left, the producers are forgotten |
# | `.txnindex` | no | after a clean stop, and below the recovery point after any, nobody notices: `read_committed` consumers get the records of an aborted transaction |
# | `leader-epoch-checkpoint` | no | after a clean stop this replica cannot say where an epoch ended |
# | `.deleted`, `.cleaned`, `.swap` | leave them to the load | a `.swap` may be the only copy |
# | `.log` | no | its records are gone |

# %% [markdown]
# **Next:** *Storage layer*: who finds the directories, reads the checkpoints, and writes the mark of a clean stop.
