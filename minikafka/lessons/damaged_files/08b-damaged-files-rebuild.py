# %% [markdown]
# # Damaged and missing files: rebuild
#
# *Two functions to complete, and two methods of the log to write anew.*
#
# **Time:** half an hour: fifteen minutes for the functions, fifteen for the rungs. **Before:** the lesson [Damaged and missing files](08b-damaged-files.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference. Kafka has taken the same exam: for each case it loaded a directory damaged in that way.

# %%
from minikafka.lessons.damaged_files.exercises import epoch_entries, holes

# %% [markdown]
# **Exercise 1, the epochs that recovery finds, in Spark.** *Why: followers truncate by these numbers.*
# `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches)` queries the table: names in braces are filled in.

# %%
def epochs(batches):
    """batches: DataFrame of first, last (offsets), epoch (−1: none; it may also be lower than one before); all are scanned, the
    file of epochs is lost. Returns a DataFrame of epoch, start_offset, in the order of offsets."""
    return ___


epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 2, damage and a missing index.** *Why: it is how a log gets a hole that no consumer reports.*

# %%
def segments_left(segments, recovery_point):
    """segments: list of (base, records, good, has_index): good is the number of records before its first bad batch, all of them if there is
    none; recovery_point: an offset in one of them. Returns [(base, records), …]: the segments after an unclean stop, ascending."""
    return ___


holes.check(segments_left)

# %% [markdown]
# ## Rungs
#
# Now the log itself. In each rung you write one method anew, and minikafka runs with *your* function in its place; Apache Kafka does the same
# workloads. In these workloads a log is reopened again and again, mostly after a kill, and its files are damaged before it is loaded: `reopen clean=false damage=remove:1.index`
# deletes the offset index of the second segment. Most of them are drawn, and this page does not show them; after each operation all that can be observed must agree, and at the end every byte of every file.
# (`mine(…)` of the lesson *Segments* lets you watch your function.)

# %%
from minikafka.lessons.damaged_files.rungs import empties, trusts

trusts

# %%
def sanity_check(self, *, time_index_file_newly_created):
    """self: a LogSegment with offset_index_file (a path), time_index and txn_index. Raises FileNotFoundError or CorruptIndexException for a segment
    that must be recovered. Returns nothing."""
    return ___


trusts.check(sanity_check)

# %%
empties

# %%
def _delete_segments_if_log_start_greater_than_log_end(self):
    """self: a LogLoader with segments, log_start_offset_checkpoint, leader_epoch_cache and producer_state_manager. Returns the log end, None
    for a log without segments."""
    return ___


empties.check(_delete_segments_if_log_start_greater_than_log_end)
