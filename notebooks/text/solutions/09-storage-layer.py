# %% [markdown]
# # Storage layer: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.storage_layer import believed_checkpoint, deleted_by_retention, directory_name
from minikafka.lab.exercises.storage_layer import next_log_directory, written_recovery_points

# %% [markdown]
# **Exercise 1, where a new partition goes.** Logs are counted, not bytes. Python's `sorted` keeps the order of equal ones, as Java's does.

# %%
next_log_directory.check(next_log_dirs)

# %% [markdown]
# **Exercise 2, what a name says.** Everything is found from the end: the kind, the id behind the last dot, the partition behind the last dash. `rpartition` gives an empty first part where there is no dot, and that is refused like any other name without a topic.

# %%
directory_name.check(parse_topic_partition_name)

# %% [markdown]
# **Exercise 3, what the file of recovery points says.** Two steps: when was it written last, and what had been flushed by then. Before second 30 the range is empty, `max` gives NULL, and nothing joins.

# %%
written_recovery_points.check(recovery_points)

# %% [markdown]
# **Exercise 4, what a run of the retention task deletes.** `min` over booleans is true as long as all of them are: the window goes from the oldest segment to this one.

# %%
deleted_by_retention.check(deleted)

# %% [markdown]
# **Exercise 5, what a start believes.** The first fault counts, so the loop returns at once; the number of lines is compared when all of them were good.

# %%
believed_checkpoint.check(read_recovery_points)
