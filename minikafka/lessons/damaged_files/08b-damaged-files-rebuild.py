# %% [markdown]
# # Damaged and missing files: rebuild
#
# *Two functions to complete, and two methods of the log to rewrite.*
#
# **Time:** forty minutes: twenty minutes for the functions, twenty minutes for the rungs. **Before:** the lesson [Damaged and missing files](08b-damaged-files.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `epoch_entries.hint()` gives one hint; each
# further call gives a plainer one. `epoch_entries.solution()` shows one way; for a rung it opens after your own first try.
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
# difference. The project's tests let Kafka load a directory with the same damage for each case, and compare its answers, too.

# %%
from minikafka.lessons.damaged_files.exercises import epoch_entries, holes

# %% [markdown]
# **Exercise 1, the epochs that recovery finds, in Spark.** *Why: followers use these numbers to decide where to truncate.* Kafka's method is
# `LogSegment.recover`. `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches)` queries the table: names in braces are filled in.

# %%
def epochs(batches):
    """batches: DataFrame of first, last (offsets, inclusive), epoch (leader epoch; −1 if the batch has none; it
    may be lower than the epoch of an earlier batch). The epoch file is lost, and recovery scans all these
    batches.
    Returns a DataFrame of epoch, start_offset, ascending by start_offset: the entries of the new epoch file.

    Example: (0, 1, 0), (2, 3, 0), (4, 5, 2) give (0, 0), (2, 4).
    """
    return ___


epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 2, damage and a missing index.** *Why: in this way a log gets a gap that no consumer reports.* Kafka's methods are
# `LogLoader.loadSegmentFiles` and `LogLoader.recoverLog`.

# %%
def segments_left(segments, recovery_point):
    """segments: list of (base offset, number of records, good, has_index), ascending. good: the number of
    records before the first bad batch (all records if no batch is bad). has_index: False if the offset index is
    missing. recovery_point: an offset in one of the segments. The stop was unclean. Returns the list of (base
    offset, number of records) of the segments after the load, ascending.

    Example: segments_left([(0, 6, 6, True), (6, 6, 2, True), (12, 6, 6, True)], 0) is [(0, 6), (6, 2)].
    """
    return ___


holes.check(segments_left)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method. minikafka then runs with *your* function in place of its own, and Apache Kafka runs the same workloads. In
# these workloads a log is loaded many times, mostly after a kill, and its files are damaged before the load. For instance, `reopen clean=false
# damage=remove:1.index` deletes the offset index of the second segment (segments are counted from 0). Most workloads are drawn at random, and this
# page does not show them. After each operation everything that can be observed must be equal, and at the end every byte of every file. (With
# `mine(…)` of the lesson *Segments* you can watch your function.)

# %%
from minikafka.lessons.damaged_files.rungs import empties, trusts

trusts

# %%
def sanity_check(self, *, time_index_file_newly_created):
    """self: a LogSegment, with offset_index_file (a path), time_index and txn_index.
    time_index_file_newly_created: True if the time index was missing and has just been created. Raises
    FileNotFoundError or CorruptIndexException if the segment must be recovered. Returns None.
    """
    return ___


trusts.check(sanity_check)

# %%
empties

# %%
def _delete_segments_if_log_start_greater_than_log_end(self):
    """self: a LogLoader, with segments, log_start_offset_checkpoint (an offset), leader_epoch_cache and
    producer_state_manager. Returns the log end offset, an int, or None if the log has no segments (any more).
    """
    return ___


empties.check(_delete_segments_if_log_start_greater_than_log_end)
