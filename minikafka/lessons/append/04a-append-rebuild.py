# %% [markdown]
# # Append: rebuild
#
# *Two functions to complete, and two methods of the log to write anew.*
#
# **Time:** twenty-five minutes: ten for the functions, fifteen for the rungs. **Before:** the lesson [Append](04a-append.ipynb), parts 1 to 5.
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
from minikafka.lessons.append.exercises import first_offsets, follower_ends

# %% [markdown]
# **Exercise 1, the offsets that a leader gives, in Spark.** *Why: to tell from a day's requests which ones a log has taken.*
# `appends.sparkSession.sql("SELECT … FROM {appends}", appends=appends)` queries the table.

# %%
def offsets_given(appends, max_message_bytes):
    """appends: DataFrame of t, batches, base_offset, records, bytes (of the largest batch), crc_ok; all from clients.
    Returns a DataFrame of t, first_offset (null: refused), in the order of t; the log begins at 0."""
    return ___


first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, where a follower ends.** *Why: a replica that stands still, and its broker's log says why in one word.*

# %%
def ends_of_a_follower(fetches):
    """fetches: [(epoch it asked in, [(first offset, last offset, leader epoch), …]), …] to an empty follower. Returns after each
    LEO, or the name of the exception: OffsetsOutOfOrderException, UnexpectedAppendOffsetException."""
    return ___


follower_ends.check(ends_of_a_follower)

# %% [markdown]
# ## Rungs
#
# Two methods between the network and the file. minikafka runs with your function in the method's place, on workloads that this page does not
# show, and Apache Kafka does the same: what can be observed after each operation must agree, and at the end every byte on the disk.

# %%
from minikafka.lessons.append.rungs import examines, trims
from minikafka.record.format.memory_records import MemoryRecords

trims

# %%
def trim_invalid_bytes(records, valid_bytes):
    """records: MemoryRecords as they came in; valid_bytes: size of the whole batches. Returns MemoryRecords."""
    return ___


trims.check(trim_invalid_bytes)

# %%
from minikafka.common.errors import CorruptRecordException, InvalidRecordException, OffsetsOutOfOrderException, RecordTooLargeException
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.record.codecs.compression import CompressionType

examines

# %%
def analyze_and_validate_records(
    records, topic_partition, origin, *, leader_epoch, max_message_size, require_offsets_monotonic, log_start_offset
):
    """records: MemoryRecords as they came in; origin: an AppendOrigin; max_message_size: bytes, or None. Returns a LogAppendInfo."""
    return ___


examines.check(analyze_and_validate_records)
