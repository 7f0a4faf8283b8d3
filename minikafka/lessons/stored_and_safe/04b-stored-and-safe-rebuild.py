# %% [markdown]
# # Stored and safe: rebuild
#
# *Two functions to complete, and three methods of the log to write anew.*
#
# **Time:** twenty minutes: ten for the functions, ten for the rungs. **Before:** the lesson [Stored and safe](04b-stored-and-safe.ipynb), parts 1 to 5.
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
from minikafka.lessons.stored_and_safe.exercises import log_start, stored_codecs

# %% [markdown]
# **Exercise 1, the codec of the stored batch, in Spark.** *Why: a broker whose processors are busy may be packing anew what producers have packed.*
# `batches.sparkSession.sql("SELECT … FROM {batches}", batches=batches)` queries the table.

# %%
def codecs_stored(batches, compression_type):
    """batches: DataFrame of t, codec ('none', 'gzip', …), marker (true for one that ends a transaction); compression_type: the
    topic's. Returns a DataFrame of t, codec (as it is stored), in the order of t."""
    return ___


stored_codecs.check(codecs_stored)

# %% [markdown]
# **Exercise 2, the log start's moments.** *Why: a log start that moved is data that is gone; know who can move it.*

# %%
def new_log_start(event, offset, log_start, hw):
    """event: "delete records", "leader's log start", "segments deleted" (offset: base of the first that stays), "truncate" or
    "truncate fully". Returns the log start offset afterwards; a refused event changes nothing."""
    return ___


log_start.check(new_log_start)

# %% [markdown]
# ## Rungs
#
# Three methods between the network and the file. minikafka runs with your function in the method's place, on workloads that this page does not
# show, and Apache Kafka does the same: what can be observed after each operation must agree, and at the end every byte on the disk.

# %%
from minikafka.lessons.stored_and_safe.rungs import compresses, flushes, validates
from minikafka.record.codecs.compression import Compression, CompressionType

compresses

# %%
def target_compression(log_compression, producer_compression_type):
    """log_compression: the topic's Compression, or None; producer_compression_type: CompressionType of what came in. Returns a
    Compression."""
    return ___


compresses.check(target_compression)

# %%
from minikafka.common.errors import InvalidRecordException
from minikafka.log.append_origin import AppendOrigin

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
