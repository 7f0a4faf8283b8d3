# %% [markdown]
# # Damaged and missing files: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.damaged_files.exercises import epoch_entries, holes

# %% [markdown]
# **Exercise 1, the epochs that recovery finds.** A batch makes an entry if its epoch is higher than all epochs before it.

# %%
epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 2, damage and a missing index.** A segment without its index is cut when it is opened, and the load continues. Only the scan ends the
# log.

# %%
holes.check(segments_left)

# %% [markdown]
# ### Rebuild
#
# Rung 1 checks three files, and empties one of them.

# %%
from minikafka.lessons.damaged_files.rungs import empties, trusts

trusts.check(sanity_check)

# %% [markdown]
# Rung 2: the log must end below its log start, not at it. Then everything is deleted, also epochs and producers.

# %%
empties.check(_delete_segments_if_log_start_greater_than_log_end)
