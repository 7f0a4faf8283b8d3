# %% [markdown]
# # From an offset to bytes: rebuild
#
# *Two functions to complete, and two methods of the log to rewrite.*
#
# **Time:** forty minutes: twenty minutes for the functions, twenty minutes for the rungs. **Before:** the lesson [From an offset to bytes](06b-offset-to-bytes.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `answered.hint()` gives one hint; each
# further call gives a plainer one. `answered.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.offset_to_bytes.exercises import answered, begins

# %% [markdown]
# **Exercise 1, what a read answers.** *Why: this is how `max.partition.fetch.bytes` limits what a consumer gets.* Kafka's method is
# `LogSegment.read`.

# %%
def answer(batches, start, max_length, min_one_message, bound):
    """batches: list of (base offset, last offset, bytes), all batches of one segment, in their order; both
    offsets are inclusive. start: the offset to read from; one of the batches has it. max_length: bytes.
    min_one_message: BOOLEAN. bound: an offset, exclusive, above start, between two batches: the read must not
    go beyond it. Returns (base offset of the first batch of the answer, number of bytes of the answer). An
    answer may end in the middle of a batch: count only the bytes that it has.

    Example: answer([(0, 2, 100), (3, 7, 120), (8, 9, 90)], 4, 150, True, 10) is (3, 150).
    """
    return ___


answered.check(answer)

# %% [markdown]
# **Exercise 2, where a read begins, in Spark.** *Why: a consumer may ask for an offset that no record has, for instance after compaction.* Kafka's
# methods are `LocalLog.read` and `LogSegment.translateOffset`. `batches.sparkSession.sql("SELECT … FROM {batches} …", batches=batches, starts=starts)`
# queries both tables.

# %%
def read_begins(batches, starts):
    """batches: DataFrame of segment (base offset of its segment), base, last (offsets, inclusive), size
    (bytes): all batches of a log. There may be gaps between them. starts: DataFrame of start (an offset below
    the log end).
    Returns a DataFrame of start, segment, position, ascending by start: a read from start begins in the file of
    this segment, at this byte.

    Example: the batches (0, 0, 2, 90), (0, 7, 8, 80) and the start 5 give (5, 0, 90).
    """
    return ___


begins.check(read_begins)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one of two methods: the one that begins a search by time, and the one that cuts the bytes of every fetch out of the file.
# minikafka then runs with your function in place of its own, on workloads that this page does not show. Apache Kafka runs the same workloads. After
# each operation everything that can be observed must be equal, and at the end every byte on disk.

# %%
from minikafka.lessons.offset_to_bytes.rungs import reads, times
from minikafka.log.index.time_index import TimestampOffset

times

# %%
def lookup(self, target_timestamp):
    """self: a TimeIndex. It has entries (the number of entries), entry(n) (a TimestampOffset with timestamp and
    offset, n from 0, ascending by timestamp), and base_offset, the segment's. target_timestamp: ms. Returns a
    TimestampOffset(timestamp, offset).

    Example: with entries for the times 1000 and 3000, the target 2999 gives the entry for 1000.
    """
    return ___


times.check(lookup)

# %%
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.record.format.memory_records import MemoryRecords

reads

# %%
def read(self, start_offset, max_size, max_position=2147483647, *, min_one_message=False):
    """self: a LogSegment. It has base_offset, translate_offset(offset), which gives offset, position and size
    (bytes) of a batch, or None, and log.slice(position, bytes). max_size: bytes. max_position: a byte,
    exclusive. Returns FetchDataInfo(LogOffsetMetadata(batch's base offset, segment's base offset, position),
    records, is the first batch incomplete?), or None if no batch ends at or after start_offset. Without
    records: MemoryRecords.EMPTY.
    """
    return ___


reads.check(read)
