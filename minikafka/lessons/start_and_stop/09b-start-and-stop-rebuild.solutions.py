# %% [markdown]
# # Start and stop: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.start_and_stop.exercises import believed_checkpoint, directory_name, next_log_directory

# %% [markdown]
# **Exercise 1, where a new partition goes.** Logs are counted, not bytes. Python's `sorted` keeps the order of equal ones, as Java's does.

# %%
next_log_directory.check(next_log_dirs)

# %% [markdown]
# **Exercise 2, what a name says.** Everything is found from the end: the kind, the id behind the last dot, the partition behind the last dash. `rpartition` gives an empty first part where there is no dot, and that is refused like any other name without a topic.

# %%
directory_name.check(parse_topic_partition_name)

# %% [markdown]
# **Exercise 3, what a start believes.** The first fault counts, so the loop returns at once; the number of lines is compared when all of them were good.

# %%
believed_checkpoint.check(read_recovery_points)

# %% [markdown]
# ### The rung
#
# It goes from the logs to the checkpoints to the marker. minikafka's own method does the same with a few threads for each directory, and gives none of the rest to a directory with a log that could not be closed.

# %%
from minikafka.lessons.start_and_stop.rungs import stops
from minikafka.log.manager.log_manager import write_clean_shutdown_file

stops.check(shutdown)
