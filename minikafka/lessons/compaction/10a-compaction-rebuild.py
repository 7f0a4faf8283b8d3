# %% [markdown]
# # Compaction: rebuild
#
# *Two functions to complete, and two of the cleaner's functions to rewrite.*
#
# **Time:** forty minutes: twenty minutes for the functions, twenty minutes for the rungs. **Before:** the lesson [Compaction](10a-compaction.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `map_position.hint()` gives one hint; each
# further call gives a plainer one. `map_position.solution()` shows one way; for a rung it opens after your own first try.
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
# difference. The project's tests put the same questions to Kafka's own methods, or let its cleaner clean.

# %%
from minikafka.lessons.compaction.exercises import filthiest_log, map_position

# %% [markdown]
# **Exercise 1, where the map looks.** *Why: the cleaner's memory depends on what it keeps of each key.* Kafka's method is
# `SkimpyOffsetMap.positionOf`. Part 4 of the lesson tells how the first tries use the digest. The digest has 16 bytes, so try 12 reads its last four
# bytes. Each later try reads these four again and adds 1, 2, 3 … Each try reads a Java `int` (four bytes, big-endian, with a sign: −2³¹ to 2³¹ − 1)
# and takes its absolute value modulo the number of slots. Kafka's `Utils.abs` gives 0 for −2³¹.

# %%
def slot_of(digest, attempt, slots):
    """digest: 16 bytes, the MD5 digest of a key. attempt: the number of the try, 0, 1, 2 … slots: the number of
    slots of the map.
    Returns the slot that this try looks at, an int from 0 to slots − 1.

    Example: for the digest 00 00 00 09 00 … slot_of(digest, 0, 7) is 2.
    """
    return ___


map_position.check(slot_of)

# %% [markdown]
# **Exercise 2, the filthiest log, in Spark.** *Why: by default one thread cleans all logs of a broker, one after the other. Which log is next, and
# which ones wait?* Kafka's method is `LogCleanerManager.grabFilthiestCompactedLog`. `segments.sparkSession.sql("SELECT … FROM {segments} WHERE …
# {ratio}", segments=segments, ratio=min_ratio)` queries the table: names in braces are filled in.

# %%
def filthiest(segments, min_ratio):
    """segments: DataFrame of log (its name), base (base offset), size (bytes), active (BOOLEAN: the active
    segment), first_dirty (first dirty offset of the log; a segment begins there). All records are below the
    last stable offset and old enough. min_ratio: min.cleanable.dirty.ratio. Returns a DataFrame of one column:
    the name of the log that is cleaned next, or no row.

    Example: ('a', 0, 100, false, 2), ('a', 2, 300, false, 2), ('a', 4, 50, true, 2) and the ratio 0.5 give 'a'.
    """
    return ___


filthiest_log.check(filthiest)

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
from minikafka.lessons.compaction.rungs import groups, ranges

ranges

# %%
def cleanable_offsets(log, last_clean_offset, now):
    """log: it has log_start_offset, log_end_offset, last_stable_offset, config.compaction_lag_ms,
    active_segment, and non_active_log_segments_from(offset). A segment has base_offset and largest_timestamp
    (ms). last_clean_offset: the offset in the cleaner's checkpoint, None if it has none. now: ms. Returns
    (first dirty offset, first uncleanable offset, True if the checkpoint must be written again). The range to
    clean goes from the first (inclusive) to the second (exclusive).
    """
    return ___


ranges.check(cleanable_offsets)

# %%
from minikafka.common.java.java_numbers import INT_MAX

groups

# %%
def group_segments_by_size(segments, max_size, max_index_size, first_uncleanable_offset):
    """segments: list of neighbouring segments. A segment has size (bytes), base_offset, and offset_index and
    time_index, each with size_in_bytes. max_size, max_index_size: limits in bytes, inclusive.
    first_uncleanable_offset: exclusive end of what is cleaned.
    Returns a list of lists of segments: the groups, in order.
    """
    return ___


groups.check(group_segments_by_size)
