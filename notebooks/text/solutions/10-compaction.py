# %% [markdown]
# # Compaction: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.compaction import cleanable_range, filthiest_log, map_position, retained_record, survivors

# %% [markdown]
# **Exercise 1, where the map looks.** Thirteen pieces of four bytes, each a byte further on than the one before. Then the last piece, and 1, 2, 3 … added to it: from there on slot after slot, so that a
# free one is always found.

# %%
map_position.check(slot_of)

# %% [markdown]
# **Exercise 2, from where to where.** Three bounds, and the least of them counts. Only segments from the first dirty offset on are asked for their age: what was cleaned once holds nothing back.

# %%
cleanable_range.check(cleanable_offsets)

# %% [markdown]
# **Exercise 3, the filthiest log.** The active segment is on neither side of the fraction.

# %%
filthiest_log.check(filthiest)

# %% [markdown]
# **Exercise 4, does a record stay?** `>=` and not `==`: for a key that the head does not have the map says −1, and what lies in the tail stays.

# %%
retained_record.check(should_retain_record)

# %% [markdown]
# **Exercise 5, who stays.** The window is over all rows of a key, but takes only those into account that the offset map would: below `end`, and not aborted.

# %%
survivors.check(surviving)
