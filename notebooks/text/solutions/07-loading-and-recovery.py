# %% [markdown]
# # Loading and recovery: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.loading import bent, damaged_end, epoch_entries, half_done

# %% [markdown]
# **Exercise 1, where a damaged log ends.** First the segments in doubt, whole ones; then the first bad batch in them.

# %%
damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, the epochs that recovery finds.** A batch makes an entry when its epoch is above all before it.

# %%
epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 3, a replacement that was cut off.** The lowest `.cleaned` file decides which `.swap` segments count.

# %%
half_done.check(segments_after)

# %% [markdown]
# **Exercise 4, what the checkpoints are bent to.** A log that ends below its start is emptied first; the rest is clamping.

# %%
bent.check(loaded)
