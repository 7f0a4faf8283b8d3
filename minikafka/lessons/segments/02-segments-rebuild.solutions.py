# %% [markdown]
# # Segments: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.segments.exercises import by_size, by_time, rolling, sparse_index

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

# %% [markdown]
# ### The rungs
#
# Each stands for a whole method, with the names that the engine has. Rung 1 is five reasons in one `or`; only what is asked decides, nothing is changed.

# %%
from minikafka.lessons.segments.rungs import appends, deletes, looks_up, rolls, translates

rolls.check(should_roll)

# %% [markdown]
# Rung 2 halves. Below `low` everything is at or below the target, from `high` on everything above it; when they meet, the entry before is the answer.

# %%
from minikafka.log.index.offset_index import OffsetPosition

looks_up.check(lookup)

# %% [markdown]
# Rung 3 goes on where the index ends: from batch to batch, up to the first that ends at or behind the target.

# %%
from minikafka.record.files.file_records import LogOffsetPosition

translates.check(translate_offset)

# %% [markdown]
# Rung 4: the question about an entry comes before the batch's bytes are counted, and the largest timestamp before the question.

# %%
from minikafka.log.index.time_index import TimestampOffset

appends.check(append)

# %% [markdown]
# Rung 5 stops at the first segment that must stay, whatever comes behind it.

# %%
deletes.check(deletable_segments)
