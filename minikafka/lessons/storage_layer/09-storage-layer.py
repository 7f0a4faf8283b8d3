# %% [markdown]
# # Storage layer
#
# *Who keeps house in a broker's log directories, what is written down there, and which of these notes the next start trusts.*
#
# ## 1. The question
#
# **Time:** an hour to read, an hour and ten minutes to rebuild. **Before:** *Segments*, *Loading*, *Crash and recovery*.
#
# **Afterwards you can decide:** which flush settings you need, when a deleted topic's disk space comes back, which file of a log directory you may lose, and what a start after a crash costs.
#
# A log can read its own files. Some facts are not in them. What goes wrong without a component that writes these facts down? `orders-0` has six records, one for each customer. A customer asks that the first four be deleted: DeleteRecords moves the log's start to 4. Half a minute later the broker is killed.

# %%
from minikafka.lab import ___, diagram, erratum, planted, predict, step_through
from minikafka.lessons.storage_layer.log_dir_lanes import LogDirLanes
from minikafka.lessons.storage_layer.storage_layer import StorageLayer, LOG_STARTS, RECOVERY_POINTS, break_disk, four_of_six, refused_by
from minikafka.lab.stage.log_dir_witnesses import by_minikafka, three_witnesses, wake_witnesses

layer = StorageLayer()
lanes = LogDirLanes(layer, "Four customers are deleted, and the broker is killed")
four_of_six(lanes)
wake_witnesses()
lanes.play()

# %%
layer.start()
got = layer.values("orders-0")

# %%
predict(
    "customers-after-kill",
    "The broker has started again. How many of the six customers does a consumer get?",
    ___,
    lambda: len(got),
)

# %% [markdown]
# Two ways through this page. **Read:** predict, run, explain. **Rebuild:** complete functions in the notebook beside it. A `___` is
# a blank for you to fill. Since the first cell Spark and Apache Kafka have been starting; they will say in part 5 whether minikafka
# is right.
#
# (`StorageLayer()` is a broker's `LogManager` with a log directory of its own, and a clock that stands still between calls of `sleep`, in seconds. `values` is what a
# consumer gets that reads from the log's start.)

# %%
print("a consumer gets", got)

# %% [markdown]
# All six lie in one segment, and the load finds nothing in `orders-0` that tells it where the log begins. Take away one small file beside it, and start again:

# %%
layer.kill()
(layer.log_dirs[0] / LOG_STARTS).unlink()
layer.start()
print("a consumer gets", layer.values("orders-0"))

# %% [markdown]
# The deleted customers are back. **Some things are known of a log that its own files do not say: where it begins, how much of it is on the
# device, whether it was closed. `LogManager` writes them down, and reads them when the broker starts.**

# %% [markdown]
# ## 2. The picture

# %%
diagram("storage_layer")

# %% [markdown]
# - **Log directory:** one entry of `log.dirs`; mostly a disk of its own. It holds a directory for each partition, and a few files for all of them.
# - **Recovery point** of a log: everything below it is known to be on the device (flushed), or lies below the log's start and is needed no more. What lies above may still be in the page cache, the memory in which the operating system keeps written files.
# - **Checkpoint:** a small text file with an offset for each partition. It is written as a whole, under another name, and then renamed.
# - **Marker:** `.kafka_cleanshutdown`. A stop was **clean** if it left the marker, else **unclean**.
# - **Task:** work that runs by the clock. `LogManager` has five.
#
# In the errata of this page, *older text* is the one that the course grew from. Here is a log directory one minute after a start, and the two checkpoints that `LogManager` keeps: version, number of lines, then topic,
# partition and offset.

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0", "users-0")
layer.append("orders-0", *"abc")
layer.append("users-0", *"abcde")
layer.delete_records("users-0", 2)
layer.sleep(60)
print(*layer.entries(), sep="\n")
for name in (RECOVERY_POINTS, LOG_STARTS):
    print(f"\n{name}:\n{(layer.log_dirs[0] / name).read_text()}", end="")

# %% [markdown]
# | name | what it is | who writes it |
# |:---|:---|:---|
# | `.lock` | held by the process that uses the directory | `LogManager` at its start; deleted at the end of a stop, clean or not |
# | `.kafka_cleanshutdown` | the marker, with the broker's epoch | the end of a clean stop; deleted by the next start |
# | `recovery-point-offset-checkpoint` | the recovery points | a task, a clean stop, a deletion, a truncation |
# | `log-start-offset-checkpoint` | where logs begin | a task, a clean stop, a deletion |
# | `cleaner-offset-checkpoint` | how far compacted logs are clean | the cleaner: lesson *Compaction* |
# | `replication-offset-checkpoint` | high watermarks | `ReplicaManager`, which is not here |
# | `meta.properties` | ids of cluster, node and directory | `kafka-storage.sh format` and the broker; `LogManager` only reads it |
# | `topic-partition` | a log | `get_or_create_log` |
# | `topic-partition.ID-delete` | a log that waits to be deleted | `async_delete`; ID stands for an id that is made up each time |
# | `topic-partition.ID-future` | a log that is being moved here from another directory | `get_or_create_log` |
# | `topic-partition.ID-stray` | a log of a partition that the cluster has not assigned to this broker | the start; nobody deletes it |
#
# Any other *file* is passed over. Any other *directory* ends the start, even `lost+found` (two are passed over by name: that of the cluster's metadata, and `remote-log-index-cache`).

# %%
erratum(
    "Each data directory has one global checkpoint file",
    "recovery points, log starts and cleaner offsets have a file each; ReplicaManager adds a fourth; marker, lock and meta.properties are no checkpoints",
    [name for name in layer.entries() if "checkpoint" in name],
)

# %% [markdown]
# ## 3. The rules
#
# 1. At any time at most one process has a log directory.
# 2. The marker is there only while nobody has the logs open.
# 3. For each log: recovery point in the file ≤ recovery point in memory ≤ log end. (A truncation may lower the last two, and then the file is written at once.)
# 4. The file of log starts names only logs that begin above the base of their first segment. All others begin where their first segment does.
# 5. The name of a directory tells what it is. (A start also asks the cluster's metadata whether a partition is still this broker's; if it is not, the name says so from then on: `-stray`.)
#
# Here they are on the log directory of part 2. (`refused_by` calls a function and gives the name of the exception that it ends with.)

# %%
print("rule 1:", refused_by(StorageLayer(directory=layer.directory).start))
print("rule 2: up", layer.has_marker(), end=", ")
print("rule 3:", [(name, offset, layer.log(name).recovery_point, layer.log(name).log_end_offset) for name, offset in layer.checkpoint().items()])
print("rule 4:", layer.checkpoint(LOG_STARTS))
layer.delete("users-0")
print("rule 5:", [name for name in layer.entries() if name.endswith("/")])
layer.stop()
print("rule 2: down", layer.has_marker())

# %% [markdown]
# ## 4. The source, walked
#
# ### The clock runs
#
# Three records are appended at second 0, and acknowledged. Nothing else happens. The tasks run for the first time 30 seconds after the start; those that write the two checkpoints, every 60 seconds from then on.

# %%
layer = StorageLayer()
lanes = LogDirLanes(layer, "What the tasks write down")
lanes.after("the broker starts", layer.start)
lanes.after("a log is made", layer.create, "orders-0")
lanes.after("three records", layer.append, "orders-0", *"abc")
lanes.sleep(90)

# %%
predict(
    "recovery-file-at-90",
    "At second 90: what does the file of recovery points say of orders-0?",
    ___,
    lambda: layer.checkpoint()["orders-0"],
)

# %% [markdown]
# Now the segment is rolled. A roll leaves a flush of all below the new segment to the background, where it is done at once.

# %%
lanes.after("the log is rolled", layer.roll, "orders-0")
print("in memory:", layer.log("orders-0").recovery_point)
rolled_at = layer.second
written_at = lanes.sleep_until(lambda: layer.checkpoint()["orders-0"] == 3)

# %%
predict(
    "second-file-says-3",
    "The roll came at second 90. At which second does the file say 3?",
    ___,
    lambda: written_at,
)

# %%
lanes.play()

# %% [markdown]
# Go through the frames. Below the lanes lies the log directory; beside each log stands what is in memory of it. Acknowledged is not flushed: for 90 seconds Kafka did nothing to bring three records that producers
# count on from the page cache to the device. And the task that writes recovery points flushes nothing. It only records what something else has flushed: a roll, a clean stop, or the flush settings if you set them.

# %%
erratum(
    "Flushing the log makes its latest offset the checkpoint; rolling flushes the old segment at once",
    "a flush moves the recovery point in memory, the file follows at the next tick; a roll leaves the flush to the background",
    f"rolled at second {rolled_at}, in the file at second {written_at}",
)

# %%
erratum(
    "Four background tasks: two flush, two clean",
    "five: one flushes, two write checkpoints, two delete; compaction has threads of its own",
    sorted({name for name, _ in layer.ran if name.startswith("kafka-")}),
)

# %% [markdown]
# ### What log.flush.* does
#
# The topic has `flush.ms=1000` (the broker's `log.flush.interval.ms`). Three records are appended at second 0, three more at second 31, and then ten minutes pass.

# %%
layer = StorageLayer({"flush.ms": 1000})
lanes = LogDirLanes(layer, "A second, they said")
lanes.after("the broker starts", layer.start)
lanes.after("a log is made", layer.create, "orders-0")
lanes.after("three records", layer.append, "orders-0", *"abc")
lanes.sleep(31)
lanes.after("three more", layer.append, "orders-0", *"def")
lanes.sleep(600)

# %%
predict(
    "recovery-point-ten-minutes",
    "After those ten minutes: the recovery point of orders-0?",
    ___,
    lambda: layer.log("orders-0").recovery_point,
)

# %%
lanes.play()

# %% [markdown]
# The flusher ran once. Its period is `log.flush.scheduler.interval.ms`, and that is 2⁶³ − 1 ms by default, so it never runs again. Now set the period to 60 seconds and `flush.ms` to 100 seconds:

# %%
layer = StorageLayer({"flush.ms": 100_000}, flush_check_ms=60_000)
layer.start()
layer.create("orders-0")
layer.append("orders-0", *"abc")
flushed_at = layer.sleep_until(lambda: layer.log("orders-0").recovery_point == 3)
ticks = [second for name, second in layer.ran if name == "kafka-log-flusher"]

# %%
predict(
    "second-records-are-flushed",
    "At which second are the three records of second 0 flushed?",
    ___,
    lambda: flushed_at,
)

# %%
print("the flusher ran at", ticks)
erratum(
    "The flusher runs every log.flush.interval.ms",
    "it runs every log.flush.scheduler.interval.ms, and flushes the logs that have not been flushed for flush.ms (log.flush.interval.ms)",
    f"flush.ms is 100 seconds, and the records of second 0 were flushed at second {flushed_at}",
)

# %% [markdown]
# | the broker's setting | the topic's | default | what it does |
# |:---|:---|:---|:---|
# | `log.flush.interval.messages` | `flush.messages` | 2⁶³ − 1 | an append flushes, once as many records are not flushed |
# | `log.flush.interval.ms` | `flush.ms` | as `log.flush.scheduler.interval.ms` | the flusher flushes a log that was not flushed for so long |
# | `log.flush.scheduler.interval.ms` | – | 2⁶³ − 1 ms: one run, no second | the period of the flusher |
# | `log.flush.offset.checkpoint.interval.ms` | – | 60 s | the period of the file of recovery points; flushes nothing |
# | `log.flush.start.offset.checkpoint.interval.ms` | – | 60 s | the period of the file of log starts; flushes nothing |
#
# Whoever sets only the period of the flusher sets `flush.ms` with it, for all topics without their own. With these defaults a roll and a stop flush; until then it is the operating system that brings records to the device, when it likes. Kafka relies on replicas for what a machine loses.
#
# ### What log.retention.* does
#
# Three topics with three records each, in a segment that has been rolled, and one record behind it. `audit` and `state` keep records for 60 seconds, `state` is compacted as well; `orders` keeps them for a week. (The lanes above show when the retention task runs; the lesson *Segments*, what happens to a file that is deleted.)

# %%
SHORT = {"retention.ms": 60_000}
layer = StorageLayer(topics={"audit": SHORT, "state": {**SHORT, "cleanup.policy": "compact,delete"}})
lanes = LogDirLanes(layer, "When old records go")
lanes.after("the broker starts", layer.start)
lanes.after("three logs", layer.create, "audit-0", "orders-0", "state-0")
for name in ("audit-0", "orders-0", "state-0"):
    layer.append(name, *"abc")
    layer.roll(name)
    layer.append(name, "d")
lanes.after("records, a roll, a record more, in each", layer.sleep, 0)

# %%
gone_at = lanes.sleep_until(lambda: layer.log("audit-0").log_start_offset > 0)
started = {name: layer.log(name).log_start_offset for name in ("audit-0", "orders-0", "state-0")}
free_at = lanes.sleep_until(lambda: not layer.has_deleted_files("audit-0"))

# %%
predict(
    "second-old-records-go",
    "At which second do the old records of audit-0 go?",
    ___,
    lambda: gone_at,
)

# %%
predict(
    "seconds-until-space-free",
    "And how many seconds after that is their disk space free?",
    ___,
    lambda: free_at - gone_at,
)

# %%
predict(
    "state-0-begins",
    "Where does state-0 begin, now that the retention task has run? (its records are as old as those of audit-0)",
    ___,
    lambda: started["state-0"],
)

# %%
lanes.play()

# %% [markdown]
# `retention.ms` says from when on records *may* go. They go at the next run of the retention task, every `log.retention.check.interval.ms`, five minutes. Then their files are renamed to `.deleted`, so that whoever is still reading
# may go on, and deleted after `file.delete.delay.ms`. `audit-0` lost its active segment as well: that one was as old, and an empty one took its place.

# %%
erratum(
    "The log manager's clean-up treats all logs, by deleting or by compacting",
    "it passes over every compacted log, also one with compact,delete: the cleaner's threads delete the old segments of those",
    f"log starts after the task: {started}",
)

# %% [markdown]
# ### A topic is deleted
#
# `orders-0` has three records and goes. The walk below has been run, but is not shown yet.

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0", "users-0")
layer.append("orders-0", *"abc")
layer.sleep(40)
before = layer.files()
orders, log = layer.partition("orders-0"), layer.log("orders-0")
walk = step_through(layer.manager.async_delete, orders, watch=log, into={"LogManager.async_delete"}, locals_of_interest={"log"})
after = layer.files()

# %%
predict(
    "files-async-delete-deletes",
    "How many of its files has async_delete deleted when it returns?",
    ___,
    lambda: len(before) - len(after),
)

# %%
walk.play()

# %% [markdown]
# Only a name has changed, and the partition has left the two checkpoints. The task `kafka-delete-logs` deletes the directory a minute later, the broker's `log.segment.delete.delay.ms`, whatever the topic sets; while a directory waits, the task sets its next run to the moment when that one is due. After 50 seconds of that minute the broker is
# stopped and started. When it starts, a directory ending in `-delete` is all that it finds.

# %%
layer.sleep(50)
layer.stop()
layer.start()
started_at = layer.second
deleted_at = layer.sleep_until(lambda: not any(name.endswith("-delete/") for name in layer.entries()))

# %%
predict(
    "seconds-until-directory-deleted",
    "How many seconds after the second start is the directory deleted?",
    ___,
    lambda: deleted_at - started_at,
)

# %% [markdown]
# The name says that the log is to be deleted, but not since when: each start lets the directory wait for the whole minute anew.

# %% [markdown]
# ### The stop and the start
#
# Two logs with two segments each. First the stop, step by step.

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0", "users-0")
for name in ("orders-0", "users-0"):
    layer.append(name, *"abc")
    layer.roll(name)
    layer.append(name, *"de")
step_through(layer.before_shutdown(), into={"LogManager.shutdown"}, locals_of_interest={"log_dir"}).play()

# %% [markdown]
# Everything is flushed, closed and noted, and then the marker is written. The broker starts again, is killed at once, without having written a record, and starts a third time.

# %%
print("left behind:", layer.checkpoint(), " marker:", layer.has_marker())
manager = layer.made()
logs_when_made = len(manager.all_logs)
LOCALS = {"had_clean_shutdown", "recovery_points", "log_start_offsets", "failures"}
walk = step_through(manager.startup, into={"LogManager.startup", "LogManager.load_logs"}, locals_of_interest=LOCALS)
layer.kill()
recovered = layer.start()

# %%
predict(
    "segments-third-start-reads",
    "How many of the four segments does the third start read and check?",
    ___,
    lambda: len(recovered),
)

# %%
print("recovered:", recovered)
walk.play()

# %% [markdown]
# Step 1 of `load_logs` takes the marker away before a single log is opened. So a broker that was killed while it was starting starts unclean the next time. Cheaply, here: the recovery points are
# the log ends, and a log is read from the segment on that holds its recovery point. Here that is the last one.

# %%
erratum(
    "All logs are loaded when the manager is constructed; then the server calls startup",
    "the constructor makes, checks and locks directories; loading is step 2 of startup",
    f"logs of the manager that was made: {logs_when_made}, and after its startup: {len(manager.current_logs)}",
)

# %% [markdown]
# ### A checkpoint that lies
#
# One log, three segments at 0, 2 and 4, six records. All but the last two records are flushed, and the file says so. The broker is killed, and somebody changes the line of `orders-0`, each time in another way.

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0")
for pair in ("ab", "cd", "ef"):
    layer.roll("orders-0") if layer.log("orders-0").log_end_offset else None
    layer.append("orders-0", *pair)
layer.sleep(30)
print(layer.checkpoint(), [segment.base_offset for segment in layer.log("orders-0").log_segments])

# %%
told = {}
for line in ("orders 0 4", "orders 0 0", "orders 0 100", "orders 0 many", "orders zero"):
    layer.kill()
    layer.rewrite(f"0\n1\n{line}\n")
    told[line] = (layer.start(), layer.log("orders-0").recovery_point, layer.is_offline())

# %%
predict(
    "segments-recovered-orders-100",
    "'orders 0 100': how many segments are recovered?",
    ___,
    lambda: len(told["orders 0 100"][0]),
)

# %%
predict(
    "outcome-of-orders-many",
    "'orders 0 many', which is no number: how many segments are recovered, and is the directory offline? (a pair such as (1, False))",
    ___,
    lambda: (len(told["orders 0 many"][0]), told["orders 0 many"][2]),
)

# %%
for line, (recovered, recovery_point, offline) in told.items():
    print(f"{line:14} recovered {recovered}, recovery point {recovery_point}{', directory offline' if offline else ''}")

# %% [markdown]
# Too low costs time. A value that is too high is lowered to the log end. Kafka then trusts all segments below the last one, even if they were never flushed. Where a line has something else than a number for its partition or its offset, the whole file is ignored, and everything is read. A line that is not made of three
# words is taken for a failing disk, after any stop. But what the numbers say counts after an unclean stop only:

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0")
layer.append("orders-0", *"abc")
layer.stop()
layer.rewrite("0\n1\norders 0 0\n")
believed = layer.start()

# %%
erratum(
    "At the start each log's checkpoint becomes its recovery point",
    "after an unclean stop. After a clean one everything is flushed, and the recovery point is the log end, whatever the file says",
    f"the file says 0, recovered: {believed}, recovery point: {layer.log('orders-0').recovery_point}",
)

# %% [markdown]
# ### A disk that fails
#
# Two log directories. The second one cannot be written any more, which nobody knows before somebody tries: here the task of the recovery points, at second 30.

# %%
layer = StorageLayer(dirs=("disk-a", "disk-b"))
layer.start()
layer.create("orders-0", "users-0", "audit-0")
print(*([name for name in layer.entries(disk) if name.endswith("/")] for disk in (0, 1)))
break_disk(layer.log_dirs[1])
layer.sleep(30)

# %%
predict(
    "append-to-users-0",
    "What does an append to users-0 give now? (the log's new end, or the name of the exception)",
    ___,
    lambda: layer.append("users-0", "x"),
)

# %%
layer.notice_failures()
print("logs that are left:", [str(log.topic_partition) for log in layer.manager.all_logs])
print("the end of orders-0:", layer.append("orders-0", "x"))
print("the stop ends with", refused_by(layer.stop))

# %%
predict(
    "markers-in-disks",
    "Is there a marker in disk-a, and in disk-b? (a pair such as (True, True))",
    ___,
    lambda: (layer.has_marker(0), layer.has_marker(1)),
)

# %% [markdown]
# One error of one file, and no log of that directory does anything more. `LogManager` then takes the directory and its logs out of use, and the broker goes on with the others, unless the directory holds the metadata log, by default the first one: then the broker halts. `LogManager.shutdown` ends in an exception, in Kafka too: the failed directory's lock
# has been destroyed before. (The broker logs the exception and goes on stopping.) By then the marker of `disk-a` is written.

# %% [markdown]
# ## 5. Three witnesses
#
# The same life of a broker by **minikafka**, by **Spark** from the lines alone, by the real **Apache Kafka**: its own `LogManager`, in a JVM of its own, with the same clock. (`[3x100]` is a batch of three records with values of 100 bytes; `tick` is in ms.)

# %%
from minikafka.witness import agree
from minikafka.witness.log_dir.workload import LogDirWorkload

workload = LogDirWorkload.parse("""
topic audit retention.ms=200000
start
create orders-0
create audit-0
append orders-0 [3x100]
append audit-0 [4x10]
tick 60000
roll orders-0
append orders-0 [2x100]
roll audit-0
append audit-0 [1x10]
delete_records orders-0 1
tick 60000
kill
start
tick 330000
stop
start
kill
start
""")
ours, spark, kafka = three_witnesses(workload)
agree(ours, spark, kafka)

# %%
print(*(f"{number:2} {workload.operations[number]!s:12} {ours.value(number, 'recovery_point_file')}" for number in (5, 11, 14, 15)), sep="\n")

# %% [markdown]
# Now a bug is planted: the task writes the logs' ends where their recovery points belong. (Operation 0 is the first start.)

# %%
with planted("the log end is written as the recovery point"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)
first = found.first_difference.operation

# %%
predict(
    "lying-checkpoint-differs-after",
    "After which operation does minikafka with the lying checkpoint differ first?",
    ___,
    lambda: first,
)

# %%
predict(
    "recovery-file-contradicted-by",
    "About the file after that operation, how many witnesses contradict minikafka? (1 or 2)",
    ___,
    lambda: sum(witness.value(first, "recovery_point_file") != sick.value(first, "recovery_point_file") for witness in (spark, kafka) if witness),
)

# %%
print(found.first_difference)
print("after the kill and the start, operation 13:", sick.value(13, "recovery_points"), " and should be", spark.value(13, "recovery_points"))

# %% [markdown]
# No record is lost in this run: no machine lost its power, and the segment that holds the recovery point is read as a whole in any case. Records are lost in one case: the log rolls,
# the task writes the file, and the power fails before the background flush. The file then calls the rolled segment safe, and no start reads it again.

# %% [markdown]
# ## 6. Exercises
#
# They have a notebook of their own: [Storage layer: rebuild](09-storage-layer-rebuild.ipynb), five functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the five tasks, their order and periods, and the bytes of all files | directories are loaded in the order of their names; Kafka takes the order of the file system | moving a log to another directory (`-future`) |
# | the steps of start, stop and deletion, and what a crash in between leaves | where Kafka halts the process, because no directory is left, an exception is raised | stray logs and cordoned directories outside the exercises, changed settings |
# | what a damaged checkpoint leads to | no metrics, no remote storage | the cleaner: lesson *Compaction* |
#
# *What is different here:* the clock. In this page tasks that are due at the same second run in the order in which they were scheduled; a broker has `background.threads` for them, ten by default, and they may run at once.
# The third witness does not run in the lesson's Spark JVM, as in other lessons, but in one that has the whole broker's jars.
#
# **A question to take along.** A broker was shut down, and has been starting for 20 minutes; the log says that it recovers logs. What do you check first?
#
# <details><summary>One answer</summary>
#
# Whether the stop was clean: the marker is gone by now, but the broker's log tells for each directory whether it was there. If not: was the process killed before it was done
# (`controlled.shutdown`, the patience of systemd or Kubernetes)? Had the directory failed, or had one of its logs? Or is it the second start, after a first one that was
# killed because it took too long? Each start that is killed leaves the next one unclean. Then how much is read: one segment per log if recovery points are fresh, everything
# if the file was lost or could not be read. And how many at a time: `num.recovery.threads.per.data.dir`.
#
# </details>

# %% [markdown]
# ### Card
#
# - Acknowledged is not flushed. With the default settings only a roll and a clean stop flush; until then the operating system writes when it likes.
# - A flush moves the recovery point in memory. A task writes it into the file, once a minute, and flushes nothing.
# - The marker of a clean stop is there only while nobody has the logs open. A start takes it away before it opens the first log.
# - A recovery point in the file that is too low costs time. One that is too high may make the start trust what was never flushed.
# - The name of a directory tells what it is: a log, or one that ends in `-delete`, `-future` or `-stray`.
#
# ![From the producer to the disk](../diagrams/storage_layer.svg)
#
# | who | flushes, writes or deletes what | when |
# |:---|:---|:---|
# | a roll | flushes all below the new segment | at once, in the background |
# | a clean stop | flushes every log, then writes the marker | at the stop |
# | an append | flushes the log | once `flush.messages` records are not flushed; by default never |
# | the flusher | flushes the logs that were not flushed for `flush.ms` | every `log.flush.scheduler.interval.ms`; by default it runs once |
# | the task of the recovery points | writes them to their file | every 60 s |
# | the task of the log starts | writes them to their file | every 60 s |
# | the retention task | renames the files of old segments; they are deleted `file.delete.delay.ms` later | every five minutes |
# | `kafka-delete-logs` | deletes the directory of a deleted partition | after `log.segment.delete.delay.ms`, a minute; a start lets it wait anew |

# %% [markdown]
# **Next:** compaction: how a log forgets what is superseded, and nothing else.
