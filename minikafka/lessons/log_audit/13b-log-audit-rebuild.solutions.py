# %% [markdown]
# # An audit of a log directory: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.log_audit.exercises import equal_replicas, group_lag, saved_by_compaction

# %% [markdown]
# **Exercise 1, who is how far behind.** `count(r.offset)` does not count a row for which the LEFT JOIN found no record. The first record to read is
# the one with the least offset; the newest record is the one with the greatest timestamp.

# %%
group_lag.check(lags)

# %% [markdown]
# **Exercise 2, equal or not.** The FULL JOIN keeps records that only one copy has, and `<=>` can compare with null.

# %%
equal_replicas.check(first_difference)

# %% [markdown]
# **Exercise 3, what compaction would save.** Exactly one record of each key stays.

# %%
saved_by_compaction.check(saved)
