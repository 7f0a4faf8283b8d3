# %% [markdown]
# # Start and stop: rebuild
#
# *Three functions to complete, and a method of the log manager to write anew.*
#
# **Time:** half an hour: twenty minutes for the functions, ten for the rung. **Before:** the lesson [Start and stop](09b-start-and-stop.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way (of the rung, after a try of your own). This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
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
from minikafka.lessons.start_and_stop.exercises import believed_checkpoint, directory_name, next_log_directory

# %% [markdown]
# **Exercise 1, where a new partition goes.** *Why: to know which disk fills up, and why a new, empty disk gets every new partition until it has as many as the others.*
# The arguments are what Kafka's `nextLogDirs` knows.

# %%
def next_log_dirs(live_log_dirs, cordoned_log_dirs, log_counts):
    """live_log_dirs: names, in the order of log.dirs. cordoned_log_dirs: names of those that get no
    new log as long as there is another one; if all are cordoned, the first live one alone is tried.
    log_counts: dict, how many logs a directory has (none: it is missing). Returns the list of
    directories to be tried, the best first."""
    return ___


next_log_directory.check(next_log_dirs)

# %% [markdown]
# **Exercise 2, what a name says.** *Why: to tell in a listing what is live, what will go, and what waits for you.*
# Kafka's `parseTopicPartitionName` gives topic and partition, or throws; where the log belongs is read from the end of the name. Here both.

# %%
def parse_topic_partition_name(name):
    """name: of a directory in a log directory. Returns (kind, topic, partition): kind is "current",
    "future", "stray" or "delete"; partition is an int. For a name that is none of a log's:
    ("refused", "", -1)."""
    return ___


directory_name.check(parse_topic_partition_name)

# %% [markdown]
# **Exercise 3, what a start believes.** *Why: to know which damage to a checkpoint costs a minute, and which a disk.*

# %%
def read_recovery_points(text):
    """text: of a file of recovery points, found after an unclean stop. Returns a dict: partition
    ("orders-0") → offset; an empty one if the file is not believed, or empty; the word "offline" if
    the log directory is taken for failed."""
    return ___


believed_checkpoint.check(read_recovery_points)

# %% [markdown]
# ## Rungs
#
# Now the log manager itself. You write its `shutdown` anew, and a broker's log directory lives with *your* function in its place: logs grow, roll and are
# deleted, tasks run by the clock, the broker is stopped, killed and started again. Kafka's own `LogManager` lives the same life. Most of these lives are drawn, and this page does not
# show them. After each operation the offsets of every log, both checkpoints, the marker and the names in the directory must agree (ids that are made up are left out); at the end every byte of every file.
#
# Where they differ you get the shortest life that was found for it, and the first quantity.

# %%
from minikafka.lessons.start_and_stop.rungs import stops
from minikafka.log.manager.log_manager import write_clean_shutdown_file

stops

# %%
def shutdown(self, broker_epoch=-1):
    """self: the LogManager: cleaner.shutdown() (no cleaner: None), live_log_dirs, _logs_in_dir(log directory) (a dict), _checkpoint_dir(log
    directory), stray_logs (a dict), logs_to_be_deleted, log_dirs.destroy_locks(). A log has flush(force_flush_active_segment=True), close()
    and close_handlers(). write_clean_shutdown_file(log directory, broker_epoch) writes the marker. Returns None."""
    return ___


stops.check(shutdown)
