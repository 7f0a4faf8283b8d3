# %% [markdown]
# # Read isolation: rebuild
#
# *Four functions to complete, and a method of the log to rewrite.*
#
# **Time:** fifty minutes: forty minutes for the functions, ten minutes for the rung. **Before:** the lesson [Read isolation](06a-read.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `between_code.hint()` gives one hint; each
# further call gives a plainer one. `between_code.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.read.exercises import between_code, between_spark, read_committed, skipped

# %% [markdown]
# **Exercise 1, between high watermark and log end.** *Why: these messages are not committed yet. If the leader fails, they may be lost.* Kafka's
# method is `UnifiedLog.read`.

# %%
def messages_between(log):
    """log: a Log; its high watermark lies between two batches. Returns how many messages lie from the high
    watermark (inclusive) to the log end (exclusive), an int. A message is a record that is not a transaction
    marker. log.read(offset, bytes, FetchIsolation.LOG_END).records.batches() gives batches. A batch has
    is_control_batch, next_offset and, if you iterate over it, its records. (from minikafka.log.fetch_isolation
    import FetchIsolation)

    Example: with HW 2, LEO 6 and a marker at offset 5 the answer is 3.
    """
    return ___


between_code.check(messages_between)

# %% [markdown]
# **Exercise 2, the same at every moment, in Spark.** *Why: the number of messages that wait for replication changes all the time, so you want it for
# each moment.* `records.sparkSession.sql("SELECT … FROM {records} …", records=records, marks=marks)` queries both tables. (In Python write
# `records["offset"]`: `records.offset` is a method of every DataFrame.)

# %%
def messages_waiting(records, marks):
    """records: DataFrame of offset, control (BOOLEAN: the record is a marker). marks: DataFrame of t (a
    moment), hw, leo: high watermark and log end offset at t. Returns a DataFrame of t, messages, ascending by
    t: how many messages lie from hw (inclusive) to leo (exclusive).

    Example: the records (0, false), (1, false), (2, true) and the mark (0, 1, 3) give (0, 1).
    """
    return ___


between_spark.check(messages_waiting)

# %% [markdown]
# **Exercise 3, what a read_committed consumer skips.** *Why: the broker also sends the records of aborted transactions, so every read_committed
# consumer must skip them.* Kafka's methods are `nextFetchedRecord` and `consumeAbortedTransactionsUpTo` of `CompletedFetch`.

# %%
def visible(batches, aborted):
    """batches: list of (list of offsets, producer id, "data" | "commit" | "abort"), in the order of the log.
    aborted: the list of aborted transactions that the broker sends: (producer id, first offset), ascending by
    the offset of their markers; a producer may be in it more than once. Returns the list of the offsets that
    the application gets, ascending.

    Example: visible([([0], 7, "data"), ([1], 8, "data"), ([2], 7, "abort")], [(7, 0)]) is [1].
    """
    return ___


skipped.check(visible)

# %% [markdown]
# **Exercise 4, read_committed, in Spark.** *Why: with this query you can check which records a consumer must have received.*

# %%
def committed_offsets(records):
    """records: DataFrame of offset, producer (id, −1 if none), transactional (BOOLEAN), marker ("commit",
    "abort", or null for a record that is no marker). The high watermark is at the log end. Returns a DataFrame
    of one column, ascending: the offsets that a read_committed consumer gets.

    Example: (0, -1, false, NULL), (1, 7, true, NULL), (2, 7, true, 'abort') give 0.
    """
    return ___


read_committed.check(committed_offsets)

# %% [markdown]
# ## Rungs
#
# You rewrite one method that runs in every fetch of a `read_committed` consumer. minikafka then runs with your function in place of its own, on
# workloads that this page does not show. Apache Kafka runs the same workloads. After each operation everything that can be observed must be equal,
# and at the end every byte on disk.

# %%
from minikafka.lessons.read.rungs import collects
from minikafka.log.index.transaction_index import TxnIndexSearchResult

collects

# %%
def collect_aborted_txns(self, fetch_offset, upper_bound_offset):
    """self: a TransactionIndex. all_aborted_txns() gives its entries, ascending by last_offset; an entry has
    first_offset, last_offset (both inclusive) and last_stable_offset. fetch_offset: inclusive.
    upper_bound_offset: exclusive.
    Returns TxnIndexSearchResult(list of entries, True if the search is complete).
    """
    return ___


collects.check(collect_aborted_txns)
