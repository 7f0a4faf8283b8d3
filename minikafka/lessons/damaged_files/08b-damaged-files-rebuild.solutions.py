# %% [markdown]
# # Damaged and missing files: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.damaged_files.exercises import epoch_entries, holes

# %% [markdown]
# **Exercise 1, the epochs that recovery finds.** A batch makes an entry when its epoch is above all before it.

# %%
epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 2, damage and a missing index.** A segment without its index is cut on the way; only the scan ends the log.

# %%
holes.check(segments_left)

# %% [markdown]
# ### Rebuild
#
# Rung 1: three questions, and one file that is emptied.

# %%
from minikafka.lessons.damaged_files.rungs import empties, trusts

trusts.check(sanity_check)

# %% [markdown]
# Rung 2: below, not at; then everything goes, epochs and producers too.

# %%
empties.check(_delete_segments_if_log_start_greater_than_log_end)
