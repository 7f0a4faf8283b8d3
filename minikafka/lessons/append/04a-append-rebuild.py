# %% [markdown]
# # Append: rebuild
#
# *Four functions to complete, and five methods of the log to write anew.*
#
# **Time:** forty-five minutes: twenty for the functions, twenty-five for the rungs. **Before:** the lesson [Append](04-append.ipynb), parts 1 to 5.
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
from minikafka.lessons.append.exercises import first_offsets, follower_ends, log_start, stored_codecs

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
# **Exercise 2, the codec of the stored batch, in Spark.** *Why: a broker whose processors are busy may be packing anew what producers have packed.*

# %%
def codecs_stored(batches, compression_type):
    """batches: DataFrame of t, codec ('none', 'gzip', …), marker (true for one that ends a transaction); compression_type: the
    topic's. Returns a DataFrame of t, codec (as it is stored), in the order of t."""
    return ___


stored_codecs.check(codecs_stored)

# %% [markdown]
# **Exercise 3, where a follower ends.** *Why: a replica that stands still, and its broker's log says why in one word.*

# %%
def ends_of_a_follower(fetches):
    """fetches: [(epoch it asked in, [(first offset, last offset, leader epoch), …]), …] to an empty follower. Returns after each
    LEO, or the name of the exception: OffsetsOutOfOrderException, UnexpectedAppendOffsetException."""
    return ___


follower_ends.check(ends_of_a_follower)

# %% [markdown]
# **Exercise 4, the log start's moments.** *Why: a log start that moved is data that is gone; know who can move it.*

# %%
def new_log_start(event, offset, log_start, hw):
    """event: "delete records", "leader's log start", "segments deleted" (offset: base of the first that stays), "truncate" or
    "truncate fully". Returns the log start offset afterwards; a refused event changes nothing."""
    return ___


log_start.check(new_log_start)

# %% [markdown]
# ## Rungs
#
# Five methods between the network and the file. minikafka runs with your function in the method's place, on workloads that this page does not
# show, and Apache Kafka does the same: what can be observed after each operation must agree, and at the end every byte on the disk.

# %%
from minikafka.lessons.append.rungs import compresses, examines, flushes, trims, validates
from minikafka.record.codecs.compression import Compression, CompressionType

compresses

# %%
def target_compression(log_compression, producer_compression_type):
    """log_compression: the topic's Compression, or None; producer_compression_type: CompressionType of what came in. Returns a
    Compression."""
    return ___


compresses.check(target_compression)

# %%
from minikafka.record.format.memory_records import MemoryRecords

trims

# %%
def trim_invalid_bytes(records, valid_bytes):
    """records: MemoryRecords as they came in; valid_bytes: size of the whole batches. Returns MemoryRecords."""
    return ___


trims.check(trim_invalid_bytes)

# %%
from minikafka.common.errors import InvalidRecordException

validates

# %%
def _validate_batch(self, first_batch, batch):
    """self: a LogValidator; the first batch of the append, and the one to look at. Raises InvalidRecordException, or returns nothing."""
    return ___


validates.check(_validate_batch)

# %%
flushes

# %%
def _flush(self, offset, *, including_offset):
    """self: a Log with _local_log; offset: exclusive end of what is to be safe. Flushes, and moves the recovery point. Returns
    nothing."""
    return ___


flushes.check(_flush)

# %%
from minikafka.common.errors import CorruptRecordException, OffsetsOutOfOrderException, RecordTooLargeException
from minikafka.log.log_append_info import LogAppendInfo

examines

# %%
def analyze_and_validate_records(
    records, topic_partition, origin, *, leader_epoch, max_message_size, require_offsets_monotonic, log_start_offset
):
    """records: MemoryRecords as they came in; origin: an AppendOrigin; max_message_size: bytes, or None. Returns a LogAppendInfo."""
    return ___


examines.check(analyze_and_validate_records)
