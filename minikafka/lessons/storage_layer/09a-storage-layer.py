# %% [markdown]
# # Background tasks
#
# *What a broker flushes, writes down and deletes by the clock.*
#
# ## 1. The question
#
# **Time:** about fifty-five minutes to read, an hour and five minutes to rebuild. **Before:** *Segments*, *Crash and recovery*.
#
# **Afterwards you can decide:** which flush settings you need, and when the disk space of old records and of a deleted topic comes back.
#
# What goes wrong if a broker does nothing at fixed times? `orders-0` has six records, one for each customer. DeleteRecords moves the log's start to 4, which deletes four customers. The picture shows the broker and its log directory up to second 20. Ten seconds later the broker's tasks run for the first time. At second 40 the broker is killed.

# %%
from minikafka.lab import ___, diagram, erratum, planted, predict, step_through
from minikafka.lab.stage.log_dir_witnesses import by_minikafka, three_witnesses, wake_witnesses
from minikafka.lab.stage.storage_layer import StorageLayer, LOG_STARTS, RECOVERY_POINTS
from minikafka.lab.widgets.log_dir_lanes import LogDirLanes
from minikafka.lessons.storage_layer.six_customers import six_customers

layer = StorageLayer()
lanes = LogDirLanes(layer, "Four customers are deleted")
six_customers(lanes)
wake_witnesses()
lanes.play()

# %%
lanes.sleep_until(lambda: layer.second == 40)
lanes.after("the broker is killed", layer.kill)
lanes.after("the broker starts again", layer.start)
got = layer.values("orders-0")

# %%
predict(
    "customers-after-kill",
    "The broker has started again. How many of the six customers does a consumer get?",
    ___,
    lambda: len(got),
)

# %%
print(f"killed at second {layer.second}: a consumer gets", got)
early = StorageLayer()
six_customers(LogDirLanes(early))
early.kill()
early.start()
print(f"killed at second {early.second}: a consumer gets", early.values("orders-0"))
lanes.play()

# %% [markdown]
# At second 30 a task wrote into a small file where the log begins. If the broker is killed before that, the deleted customers come back.
# **After DeleteRecords a log's own files do not say where it begins, and they never say how much of it is on the device. `LogManager`, which has all logs of a broker, writes this down by the clock. A kill loses what has changed since then.**
#
# (`StorageLayer()` is a broker's `LogManager` with its own log directory and clock; `sleep` is in seconds. A `___` is a blank
# for you to fill. Spark and Apache Kafka are starting for part 5.)
#
# ## 2. The picture

# %%
diagram("storage_layer")

# %% [markdown]
# - **Task:** work that runs by the clock. `LogManager` has five.
# - **Log directory:** one entry of `log.dirs`, mostly a disk of its own, with a directory for each partition and a few files for all.
# - **Recovery point** of a log: everything below it is known to be on the device (flushed), or lies below the log's start.
# - **Checkpoint:** a text file with an offset for each partition. Two tasks write one each: recovery points, and log starts.
#
# The checkpoints of a log directory one minute after a start; both logs have been rolled. They hold version, number of lines, then topic, partition, offset.

# %%
layer = StorageLayer()
layer.start()
layer.create("orders-0", "users-0")
for name, values in (("orders-0", "abc"), ("users-0", "abcde")):
    layer.append(name, *values)
    layer.roll(name)
layer.delete_records("users-0", 2)
layer.sleep(60)
for name in (RECOVERY_POINTS, LOG_STARTS):
    print(f"{name}:\n{(layer.log_dirs[0] / name).read_text()}")

# %%
erratum(
    "Each data directory has one global checkpoint file",
    "there are four: of recovery points, of log starts, of cleaner offsets, and of high watermarks (by ReplicaManager). Marker, lock and meta.properties are no checkpoints",
    [name for name in layer.entries() if "checkpoint" in name],
)

# %% [markdown]
# ## 3. The rules
#
# 1. For each log: recovery point in the file ≤ recovery point in memory ≤ log end. (A truncation may lower the recovery point in memory below the one in the file; then it writes the file at once. A start may lower it, too; then the file is wrong until its task runs.)
# 2. The file of log starts names only logs that begin above the base of their first segment. All others begin where their first segment does.
# 3. The checkpoints name only logs that are in use: when a log is deleted, they are written without it.

# %%
print("rule 1:", [(name, offset, layer.log(name).recovery_point, layer.log(name).log_end_offset) for name, offset in layer.checkpoint().items()])
print("rule 2:", layer.checkpoint(LOG_STARTS))
layer.delete("users-0")
print("rule 3:", layer.checkpoint(), layer.checkpoint(LOG_STARTS))

# %% [markdown]
# ## 4. The source, walked
#
# ### The clock runs
#
# Three records are acknowledged at second 0. The tasks first run 30 seconds after the start; those that write the checkpoints run every 60 seconds from then on. At second 90, after their
# run, the log is rolled. A roll also starts a job in the background, `flush-log`. It runs once, and flushes all below the new segment.

# %%
layer = StorageLayer()
lanes = LogDirLanes(layer, "What the tasks write down")
lanes.after("the broker starts", layer.start)
lanes.after("a log is created", layer.create, "orders-0")
lanes.after("three records", layer.append, "orders-0", *"abc")
lanes.sleep(90)
in_file_at_90, rolled_at = layer.checkpoint()["orders-0"], layer.second
lanes.after("the log is rolled", layer.roll, "orders-0")
written_at = lanes.sleep_until(lambda: layer.checkpoint()["orders-0"] == 3)

# %%
predict(
    "recovery-file-at-90",
    "Which offset does the file of recovery points have for orders-0 at second 90, before the roll?",
    ___,
    lambda: in_file_at_90,
)

# %%
predict(
    "second-file-says-3",
    "The log rolls at second 90. At which second does the file first say 3?",
    ___,
    lambda: written_at,
)

# %%
lanes.play()

# %%
erratum(
    "Four background tasks: two flush, two clean. A flush makes the log's latest offset the checkpoint; a roll flushes the old segment at once",
    "five: one flushes, two write checkpoints, two delete; compaction has threads of its own. A flush moves the recovery point in memory; the "
    "file follows when its task runs next. A roll leaves the flush to a background task",
    f"rolled at second {rolled_at}, in the file at second {written_at}; "
    f"{', '.join(sorted({name for name, _ in layer.ran if name.startswith('kafka-')}))}",
)

# %% [markdown]
# Acknowledged is not flushed: for 90 seconds Kafka did not flush three acknowledged records; until the roll it was up to the operating system when they reached the device. The task that writes recovery points flushes nothing. It
# only records what something else has flushed: a roll, a clean stop, or the flush settings if you set them.
#
# ### What log.flush.* does
#
# The topic has `flush.ms=1000`. The flusher first runs at second 30, as the other tasks do; its period, `log.flush.scheduler.interval.ms`, is left at its default. Three records are appended at second 0, three more at second 31. Then ten minutes pass.

# %%
layer = StorageLayer({"flush.ms": 1000})
lanes = LogDirLanes(layer, "flush.ms=1000")
lanes.after("the broker starts", layer.start)
lanes.after("a log is created", layer.create, "orders-0")
lanes.after("three records", layer.append, "orders-0", *"abc")
lanes.sleep(31)
lanes.after("three more", layer.append, "orders-0", *"def")
lanes.sleep(600)
point_after_ten_minutes = layer.log("orders-0").recovery_point

# %%
predict(
    "recovery-point-ten-minutes",
    "What is the recovery point of orders-0 after those ten minutes?",
    ___,
    lambda: point_after_ten_minutes,
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
# | `log.flush.interval.messages` | `flush.messages` | 2⁶³ − 1 | an append flushes when this many records are not yet flushed |
# | `log.flush.interval.ms` | `flush.ms` | as `log.flush.scheduler.interval.ms` | the flusher flushes each log whose last flush is at least this long ago |
# | `log.flush.scheduler.interval.ms` | – | 2⁶³ − 1 ms: one run | the period of the flusher |
# | `log.flush.offset.checkpoint.interval.ms` | – | 60 s | the period of the task that writes the file of recovery points |
# | `log.flush.start.offset.checkpoint.interval.ms` | – | 60 s | the period of the task that writes the file of log starts |
#
# With the defaults only a roll and a clean stop flush what was appended. Kafka relies on replicas for what a machine loses.
#
# ### What log.retention.* does
#
# Each of three logs has three records in a closed segment, and a fourth in the active one. `audit` and `state` keep records for 60 seconds, `orders` keeps them for a week. `state` is compacted as well. (The cleaner's threads do not run here.) The retention task runs at second 30, then every five minutes.

# %%
SHORT = {"retention.ms": 60_000}
layer = StorageLayer(topics={"audit": SHORT, "state": {**SHORT, "cleanup.policy": "compact,delete"}})
lanes = LogDirLanes(layer, "When old records are deleted")
lanes.after("the broker starts", layer.start)
lanes.after("three logs", layer.create, "audit-0", "orders-0", "state-0")
for name in ("audit-0", "orders-0", "state-0"):
    layer.append(name, *"abc")
    layer.roll(name)
    layer.append(name, "d")
lanes.after("in each: three records, a roll, one record more", layer.sleep, 0)

# %%
gone_at = lanes.sleep_until(lambda: layer.log("audit-0").log_start_offset > 0)
started = {name: layer.log(name).log_start_offset for name in ("audit-0", "orders-0", "state-0")}
free_at = lanes.sleep_until(lambda: not layer.has_deleted_files("audit-0"))

# %%
predict(
    "second-old-records-go",
    "At which second does the log start of audit-0 move?",
    ___,
    lambda: gone_at,
)

# %%
predict(
    "seconds-until-space-free",
    "How many seconds later is the disk space of the deleted records free?",
    ___,
    lambda: free_at - gone_at,
)

# %%
predict(
    "state-0-begins",
    "The retention task has run, and no cleaner. At which offset does state-0 start?",
    ___,
    lambda: started["state-0"],
)

# %%
lanes.play()

# %%
erratum(
    "The log manager's clean-up treats all logs, by deleting or by compacting",
    "it skips every compacted log, also one with compact,delete: there the cleaner's threads delete the old segments",
    f"log starts after the task: {started}",
)

# %% [markdown]
# On a broker the cleaner deletes the old segments of `state-0`; its threads look every 15 seconds by default (`log.cleaner.backoff.ms`).
#
# `retention.ms` says from when on records *may* go. They go at the next run of the retention task, every `log.retention.check.interval.ms`, by default five minutes. Their files get the ending `.deleted`, and are deleted after
# `file.delete.delay.ms`, by default a minute. The active segment of `audit-0` was just as old. So it was rolled and deleted too: the log is now empty.
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
    "How many of the log's files has async_delete deleted when it returns?",
    ___,
    lambda: len(before) - len(after),
)

# %%
walk.play()

# %% [markdown]
# The task `kafka-delete-logs` deletes the renamed directory a minute later: after `log.segment.delete.delay.ms`, a setting of the broker; the topic's `file.delete.delay.ms` does not count here. After 50 seconds of that minute the broker is stopped and started.

# %%
layer.sleep(50)
print([name for name in layer.entries() if name.endswith("/")])
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
# The name does not say how long the log has waited, so each start waits the whole minute again. Each run of the task plans the next one: for the moment at which the next log has waited long enough.
#
# ## 5. Three witnesses
#
# minikafka, Kafka's own `LogManager` with the same clock, and Spark, which has nothing else, replay the same lines. (`[3x100]`: three records of 100 bytes; `tick` is in ms. Operations are numbered from 0, the first `start`.)
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
# At operation 14 the file says 5 for `audit-0`: the retention task has rolled this log to delete all of its records, and a roll flushes. A stop flushes every log.
#
# Now a planted bug: the task writes the logs' ends instead of their recovery points. A start scans only from the recovery point on. So if the task writes the file after a roll, and the power fails before the roll's flush, no start reads the rolled segment.

# %%
with planted("the log end is written as the recovery point"):
    sick = by_minikafka(workload)
found = agree(sick, spark, kafka)
first = found.first_difference.operation

# %%
predict(
    "lying-checkpoint-differs-after",
    "After which operation does minikafka with this bug differ first?",
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
# In [Background tasks: rebuild](09a-storage-layer-rebuild.ipynb): two functions and four rungs. (A rung is a function of yours that runs inside `LogManager` in place of its own.)

# %% [markdown]
# ## 7. Honesty box
#
# | Same as Kafka | Simpler than Kafka | Not shown here |
# |:---|:---|:---|
# | the five tasks and their periods, the bytes of both checkpoints | no remote storage | the cleaner |
# | the steps of a deletion | tasks that are due at the same second run one after the other; a broker's `background.threads`, ten by default, may run them at once | settings that change while the broker runs |
#
# **A question to take along.** An hour ago a topic's `retention.ms` was set to a minute. The disk is as full as before. What do you check first?
#
# <details><summary>One answer</summary>
#
# Its `cleanup.policy`. With `compact`, no record is deleted for its age. With `compact,delete` the cleaner's threads delete old segments, not the retention task: is one of these threads dead, or is the partition marked as uncleanable? With `delete`: has the task run since, and did files with the ending `.deleted` wait for `file.delete.delay.ms`?
# By default both take minutes, not an hour. A record with a timestamp in the future keeps its segment, and all after it.
#
# </details>

# %% [markdown]
# ### Card
#
# - Acknowledged is not flushed. With the default settings only a roll and a clean stop flush what was appended; until then the operating system writes when it likes.
# - A flush moves the recovery point in memory. A task writes it into the file, by default once a minute, and flushes nothing.
# - A log start that no task has written down is lost by a kill: deleted records are back.
# - `retention.ms` says from when on records may go. They go at the next run of the retention task, which passes over compacted logs.
# - What is to be deleted gets another name first. Its disk space is free a minute later by default.
#
# ![Five tasks, and what each does in a log directory](../diagrams/storage_layer.svg)
#
# | who | flushes, writes or deletes what | when |
# |:---|:---|:---|
# | a roll | has all below the new segment flushed | right after it, in the background |
# | a clean stop | flushes every log and writes both checkpoints | at the stop |
# | an append | flushes the log | as soon as `flush.messages` records or more are not flushed; by default never |
# | the flusher | flushes the logs that were not flushed for `flush.ms` | every `log.flush.scheduler.interval.ms`; by default it runs once |
# | the task of the recovery points | writes them to their file | every 60 s by default |
# | the task of the log starts | writes them to their file | every 60 s by default |
# | the retention task | renames the files of old segments; they are deleted `file.delete.delay.ms` later | 30 s after a start, then every five minutes by default |
# | `kafka-delete-logs` | deletes the directory of a deleted partition | after `log.segment.delete.delay.ms`, by default a minute; a start begins the wait again |

# %% [markdown]
# **Next:** *Start and stop*: what a start trusts of all that, and what it reads again.
