# %% [markdown]
# # High watermark: rebuild
#
# *Four functions to complete, and three methods of the log to write anew.*
#
# [中文](zh/03-high-watermark-rebuild.ipynb)
#
# **Time:** an hour: half of it for the functions, half for the rungs. **Before:** the lesson [High watermark](03-high-watermark.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference.

# %%
from minikafka.lessons.high_watermark.exercises import acks_all, clamp, increment, least_end

# %% [markdown]
# **Exercise 1, the least end, in Spark.** *Why: this one number decides what every consumer sees.*
# `ends.sparkSession.sql("SELECT … FROM {ends}", ends=ends)` queries the table.

# %%
def high_watermarks(ends):
    """ends: DataFrame of t, replica, end: the in-sync replicas at each t. An end is null while that follower has not fetched:
    the leader does not know it, and raises nothing. Returns a DataFrame of t, hw, ascending by t; hw begins at 0 and obeys rules 3 and 4."""
    return ___


least_end.check(high_watermarks)

# %% [markdown]
# **Exercise 2, update_high_watermark.** *Why: what a broker does with a checkpoint that does not fit its log.*

# %%
def updated(old, suggested, log_start, log_end):
    """All arguments are offsets. Returns the high watermark after update_high_watermark(suggested)."""
    return ___


clamp.check(updated)

# %% [markdown]
# **Exercise 3, maybe_increment_high_watermark.** *Why: the difference between a value that is adjusted and one that is refused is a bug found early.*

# %%
def incremented(old, new, log_end):
    """All arguments are offsets. Returns "moved", "stays" or "refused"."""
    return ___


increment.check(incremented)

# %% [markdown]
# **Exercise 4, when acks=all is answered, in Spark.** *Why: the latency of your producer is the distance between these two times.*

# %%
def answered(appends, watermarks):
    """appends: DataFrame of t, last_offset; watermarks: DataFrame of t, hw. Returns t and answered, the first t at which
    a producer with acks=all has its answer (null: never), in the order of t."""
    return ___


acks_all.check(answered)

# %% [markdown]
# ## Rungs
#
# Three methods of the log to write anew. minikafka runs with your function in the method's place, on workloads that this page does not show, and
# Apache Kafka does the same: what can be observed after each operation must agree, and at the end every byte on the disk. Rung 2 may call what
# rung 1 made.

# %%
from minikafka.lessons.high_watermark.rungs import clamps, follows, increments
from minikafka.log.log_offset_metadata import LogOffsetMetadata

clamps

# %%
def update_high_watermark(self, high_watermark):
    """self: a Log; high_watermark: an offset, or a LogOffsetMetadata. Sets the mark, and returns the offset that was set."""
    return ___


clamps.check(update_high_watermark)

# %%
follows

# %%
def maybe_update_high_watermark(self, high_watermark):
    """self: a follower's Log; high_watermark: the offset that its leader told. Returns the new mark, None if it is no change."""
    return ___


follows.check(maybe_update_high_watermark)

# %%
from minikafka.common.errors import IllegalArgumentException

increments

# %%
def maybe_increment_high_watermark(self, new_high_watermark):
    """self: a leader's Log; new_high_watermark: a LogOffsetMetadata. Returns the old mark with its place, None if it stays."""
    return ___


increments.check(maybe_increment_high_watermark)
