# %% [markdown]
# # A log directory at scale: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.log_directory.exercises import equal_replicas, group_lag, moment, open_transaction, saved_by_compaction

# %% [markdown]
# **Exercise 1, what is open.** A window gives each batch the last marker of its producer; what lies behind that marker is not decided.

# %%
open_transaction.check(open_transactions)

# %% [markdown]
# **Exercise 2, who is how far behind.** `count(r.offset)` counts no row of the LEFT JOIN that found nothing. Which record is the first to come, offsets say; which is the newest, timestamps.

# %%
group_lag.check(lags)

# %% [markdown]
# **Exercise 3, from a moment on.** An aggregate over nothing is null, `offset >= null` is true for no row, and a GROUP BY of no rows has none.

# %%
moment.check(reading_from)

# %% [markdown]
# **Exercise 4, equal or not.** The FULL JOIN keeps what only one copy has, and `<=>` compares it with null.

# %%
equal_replicas.check(first_difference)

# %% [markdown]
# **Exercise 5, what compaction would save.** One record of each key stays, whichever it is.

# %%
saved_by_compaction.check(saved)
