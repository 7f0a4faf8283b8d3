# %% [markdown]
# # Start here: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.start.exercises import file_names, first_bytes

# %% [markdown]
# **Exercise 1, the file of an offset.** Kafka's `LogSegments.floorSegment` answers the same question.

# %%
file_names.check(file_of)

# %% [markdown]
# **Exercise 2, where a batch begins.** The running sum includes the batch itself. Subtract the batch's own size: the result is the byte at which the
# batch begins. `PARTITION BY` is needed because each file begins at byte 0.

# %%
first_bytes.check(positions)
