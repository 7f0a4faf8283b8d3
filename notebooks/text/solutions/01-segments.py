# %% [markdown]
# # Segments: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.segments import by_size, by_time, rolling, sparse_index

# %% [markdown]
# **Exercise 1, rolling.** Two numbers are carried along: bytes in the active segment, and the log end offset. The question comes
# before the write.

# %%
rolling.check(base_offsets)

# %% [markdown]
# **Exercise 2, the sparse index.** The question comes before the batch is counted, so the first batch never has an entry.

# %%
sparse_index.check(index_entries)

# %% [markdown]
# **Exercise 3, retention by size.** `rest` is what stays if this segment and all older ones go. It falls from row to row, so the
# condition never holds again once it has failed: the walk's *stop at the first no* comes for free.

# %%
by_size.check(deletable_by_size)

# %% [markdown]
# **Exercise 4, retention by time.** Here it does not come for free: `bool_and` over all rows so far is the walk that stops.

# %%
by_time.check(deletable_by_time)
