# %% [markdown]
# # Compaction: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.compaction.exercises import filthiest_log, map_position

# %% [markdown]
# **Exercise 1, where the map looks.** Thirteen pieces of four bytes, each a byte further on than the one before. Then the last piece, and 1, 2, 3 … added to it: from there on slot after slot, so that a
# free one is always found.

# %%
map_position.check(slot_of)

# %% [markdown]
# **Exercise 2, the filthiest log.** The active segment is on neither side of the fraction.

# %%
filthiest_log.check(filthiest)

# %% [markdown]
# ### The rungs

# %%
from minikafka.common.java_numbers import INT_MAX
from minikafka.lessons.compaction.rungs import groups, ranges

# %% [markdown]
# **Rung 1, from where to where.** Three bounds, and the least of them counts. Only segments from the first dirty offset on are asked for their age: what was cleaned once holds nothing back.

# %%
ranges.check(cleanable_offsets)

# %% [markdown]
# **Rung 2, which segments become one.** All sums are from before the cleaning, so a group always fits.

# %%
groups.check(group_segments_by_size)
