# %% [markdown]
# # High watermark: rebuild
#
# *Four functions to complete, and three methods of the log to rewrite.*
#
# [中文](zh/03-high-watermark-rebuild.ipynb)
#
# **Time:** an hour: thirty minutes for the functions, thirty minutes for the rungs. **Before:** the lesson [High watermark](03-high-watermark.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `least_end.hint()` gives one hint; each
# further call gives a plainer one. `least_end.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first difference.

# %%
from minikafka.lessons.high_watermark.exercises import acks_all, clamp, increment, least_end

# %% [markdown]
# **Exercise 1, the least end, in Spark.** *Why: this number decides which records a consumer can read.* Kafka's method is
# `Partition.maybeIncrementLeaderHW`. `ends.sparkSession.sql("SELECT … FROM {ends}", ends=ends)` queries the table.

# %%
def high_watermarks(ends):
    """ends: DataFrame of t (a moment, 0, 1, 2 …), replica (broker id), end (log end offset, as the leader knows
    it). For each t it has one row for each in-sync replica. A null end: this follower has not fetched yet, so
    the leader does not know its end. As long as there is one, the mark does not rise. Returns a DataFrame of t,
    hw, ascending by t. hw begins at 0.

    Example: the ends 3 and 2 at t 0, and 3 and 3 at t 1, give (0, 2), (1, 3).
    """
    return ___


least_end.check(high_watermarks)

# %% [markdown]
# **Exercise 2, update_high_watermark.** *Why: a broker that starts may have a checkpoint that does not fit its log. This method decides what happens
# then.* Kafka's method is `UnifiedLog.updateHighWatermark`.

# %%
def updated(old, suggested, log_start, log_end):
    """All arguments are offsets, ints. old: the high watermark before. suggested: the new value that is asked
    for. log_start: inclusive. log_end: exclusive. Returns the high watermark after
    update_high_watermark(suggested).

    Example: updated(5, 7, 0, 10) is 7.
    """
    return ___


clamp.check(updated)

# %% [markdown]
# **Exercise 3, maybe_increment_high_watermark.** *Why: a wrong value can be corrected silently or refused. If it is refused, the bug behind it is
# found early.* Kafka's method is `UnifiedLog.maybeIncrementHighWatermark`.

# %%
def incremented(old, new, log_end):
    """All arguments are offsets, ints. old: the high watermark before. new: the value that is asked for.
    Returns what maybe_increment_high_watermark(new) does: "moved", "stays", or "refused" if it raises an
    exception.

    Example: incremented(4, 6, 10) is "moved".
    """
    return ___


increment.check(incremented)

# %% [markdown]
# **Exercise 4, when acks=all is answered, in Spark.** *Why: from the append to this moment your producer waits.*
# Kafka's method is `Partition.checkEnoughReplicasReachOffset`.

# %%
def answered(appends, watermarks):
    """appends: DataFrame of t (a moment), last_offset (inclusive). watermarks: DataFrame of t, hw: the high
    watermark at t.
    Returns a DataFrame of t, answered, one row for each append, ascending by t. answered: the first t, at or
    after the append, at which a producer with acks=all gets its answer; null if it never gets one.

    Example: the append (0, 2) and the marks (0, 0), (1, 2), (2, 3) give (0, 2).
    """
    return ___


acks_all.check(answered)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one of three methods of the log. minikafka then runs with your function in place of its own, on workloads that this page
# does not show. Apache Kafka runs the same workloads. After each operation everything that can be observed must be equal, and at the end every byte
# on disk. Rung 2 may call the method of rung 1.

# %%
from minikafka.lessons.high_watermark.rungs import clamps, follows, increments
from minikafka.log.log_offset_metadata import LogOffsetMetadata

clamps

# %%
def update_high_watermark(self, high_watermark):
    """self: a Log. high_watermark: an offset (int) or a LogOffsetMetadata. Sets the high watermark. Returns the
    offset that was set, an int."""
    return ___


clamps.check(update_high_watermark)

# %%
follows

# %%
def maybe_update_high_watermark(self, high_watermark):
    """self: the Log of a follower. high_watermark: the offset (int) that its leader has sent. Returns the new
    high watermark, an int, or None if it did not change.
    """
    return ___


follows.check(maybe_update_high_watermark)

# %%
from minikafka.common.errors import IllegalArgumentException

increments

# %%
def maybe_increment_high_watermark(self, new_high_watermark):
    """self: the Log of a leader. new_high_watermark: a LogOffsetMetadata. Returns the old high watermark, a
    LogOffsetMetadata, or None if it did not change.
    """
    return ___


increments.check(maybe_increment_high_watermark)
