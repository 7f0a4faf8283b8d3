# %% [markdown]
# # An audit of a log directory: rebuild
#
# *Three functions to complete.*
#
# **Time:** thirty minutes. **Before:** the lesson [An audit of a log directory](13b-log-audit.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `group_lag.hint()` gives one hint; each
# further call gives a plainer one. `group_lag.solution()` shows one way.
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
# `records.sparkSession.sql("SELECT … FROM {records} …", records=records, …)` queries a table: names in braces are filled in. Timestamps are in ms.

# %%
from minikafka.lessons.log_audit.exercises import equal_replicas, group_lag, saved_by_compaction

# %% [markdown]
# **Exercise 1, who is how far behind, in Spark.** *Why: a lag in offsets tells neither how many records a consumer must still process nor how old
# they are.* Kafka's tool `kafka-consumer-groups.sh` shows the lag in offsets.

# %%
def lags(records, groups):
    """records: DataFrame of offset, timestamp (ms): all records of one partition that a consumer gets. groups:
    DataFrame of name, offset (the next offset that the group will read). Returns a DataFrame of name, records,
    ms, ascending by name. records: how many records the group has still to read. ms: the greatest timestamp in
    the partition minus the timestamp of the first record that the group has still to read; 0 if it has none to
    read.

    Example: the records (0, 1000), (1, 3000), (2, 7000) and the group ('mail', 1) give ('mail', 2, 4000).
    """
    return ___


group_lag.check(lags)

# %% [markdown]
# **Exercise 2, equal or not, in Spark.** *Why: Kafka's own tool for it, `kafka-replica-verification.sh`, is deprecated, and needs all brokers up.*

# %%
def first_difference(ours, theirs, high_watermark):
    """ours, theirs: DataFrames of offset, timestamp (ms), key, value: two copies of a partition.
    high_watermark: exclusive, the smaller one of both copies; only records below it must be equal. Returns a
    DataFrame of one column and one row: the first offset at which the copies differ; no row if they do not
    differ.

    Example: ours (0, 5, 'a', 'x') and theirs (0, 5, 'a', 'y') with the high watermark 1 give 0.
    """
    return ___


equal_replicas.check(first_difference)

# %% [markdown]
# **Exercise 3, what compaction would save, in Spark.** *Why: to see before a cleaning whether it removes enough records to be worth its reads and
# writes.* Kafka's method is `Cleaner.shouldRetainRecord`.

# %%
def saved(records, end):
    """records: DataFrame of offset, timestamp (ms), key (BINARY), value, of a log that was never cleaned. end:
    the base offset of the active segment, where the cleaning ends (exclusive). Returns a DataFrame of key
    (STRING), removed, ascending by key: how many records of this key the first cleaning would remove; only keys
    that lose at least one.

    Example: the keys a, b, a at the offsets 0, 1, 2 and end 3 give ('a', 1).
    """
    return ___


saved_by_compaction.check(saved)
