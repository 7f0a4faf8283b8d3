# %% [markdown]
# # Compaction: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.compaction.exercises import filthiest_log, map_position

# %% [markdown]
# **Exercise 1, where the map looks.** The first 13 tries read four bytes each, always one byte further on. Later tries read the last four bytes again
# and add 1, 2, 3 … So they go from slot to slot, and always find a free one.

# %%
map_position.check(slot_of)

# %% [markdown]
# **Exercise 2, the filthiest log.** The active segment counts neither as dirty nor as clean.

# %%
filthiest_log.check(filthiest)

# %% [markdown]
# ### The rungs

# %%
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.lessons.compaction.rungs import groups, ranges

# %% [markdown]
# **Rung 1, from where to where.** There are three bounds, and the least of them counts. Only segments from the first dirty offset on are checked for
# their age: segments that were cleaned before do not matter.

# %%
ranges.check(cleanable_offsets)

# %% [markdown]
# **Rung 2, which segments become one.** All sizes are those before the cleaning. Cleaning makes segments only smaller, so a group always fits.

# %%
groups.check(group_segments_by_size)
