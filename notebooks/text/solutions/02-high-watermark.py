# %% [markdown]
# # High watermark: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.high_watermark import acks_all, clamp, increment, least_end

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
