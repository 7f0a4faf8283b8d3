# %% [markdown]
# # Loading: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.loading.exercises import bent, ends, half_done, leftovers

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

# %% [markdown]
# ### Rebuild
#
# Rung 1: the lowest `.cleaned` file decides, so it must be known before the first `.swap` is judged.

# %%
from minikafka.lessons.loading.rungs import collects, cuts_epochs, keeps_snapshots, replaces, ends as ends_where

collects.check(_remove_temp_files_and_collect_swap_files)

# %% [markdown]
# Rung 2: one range for all new segments, its end not included.

# %%
from minikafka.log.log_segment import LogSegment

replaces.check(_delete_segments_replaced_by)

# %% [markdown]
# Rung 3: from the last index entry on to the last batch; an empty segment ends where it begins.

# %%
ends_where.check(read_next_offset)

# %% [markdown]
# Rung 4: an epoch that begins at the end has no record.

# %%
cuts_epochs.check(truncate_from_end_async_flush)

# %% [markdown]
# Rung 5: the newest stray is the one that a clean stop wrote, unless a segment begins above it.

# %%
from minikafka.log.producer.snapshot_file import load_snapshots

keeps_snapshots.check(remove_stray_snapshots)
