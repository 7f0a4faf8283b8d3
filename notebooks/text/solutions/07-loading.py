# %% [markdown]
# # Loading: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.loading import bent, ends, half_done, leftovers

# %% [markdown]
# **Exercise 1, where a closed log ends.** The last segment alone; without a batch its base is all that is known.

# %%
ends.check(clean_end)

# %% [markdown]
# **Exercise 2, a replacement that was cut off.** The lowest `.cleaned` file decides which `.swap` segments count.

# %%
half_done.check(segments_after)

# %% [markdown]
# **Exercise 3, what the checkpoints are bent to.** A log that ends below its start is emptied first; the rest is clamping.

# %%
bent.check(loaded)

# %% [markdown]
# **Exercise 4, which files go.** Three kinds: on their way out, indexes of nothing, snapshots of nothing but the newest.

# %%
leftovers.check(files_gone)
