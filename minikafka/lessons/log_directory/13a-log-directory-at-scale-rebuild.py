# %% [markdown]
# # A log directory at scale: rebuild
#
# *Two functions to complete.*
#
# **Time:** fifteen minutes. **Before:** the lesson [A log directory at scale](13a-log-directory-at-scale.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way. This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark, which judges what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.shop_night import wake_spark

spark = wake_spark()

# %% [markdown]
# ## Exercises
#
# Each exercise is a function, in Spark, on tables that the source has read of directories that a log wrote. `check` compares it with Spark's own answers and tells the first difference. Kafka has sat the same exam: the tests let its own `UnifiedLog` write the directories, and ask that one.
#
# `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches, …)` queries a table: names in braces are filled in. Timestamps are in ms.

# %%
from minikafka.lessons.log_directory.exercises import moment, open_transaction

# %% [markdown]
# **Exercise 1, what is open, in Spark.** *Why: a snapshot is written when a broker stops or a segment rolls. After a kill, only the batches know.*

# %%
def open_transactions(batches):
    """batches: DataFrame of producerId, baseOffset, lastOffset, transactional, control, of one partition. A control batch
    is a marker, which ends its producer's transaction. Returns a DataFrame of producerId and the first offset of its
    open transaction, ascending by producerId."""
    return ___


open_transaction.check(open_transactions)

# %% [markdown]
# **Exercise 2, from a moment on, in Spark.** *Why: to read again what came since noon, and to know how much of it is older.* The offset is what Kafka's `offsetsForTimes` gives.

# %%
def reading_from(records, moment):
    """records: DataFrame of offset, timestamp (ms). moment: ms. Returns a DataFrame with one row: offset, from which on
    a consumer misses no record that is of that moment or younger, as late as possible; older, how many records from there
    on are older. No row if there is no such record."""
    return ___


moment.check(reading_from)
