# %% [markdown]
# # Storage layer
#
# *What a broker writes down beside its logs, and what the next start trusts.*
#
# ## 1. The question
#
# **Time:** fifty minutes to read, an hour and ten minutes to rebuild. **Before:** *Segments*, *Loading*, *Crash and recovery*.
#
# **Afterwards you can decide:** which flush settings you need, when a deleted topic's disk space comes back, and what a start after a crash costs.
#
# A log's files do not tell everything about it. What goes wrong without a component that writes down the rest? `orders-0` has six records, one for each customer. DeleteRecords moves the log's start to 4, which deletes four customers. Half a minute later the broker is killed.

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

# %%
print("a consumer gets", got)
layer.kill()
(layer.log_dirs[0] / LOG_STARTS).unlink()
layer.start()
print("without the file of log starts it gets", layer.values("orders-0"))

# %% [markdown]
# Only a small file beside `orders-0` says where the log begins. Without it the deleted customers are back.
# **A log's own files do not say where it begins, how much of it is on the device, or whether it was closed. `LogManager` writes this down, and reads it when the broker starts.**
#
# (`StorageLayer()` is a broker's `LogManager` with its own log directory and clock; `sleep` is in seconds. A `___` is a blank
# for you to fill. Spark and Apache Kafka are starting for part 5.)
#
# ## 2. The picture

# %%
diagram("storage_layer")

# %% [markdown]
# - **Log directory:** one entry of `log.dirs`, mostly a disk of its own, with a directory for each partition and a few files for all.
# - **Recovery point** of a log: everything below it is known to be on the device (flushed), or lies below the log's start.
# - **Checkpoint:** a text file with an offset for each partition.
# - **Marker:** `.kafka_cleanshutdown`. A **clean** stop leaves it, an **unclean** one does not.
# - **Task:** work that runs by the clock. `LogManager` has five.
#
# A log directory one minute after a start. Its checkpoints hold version, number of lines, then topic, partition, offset.

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

# %%
erratum(
    "Each data directory has one global checkpoint file",
    "recovery points, log starts and cleaner offsets have a file each; ReplicaManager adds a fourth; marker, lock and meta.properties are no checkpoints",
    [name for name in layer.entries() if "checkpoint" in name],
)

# %% [markdown]
# | name | what it is | who writes it |
# |:---|:---|:---|
# | `.lock` | held by the process that uses the directory | the start; a stop deletes it, a kill does not |
# | `.kafka_cleanshutdown` | the marker, with the broker's epoch | a clean stop; the next start deletes it |
# | `recovery-point-offset-checkpoint` | recovery points | a task, a clean stop, a deletion, a truncation |
# | `log-start-offset-checkpoint` | log starts | a task, a clean stop, a deletion |
# | `cleaner-offset-checkpoint` | how far compacted logs are clean | the cleaner |
# | `replication-offset-checkpoint` | high watermarks | `ReplicaManager` (not here) |
# | `meta.properties` | ids of cluster, node, directory | `kafka-storage.sh format`, the broker |
# | `topic-partition` | a log | `get_or_create_log` |
# | `topic-partition.ID-delete` | a log that waits to be deleted | `async_delete` |
# | `topic-partition.ID-future` | a log that is moved here from another directory | `get_or_create_log` |
# | `topic-partition.ID-stray` | a log of a partition that the cluster has not assigned to this broker | the start |
#
# A start ignores other *files*. Any other *directory* makes it fail, even `lost+found`; only the cluster's metadata and `remote-log-index-cache` may be there.
#
# ## 3. The rules
#
# 1. At any time at most one process has a log directory.
# 2. The marker is there only while nobody has the logs open.
# 3. For each log: recovery point in the file ≤ recovery point in memory ≤ log end. (A truncation may lower recovery point and log end; then the file is written at once.)
# 4. The file of log starts names only logs that begin above the base of their first segment. All others begin where their first segment does.
# 5. The name of a directory tells what it is. (A start also asks the cluster's metadata whether a partition is still this broker's. If it is not, the start renames its directory to `-stray`.)
#
# (`refused_by` gives the exception that a call raises.)

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
# Three records are acknowledged at second 0. The tasks first run 30 seconds after the start; those that write the checkpoints run every 60 seconds from then on. At second 90, after their
# run, the log is rolled. In the background `flush-log` then flushes all below the new segment.

# %%
layer = StorageLayer()
lanes = LogDirLanes(layer, "What the tasks write down")
lanes.after("the broker starts", layer.start)
lanes.after("a log is made", layer.create, "orders-0")
lanes.after("three records", layer.append, "orders-0", *"abc")
lanes.sleep(90)
in_file_at_90, rolled_at = layer.checkpoint()["orders-0"], layer.second
lanes.after("the log is rolled", layer.roll, "orders-0")
written_at = lanes.sleep_until(lambda: layer.checkpoint()["orders-0"] == 3)

# %%
predict(
    "recovery-file-at-90",
    "At second 90, before the roll: what does the file of recovery points say of orders-0?",
    ___,
    lambda: in_file_at_90,
)

# %%
predict(
    "second-file-says-3",
    "After the roll at second 90: at which second does the file say 3?",
    ___,
    lambda: written_at,
)

# %%
lanes.play()

# %%
erratum(
    "Four background tasks: two flush, two clean. A flush makes the log's latest offset the checkpoint; a roll flushes the old segment at once",
    "five: one flushes, two write checkpoints, two delete; compaction has threads of its own. A flush moves the recovery point in memory, the file "
    "follows at the next tick; a roll leaves the flush to the background",
    f"rolled at second {rolled_at}, in the file at second {written_at}; "
    f"{', '.join(sorted({name for name, _ in layer.ran if name.startswith('kafka-')}))}",
)

# %% [markdown]
# Acknowledged is not flushed: for 90 seconds Kafka did not bring three acknowledged records to the device. The task that writes recovery points flushes nothing. It
# only records what something else has flushed: a roll, a clean stop, or the flush settings if you set them.
#
# ### What log.flush.* does
#
# The topic has `flush.ms=1000`. Three records are appended at second 0, three more at second 31. Then ten minutes pass.

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
# The flusher ran once. Its period is `log.flush.scheduler.interval.ms`, by default 2⁶³ − 1 ms, so it never runs again. Now set the period to 60 seconds and `flush.ms` to 100 seconds:

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
# | `log.flush.interval.messages` | `flush.messages` | 2⁶³ − 1 | an append flushes once so many records are unflushed |
# | `log.flush.interval.ms` | `flush.ms` | as `log.flush.scheduler.interval.ms` | the flusher flushes logs not flushed for so long |
# | `log.flush.scheduler.interval.ms` | – | 2⁶³ − 1 ms: one run | the period of the flusher |
# | `log.flush.offset.checkpoint.interval.ms` | – | 60 s | the period of the file of recovery points (`….start.offset.…`: of log starts) |
#
# With the defaults only a roll and a clean stop flush. Kafka relies on replicas for what a machine loses.
#
# ### What log.retention.* does
#
# Each of three logs has three records in a rolled segment, and one after it. `audit` and `state` keep records for 60 seconds, and `state` is compacted as well; `orders` keeps them for a week.

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
    "How many seconds after that is their disk space free?",
    ___,
    lambda: free_at - gone_at,
)

# %%
predict(
    "state-0-begins",
    "Where does state-0 begin, now that the retention task has run?",
    ___,
    lambda: started["state-0"],
)

# %%
lanes.play()

# %%
erratum(
    "The log manager's clean-up treats all logs, by deleting or by compacting",
    "it passes over every compacted log, also one with compact,delete: the cleaner's threads delete the old segments of those",
    f"log starts after the task: {started}",
)

# %% [markdown]
# `retention.ms` says from when on records *may* go. They go at the next run of the retention task, every `log.retention.check.interval.ms`, by default five minutes. Their files are renamed to `.deleted`, and deleted after
# `file.delete.delay.ms`. The active segment of `audit-0` was as old: it was rolled and went, too.
#
# ### A topic is deleted
#
# `orders-0` has three records and is deleted.

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
# `kafka-delete-logs` deletes the renamed directory a minute later, after the broker's `log.segment.delete.delay.ms`, whatever the topic sets. After 50 seconds of that minute the broker is stopped and started.

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
# The name does not say how long the log has waited, so each start waits the whole minute again. `kafka-delete-logs` runs next when a log is due.
#
# ### The stop and the start
#
# Two logs have two segments each.

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
# The broker starts again, is killed before it writes a record, and starts a third time.

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

# %%
erratum(
    "All logs are loaded when the manager is constructed; then the server calls startup",
    "the constructor makes, checks and locks directories; loading is step 2 of startup",
    f"logs of the manager that was made: {logs_when_made}, and after its startup: {len(manager.current_logs)}",
)

# %% [markdown]
# Step 1 of `load_logs` deletes the marker before any log is opened, so after a start that is killed the next one finds no marker. Here that is cheap: the recovery points are the log ends, so only each log's last segment is read.
#
# ### A checkpoint that lies
#
# One log has six records in segments at 0, 2 and 4; four are flushed, and the file says so. After each kill somebody changes the line of `orders-0`.

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
    "'orders 0 100': how many segments are recovered (read and checked)?",
    ___,
    lambda: len(told["orders 0 100"][0]),
)

# %%
predict(
    "outcome-of-orders-many",
    "'orders 0 many', no number: how many segments are recovered, and is the directory offline? (a pair such as (1, False))",
    ___,
    lambda: (len(told["orders 0 many"][0]), told["orders 0 many"][2]),
)

# %%
for line, (recovered, recovery_point, offline) in told.items():
    print(f"{line:14} recovered {recovered}, recovery point {recovery_point}{', directory offline' if offline else ''}")

# %% [markdown]
# A value that is too low costs time. A value that is too high is lowered to the log end: Kafka then trusts all segments below the last one, even if they were never flushed. If partition or offset is no number, the whole
# file is ignored. A line without exactly three words counts, after any stop, as a failing disk: the start still recovers the log, but the directory goes offline. But the numbers count only after an unclean stop:

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0")
layer.append("orders-0", *"abc")
layer.stop()
layer.rewrite("0\n1\norders 0 0\n")
believed = layer.start()
erratum("At the start each log's checkpoint becomes its recovery point",
        "after an unclean stop. After a clean one everything is flushed, and the recovery point is the log end, whatever the file says",
        f"the file says 0, recovered: {believed}, recovery point: {layer.log('orders-0').recovery_point}")  # fmt: skip

# %% [markdown]
# ### A disk that fails
#
# The second of two log directories fails. The task of the recovery points notices it first, at second 30.

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
# After one error in one file `LogManager` takes the directory and its logs out of use, and the broker goes on with the others. If the directory holds the metadata log (by default the first one does), the broker halts.
# `LogManager.shutdown` writes the marker of `disk-a`, then raises an exception, in Kafka too: the failed directory's lock was already destroyed. The broker writes it to its own log and goes on with its stop.
#
# ## 5. Three witnesses
#
# minikafka, Kafka's own `LogManager` with the same clock, and Spark, which has only these lines, tell the same life of a broker. (`[3x100]`: three records of 100 bytes; `tick` is in ms.)
# Printed first: the file of recovery points.

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
print(*(f"{number:2} {workload.operations[number]!s:12} {ours.value(number, 'recovery_point_file')}" for number in (5, 11, 14, 15)), sep="\n")
agree(ours, spark, kafka)

# %% [markdown]
# Now a planted bug: the task writes the logs' ends instead of their recovery points. If the task writes the file after a roll, and the power fails before the roll's flush, no start reads the rolled segment. (Operation 0 is the first start.)

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
    "How many of the other witnesses contradict minikafka about that file? (1 or 2)",
    ___,
    lambda: sum(witness.value(first, "recovery_point_file") != sick.value(first, "recovery_point_file") for witness in (spark, kafka) if witness),
)

# %%
print(found.first_difference)
print("after the kill and the start, operation 13:", sick.value(13, "recovery_points"), " and should be", spark.value(13, "recovery_points"))

# %% [markdown]
# ## 6. Exercises
#
# In [Storage layer: rebuild](09-storage-layer-rebuild.ipynb): five functions and five rungs.

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the five tasks and their periods, the bytes of all files | directories are loaded in the order of their names | moving a log to another directory |
# | the steps of start, stop and deletion | an exception where Kafka halts because no directory is left | stray logs, cordoned directories (see the exercises); changed settings |
# | what a damaged checkpoint leads to | no remote storage | the cleaner |
#
# *What is different here:* tasks that are due at the same second run one after the other. A broker's `background.threads`, ten by default, may run them at once.
#
# **A question to take along.** A broker was shut down, and has been starting for 20 minutes; the log says that it recovers logs. What do you check first?
#
# <details><summary>One answer</summary>
#
# Was the stop clean? The broker's log says it for each directory. If not: was the process killed before its stop was done, or was an earlier start killed? Had a directory failed?
# With fresh recovery points one segment per log is read, without the file everything. `num.recovery.threads.per.data.dir` says how many logs at a time.
#
# </details>

# %% [markdown]
# ### Card
#
# - Acknowledged is not flushed. With the default settings only a roll and a clean stop flush; until then the operating system writes when it likes.
# - A flush moves the recovery point in memory. A task writes it into the file, by default once a minute, and flushes nothing.
# - The marker of a clean stop is there only while nobody has the logs open. A start takes it away before it opens the first log.
# - A recovery point in the file that is too low costs time. One that is too high may make the start trust what was never flushed.
# - The name of a directory tells what it is: a log, or one that ends in `-delete`, `-future` or `-stray`.
#
# ![From the producer to the disk](../diagrams/storage_layer.svg)
#
# | who | flushes, writes or deletes what | when |
# |:---|:---|:---|
# | a roll | has all below the new segment flushed | right after it, in the background |
# | a clean stop | flushes every log, then writes the marker | at the stop |
# | an append | flushes the log | once `flush.messages` records are not flushed; by default never |
# | the flusher | flushes the logs that were not flushed for `flush.ms` | every `log.flush.scheduler.interval.ms`; by default it runs once |
# | the task of the recovery points | writes them to their file | every 60 s by default |
# | the task of the log starts | writes them to their file | every 60 s by default |
# | the retention task | renames the files of old segments; they are deleted `file.delete.delay.ms` later | every five minutes by default |
# | `kafka-delete-logs` | deletes the directory of a deleted partition | after `log.segment.delete.delay.ms`, by default a minute; a start begins the wait again |

# %% [markdown]
# **Next:** compaction: how a log forgets what is superseded, and nothing else.
