# %% [markdown]
# # Background tasks: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.storage_layer.exercises import deleted_by_retention, written_recovery_points

# %% [markdown]
# **Exercise 1, what the file of recovery points says.** Two steps: when was it written last, and what had been flushed by then. Before second 30 the range is empty, `max` gives NULL, and nothing joins.

# %%
written_recovery_points.check(recovery_points)

# %% [markdown]
# **Exercise 2, what a run of the retention task deletes.** `min` over booleans is true as long as all of them are: the window goes from the oldest segment to this one.

# %%
deleted_by_retention.check(deleted)

# %% [markdown]
# ### The rungs
#
# Rung 1 compares with the first segment that is there now, so that a log whose old segments have been deleted is not listed.

# %%
from minikafka.lessons.storage_layer.rungs import flushes, retains, starts, takes_away

starts.check(log_starts_to_checkpoint)

# %% [markdown]
# Rung 2 asks for the time since the last flush, not for what is unflushed: a log without news is flushed in no time.

# %%
flushes.check(_flush_dirty_logs)

# %% [markdown]
# Rung 3 lets the cleaner say which logs are not compacted, because it must keep away from the same ones meanwhile.

# %%
retains.check(_cleanup_logs)

# %% [markdown]
# Rung 4 takes the log out of the map before anything else: whoever asks from now on gets nothing, and whoever has it reads on.

# %%
from minikafka.log.log_dir_name import log_delete_dir_name, log_stray_dir_name

takes_away.check(async_delete)
