# %% [markdown]
# # Segments: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.segments.exercises import by_size, by_time, rolling, sparse_index

# %% [markdown]
# **Exercise 1, rolling.** The loop carries two numbers: the bytes in the active segment, and the log end offset. It decides about a roll before it
# adds the append.

# %%
rolling.check(base_offsets)

# %% [markdown]
# **Exercise 2, the sparse index.** The code decides about an entry before it counts the batch, so the first batch never gets one.

# %%
sparse_index.check(index_entries)

# %% [markdown]
# **Exercise 3, retention by size.** `rest` is the number of bytes that stay if this segment and all older ones are deleted. It falls from row to row.
# So once the condition is false, it is false in all later rows, and no extra step is needed to stop there.

# %%
by_size.check(deletable_by_size)

# %% [markdown]
# **Exercise 4, retention by time.** Here an extra step is needed: `bool_and` over all rows so far becomes false at the first segment that stays, and
# remains false.

# %%
by_time.check(deletable_by_time)

# %% [markdown]
# ### The rungs
#
# Each function replaces a whole method and uses the same names. Rung 1 joins five reasons by `or`. It changes nothing.

# %%
from minikafka.lessons.segments.rungs import appends, deletes, looks_up, rolls, translates

rolls.check(should_roll)

# %% [markdown]
# Rung 2 is a binary search. All entries below `low` are at or below the target; all entries from `high` on are above it. When both meet, the answer
# is the entry before.

# %%
from minikafka.log.index.offset_index import OffsetPosition

looks_up.check(lookup)

# %% [markdown]
# Rung 3 starts at the byte that the index gives. From there it goes from batch to batch, up to the first one whose last offset is at or above the
# target.

# %%
from minikafka.record.files.file_records import LogOffsetPosition

translates.check(translate_offset)

# %% [markdown]
# Rung 4 handles each batch in this order: first the largest timestamp, then the decision about an index entry, then the batch's bytes are counted.

# %%
from minikafka.log.index.time_index import TimestampOffset

appends.check(append)

# %% [markdown]
# Rung 5 stops at the first segment that must stay. It does not look at later ones.

# %%
deletes.check(deletable_segments)
