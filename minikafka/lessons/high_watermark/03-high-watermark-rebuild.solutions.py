# %% [markdown]
# # High watermark: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.high_watermark.exercises import acks_all, clamp, increment, least_end

# %% [markdown]
# **Exercise 1, the least end.** One row for each t first; then a window that never falls.

# %%
least_end.check(high_watermarks)

# %% [markdown]
# **Exercise 2, update_high_watermark.** The old mark plays no part.

# %%
clamp.check(updated)

# %% [markdown]
# **Exercise 3, maybe_increment_high_watermark.** Refused before the old mark is even looked at.

# %%
increment.check(incremented)

# %% [markdown]
# **Exercise 4, when acks=all is answered.** HW is exclusive: the append of last offset x is answered at the first HW > x.

# %%
acks_all.check(answered)

# %% [markdown]
# ### The rungs
#
# Rung 1 only bounds and sets. At the log end the place of the mark is known, so that is what is kept there.

# %%
from minikafka.lessons.high_watermark.rungs import clamps, follows, increments
from minikafka.log.log_offset_metadata import LogOffsetMetadata

clamps.check(update_high_watermark)

# %% [markdown]
# Rung 2 lets rung 1 do the work and compares before with after.

# %%
follows.check(maybe_update_high_watermark)

# %% [markdown]
# Rung 3 refuses what cannot be, and moves only forward. The same offset on a newer segment is forward, too.

# %%
from minikafka.common.errors import IllegalArgumentException

increments.check(maybe_increment_high_watermark)
