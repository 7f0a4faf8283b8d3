# %% [markdown]
# # Crash and recovery: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.crash.exercises import damaged_end, kept_safe

# %% [markdown]
# **Exercise 1, where a damaged log ends.** First the segments in doubt, whole ones; then the first bad batch in them.

# %%
damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, what is known to be on the device.** Two numbers in memory, one in a file; a kill leaves the file.

# %%
kept_safe.check(recovery_point)

# %% [markdown]
# ### Rebuild
#
# Rung 1: an append in the order of the file, without the writing; the exception of the first bad batch ends it.

# %%
from minikafka.common.errors import CorruptRecordException, InvalidRecordException
from minikafka.lessons.crash.rungs import recovers, scans
from minikafka.log.index.time_index import UNKNOWN, TimestampOffset

recovers.check(recover)

# %% [markdown]
# Rung 2: from the segment that holds the recovery point on, up to the first cut.

# %%
from minikafka.common.errors import InvalidOffsetException
from minikafka.log.segment_files import delete_producer_snapshots

scans.check(_recover_unflushed_segments)
