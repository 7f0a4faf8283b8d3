# %% [markdown]
# # Crash and recovery: rebuild
#
# *Two functions to complete, and two methods of the log to rewrite.*
#
# **Time:** fifty-five minutes: twenty-five minutes for the functions, thirty minutes for the rungs. **Before:** the lesson [Crash and recovery](08a-crash-and-recovery.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `damaged_end.hint()` gives one hint; each
# further call gives a plainer one. `damaged_end.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first
# difference. The project's tests let Kafka load a directory with the same damage for each case, and compare its answers, too.

# %%
from minikafka.lessons.crash.exercises import damaged_end, kept_safe

# %% [markdown]
# **Exercise 1, where a damaged log ends, in Spark.** *Why: to know what a start would cut off, before you start the broker.* Kafka's method is
# `LogLoader.recoverLog`. `batches.sparkSession.sql("SELECT … FROM {batches} WHERE … {point}", batches=batches, point=recovery_point)` queries the
# table: names in braces are filled in, tables and numbers alike.

# %%
def log_end(batches, recovery_point):
    """batches: DataFrame of segment (base offset of its segment), first, last (offsets, inclusive, without
    gaps), sound (BOOLEAN: the batch has no damage). recovery_point: an offset in one of the segments. No index
    is missing. The stop was unclean.
    Returns a DataFrame of one row and one column: the log end offset after the load.

    Example: (0, 0, 1, true), (0, 2, 3, false), (4, 4, 5, true) with the recovery point 0 give 2.
    """
    return ___


damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, what is known to be on the device.** *Why: the next start does not scan segments below the recovery point, and only the records below
# it are sure to survive a power failure.* Kafka's methods are `UnifiedLog.flush` and `LogManager.checkpointLogRecoveryOffsets`.

# %%
def recovery_point(events):
    """events: list of texts, in their order: "append" (one record), "roll", "background" (the task that a roll
    has asked for runs), "flush", "checkpoint" (the checkpoint file is written), "close" (a clean stop, then a
    load), "kill" (an unclean stop, then a load). The log is new; its offsets begin at 0. Returns the recovery
    point after the last event, an offset, exclusive.

    Example: recovery_point(["append", "append", "flush", "append"]) is 2.
    """
    return ___


kept_safe.check(recovery_point)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method. minikafka then runs with *your* function in place of its own, and Apache Kafka runs the same workloads. In
# these workloads a log is loaded many times, mostly after a kill, and its files are damaged before the load. For instance, `reopen clean=false
# damage=cut:-1.log:20` cuts the last 20 bytes off the last segment's `.log`. Most workloads are drawn at random, and this page does not show them.
# After each operation everything that can be observed must be equal, and at the end every byte of every file. (With `mine(…)` of the lesson
# *Segments* you can watch your function.)

# %%
from minikafka.common.errors import CorruptRecordException, InvalidRecordException
from minikafka.lessons.crash.rungs import recovers, scans
from minikafka.log.index.time_index import UNKNOWN, TimestampOffset

recovers

# %%
def recover(self, producer_state_manager, leader_epoch_cache):
    """self: a LogSegment. Empties its three indexes, goes through its batches, builds the indexes again, and
    cuts the file before the first damaged batch. Returns the number of bytes that it cut off, an int.
    """
    return ___


recovers.check(recover)

# %%
from minikafka.common.errors import InvalidOffsetException
from minikafka.log.segment_files import delete_producer_snapshots

scans

# %%
def _recover_unflushed_segments(self):
    """self: a LogLoader, with segments, recovery_point_checkpoint (an offset) and _recover_segment(segment).
    Returns None."""
    return ___


scans.check(_recover_unflushed_segments)
