# %% [markdown]
# # Background tasks: rebuild
#
# *Two functions to complete, and four methods of the log manager to write anew.*
#
# **Time:** three quarters of an hour: a quarter for the functions, half an hour for the rungs. **Before:** the lesson [Background tasks](09a-storage-layer.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way (of a rung, after a try of your own). This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.log_dir_witnesses import wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference. Kafka has sat the same exam: the tests ask its own `LogManager`.

# %%
from minikafka.lessons.storage_layer.exercises import deleted_by_retention, written_recovery_points

# %% [markdown]
# **Exercise 1, what the file of recovery points says, in Spark.** *Why: to know what a start after a power cut would read again.*
# `events.sparkSession.sql("SELECT … FROM {events} WHERE … {now}", events=events, now=now)` queries the table: names in braces are filled in.

# %%
def recovery_points(events, now):
    """events: DataFrame of partition, second, kind ('create', 'append', 'roll'), log_end (of the log
    after the event). The broker started at second 0, with the default settings; a roll is flushed at
    once; no event comes in a second in which a task runs. now: the second. Returns a DataFrame of
    partition and offset: the lines of the file at that second, ascending by partition."""
    return ___


written_recovery_points.check(recovery_points)

# %% [markdown]
# **Exercise 2, what a run of the retention task deletes, in Spark.** *Why: to foresee which disk space comes back, and of which topics.*

# %%
def deleted(segments, now):
    """segments: DataFrame of partition, policy (cleanup.policy; '' is none: nothing goes by its age),
    retention_ms (−1: for ever), log_start, base, newest (timestamp in ms of its newest record),
    active (BOOLEAN). No segment is empty; all is replicated. now: ms. Returns a DataFrame of
    partition and base: the segments that go, ascending."""
    return ___


deleted_by_retention.check(deleted)

# %% [markdown]
# ## Rungs
#
# Now the log manager itself. In each rung you write one of its methods anew, and a broker's log directory lives with *your* function in its place: logs grow, roll and are
# deleted, tasks run by the clock, the broker is stopped, killed and started again. Kafka's own `LogManager` lives the same life. Most of these lives are drawn, and this page does not
# show them. After each operation the offsets of every log, both checkpoints, the marker and the names in the directory must agree (ids that are made up are left out); at the end every byte of every file.
#
# Where they differ you get the shortest life that was found for it, and the first quantity.

# %%
from minikafka.lessons.storage_layer.rungs import flushes, retains, starts, takes_away

starts

# %%
def log_starts_to_checkpoint(logs):
    """logs: dict, partition → log, all in one log directory. A log has log_start_offset and log_segments, the oldest first; a segment has
    base_offset. Returns a dict: partition → offset, the lines of log-start-offset-checkpoint."""
    return ___


starts.check(log_starts_to_checkpoint)

# %%
flushes

# %%
def _flush_dirty_logs(self):
    """self: the LogManager: all_logs and time.milliseconds(). A log has last_flush_time and config.flush_ms (both ms), and
    flush(force_flush_active_segment=False), the name always with it. Flushes the logs that are due. Returns None."""
    return ___


flushes.check(_flush_dirty_logs)

# %%
retains

# %%
def _cleanup_logs(self):
    """self: the LogManager: cleaner, with pause_cleaning_for_non_compacted_partitions() (returns a dict, partition → log) and
    resume_cleaning(partitions); get_log(partition, is_future=True), None for no log. A log has delete_old_segments(). Returns None."""
    return ___


retains.check(_cleanup_logs)

# %%
from minikafka.log.log_dir_name import log_delete_dir_name, log_stray_dir_name

takes_away

# %%
def async_delete(self, topic_partition, *, is_future=False, checkpoint=True, is_stray=False):
    """self: the LogManager: current_logs and future_logs (dicts, partition → log), cleaner with abort_cleaning(partition) and
    update_checkpoints(log directory, partition), logs_to_be_deleted.add(log), _checkpoint_dir(log directory). A log has dir (its parent is the
    log directory) and rename_dir(name, should_reinitialize=False), the name always with it. log_delete_dir_name(partition) and its stray
    sister make the new name. Returns the log, None where there is none. No directory is offline."""
    return ___


takes_away.check(async_delete)
