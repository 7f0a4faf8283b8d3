# %% [markdown]
# # Start and stop: rebuild
#
# *Three functions to complete, and a method of the log manager to rewrite.*
#
# **Time:** forty minutes: thirty minutes for the functions, ten minutes for the rung. **Before:** the lesson [Start and stop](09b-start-and-stop.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `next_log_directory.hint()` gives one hint;
# each further call gives a plainer one. `next_log_directory.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.start_and_stop.exercises import believed_checkpoint, directory_name, next_log_directory

# %% [markdown]
# **Exercise 1, where a new partition goes.** *Why: to know which disk fills up, and why a new, empty disk gets every new partition until it has as
# many as the others.* Kafka's method is `LogManager.nextLogDirs`.

# %%
def next_log_dirs(live_log_dirs, cordoned_log_dirs, log_counts):
    """live_log_dirs: list of names, in the order of log.dirs. cordoned_log_dirs: set of names; a cordoned
    directory gets no new log as long as there is a live one that is not cordoned. If all are cordoned, only the
    first live one is tried. log_counts: dict, name → number of logs; a directory without logs is missing in it.
    Returns the list of the directories to try, the best first.

    Example: next_log_dirs(["a", "b", "c"], set(), {"a": 3, "b": 1, "c": 2}) is ["b", "c", "a"].
    """
    return ___


next_log_directory.check(next_log_dirs)

# %% [markdown]
# **Exercise 2, what a name says.** *Why: in a listing of directories you want to see which logs are in use, which will be deleted, and which need
# your decision.* Kafka's method is `LocalLog.parseTopicPartitionName`. It returns topic and partition, or throws; the kind of the log is read from
# the end of the name. Your function does both.

# %%
def parse_topic_partition_name(name):
    """name: the name of a directory in a log directory. A log in use has the name topic-partition. The others
    have the name topic-partition.id-future, topic-partition.id-stray or topic-partition.id-delete. Returns
    (kind, topic, partition). kind: "current", "future", "stray" or "delete". partition: an int. If a log's
    directory cannot have this name: ("refused", "", -1).

    Example: parse_topic_partition_name("eu-orders-12") is ("current", "eu-orders", 12).
    """
    return ___


directory_name.check(parse_topic_partition_name)

# %% [markdown]
# **Exercise 3, what a start believes.** *Why: some damage to a checkpoint file only makes the start slower; other damage takes the whole disk
# offline.* Kafka's classes are `CheckpointFile` and `OffsetCheckpointFile`.

# %%
def read_recovery_points(text):
    """text: the text of the checkpoint file of recovery points, found after an unclean stop. Its lines: the
    version, 0; the number of entries; then one entry a line: topic, partition and offset, separated by one
    space.
    Returns a dict, "topic-partition" → offset (int). It is empty if the file is empty or ends after the
    version, or if the start ignores the file. If two lines name the same partition, the later one counts.
    Returns the text "offline" if the start takes the log directory offline. A file of another form takes the
    directory offline: Kafka treats it as a sign of a failing disk. That includes a first or second line that is
    no number. If only the partition or the offset of an entry is no number, the start ignores the file. The
    lines are read in order, the number of entries is compared at the end, and the first fault counts.

    Example: read_recovery_points("0\\n1\\norders 0 4\\n") is {"orders-0": 4}.
    """
    return ___


believed_checkpoint.check(read_recovery_points)

# %% [markdown]
# ## Rungs
#
# You rewrite one method of the log manager, `shutdown`. minikafka then runs with *your* function in place of its own. Each workload is the life of a
# broker's log directory: logs grow, roll and are deleted, tasks run by the clock, and the broker is stopped, killed and started again. Kafka's own
# `LogManager` runs the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must be
# equal: the offsets of every log, both checkpoint files, the marker of a clean stop, and the names in the directory (without random ids). At the end
# every byte of every file must be equal.
#
# If something differs, you see the shortest workload that was found, and the first quantity that differs.

# %%
from minikafka.lessons.start_and_stop.rungs import stops
from minikafka.log.manager.log_manager import write_clean_shutdown_file

stops

# %%
def shutdown(self, broker_epoch=-1):
    """self: the LogManager. It has cleaner (or None) with shutdown(), live_log_dirs, _logs_in_dir(log
    directory) (a dict of logs), _checkpoint_dir(log directory), stray_logs (a dict of logs), logs_to_be_deleted
    (logs) and log_dirs.destroy_locks(). A log has flush(force_flush_active_segment=True), close() and
    close_handlers(). write_clean_shutdown_file(log directory, broker_epoch) writes the marker. Returns None.
    """
    return ___


stops.check(shutdown)
