# %% [markdown]
# # Tombstones and markers: solutions
#
# One way to solve each. Others that pass the checks are as good.

# %%
from minikafka.lessons.tombstones.exercises import gone_tombstones, survivors

# %% [markdown]
# **Exercise 1, who stays.** The window has all rows of a key, but `max` counts only those that are in the offset map: below `end`, and not aborted.

# %%
survivors.check(surviving)

# %% [markdown]
# **Exercise 2, which cleaning removes a tombstone.** The first join finds the cleaning that sets the horizon, the second one the cleaning that removes.

# %%
gone_tombstones.check(tombstones_gone)

# %% [markdown]
# ### The rungs

# %%
from minikafka.lessons.tombstones.rungs import checks, delays, retains
from minikafka.record.kernels.record_filter import BatchRetention, BatchRetentionResult

# %% [markdown]
# **Rung 1, a log that has waited too long.** Without a dirty segment nothing has waited: then the oldest timestamp is *now*.

# %%
delays.check(max_compaction_delay)

# %% [markdown]
# **Rung 2, which records stay.** It compares with `>=`, not `==`: for a key that is not in the dirty part the map returns −1, and the record in the
# clean part stays.

# %%
retains.check(should_retain_records)

# %% [markdown]
# **Rung 3, what becomes of a batch.** The last batch of a producer that the log remembers is checked first: its header stays even if all its records are removed.

# %%
checks.check(check_batch_retention)
