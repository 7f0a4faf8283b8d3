# %% [markdown]
# # Stored and safe: rebuild
#
# *Two functions to complete, and three methods of the log to rewrite.*
#
# **Time:** forty-five minutes: twenty minutes for the functions, twenty-five minutes for the rungs. **Before:** the lesson [Stored and safe](04b-stored-and-safe.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `stored_codecs.hint()` gives one hint; each
# further call gives a plainer one. `stored_codecs.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.stored_and_safe.exercises import log_start, stored_codecs

# %% [markdown]
# **Exercise 1, the codec of the stored batch, in Spark.** *Why: a broker with busy processors may be compressing again what producers have already
# compressed.* Kafka's method is `BrokerCompressionType.targetCompression`. `batches.sparkSession.sql("SELECT … FROM {batches}", batches=batches)`
# queries the table.

# %%
def codecs_stored(batches, compression_type):
    """batches: DataFrame of t (0, 1, 2 …), codec ("none", "gzip", "snappy", "lz4" or "zstd": as the batch
    arrives at the leader), marker (BOOLEAN: the batch is the marker that ends a transaction). compression_type:
    the topic's compression.type, a text.
    Returns a DataFrame of t, codec (of the batch as it is stored), ascending by t.

    Example: for compression.type "gzip" the row (0, 'none', false) gives (0, 'gzip').
    """
    return ___


stored_codecs.check(codecs_stored)

# %% [markdown]
# **Exercise 2, the log start's moments.** *Why: when the log start moves up, records are gone. You should know what can move it.* Kafka's methods are
# `maybeIncrementLogStartOffset`, `truncateTo` and `truncateFullyAndStartAt` of `UnifiedLog`.

# %%
def new_log_start(event, offset, log_start, hw):
    """event: what happens to the log, with its offset:
        "delete records": a client asks to delete all records below offset;
        "leader's log start": a follower learns that its leader's log starts at offset;
        "segments deleted": retention has deleted segments, and offset is the base of the first one that stays;
        "truncate": the log is cut so that it ends at offset (exclusive);
        "truncate fully": all records are removed, and the log begins again at offset.
    log_start, hw: log start and high watermark before the event. hw is exclusive. All numbers are offsets,
    ints.
    Returns the log start offset after the event. An event that Kafka refuses changes nothing.

    Example: new_log_start("delete records", 6, 2, 8) is 6.
    """
    return ___


log_start.check(new_log_start)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one of three methods that run between the network and the file. minikafka then runs with your function in place of its own,
# on workloads that this page does not show. Apache Kafka runs the same workloads. After each operation everything that can be observed must be equal,
# and at the end every byte on disk.

# %%
from minikafka.lessons.stored_and_safe.rungs import compresses, flushes, validates
from minikafka.record.codecs.compression import Compression, CompressionType

compresses

# %%
def target_compression(log_compression, producer_compression_type):
    """log_compression: the topic's Compression, or None if compression.type is "producer".
    producer_compression_type: the CompressionType of the batch as it arrived. Returns the Compression of the
    stored batch.
    """
    return ___


compresses.check(target_compression)

# %%
from minikafka.common.errors import InvalidRecordException
from minikafka.log.append_origin import AppendOrigin

validates

# %%
def _validate_batch(self, first_batch, batch):
    """self: a LogValidator; self._origin is an AppendOrigin. first_batch: the first batch of the append. batch:
    the batch to check. Raises InvalidRecordException, or returns None.
    """
    return ___


validates.check(_validate_batch)

# %%
flushes

# %%
def _flush(self, offset, *, including_offset):
    """self: a Log with _local_log. offset: everything below it must be flushed (exclusive). including_offset:
    True if the segment that begins at offset must be flushed, too. Flushes, and sets the recovery point.
    Returns None.
    """
    return ___


flushes.check(_flush)
