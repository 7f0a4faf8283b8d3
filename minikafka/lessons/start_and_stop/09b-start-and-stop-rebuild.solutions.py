# %% [markdown]
# # Start and stop: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.start_and_stop.exercises import believed_checkpoint, directory_name, next_log_directory

# %% [markdown]
# **Exercise 1, where a new partition goes.** The number of logs counts, not their size. Python's `sorted` keeps the order of equal entries, as Java's
# does.

# %%
next_log_directory.check(next_log_dirs)

# %% [markdown]
# **Exercise 2, what a name says.** Everything is read from the end of the name: the kind, then the id after the last dot, then the partition after
# the last dash. Without a dot, `rpartition` returns an empty first part, and the name is refused because it has no topic.

# %%
directory_name.check(parse_topic_partition_name)

# %% [markdown]
# **Exercise 3, what a start believes.** The first fault counts, so the loop returns at once. A file may end after its version: Kafka reads it as
# one without entries. The number of lines is compared only after all lines were good; it may be greater than the number of partitions.

# %%
believed_checkpoint.check(read_recovery_points)

# %% [markdown]
# ### The rung
#
# The order is: logs, checkpoints, marker. minikafka's own method uses a few threads for each directory. If a log in a directory cannot be closed, it
# writes neither checkpoints nor marker there.

# %%
from minikafka.lessons.start_and_stop.rungs import stops
from minikafka.log.manager.log_manager import write_clean_shutdown_file

stops.check(shutdown)
