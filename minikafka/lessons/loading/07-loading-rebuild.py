# %% [markdown]
# # Loading: rebuild
#
# *Four functions to complete, and five methods of the log to write anew.*
#
# **Time:** fifty minutes: twenty for the functions, thirty for the rungs. **Before:** the lesson [Loading](07-loading.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference. Kafka has taken the same exam: for each case it loaded such a directory.

# %%
from minikafka.lessons.loading.exercises import bent, ends, half_done, leftovers

# %% [markdown]
# **Exercise 1, where a closed log ends, in Spark.** *Why: that offset is the next one to be given away.*
# `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches)` queries the table: names in braces are filled in.

# %%
def clean_end(segments, batches):
    """segments: DataFrame of base; batches: DataFrame of segment (its base), first, last (offsets), sound (BOOLEAN; checked by nobody here).
    The log was closed cleanly. Returns a DataFrame of one row and one column: its LEO after the load."""
    return ___


ends.check(clean_end)

# %% [markdown]
# **Exercise 2, a replacement that was cut off, in Spark.** *Why: a directory full of .swap files is no reason to panic, nor to delete them.*

# %%
def segments_after(files):
    """files: DataFrame of base, kind ("log" or "index"), suffix ("", "cleaned", "swap", "deleted"), next (one more
    than the offset of its last record; null for an index). Returns a DataFrame: the base offsets of the segments after the load, ascending."""
    return ___


half_done.check(segments_after)

# %% [markdown]
# **Exercise 3, what the checkpoints are bent to.** *Why: these two numbers decide what is deleted and what the next start reads.*

# %%
def loaded(clean, recovery_point, log_start, first_base, log_end):
    """clean: was the stop a clean one? Checkpoints: recovery_point, log_start. What the files hold: first_base (where the
    first segment begins), log_end (the LEO). Returns (log start, recovery point) after the load. An unclean one never raises the recovery point,
    except to the log start."""
    return ___


bent.check(loaded)

# %% [markdown]
# **Exercise 4, which files go.** *Why: to tell what a start will delete, before it does.*

# %%
def files_gone(names):
    """names: list of file names, all 20 digits long before the first dot where an offset stands; no .swap, no .cleaned. Some .log is
    there, and the stop was clean. Returns the list of those that the load deletes."""
    return ___


leftovers.check(files_gone)

# %% [markdown]
# ## Rungs
#
# Now the log itself. In each rung you write one method anew, and minikafka runs with *your* function in its place; Apache Kafka does the same
# workloads. In these workloads a log is reopened again and again, and files are put beside its own before it is loaded: `reopen damage=copy:1.log:0.log.swap`
# lays a copy of segment 1 (counted from 0, in the order of bases) beside segment 0, with the suffix `.swap`. Most of them are drawn, and this page does not show them; after each operation all that can be observed must agree, and at the end every byte of every file.
# (`mine(…)` of the lesson *Segments* lets you watch your function.)

# %%
from minikafka.lessons.loading.rungs import collects, cuts_epochs, keeps_snapshots, replaces, ends as ends_where

collects

# %%
def _remove_temp_files_and_collect_swap_files(self):
    """self: a LogLoader; self._files() has the paths of the directory's files, by name. Deletes leftovers, and returns the list of the
    .swap files (paths) that count."""
    return ___


collects.check(_remove_temp_files_and_collect_swap_files)

# %%
from minikafka.log.log_segment import LogSegment

replaces

# %%
def _delete_segments_replaced_by(self, swap_files):
    """self: a LogLoader with dir, config, time and _files(); swap_files: paths. Deletes the files of what the new segments replace.
    Returns nothing."""
    return ___


replaces.check(_delete_segments_replaced_by)

# %%
ends_where

# %%
def read_next_offset(self):
    """self: a LogSegment with base_offset, log.batches() and offset_index. Returns the offset that the next record gets."""
    return ___


ends_where.check(read_next_offset)

# %%
cuts_epochs

# %%
def truncate_from_end_async_flush(self, end_offset):
    """self: a LeaderEpochFileCache with epoch_entries. Drops the epochs that begin at end_offset or above. Returns nothing."""
    return ___


cuts_epochs.check(truncate_from_end_async_flush)

# %%
from minikafka.log.producer.snapshot_file import load_snapshots

keeps_snapshots

# %%
def remove_stray_snapshots(self, segment_base_offsets):
    """self: a ProducerStateManager with _log_dir; segment_base_offsets: where segments begin. Deletes snapshots of no use, and notes the
    others in self._snapshots. Returns nothing."""
    return ___


keeps_snapshots.check(remove_stray_snapshots)
