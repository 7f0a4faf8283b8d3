# %% [markdown]
# # A log directory at scale: rebuild
#
# *Two functions to complete.*
#
# **Time:** twenty minutes. **Before:** the lesson [A log directory at scale](13a-log-directory-at-scale.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `open_transaction.hint()` gives one hint;
# each further call gives a plainer one. `open_transaction.solution()` shows one way.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark, which judges what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.shop_night import wake_spark

spark = wake_spark()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function, in Spark. Its tables were read by the data source from directories that a log wrote. `check` calls it with
# several cases, compares the results with Spark's own answers, and shows the first difference. The project's tests let Kafka's own `UnifiedLog` write
# the same directories, and compare its answers, too.
#
# `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches, …)` queries a table: names in braces are filled in. Timestamps are in ms.

# %%
from minikafka.lessons.log_directory.exercises import moment, open_transaction

# %% [markdown]
# **Exercise 1, what is open, in Spark.** *Why: a snapshot is written when a broker stops or a segment rolls. After a kill, only the batches show
# which transactions are open.* In Kafka this value is `currentTxnFirstOffset` of `ProducerStateEntry`.

# %%
def open_transactions(batches):
    """batches: DataFrame of producerId (−1 if none), baseOffset, lastOffset (inclusive), transactional, control
    (both BOOLEAN), of one partition. A control batch is a marker; it ends the transaction of its producer.
    Returns a DataFrame of producerId and the base offset of the first batch of its open transaction, ascending
    by producerId; only producers with an open transaction.

    Example: (7, 0, 1, true, false), (9, 2, 2, true, false), (9, 3, 3, true, true) give (7, 0).
    """
    return ___


open_transaction.check(open_transactions)

# %% [markdown]
# **Exercise 2, from a moment on, in Spark.** *Why: you want to read again all records since noon, and to know how many older ones come with them.*
# The offset is the one that `KafkaConsumer.offsetsForTimes` returns.

# %%
def reading_from(records, moment):
    """records: DataFrame of offset, timestamp (ms). moment: ms. Returns a DataFrame of offset, older with one
    row. offset: the largest offset from which a consumer can read so that it misses no record with a timestamp
    at or after moment. older: how many records at or above this offset have a timestamp before moment. If no
    record has a timestamp at or after moment, it has no row.

    Example: (0, 1000), (1, 3000), (2, 2000) and the moment 2500 give (1, 1).
    """
    return ___


moment.check(reading_from)
