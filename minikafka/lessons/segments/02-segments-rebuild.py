# %% [markdown]
# # Segments: rebuild
#
# *Four functions to complete, and five methods of the log to write anew.*
#
# **Time:** an hour and a half: half an hour for the functions, an hour for the rungs. **Before:** the lesson [Segments](02-segments.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference.

# %%
from minikafka.lessons.segments.exercises import by_size, by_time, rolling, sparse_index

# %% [markdown]
# **Exercise 1, rolling.** *Why: base offsets are file names; whoever reads a directory must know how they come about.*

# %%
def base_offsets(first_offset, appends, segment_bytes):
    """appends: list of (records, bytes). Returns the base offsets of all segments, the first one is first_offset."""
    return ___


rolling.check(base_offsets)

# %% [markdown]
# **Exercise 2, the sparse index.** *Why: an index that names wrong bytes is worse than none.*

# %%
def index_entries(base_offset, batches, interval):
    """batches: list of (last offset, bytes); interval in bytes. Returns [(relative offset, position), …] as in the file."""
    return ___


sparse_index.check(index_entries)

# %% [markdown]
# **Exercise 3, retention by size, in Spark.** *Why: to know what a new `retention.bytes` would delete before you set it.*
# `segments` is a DataFrame; `segments.sparkSession.sql("SELECT … FROM {segments}", segments=segments)` queries it.

# %%
def deletable_by_size(segments, retention_bytes):
    """segments: DataFrame of base, size in bytes; a limit below 0 is none. Returns a DataFrame: the base offsets that go, ascending."""
    return ___


by_size.check(deletable_by_size)

# %% [markdown]
# **Exercise 4, retention by time, in Spark.** *Why: the segment that everybody expected to be gone is still there.*

# %%
def deletable_by_time(segments, now, retention_ms):
    """segments: DataFrame of base, largest_timestamp; times in ms, a limit below 0 is none. Returns a DataFrame: the base offsets
    that go, ascending."""
    return ___


by_time.check(deletable_by_time)

# %% [markdown]
# ## Rungs
#
# Now the log itself. In each rung you write one method of the log anew, and minikafka runs with *your* function in its place: every append and
# every read of its workloads goes through it. Apache Kafka does the same workloads. Most of them are drawn, and this page does not show them; after
# each operation all that can be observed must agree, and at the end every byte of every file.
#
# Where they differ you get the shortest workload that was found for it, the first quantity and the first byte. An error of your code is told with your
# line, the arguments and the log at that moment; a loop without an end is ended.
# To watch your function at work, run the log inside `with mine(LogSegment.should_roll, should_roll):`, with the ruler or the stepper if you like
# (`from minikafka.lab import mine`).

# %%
from minikafka.lessons.segments.rungs import appends, deletes, looks_up, rolls, translates

rolls

# %%
def should_roll(self, roll_params):
    """self: the active LogSegment: size, offset_index and time_index (both have is_full, the first can_append_offset(offset)),
    time_waited_for_roll(now, max_timestamp), in ms, roll_jitter_ms, which shortens segment.ms. roll_params: RollParams of the append, with
    the fields that the lesson names in part 4. True when the append needs a new segment."""
    return ___


rolls.check(should_roll)

# %%
from minikafka.log.index.offset_index import OffsetPosition

looks_up

# %%
def lookup(self, target_offset):
    """self: an OffsetIndex: entries (how many there are), entry(n), an OffsetPosition with the absolute offset, and base_offset. Returns an
    OffsetPosition(offset, position in bytes)."""
    return ___


looks_up.check(lookup)

# %%
from minikafka.record.files.file_records import LogOffsetPosition

translates

# %%
def translate_offset(self, offset, starting_file_position=0):
    """self: a LogSegment: offset_index.lookup(offset), the method of rung 2, and log.batches_from(position); batches have base_offset,
    last_offset, position, size_in_bytes. starting_file_position: a byte. Returns a LogOffsetPosition(base offset, position, bytes) of
    the first batch that ends at or behind offset, None without one."""
    return ___


translates.check(translate_offset)

# %%
from minikafka.log.index.time_index import TimestampOffset

appends

# %%
def append(self, largest_offset, records):
    """self: a LogSegment: size, log.append(records), index_interval_bytes, max_timestamp_so_far, read_max_timestamp_and_offset_so_far(),
    offset_index.append(offset, position), time_index.maybe_append(timestamp, offset), and the three with an underscore that the box names.
    largest_offset: of all batches. records: size_in_bytes, batches(), which have last_offset, max_timestamp, size_in_bytes. Returns None."""
    return ___


appends.check(append)

# %%
deletes

# %%
def deletable_segments(self, should_delete):
    """self: a Log: log_segments, the oldest first (base_offset, size), log_end_offset, high_watermark. should_delete(segment, next segment or
    None) is the rule. Returns the list of segments that go, the oldest first."""
    return ___


deletes.check(deletable_segments)
