# %% [markdown]
# # Crash and recovery: rebuild
#
# *Two functions to complete, and two methods of the log to write anew.*
#
# **Time:** half an hour: ten minutes for the functions, twenty for the rungs. **Before:** the lesson [Crash and recovery](08a-crash-and-recovery.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way (of a rung, after a try of your own). This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference. Kafka has taken the same exam: for each case it loaded a directory damaged in that way.

# %%
from minikafka.lessons.crash.exercises import damaged_end, kept_safe

# %% [markdown]
# **Exercise 1, where a damaged log ends, in Spark.** *Why: to know what a start would cut, before you start.*
# `batches.sparkSession.sql("SELECT … FROM {batches} WHERE … {point}", batches=batches, point=recovery_point)` queries the table: names in
# braces are filled in, tables and numbers alike.

# %%
def log_end(batches, recovery_point):
    """batches: DataFrame of segment (its base offset), first, last (offsets, without gaps), sound (BOOLEAN). recovery_point: an
    offset in one of the segments; no index is missing. Returns a DataFrame of one row and one column: the LEO after an unclean stop."""
    return ___


damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, what is known to be on the device.** *Why: it is what the next start will not read, and all that a power cut is sure to leave.*

# %%
def recovery_point(events):
    """events: list of "append" (one record), "roll", "background" (the task that a roll asked for), "flush", "checkpoint" (the file is written),
    "close" and "kill" (each followed by a load). A new log, offsets from 0. Returns the recovery point after the last event."""
    return ___


kept_safe.check(recovery_point)

# %% [markdown]
# ## Rungs
#
# Now the log itself. In each rung you write one method anew, and minikafka runs with *your* function in its place; Apache Kafka does the same
# workloads. In these workloads a log is reopened again and again, mostly after a kill, and its files are damaged before it is loaded: `reopen clean=false damage=cut:-1.log:20`
# leaves out the last 20 bytes of the last segment. Most of them are drawn, and this page does not show them; after each operation all that can be observed must agree, and at the end every byte of every file.
# (`mine(…)` of the lesson *Segments* lets you watch your function.)

# %%
from minikafka.common.errors import CorruptRecordException, InvalidRecordException
from minikafka.lessons.crash.rungs import recovers, scans
from minikafka.log.index.time_index import UNKNOWN, TimestampOffset

recovers

# %%
def recover(self, producer_state_manager, leader_epoch_cache):
    """self: a LogSegment. Empties its three indexes, goes through its batches, builds the indexes anew, and cuts the file before the first bad
    batch. Returns the number of bytes cut."""
    return ___


recovers.check(recover)

# %%
from minikafka.common.errors import InvalidOffsetException
from minikafka.log.segment_files import delete_producer_snapshots

scans

# %%
def _recover_unflushed_segments(self):
    """self: a LogLoader with segments, recovery_point_checkpoint and _recover_segment(segment). Returns nothing."""
    return ___


scans.check(_recover_unflushed_segments)
