# %% [markdown]
# # Read isolation: rebuild
#
# *Four functions to complete, and a method of the log to write anew.*
#
# **Time:** three quarters of an hour: thirty minutes for the functions, fifteen for the rung. **Before:** the lesson [Read isolation](06a-read.ipynb), parts 1 to 5.
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
from minikafka.lessons.read.exercises import between_code, between_spark, read_committed, skipped

# %% [markdown]
# **Exercise 1, between high watermark and log end.** *Why: the older text's exercise, and what a leader's loss may still take back.*

# %%
def messages_between(log):
    """log: a Log; its high watermark lies between two batches. Returns how many messages (records that are no markers) lie
    in [high watermark, log end). A batch tells `is_control_batch`, `next_offset`, and its records, if you walk over it."""
    return ___


between_code.check(messages_between)

# %% [markdown]
# **Exercise 2, the same at every moment, in Spark.** *Why: the lag of replication is a curve, not a number.*
# `records.sparkSession.sql("SELECT … FROM {records} …", records=records, marks=marks)` queries both tables. (In Python write
# `records["offset"]`: `records.offset` is a method of every DataFrame.)

# %%
def messages_waiting(records, marks):
    """records: DataFrame of offset, control (true: a marker); marks: DataFrame of t, hw, leo. Returns a DataFrame of t
    and messages, the messages that lie between the two marks at t, in the order of t."""
    return ___


between_spark.check(messages_waiting)

# %% [markdown]
# **Exercise 3, what a read_committed consumer skips.** *Why: this runs in every such consumer, for the broker sends aborted records too.*

# %%
def visible(batches, aborted):
    """batches: list of (offsets, producer id, "data" | "commit" | "abort") in log order; aborted: the broker's list of
    (producer id, first offset), one entry for each aborted transaction, in the order of their markers; a producer may be
    there more than once. Returns the offsets that the application gets."""
    return ___


skipped.check(visible)

# %% [markdown]
# **Exercise 4, read_committed, in Spark.** *Why: with this query you can audit a consumer.*

# %%
def committed_offsets(records):
    """records: DataFrame of offset, producer (−1: none), transactional, marker ("commit", "abort" or null); the high
    watermark is the log end. Returns a DataFrame: the offsets that a read_committed consumer sees, ascending."""
    return ___


read_committed.check(committed_offsets)

# %% [markdown]
# ## Rungs
#
# A method on the way of every fetch of a `read_committed` consumer. minikafka runs with your function in the method's place, on workloads that this page does not show, and Apache Kafka
# does the same: what can be observed after each operation must agree, and at the end every byte on the disk.

# %%
from minikafka.lessons.read.rungs import collects
from minikafka.log.index.transaction_index import TxnIndexSearchResult

collects

# %%
def collect_aborted_txns(self, fetch_offset, upper_bound_offset):
    """self: a TransactionIndex: all_aborted_txns(), entries with first_offset, last_offset, last_stable_offset. The bound is exclusive.
    Returns TxnIndexSearchResult(transactions, complete)."""
    return ___


collects.check(collect_aborted_txns)
