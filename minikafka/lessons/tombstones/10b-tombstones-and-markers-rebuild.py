# %% [markdown]
# # Tombstones and markers: rebuild
#
# *A function to complete, and three of the cleaner's functions to write anew.*
#
# **Time:** fifty minutes: a quarter of an hour for the function, the rest for the rungs. **Before:** the lesson [Tombstones and markers](10b-tombstones-and-markers.ipynb), parts 1 to 5.
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
# The exercise is a function. `check` compares it with Spark's answers and tells the first difference. Kafka has sat the same exam: the tests let its cleaner clean.

# %%
from minikafka.lessons.tombstones.exercises import survivors

# %% [markdown]
# **Exercise 1, who stays, in Spark.** *Why: to know what a topic will weigh after a cleaning, before it is cleaned.*

# %%
def surviving(records, end, now):
    """records: DataFrame of offset, key, value (null: a tombstone), aborted (BOOLEAN), horizon (of its batch in ms, or
    null), in one segment. end: the cleaning went up to it, exclusive. now: ms. Returns a DataFrame: the offsets that
    stay, ascending."""
    return ___


survivors.check(surviving)

# %% [markdown]
# ## Rungs
#
# Now the cleaner itself. In each rung you write one of its functions anew, and minikafka cleans with *your* function in its place. Kafka's own `LogCleaner` cleans
# the same logs. Most of the workloads are drawn, and this page does not show them. After each operation all that can be observed must agree (what a
# turn counted, and up to where the log is clean), and at the end every byte of every file.
#
# Where they differ you get the shortest workload that was found for it, the first quantity and the first byte.

# %%
from minikafka.lessons.tombstones.rungs import checks, delays, retains

delays

# %%
def max_compaction_delay(log, first_dirty_offset, now):
    """log: has non_active_log_segments_from(offset) and config.max_compaction_lag_ms; a segment has
    get_first_batch_timestamp() (ms). now: ms. Returns for how many ms longer than that the log has waited, 0 if it has not."""
    return ___


delays.check(max_compaction_delay)

# %%
retains

# %%
def should_retain_records(self, batch, columns):
    """self: has current_time (ms) and _offset_map; that has latest_offset (inclusive) and get_columns(columns): the newest offset
    of each record's key, −1 for an unknown key. batch: has delete_horizon_ms (None for none). columns: has count, offsets[n], key(n),
    value(n) (None: there is none). No transaction of theirs was aborted. Returns a list: True for each record that stays."""
    return ___


retains.check(should_retain_records)

# %%
from minikafka.record.kernels.record_filter import BatchRetention, BatchRetentionResult

checks

# %%
def check_batch_retention(self, batch):
    """batch: has is_control_batch, delete_horizon_ms, next_offset. self: has current_time, _transaction_metadata,
    _is_last_of_producer(batch), _upper_bound_offset (the first uncleanable offset). Sets self._discard_batch_records. Returns a
    BatchRetentionResult(BatchRetention of the batch, whether it is a marker whose transaction has no data left)."""
    return ___


checks.check(check_batch_retention)
