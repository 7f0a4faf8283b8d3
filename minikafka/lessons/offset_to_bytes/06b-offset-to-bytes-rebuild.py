# %% [markdown]
# # From an offset to bytes: rebuild
#
# *A function to complete, and two methods of the log to write anew.*
#
# **Time:** forty minutes: ten for the function, thirty for the rungs. **Before:** the lesson [From an offset to bytes](06b-offset-to-bytes.ipynb), parts 1 to 5.
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
# The exercise is a function. `check` compares it with Spark's answers and reports the first difference.

# %%
from minikafka.lessons.offset_to_bytes.exercises import answered

# %% [markdown]
# **Exercise 1, what a read answers.** *Why: this decides what `max.partition.fetch.bytes` does to you.*

# %%
def answer(batches, start, max_length, min_one_message, bound):
    """batches: list of (base offset, last offset, bytes) in one segment; bound: exclusive, between two batches, above the
    start. Returns (offset at which the answer begins, bytes) of log.read: where the first batch is cut, the bytes left of it."""
    return ___


answered.check(answer)

# %% [markdown]
# ## Rungs
#
# Two methods: the one by which a search by time begins, and the one by which every fetch ends. minikafka runs with your function in the method's place, on workloads that this page does not show, and Apache Kafka
# does the same: what can be observed after each operation must agree, and at the end every byte on the disk.

# %%
from minikafka.lessons.offset_to_bytes.rungs import reads, times
from minikafka.log.index.time_index import TimestampOffset

times

# %%
def lookup(self, target_timestamp):
    """self: a TimeIndex: entries (how many there are), entry(n), a TimestampOffset, n from 0, and base_offset, the segment's.
    target_timestamp in ms. Returns a TimestampOffset(timestamp, offset)."""
    return ___


times.check(lookup)

# %%
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.record.format.memory_records import MemoryRecords

reads

# %%
def read(self, start_offset, max_size, max_position=2147483647, *, min_one_message=False):
    """self: a LogSegment: base_offset, translate_offset(offset), which gives a batch's (offset, position, size) or None, log.slice(position,
    bytes). max_size and max_position in bytes, the latter exclusive. Returns FetchDataInfo(LogOffsetMetadata(batch's offset, segment's base
    offset, position), records, incomplete), None when no batch ends at or behind start_offset. No records: MemoryRecords.EMPTY."""
    return ___


reads.check(read)
