# %% [markdown]
# # Tombstones and markers: solutions
#
# One way to solve each. Others that pass the checks are as good.

# %%
from minikafka.lessons.tombstones.exercises import survivors

# %% [markdown]
# **Exercise 1, who stays.** The window is over all rows of a key, but takes only those into account that the offset map would: below `end`, and not aborted.

# %%
survivors.check(surviving)

# %% [markdown]
# ### The rungs

# %%
from minikafka.lessons.tombstones.rungs import checks, delays, retains
from minikafka.record.kernels.record_filter import BatchRetention, BatchRetentionResult

# %% [markdown]
# **Rung 1, a log that has waited too long.** Without a dirty segment nothing has waited: then the oldest is as old as *now*.

# %%
delays.check(max_compaction_delay)

# %% [markdown]
# **Rung 2, which records stay.** `>=` and not `==`: for a key that the head does not have the map says −1, and what lies in the tail stays.

# %%
retains.check(should_retain_records)

# %% [markdown]
# **Rung 3, what becomes of a batch.** Being the last of its producer is asked first: such a header stays even where all its records go.

# %%
checks.check(check_batch_retention)
