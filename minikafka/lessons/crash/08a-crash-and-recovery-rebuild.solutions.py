# %% [markdown]
# # Crash and recovery: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.crash.exercises import damaged_end, epoch_entries, holes, kept_safe

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

# %% [markdown]
# ### Rebuild
#
# Rung 1: three questions, and one file that is emptied.

# %%
from minikafka.lessons.crash.rungs import empties, recovers, scans, trusts

trusts.check(sanity_check)

# %% [markdown]
# Rung 2: an append in the order of the file, without the writing; the exception of the first bad batch ends it.

# %%
from minikafka.common.errors import CorruptRecordException, InvalidRecordException
from minikafka.log.index.time_index import UNKNOWN, TimestampOffset

recovers.check(recover)

# %% [markdown]
# Rung 3: from the segment that holds the recovery point on, up to the first cut.

# %%
from minikafka.common.errors import InvalidOffsetException
from minikafka.log.segment_files import delete_producer_snapshots

scans.check(_recover_unflushed_segments)

# %% [markdown]
# Rung 4: below, not at; then everything goes, epochs and producers too.

# %%
empties.check(_delete_segments_if_log_start_greater_than_log_end)
