# %% [markdown]
# # Loading: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.loading.exercises import bent, ends, half_done, leftovers

# %% [markdown]
# **Exercise 1, where a closed log ends.** Only the last segment counts. If it has no batch, the log ends at its base offset.

# %%
ends.check(clean_end)

# %% [markdown]
# **Exercise 2, a replacement that was cut off.** The lowest `.cleaned` file decides which `.swap` segments count.

# %%
half_done.check(segments_after)

# %% [markdown]
# **Exercise 3, what the checkpoints are bent to.** First handle a log that ends below its log start: it becomes empty. Then move both values into
# their bounds.

# %%
bent.check(loaded)

# %% [markdown]
# **Exercise 4, which files go.** Here three kinds of files are deleted: `.deleted` files, indexes without a `.log`, and snapshots at which no segment
# begins, except the newest.

# %%
leftovers.check(files_gone)

# %% [markdown]
# ### Rebuild
#
# Rung 1: the lowest `.cleaned` offset decides. So find it before you decide about the first `.swap` file.

# %%
from minikafka.lessons.loading.rungs import collects, cuts_epochs, keeps_snapshots, replaces, ends as ends_where

collects.check(_remove_temp_files_and_collect_swap_files)

# %% [markdown]
# Rung 2: there is one range for all new segments; its end is exclusive.

# %%
from minikafka.log.log_segment import LogSegment

replaces.check(_delete_segments_replaced_by)

# %% [markdown]
# Rung 3 reads from the last index entry on to the last batch. An empty segment ends at its base offset.

# %%
ends_where.check(read_next_offset)

# %% [markdown]
# Rung 4: an epoch that begins at the log end has no record in this log.

# %%
cuts_epochs.check(truncate_from_end_async_flush)

# %% [markdown]
# Rung 5: the newest stray snapshot is the one that a clean stop wrote, unless a segment begins above it.

# %%
from minikafka.log.producer.snapshot_file import load_snapshots

keeps_snapshots.check(remove_stray_snapshots)
