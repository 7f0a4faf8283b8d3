# %% [markdown]
# # Compaction: rebuild
#
# *Two functions to complete, and two of the cleaner's functions to write anew.*
#
# **Time:** fifty minutes: half of it for the functions, half for the rungs. **Before:** the lesson [Compaction](10a-compaction.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and tells the first difference. Kafka has sat the same exam: the tests ask its own methods, or let its cleaner clean. The function of exercise 1 has the
# arguments of Kafka's `positionOf`.

# %%
from minikafka.lessons.compaction.exercises import filthiest_log, map_position

# %% [markdown]
# **Exercise 1, where the map looks.** *Why: how much memory a cleaner needs follows from what it keeps of a key.*
# The number that a try reads is Java's `int`: four bytes with a sign, −2³¹ to 2³¹ − 1. Kafka's `Utils.abs` gives 0 for −2³¹.

# %%
def slot_of(digest, attempt, slots):
    """digest: 16 bytes. attempt: 0, 1, 2 …: the number of the try. slots: how many the map has. Returns the slot, 0 to
    slots − 1."""
    return ___


map_position.check(slot_of)

# %% [markdown]
# **Exercise 2, the filthiest log, in Spark.** *Why: by default one thread serves all logs of a broker; which of them waits?*
# `segments.sparkSession.sql("SELECT … FROM {segments} WHERE … {ratio}", segments=segments, ratio=min_ratio)` queries the table: names in braces are filled in.

# %%
def filthiest(segments, min_ratio):
    """segments: DataFrame of log (its name), base, size (bytes), active (BOOLEAN), first_dirty (of the log; the base of
    a segment). All is stable and old enough. min_ratio: min.cleanable.dirty.ratio. Returns a DataFrame: the name of the
    log that is grabbed, or no row."""
    return ___


filthiest_log.check(filthiest)

# %% [markdown]
# ## Rungs
#
# Now the cleaner itself. In each rung you write one of its functions anew, and minikafka cleans with *your* function in its place. Kafka's own `LogCleaner` cleans
# the same logs. Most of the workloads are drawn, and this page does not show them. After each operation all that can be observed must agree (what a
# turn counted, and up to where the log is clean), and at the end every byte of every file.
#
# Where they differ you get the shortest workload that was found for it, the first quantity and the first byte.

# %%
from minikafka.lessons.compaction.rungs import groups, ranges

ranges

# %%
def cleanable_offsets(log, last_clean_offset, now):
    """log: has log_start_offset, log_end_offset, last_stable_offset, config.compaction_lag_ms, active_segment, and
    non_active_log_segments_from(offset); a segment has base_offset and largest_timestamp (ms). last_clean_offset: the
    checkpoint, None for none. now: ms. Returns (first dirty offset, first uncleanable offset, whether the checkpoint
    must be written anew)."""
    return ___


ranges.check(cleanable_offsets)

# %%
from minikafka.common.java_numbers import INT_MAX

groups

# %%
def group_segments_by_size(segments, max_size, max_index_size, first_uncleanable_offset):
    """segments: neighbours, each with size, base_offset, and offset_index and time_index with size_in_bytes. max_size, max_index_size:
    bytes, inclusive. Returns a list of lists: the groups, in order."""
    return ___


groups.check(group_segments_by_size)
