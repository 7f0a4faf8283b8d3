# %% [markdown]
# # Start and stop
#
# *What a broker leaves in its log directories, and what the next start trusts.*
#
# ## 1. The question
#
# **Time:** about forty-five minutes to read, forty minutes to rebuild. **Before:** *Loading*, *Crash and recovery*, *Background tasks*.
#
# **Afterwards you can decide:** what a start after a crash costs, and which damaged checkpoint you may leave to the broker.
#
# What goes wrong if a broker writes nothing down for its next start? `orders-0` has nine segments; think of a gigabyte each. Every minute, first at second 30, the broker writes down how far the log is flushed. At second 45 it is killed. Then it starts again, and has to read and check whatever may be damaged.

# %%
from minikafka.lab import ___, diagram, erratum, planted, predict, step_through
from minikafka.lab.stage.log_dir_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.lab.stage.storage_layer import StorageLayer, RECOVERY_POINTS, break_disk, refused_by
from minikafka.lab.widgets.log_dir_lanes import LogDirLanes
from minikafka.lessons.start_and_stop.nine_segments import nine_segments

layer = StorageLayer()
lanes = LogDirLanes(layer, "A broker is killed")
nine_segments(lanes)
wake_witnesses()
lanes.play()

# %%
read_after_kill = layer.start()

# %%
predict(
    "segments-read-after-kill",
    "How many of the nine segments does the start read and check?",
    ___,
    lambda: len(read_after_kill),
)

# %%
print("after the kill it reads", read_after_kill)
layer.kill()
(layer.log_dirs[0] / RECOVERY_POINTS).unlink()
print("without the file of recovery points", layer.start())
layer.stop()
print("after a clean stop", layer.start())

# %% [markdown]
# One small file decides whether a start after a kill reads two segments or all nine. After a clean stop it reads none, unless an `.index` is missing (*Loading*).
# **A log's own files do not say how much of them can be trusted. `LogManager`, which has all logs of a broker, notes it: by the clock, and at a clean stop. The next start trusts the notes, and reads the rest.**
#
# (`StorageLayer()` is a broker's `LogManager` with its own log directory and clock; `sleep` is in seconds. A `___` is a blank
# for you to fill. Spark and Apache Kafka are starting for part 5.)
#
# ## 2. The picture

# %%
diagram("start_and_stop")

# %% [markdown]
# - **Log directory:** one entry of `log.dirs`, mostly a disk of its own, with a directory for each partition and a few files for all.
# - **Marker:** `.kafka_cleanshutdown`. A **clean** stop leaves it, an **unclean** one does not.
# - **Recovery point** of a log: everything below it is known to be on the device (flushed), or lies below the log's start.
# - **Checkpoint:** a text file with an offset for each partition, such as its recovery point.
#
# A log directory while the broker is up; `users-0` has just been deleted.

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0", "users-0")
layer.append("orders-0", *"abc")
layer.delete("users-0")
print(*layer.entries(), sep="\n")

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
# | `topic-partition.ID-future` | a log that is being moved here from another directory | `get_or_create_log` |
# | `topic-partition.ID-stray` | a log of a partition that the cluster has not assigned to this broker | the start |
#
# A start ignores other *files*. Any other *directory* makes it fail, even `lost+found`; only `__cluster_metadata-0` and `remote-log-index-cache` may be there.
#
# ## 3. The rules
#
# 1. At any time at most one process has a log directory.
# 2. The marker is there only while nobody has the logs open.
# 3. The name of a directory tells what it is. (A start also asks the cluster's metadata whether a partition is still this broker's. If it is not, the start renames its directory to `-stray`.)
#
# (`refused_by` gives the exception that a call raises.)

# %%
print("rule 1:", refused_by(StorageLayer(directory=layer.directory).start))
print("rule 2: up", layer.has_marker(), end=", ")
layer.stop()
print("down", layer.has_marker())
print("rule 3:", [name for name in layer.entries() if name.endswith("/")])

# %% [markdown]
# ## 4. The source, walked
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
read_by_third = layer.start()

# %%
predict(
    "segments-third-start-reads",
    "How many of the four segments does the third start read and check?",
    ___,
    lambda: len(read_by_third),
)

# %%
print("recovered:", read_by_third)
walk.play()

# %%
erratum(
    "All logs are loaded when the manager is constructed; then the server calls startup",
    "the constructor makes, checks and locks directories; loading is step 2 of startup",
    f"logs after the constructor: {logs_when_made}, after startup: {len(manager.current_logs)}",
)

# %% [markdown]
# Step 1 of `load_logs` deletes the marker before any log of the directory is opened, so after a start that is killed the next one finds no marker. A start reads each log from the segment that contains the recovery point. Here that is the last one of each log.
#
# ### A checkpoint with a wrong line
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
    "The line says 'orders 0 100'. How many segments does the start recover (read and check)?",
    ___,
    lambda: len(told["orders 0 100"][0]),
)

# %%
predict(
    "outcome-of-orders-many",
    "The line says 'orders 0 many', which is no number. How many segments does the start recover, and is the directory offline then? (a pair such as (1, False))",
    ___,
    lambda: (len(told["orders 0 many"][0]), told["orders 0 many"][2]),
)

# %%
for line, (recovered, recovery_point, offline) in told.items():
    print(f"{line:14} recovered {recovered}, recovery point {recovery_point}{', directory offline' if offline else ''}")

# %% [markdown]
# A value that is too low costs time. A value above the log end is lowered to it: Kafka then trusts all segments below the last one, even if they were never flushed. If the partition or the offset is no number, the whole
# file is ignored: a start after a kill reads every log of that directory from its beginning. If the file has another form, for instance an entry that does not have exactly three words, the start treats this as a disk error, also after a clean stop: the directory goes offline. (In the last row the start recovered the log before that.)
#
# The next file says 0, too, but this time the stop was clean:

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0")
layer.append("orders-0", *"abc")
layer.stop()
layer.rewrite("0\n1\norders 0 0\n")
believed = layer.start()
erratum("At the start each log's checkpoint becomes its recovery point",
        "only after an unclean stop. After a clean one everything is flushed, and the recovery point is the log end, whatever the file says",
        f"the file says 0, recovered: {believed}, recovery point: {layer.log('orders-0').recovery_point}")  # fmt: skip

# %% [markdown]
# ### A disk that fails
#
# The second of two log directories fails. The task of the recovery points notices it first, at second 30, and reports it. (A thread of the broker waits for such reports, and calls `LogManager.handleLogDirFailure`. Here `notice_failures` does it, after the append.)

# %%
layer = StorageLayer(dirs=("disk-a", "disk-b"))
layer.start()
layer.create("orders-0", "users-0", "audit-0")
print(*(f"{layer.log_dirs[disk].name}: {[name for name in layer.entries(disk) if name.endswith('/')]}" for disk in (0, 1)), sep=", ")
break_disk(layer.log_dirs[1])
layer.sleep(30)
appended = refused_by(layer.append, "users-0", "x")

# %%
predict(
    "append-to-users-0",
    "What does an append to users-0 give now? (the log's new end, or the name of the exception)",
    ___,
    lambda: appended,
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
# The append to `users-0` raised `KafkaStorageException`. After one error in one file `LogManager` takes the directory and its logs out of use, and the broker goes on with the others. If the directory holds the metadata log (by default the first one does), the broker halts.
# `LogManager.shutdown` writes the marker of `disk-a`, then raises an exception, in Kafka too: the failed directory's lock was already destroyed. The broker logs the exception (`server.log`) and goes on stopping.
#
# ## 5. Three witnesses
#
# minikafka, Kafka's own `LogManager` with the same clock, and Spark, which has nothing else, replay the same lines. (`[3x100]`: three records of 100 bytes; `tick` is in ms. Operations are numbered from 0, the first `start`.)
# Printed first: the recovery points of both logs after each start.

# %%
from minikafka.witness import agree
from minikafka.witness.log_dir.workload import LogDirWorkload

workload = LogDirWorkload.parse("""
start
create orders-0
create users-0
append orders-0 [3x100]
roll orders-0
append orders-0 [2x100]
append users-0 [4x10]
tick 30000
stop
start
append orders-0 [2x100]
kill
start
""")
ours, spark, kafka = three_witnesses(workload)
print(*(f"{number:2} {workload.operations[number]!s:6} {ours.value(number, 'recovery_points')}" for number in (0, 9, 12)), sep="\n")
agree(ours, spark, kafka)

# %% [markdown]
# Now a planted bug: the start does not delete the marker. (The quantity `clean_shutdown` says whether the marker is there.)

# %%
with planted("the start leaves the marker where it is"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)
first = found.first_difference.operation

# %%
predict(
    "kept-marker-differs-after",
    "After which operation does minikafka with the bug differ first from the two others?",
    ___,
    lambda: first,
)

# %%
predict(
    "kept-marker-recovery-point",
    "Which recovery point does orders-0 have after the last start, in minikafka with the bug?",
    ___,
    lambda: dict(sick.value(12, "recovery_points"))["orders-0"],
)

# %%
print(found.first_difference)
print("after the last start:", sick.value(12, "recovery_points"), " and should be", spark.value(12, "recovery_points"))

# %% [markdown]
# The last start believes that the kill was a clean stop. It trusts two records that nobody has flushed, and reads none of them.
#
# ## 6. Exercises
#
# In [Start and stop: rebuild](09b-start-and-stop-rebuild.ipynb): three functions and a rung. (A rung is a function of yours that runs inside `LogManager` in place of its own.)

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the steps of start and stop, the bytes of all files | directories are loaded in the order of their names | moving a log to another directory |
# | what a damaged checkpoint leads to | an exception where Kafka halts because no directory is left | stray logs, cordoned directories (see the exercises) |
#
# **A question to take along.** A broker was shut down, and has been starting for 20 minutes; the log says that it recovers logs. What do you check first?
#
# <details><summary>One answer</summary>
#
# Was the stop clean? The broker's log says it for each directory. If not: was the process killed before its stop was done, or was an earlier start killed? Had a directory failed?
# With fresh recovery points one or two segments per log are read, without the file all of them. `num.recovery.threads.per.data.dir` says how many logs at a time in each directory.
#
# </details>

# %% [markdown]
# ### Card
#
# - The marker of a clean stop is there only while nobody has the logs open. A start takes it away before it opens the first log.
# - After a clean stop a start checks only a segment whose `.index` is missing or whose `.txnindex` is bad. After any other it checks each log from the segment of its recovery point in the file on.
# - A recovery point in the file that is too low costs time. One that is too high may make the start trust what was never flushed.
# - After an error in one file the whole log directory goes offline with its logs. The broker goes on with the others, unless the directory holds the metadata log.
# - The name of a directory tells what it is: a log, or one that ends in `-delete`, `-future` or `-stray`.
#
# ![A start reads from left to right, a stop writes from right to left](../diagrams/start_and_stop.svg)
#
# | what the start finds | what it does |
# |:---|:---|
# | `.lock`, held by another process | fails |
# | the marker | deletes it; the recovery point of each log is then its end |
# | no marker | checks each log from the segment of its recovery point on |
# | no file of recovery points, or an entry in it whose partition or offset is no number | if the stop was unclean, checks all segments |
# | that file with another form: another version, another number of entries than it says, or an entry without exactly three words | takes the directory offline |
# | a directory that ends in `-delete` | a task deletes it, by default a minute later |
# | a directory that ends in `-stray` | keeps it, and does not use it |
# | any other directory that is no log's, except the cluster's metadata and `remote-log-index-cache` | fails |

# %% [markdown]
# **Next:** compaction: how a log forgets what newer records have replaced, and nothing else.
