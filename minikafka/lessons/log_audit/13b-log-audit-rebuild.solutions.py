# %% [markdown]
# # An audit of a log directory: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.log_audit.exercises import equal_replicas, group_lag, saved_by_compaction

# %% [markdown]
# **Exercise 1, who is how far behind.** `count(r.offset)` counts no row of the LEFT JOIN that found nothing. Which record is the first to come, offsets say; which is the newest, timestamps.

# %%
group_lag.check(lags)

# %% [markdown]
# **Exercise 2, equal or not.** The FULL JOIN keeps what only one copy has, and `<=>` compares it with null.

# %%
equal_replicas.check(first_difference)

# %% [markdown]
# **Exercise 3, what compaction would save.** One record of each key stays, whichever it is.

# %%
saved_by_compaction.check(saved)
