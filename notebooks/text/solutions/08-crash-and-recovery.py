# %% [markdown]
# # Crash and recovery: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.crash import damaged_end, epoch_entries, holes, kept_safe

# %% [markdown]
# **Exercise 1, where a damaged log ends.** First the segments in doubt, whole ones; then the first bad batch in them.

# %%
damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, the epochs that recovery finds.** A batch makes an entry when its epoch is above all before it.

# %%
epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 3, damage and a missing index.** A segment without its index is cut on the way; only the scan ends the log.

# %%
holes.check(segments_left)

# %% [markdown]
# **Exercise 4, what is known to be on the device.** Two numbers in memory, one in a file; a kill leaves the file.

# %%
kept_safe.check(recovery_point)
