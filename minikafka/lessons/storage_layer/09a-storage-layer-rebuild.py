# %% [markdown]
# # Background tasks: rebuild
#
# *Two functions to complete, and four methods of the log manager to rewrite.*
#
# **Time:** an hour and five minutes: twenty-five minutes for the functions, forty minutes for the rungs. **Before:** the lesson [Background tasks](09a-storage-layer.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `written_recovery_points.hint()` gives one
# hint; each further call gives a plainer one. `written_recovery_points.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.log_dir_witnesses import wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first
# difference. The project's tests put the same questions to Kafka's own `LogManager`.

# %%
from minikafka.lessons.storage_layer.exercises import deleted_by_retention, written_recovery_points

# %% [markdown]
# **Exercise 1, what the file of recovery points says, in Spark.** *Why: to know which part of a log a start after a power failure would read again.*
# Kafka's method is `LogManager.checkpointLogRecoveryOffsets`. `events.sparkSession.sql("SELECT … FROM {events} WHERE … {now}", events=events,
# now=now)` queries the table: names in braces are filled in.

# %%
def recovery_points(events, now):
    """events: DataFrame of partition, second, kind ("create", "append" or "roll"), log_end (log end offset
    after the event, exclusive). The broker started at second 0 with the default settings. A roll is flushed at
    once. No event happens in a second in which a task runs. now: a second. Returns a DataFrame of partition and
    offset, ascending by partition: the lines that the checkpoint file of recovery points has at that second.

    Example: ('orders-0', 0, 'create', 0), ('orders-0', 5, 'append', 3), ('orders-0', 9, 'roll', 3) and now 40
    give ('orders-0', 3).
    """
    return ___


written_recovery_points.check(recovery_points)

# %% [markdown]
# **Exercise 2, what a run of the retention task deletes, in Spark.** *Why: to know in advance which topics will free disk space.* Kafka's methods are
# `LogManager.cleanupLogs` and `UnifiedLog.deleteOldSegments`.

# %%
def deleted(segments, now):
    """segments: DataFrame of partition, policy (cleanup.policy; '' means none: no segment is deleted for its
    age), retention_ms (−1 means no limit), log_start (log start offset), base (base offset), newest (timestamp
    of the newest record, ms), active (BOOLEAN: the active segment). No segment is empty, all records are
    replicated, and there is no limit of size. now: ms. Returns a DataFrame of partition and base, ascending:
    the segments that one run of the task deletes.

    Example: ('a-0', 'delete', 100, 0, 0, 500, false), ('a-0', 'delete', 100, 0, 3, 950, true) and now 1000 give
    ('a-0', 0).
    """
    return ___


deleted_by_retention.check(deleted)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method of the log manager. minikafka then runs with *your* function in place of its own. Each workload is the life of a
# broker's log directory: logs grow, roll and are deleted, tasks run by the clock, and the broker is stopped, killed and started again. Kafka's own
# `LogManager` runs the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must be
# equal: the offsets of every log, both checkpoint files, the marker of a clean stop, and the names in the directory (without random ids). At the end
# every byte of every file must be equal.
#
# If something differs, you see the shortest workload that was found, and the first quantity that differs.

# %%
from minikafka.lessons.storage_layer.rungs import flushes, retains, starts, takes_away

starts

# %%
def log_starts_to_checkpoint(logs):
    """logs: dict, partition → log, all of one log directory. A log has log_start_offset and log_segments,
    oldest first; a segment has base_offset. Returns a dict, partition → offset: the lines of the file
    log-start-offset-checkpoint.
    """
    return ___


starts.check(log_starts_to_checkpoint)

# %%
flushes

# %%
def _flush_dirty_logs(self):
    """self: the LogManager, with all_logs and time.milliseconds() (the time now, ms). A log has last_flush_time
    (ms), config.flush_ms (ms) and flush(force_flush_active_segment=False); pass this argument by its name.
    Flushes the logs whose flush is due. Returns None.
    """
    return ___


flushes.check(_flush_dirty_logs)

# %%
retains

# %%
def _cleanup_logs(self):
    """self: the LogManager. It has cleaner, with pause_cleaning_for_non_compacted_partitions() (returns a dict,
    partition → log) and resume_cleaning(partitions), and get_log(partition, is_future=True), which returns a
    log or None. A log has delete_old_segments().
    Returns None.
    """
    return ___


retains.check(_cleanup_logs)

# %%
from minikafka.log.log_dir_name import log_delete_dir_name, log_stray_dir_name

takes_away

# %%
def async_delete(self, topic_partition, *, is_future=False, checkpoint=True, is_stray=False):
    """self: the LogManager. It has current_logs and future_logs (dicts, partition → log), cleaner with
    abort_cleaning(partition) and update_checkpoints(log directory, partition), logs_to_be_deleted.add(log), and
    _checkpoint_dir(log directory). A log has dir (its parent is the log directory) and rename_dir(name,
    should_reinitialize=False); pass this argument by its name. log_delete_dir_name(partition) and
    log_stray_dir_name(partition) make the new name. No log directory is offline. Returns the log, or None if
    there is none.
    """
    return ___


takes_away.check(async_delete)
