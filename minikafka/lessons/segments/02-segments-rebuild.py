# %% [markdown]
# # Segments: rebuild
#
# *Four functions to complete, and five methods of the log to rewrite.*
#
# **Time:** an hour and twenty-five minutes: thirty-five minutes for the functions, fifty minutes for the rungs. **Before:** the lesson [Segments](02-segments.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `rolling.hint()` gives one hint; each further
# call gives a plainer one. `rolling.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first difference.

# %%
from minikafka.lessons.segments.exercises import by_size, by_time, rolling, sparse_index

# %% [markdown]
# **Exercise 1, rolling.** *Why: base offsets are file names. To understand a directory you must know when a new segment begins.* Here only the size
# counts: it is the first of the five reasons in Kafka's `LogSegment.shouldRoll`.

# %%
def base_offsets(first_offset, appends, segment_bytes):
    """first_offset: base offset of the first segment. appends: list of (number of records, bytes), one pair for
    each append, in their order. segment_bytes: segment.bytes, a limit in bytes. All numbers are ints.
    Returns the list of the base offsets of all segments, ascending.

    Example: base_offsets(10, [(3, 100), (5, 120), (2, 50)], 200) is [10, 13].  (100 + 120 bytes would be too
    many.)
    """
    return ___


rolling.check(base_offsets)

# %% [markdown]
# **Exercise 2, the sparse index.** *Why: an index with wrong byte positions is worse than no index.* Kafka's method is `LogSegment.append`.

# %%
def index_entries(base_offset, batches, interval):
    """base_offset: of the segment. batches: list of (last offset, bytes), one pair for each batch, in their
    order. interval: index.interval.bytes. Returns the entries of the offset index as a list of pairs: (offset
    relative to base_offset, position in bytes).

    Example: index_entries(40, [(41, 90), (43, 90), (45, 90)], 100) is [(5, 180)].
    """
    return ___


sparse_index.check(index_entries)

# %% [markdown]
# **Exercise 3, retention by size, in Spark.** *Why: to know what a new `retention.bytes` would delete, before you set it.* Kafka's method is
# `UnifiedLog.deleteRetentionSizeBreachedSegments`. `segments` is a DataFrame; `segments.sparkSession.sql("SELECT … FROM {segments}",
# segments=segments)` queries it.

# %%
def deletable_by_size(segments, retention_bytes):
    """segments: DataFrame of base (base offset), size (bytes). retention_bytes: the limit; a number below 0
    means no limit. All records are below the high watermark.
    Returns a DataFrame of one column, ascending: the base offsets of the segments that are deleted.

    Example: the rows (0, 100), (2, 100), (4, 100) and the limit 150 give 0.
    """
    return ___


by_size.check(deletable_by_size)

# %% [markdown]
# **Exercise 4, retention by time, in Spark.** *Why: a segment that should be gone is still there, and you want to know why.* Kafka's method is
# `UnifiedLog.deleteRetentionMsBreachedSegments`.

# %%
def deletable_by_time(segments, now, retention_ms):
    """segments: DataFrame of base (base offset), largest_timestamp (ms). now: ms. retention_ms: the limit; a
    number below 0 means no limit. All records are below the high watermark.
    Returns a DataFrame of one column, ascending: the base offsets of the segments that are deleted.

    Example: the rows (0, 100), (2, 900) with now 1000 and limit 500 give 0.
    """
    return ___


by_time.check(deletable_by_time)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method of the log. minikafka then runs with *your* function in place of its own: every append and every read of its
# workloads calls it. Apache Kafka runs the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation
# everything that can be observed must be equal, and at the end every byte of every file.
#
# If something differs, you see the shortest workload that was found, the first quantity that differs, and the first byte. If your code raises an
# error, you see your line, the arguments and the log at that moment. An endless loop is stopped. To watch your function at work, run the log inside
# `with mine(LogSegment.should_roll, should_roll):`, with the ruler or the stepper if you like (`from minikafka.lab import mine`).

# %%
from minikafka.lessons.segments.rungs import appends, deletes, looks_up, rolls, translates

rolls

# %%
def should_roll(self, roll_params):
    """self: the active LogSegment. It has size (bytes), offset_index and time_index (both have is_full;
    offset_index has can_append_offset(offset)), time_waited_for_roll(now, max_timestamp), in ms, and
    roll_jitter_ms: subtract it from segment.ms. roll_params: a RollParams that describes the append; part 4 of
    the lesson names its fields.
    Returns True if the append needs a new segment, else False.
    """
    return ___


rolls.check(should_roll)

# %%
from minikafka.log.index.offset_index import OffsetPosition

looks_up

# %%
def lookup(self, target_offset):
    """self: an OffsetIndex. It has entries (the number of entries), entry(n) (an OffsetPosition with the
    absolute offset; n from 0), and base_offset. target_offset: an absolute offset. Returns an
    OffsetPosition(offset, position in bytes).

    Example: with entries for the offsets 5 and 9, the target 8 gives the entry for 5.
    """
    return ___


looks_up.check(lookup)

# %%
from minikafka.record.files.file_records import LogOffsetPosition

translates

# %%
def translate_offset(self, offset, starting_file_position=0):
    """self: a LogSegment. It has offset_index.lookup(offset), the method of rung 2, and
    log.batches_from(position), which gives the batches from a byte on. A batch has base_offset, last_offset
    (inclusive), position and size_in_bytes. starting_file_position: a byte.
    Returns LogOffsetPosition(base offset, position, bytes) of the first batch whose last offset is at or above
    offset, or None.
    """
    return ___


translates.check(translate_offset)

# %%
from minikafka.log.index.time_index import TimestampOffset

appends

# %%
def append(self, largest_offset, records):
    """self: a LogSegment. It has size, log.append(records), index_interval_bytes, max_timestamp_so_far,
    read_max_timestamp_and_offset_so_far(), offset_index.append(offset, position),
    time_index.maybe_append(timestamp, offset), and the three attributes with an underscore that the box names.
    largest_offset: the last offset of all batches. records: it has size_in_bytes and batches(); a batch has
    last_offset, max_timestamp (ms), size_in_bytes. Returns None.
    """
    return ___


appends.check(append)

# %%
deletes

# %%
def deletable_segments(self, should_delete):
    """self: a Log. It has log_segments (oldest first; each has base_offset and size in bytes), log_end_offset,
    high_watermark. should_delete(segment, next segment or None) returns True if the rule of retention allows to
    delete this segment.
    Returns the list of segments that are deleted, oldest first.
    """
    return ___


deletes.check(deletable_segments)
