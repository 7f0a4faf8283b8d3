# %% [markdown]
# # Append: rebuild
#
# *Two functions to complete, and two methods of the log to rewrite.*
#
# **Time:** fifty-five minutes: twenty-five minutes for the functions, thirty minutes for the rungs. **Before:** the lesson [Append](04a-append.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `first_offsets.hint()` gives one hint; each
# further call gives a plainer one. `first_offsets.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.append.exercises import first_offsets, follower_ends

# %% [markdown]
# **Exercise 1, the offsets that a leader gives, in Spark.** *Why: from the requests of a day you can tell which appends a log has accepted.* Kafka's
# method is `UnifiedLog.appendAsLeader`. `appends.sparkSession.sql("SELECT … FROM {appends}", appends=appends)` queries the table.

# %%
def offsets_given(appends, max_message_bytes):
    """appends: DataFrame of t (0, 1, 2 …), batches (number of batches in the append), base_offset (of its first
    batch), records (in all of its batches), bytes (of its largest batch), crc_ok (BOOLEAN); every append comes
    from a client. max_message_bytes: the topic's limit.
    Returns a DataFrame of t, first_offset, ascending by t. first_offset: the offset of the first record, null
    if the append is refused. The log is empty at first and begins at offset 0.

    Example: (0, 1, 0, 3, 90, true), (1, 1, 0, 2, 80, false), (2, 1, 0, 1, 70, true) give (0, 0), (1, NULL), (2,
    3).
    """
    return ___


first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, where a follower ends.** *Why: a follower makes no progress, and its broker's log only names an exception.* Kafka's method is
# `UnifiedLog.appendAsFollower`.

# %%
def ends_of_a_follower(fetches):
    """fetches: list of (leader epoch in which the follower asked, [(first offset, last offset, leader epoch),
    …]): the answers to its fetches, in order, each with its batches. Offsets are inclusive. The follower's log
    is empty at first and begins at offset 0.
    Returns a list with one entry for each fetch: the log end offset afterwards, or, if the whole answer is
    refused, the name of the exception: "OffsetsOutOfOrderException" or "UnexpectedAppendOffsetException".

    Example: ends_of_a_follower([(0, [(0, 1, 0), (2, 4, 0)]), (0, [(1, 1, 0)])]) is [5,
    "UnexpectedAppendOffsetException"].
    """
    return ___


follower_ends.check(ends_of_a_follower)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one of two methods that run between the network and the file. minikafka then runs with your function in place of its own,
# on workloads that this page does not show. Apache Kafka runs the same workloads. After each operation everything that can be observed must be equal,
# and at the end every byte on disk.

# %%
from minikafka.lessons.append.rungs import examines, trims
from minikafka.record.format.memory_records import MemoryRecords

trims

# %%
def trim_invalid_bytes(records, valid_bytes):
    """records: MemoryRecords as they arrived. valid_bytes: the size of all whole batches, in bytes. Returns a
    MemoryRecords."""
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
    """records: MemoryRecords as they arrived. origin: an AppendOrigin. leader_epoch: the epoch in which the
    follower asked. max_message_size: bytes, inclusive, or None. require_offsets_monotonic: True if the last
    offsets must grow from batch to batch. topic_partition is only for messages. Returns a LogAppendInfo.
    """
    return ___


examines.check(analyze_and_validate_records)
