# %% [markdown]
# # Start here: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.start.exercises import file_names, first_bytes

# %% [markdown]
# **Exercise 1, the file of an offset.** Kafka asks its map of segments the same question, and calls it `floorSegment`.

# %%
file_names.check(file_of)

# %% [markdown]
# **Exercise 2, where a batch begins.** The sum so far has the batch itself in it; less its own size, it is the byte at which the batch begins. Each file begins at byte 0, hence `PARTITION BY`.

# %%
first_bytes.check(positions)
