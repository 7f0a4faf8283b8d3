# %% [markdown]
# # Crash and recovery: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.crash.exercises import damaged_end, kept_safe

# %% [markdown]
# **Exercise 1, where a damaged log ends.** First find the segments that are scanned; each is scanned as a whole. Then find the first bad batch in
# them.

# %%
damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, what is known to be on the device.** Two numbers are in memory and one is in a file. After a kill only the file is left.

# %%
kept_safe.check(recovery_point)

# %% [markdown]
# ### Rebuild
#
# Rung 1 does the same as an append, batch by batch in the order of the file, but writes no records. The exception of the first bad batch ends the
# loop.

# %%
from minikafka.common.errors import CorruptRecordException, InvalidRecordException
from minikafka.lessons.crash.rungs import recovers, scans
from minikafka.log.index.time_index import UNKNOWN, TimestampOffset

recovers.check(recover)

# %% [markdown]
# Rung 2 begins with the segment that holds the recovery point, and stops at the first segment that it has to cut.

# %%
from minikafka.common.errors import InvalidOffsetException
from minikafka.log.segment_files import delete_producer_snapshots

scans.check(_recover_unflushed_segments)
