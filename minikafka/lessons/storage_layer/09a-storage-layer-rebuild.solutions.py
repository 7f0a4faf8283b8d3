# %% [markdown]
# # Background tasks: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.storage_layer.exercises import deleted_by_retention, written_recovery_points

# %% [markdown]
# **Exercise 1, what the file of recovery points says.** The query has two steps: when was the file written last, and what had been flushed by then?
# Before second 30 the range is empty, `max` gives NULL, and the join finds no row.

# %%
written_recovery_points.check(recovery_points)

# %% [markdown]
# **Exercise 2, what a run of the retention task deletes.** `min` over booleans is true as long as all of them are true. The window goes from the
# oldest segment to this one.

# %%
deleted_by_retention.check(deleted)

# %% [markdown]
# ### The rungs
#
# Rung 1 compares with the first segment that exists now. So a log whose older segments have been deleted may drop out of the file.

# %%
from minikafka.lessons.storage_layer.rungs import flushes, retains, starts, takes_away

starts.check(log_starts_to_checkpoint)

# %% [markdown]
# Rung 2 only looks at the time since the last flush. A log without new records is flushed, too; that takes almost no time.

# %%
flushes.check(_flush_dirty_logs)

# %% [markdown]
# Rung 3 gets the logs that are not compacted from the cleaner, because the cleaner must stay away from these logs meanwhile.

# %%
retains.check(_cleanup_logs)

# %% [markdown]
# Rung 4 first removes the log from the map. From then on a lookup finds nothing; a reader that already has the log can still read.

# %%
from minikafka.log.log_dir_name import log_delete_dir_name, log_stray_dir_name

takes_away.check(async_delete)
