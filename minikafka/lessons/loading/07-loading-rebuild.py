# %% [markdown]
# # Loading: rebuild
#
# *Four functions to complete, and five methods of the log to rewrite.*
#
# **Time:** an hour and twenty-five minutes: thirty-five minutes for the functions, fifty minutes for the rungs. **Before:** the lesson [Loading](07-loading.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `ends.hint()` gives one hint; each further
# call gives a plainer one. `ends.solution()` shows one way; for a rung it opens after your own first try.
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
# difference. The project's tests let Kafka load a directory for each case, and compare its answers, too.

# %%
from minikafka.lessons.loading.exercises import bent, ends, half_done, leftovers

# %% [markdown]
# **Exercise 1, where a closed log ends, in Spark.** *Why: this is the offset that the next record gets.* Kafka's method is
# `LogSegment.readNextOffset`. `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches)` queries the table: names in braces are filled
# in.

# %%
def clean_end(segments, batches):
    """segments: DataFrame of base (base offset), one row for each segment. batches: DataFrame of segment (base
    offset of its segment), first, last (offsets, inclusive), sound (BOOLEAN: the batch has no damage). The log
    was closed cleanly.
    Returns a DataFrame of one row and one column: the log end offset after the load.

    Example: the segments 0 and 6, and the batch (6, 6, 7, true), give 8.
    """
    return ___


ends.check(clean_end)

# %% [markdown]
# **Exercise 2, a replacement that was cut off, in Spark.** *Why: Kafka can repair a directory full of .swap files; do not delete them.* Kafka's
# methods are `LogLoader.removeTempFilesAndCollectSwapFiles` and `LogLoader.load`.

# %%
def segments_after(files):
    """files: DataFrame of base (base offset in the file's name), kind ("log" or "index"), suffix ("",
    "cleaned", "swap" or "deleted"), next (the last offset in the file + 1; null for an index). Returns a
    DataFrame of one column, ascending: the base offsets of the segments after the load.

    Example: (0, 'log', '', 6), (0, 'log', 'swap', 12), (6, 'log', '', 12) give 0.  (The new segment 0 replaces
    both.)
    """
    return ___


half_done.check(segments_after)

# %% [markdown]
# **Exercise 3, what the checkpoints are bent to.** *Why: the log start decides which records are deleted, and the recovery point decides which
# segments the next start reads.* Kafka's method is `LogLoader.load`. The name means: checkpoints that do not fit the files are changed until they do.

# %%
def loaded(clean, recovery_point, log_start, first_base, log_end):
    """clean: True after a clean stop. recovery_point, log_start: the two checkpoints. first_base: the base
    offset of the first segment. log_end: the log end offset, exclusive, as the files have it. All are offsets,
    ints.
    Returns (log start offset, recovery point) after the load. If log_end is below log_start, all segments are
    deleted, and the log begins again at log_start.

    Example: loaded(True, 8, 0, 4, 14) is (4, 14).
    """
    return ___


bent.check(loaded)

# %% [markdown]
# **Exercise 4, which files go.** *Why: to know what a start will delete, before it does so.* Kafka's methods are
# `LogLoader.removeTempFilesAndCollectSwapFiles`, `LogLoader.loadSegmentFiles` and `ProducerStateManager.removeStraySnapshots`.

# %%
def files_gone(names):
    """names: list of the names of all files. The part before the first dot is an offset with 20 digits, or a
    text. At least one file is a .log, none is a .swap or .cleaned, no .snapshot is of offset 0 or above the log
    end, and the stop was clean. Returns the list of the names that the load deletes, in any order.

    Example: for the .log and .index of offset 0 and the .index of offset 24 it is [the .index of offset 24].
    """
    return ___


leftovers.check(files_gone)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method. minikafka then runs with *your* function in place of its own, and Apache Kafka runs the same workloads. In
# these workloads a log is closed and loaded many times. Before a load, files are put beside its own. For instance, `reopen
# damage=copy:1.log:0.log.swap` copies the `.log` of segment 1 (counted from 0, ascending by base offset) to a file with the base offset of segment 0
# and the suffix `.swap`. Most workloads are drawn at random, and this page does not show them. After each operation everything that can be observed
# must be equal, and at the end every byte of every file. (With `mine(…)` of the lesson *Segments* you can watch your function.)

# %%
from minikafka.lessons.loading.rungs import collects, cuts_epochs, keeps_snapshots, replaces, ends as ends_where

collects

# %%
def _remove_temp_files_and_collect_swap_files(self):
    """self: a LogLoader. self._files() gives the paths of the directory's files, sorted by name. Deletes
    leftover files. Returns the list of the paths of the .swap files that are complete.
    """
    return ___


collects.check(_remove_temp_files_and_collect_swap_files)

# %%
from minikafka.log.log_segment import LogSegment

replaces

# %%
def _delete_segments_replaced_by(self, swap_files):
    """self: a LogLoader, with dir, config, time and _files(). swap_files: list of paths. Deletes the files that
    the new segments replace.
    Returns None.
    """
    return ___


replaces.check(_delete_segments_replaced_by)

# %%
ends_where

# %%
def read_next_offset(self):
    """self: a LogSegment, with base_offset, log.batches() and offset_index. Returns the offset that the next
    record gets, an int."""
    return ___


ends_where.check(read_next_offset)

# %%
cuts_epochs

# %%
def truncate_from_end_async_flush(self, end_offset):
    """self: a LeaderEpochFileCache, with epoch_entries. Removes every entry whose start offset is at or above
    end_offset. Returns None."""
    return ___


cuts_epochs.check(truncate_from_end_async_flush)

# %%
from minikafka.log.producer.snapshot_file import load_snapshots

keeps_snapshots

# %%
def remove_stray_snapshots(self, segment_base_offsets):
    """self: a ProducerStateManager, with _log_dir. segment_base_offsets: the base offsets of the segments.
    Deletes snapshots that are not needed, and stores the others in self._snapshots. Returns None.
    """
    return ___


keeps_snapshots.check(remove_stray_snapshots)
