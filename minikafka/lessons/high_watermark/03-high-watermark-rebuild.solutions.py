# %% [markdown]
# # High watermark: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.high_watermark.exercises import acks_all, clamp, increment, least_end

# %% [markdown]
# **Exercise 1, the least end.** First make one row for each t. Then take the running maximum, which never falls.

# %%
least_end.check(high_watermarks)

# %% [markdown]
# **Exercise 2, update_high_watermark.** The old high watermark does not matter.

# %%
clamp.check(updated)

# %% [markdown]
# **Exercise 3, maybe_increment_high_watermark.** The method checks whether to refuse before it looks at the old high watermark.

# %%
increment.check(incremented)

# %% [markdown]
# **Exercise 4, when acks=all is answered.** HW is exclusive: an append with the last offset x is answered at the first HW > x.

# %%
acks_all.check(answered)

# %% [markdown]
# ### The rungs
#
# Rung 1 only applies the two bounds and sets the value. At the log end the byte position is known, so the method keeps it.

# %%
from minikafka.lessons.high_watermark.rungs import clamps, follows, increments
from minikafka.log.log_offset_metadata import LogOffsetMetadata

clamps.check(update_high_watermark)

# %% [markdown]
# Rung 2 calls the method of rung 1 and compares the high watermark before with the one after.

# %%
follows.check(maybe_update_high_watermark)

# %% [markdown]
# Rung 3 refuses a value above the log end, and only moves forward. The same offset on a newer segment counts as forward, too.

# %%
from minikafka.common.errors import IllegalArgumentException

increments.check(maybe_increment_high_watermark)
