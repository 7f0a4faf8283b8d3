# %% [markdown]
# # Tombstones and markers: rebuild
#
# *Two functions to complete, and three of the cleaner's functions to rewrite.*
#
# **Time:** fifty-five minutes: twenty-five minutes for the functions, thirty minutes for the rungs. **Before:** the lesson [Tombstones and markers](10b-tombstones-and-markers.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `survivors.hint()` gives one hint; each
# further call gives a plainer one. `survivors.solution()` shows one way; for a rung it opens after your own first try.
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
# difference. The project's tests let Kafka's own cleaner clean the same logs, and compare its answers, too.

# %%
from minikafka.lessons.tombstones.exercises import gone_tombstones, survivors

# %% [markdown]
# **Exercise 1, who stays, in Spark.** *Why: to know before a cleaning which records a topic will keep.* Kafka's method is
# `Cleaner.shouldRetainRecord`.

# %%
def surviving(records, end, now):
    """records: DataFrame of offset, key, value (null: a tombstone), aborted (BOOLEAN: its transaction was
    aborted), horizon (delete horizon of its batch, ms; null if it has none). All records are in one segment,
    and the cleaning rewrites this whole segment. end: the offset map was built from the records below end
    (exclusive). now: ms. Returns a DataFrame of one column, ascending: the offsets of the records that stay.

    Example: (0, 'a', '1', false, NULL), (1, 'b', '1', false, NULL), (2, 'a', '2', false, NULL) and end 3 give
    1, 2.
    """
    return ___


survivors.check(surviving)

# %% [markdown]
# **Exercise 2, which cleaning removes a tombstone, in Spark.** *Why: to know how long a consumer may be away and still see that a key was deleted.* Kafka's
# methods are `MemoryRecords.filterTo` and `Cleaner.shouldRetainRecord`.
# `tombstones.sparkSession.sql("SELECT … FROM {tombstones} …", tombstones=tombstones, cleanings=cleanings, …)` queries the tables: names in braces are
# filled in.

# %%
def tombstones_gone(tombstones, cleanings, retention_ms):
    """tombstones: DataFrame of offset, t (ms: when it was written). Each is the newest record of its key.
    cleanings: DataFrame of t (ms: when it runs); a cleaning covers all records written up to that moment.
    retention_ms: delete.retention.ms, above 0.
    Returns a DataFrame of offset, gone, ascending by offset. gone: the t of the cleaning that removes the
    tombstone, null if none does.

    Example: the tombstone (3, 0), cleanings at 100, 600 and 1200, and the retention 1000 give (3, 1200).
    """
    return ___


gone_tombstones.check(tombstones_gone)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one of the cleaner's functions. minikafka then cleans with *your* function in place of its own, and Kafka's own
# `LogCleaner` cleans the same logs. Most workloads are drawn at random, and this page does not show them. After each operation everything that can be
# observed must be equal, for instance the counts of a cleaning and the offset up to which the log is clean. At the end every byte of every file must
# be equal.
#
# If something differs, you see the shortest workload that was found, the first quantity that differs, and the first byte.

# %%
from minikafka.lessons.tombstones.rungs import checks, delays, retains

delays

# %%
def max_compaction_delay(log, first_dirty_offset, now):
    """log: it has non_active_log_segments_from(offset) and config.max_compaction_lag_ms. A segment has
    get_first_batch_timestamp() (ms). now: ms.
    Returns by how many ms the log has waited longer than max_compaction_lag_ms, an int; 0 if it has not.
    """
    return ___


delays.check(max_compaction_delay)

# %%
retains

# %%
def should_retain_records(self, batch, columns):
    """self: it has current_time (ms) and _offset_map. The map has latest_offset (inclusive) and
    get_columns(columns), which returns for each record the newest offset of its key, −1 for a key that the map
    does not have. batch: it has delete_horizon_ms (ms or None). columns: the records of the batch, with count,
    offsets[n], key(n) and value(n) (bytes or None), n from 0. No record belongs to an aborted transaction.
    Returns a list of BOOLEANs, one for each record: True if it stays.
    """
    return ___


retains.check(should_retain_records)

# %%
from minikafka.record.kernels.record_filter import BatchRetention, BatchRetentionResult

checks

# %%
def check_batch_retention(self, batch):
    """batch: it has is_control_batch, delete_horizon_ms (ms or None) and next_offset. self: it has current_time
    (ms), _transaction_metadata, _is_last_of_producer(batch) and _upper_bound_offset (the first uncleanable
    offset). Sets self._discard_batch_records.
    Returns BatchRetentionResult(a BatchRetention, True if the batch is a marker whose transaction has no data
    left).
    """
    return ___


checks.check(check_batch_retention)
