# %% [markdown]
# # An audit of a log directory: rebuild
#
# *Three functions to complete.*
#
# **Time:** twenty-five minutes. **Before:** the lesson [An audit of a log directory](13b-log-audit.ipynb), parts 1 to 5.
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
# `records.sparkSession.sql("SELECT … FROM {records} …", records=records, …)` queries a table: names in braces are filled in. Timestamps are in ms.

# %%
from minikafka.lessons.log_audit.exercises import equal_replicas, group_lag, saved_by_compaction

# %% [markdown]
# **Exercise 1, who is how far behind, in Spark.** *Why: a lag in offsets says neither how much work there is nor how old it is.*

# %%
def lags(records, groups):
    """records: DataFrame of offset, timestamp (ms): what a consumer gets of one partition. groups: DataFrame of name,
    offset (the next one that it will read). Returns a DataFrame of name, records (how many are to come), ms (how much
    older the first one to come is than the newest record of the partition; 0 when none is to come), ascending by name."""
    return ___


group_lag.check(lags)

# %% [markdown]
# **Exercise 2, equal or not, in Spark.** *Why: Kafka's own tool for it, `kafka-replica-verification.sh`, is deprecated, and needs all brokers up.*

# %%
def first_difference(ours, theirs, high_watermark):
    """ours, theirs: DataFrames of offset, timestamp (ms), key, value: two copies of a partition. high_watermark: the
    smaller one of both. Returns a DataFrame with one row and the column offset, the first at which they differ; no row if
    they are equal as far as they must be."""
    return ___


equal_replicas.check(first_difference)

# %% [markdown]
# **Exercise 3, what compaction would save, in Spark.** *Why: to see before a round whether it is worth its reads and writes.*

# %%
def saved(records, end):
    """records: DataFrame of offset, timestamp (ms), key, value, of a log that was never cleaned. end: where the active
    segment begins. Returns a DataFrame of key (STRING) and removed: how many of its records a first round would remove,
    ascending by key; only keys that lose some."""
    return ___


saved_by_compaction.check(saved)
