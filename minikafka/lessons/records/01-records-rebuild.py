# %% [markdown]
# # Records: rebuild
#
# *Four functions to complete, and six methods of the log to rewrite.*
#
# **Time:** an hour and thirty-five minutes: thirty-five minutes for the functions, an hour for the rungs. **Before:** the lesson [Records](01-records.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `attribute_bits.hint()` gives one hint; each
# further call gives a plainer one. `attribute_bits.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.records.exercises import attribute_bits, batch_sizes, new_checksum, removed_offsets

# %% [markdown]
# **Exercise 1, the attributes.** *Why: one byte of a batch decides how a reader must read all its other bytes.* In Kafka these are the methods
# `compressionType`, `timestampType`, `isTransactional`, `isControlBatch` and `deleteHorizonMs` of `DefaultRecordBatch`.

# %%
def attributes(bits):
    """bits: int, the attributes of a batch, 0 to 127. Returns five values: the name of the codec ("none",
    "gzip", "snappy", "lz4" or "zstd"), then four times True or False: is the timestamp type LogAppendTime? is
    the batch transactional? is it a control batch? has it a delete horizon?

    Example: attributes(0x0C) is ("zstd", True, False, False, False).
    """
    return ___


attribute_bits.check(attributes)

# %% [markdown]
# **Exercise 2, a new CRC.** *Why: to check the CRC of a batch, the leader reads all its bytes. A setting of the topic decides whether it must read
# them a second time, to compute a new CRC.* Kafka's method is `DefaultRecordBatch.setMaxTimestamp`.

# %%
def needs_new_crc(batch_type, max_timestamp, topic_type, now):
    """batch_type, topic_type: "CreateTime" or "LogAppendTime", the timestamp type of the batch as it arrived,
    and of the topic. max_timestamp: the batch's, in ms; it is correct. now: the leader's clock, in ms.
    Returns True if the leader must compute a new CRC, else False.

    Example: needs_new_crc("CreateTime", 1000, "LogAppendTime", 5000) is True.
    """
    return ___


new_checksum.check(needs_new_crc)

# %% [markdown]
# **Exercise 3, the bytes of a batch, in Spark.** *Why: to know how much disk space a topic needs before the first record is sent.* Kafka's method is
# `DefaultRecordBatch.sizeInBytes`. `records.sparkSession.sql("SELECT … FROM {records}", records=records)` queries the DataFrame. Windows such as
# `first(…) OVER (PARTITION BY … ORDER BY …)` help.

# %%
def sizes_of_batches(records):
    """records: DataFrame of batch (its number), number (offset delta of the record), timestamp (ms), key_size
    and value_size (bytes; null if the key or value is null). The records have no headers, the batches no codec.
    Returns a DataFrame of two columns, sorted by batch: batch, and the size of the batch in bytes, its header
    included.

    Example: one record (0, 0, 1000, NULL, 0) gives the row (0, 68).
    """
    return ___


batch_sizes.check(sizes_of_batches)

# %% [markdown]
# **Exercise 4, the offsets that are gone, in Spark.** *Why: in a compacted topic you cannot count records by subtracting offsets. Here you find how
# many offsets have no record.* Kafka's cleaner (`Cleaner.cleanInto`) removes the records.

# %%
def gone_offsets(batches, records):
    """batches: DataFrame of base_offset, last_offset_delta. records: DataFrame of offset: the records that are
    left.
    Returns a DataFrame of base_offset and offset, sorted by offset: one row for each offset of a batch that no
    record has.

    Example: the batch (0, 3) and the records 2 and 3 give (0, 0) and (0, 1).
    """
    return ___


removed_offsets.check(gone_offsets)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method of the log. minikafka then runs with *your* function in place of its own. The leader calls it when it rebuilds
# batches, the cleaner when it writes, and readers when they read; no compiled code is used instead. The batches that clients send are made without
# your function. Apache Kafka runs the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation
# everything that can be observed must be equal, and at the end every byte of every file.
#
# If something differs, you see the shortest workload that was found, the first quantity that differs, and the first byte. If your code raises an
# error, you see your line, the arguments and the log at that moment. An endless loop is stopped.

# %%
from minikafka.lessons.records.rungs import assigns, reads_varints, sums, writes_headers, writes_records, writes_varints

writes_varints

# %%
def write_varint(value, out):
    """value: an int of 64 bits, with a sign. out: a bytearray. Appends the bytes of the varint to out. Returns
    None.

    Examples: 1 appends the byte 02, -1 the byte 01, 64 the bytes 80 01.
    """
    return ___


writes_varints.check(write_varint)

# %%
from minikafka.record.kernels.kernel import TOO_LONG, UNDERFLOW

reads_varints

# %%
def read_varint(data, position, end):
    """data: bytes. The varint begins at position; look at no byte at or after end. Returns (number, position of
    the first byte after the varint), or (0, UNDERFLOW), or (0, TOO_LONG).

    Example: read_varint(b"\\x80\\x01", 0, 2) is (64, 2).
    """
    return ___


reads_varints.check(read_varint)

# %%
from minikafka.common.at_hand import crc32c  # the package crc32c, where there is one

sums

# %%
def compute_checksum(self):
    """self: a RecordBatch; self.buffer holds the bytes of the batch. Returns the CRC that the batch should
    have, an int; crc32c(bytes) computes one.
    """
    return ___


sums.check(compute_checksum)

# %%
from minikafka.log.log_validator import ValidationResult
from minikafka.record.format.timestamp_type import TimestampType

assigns

# %%
def _assign_in_place(self, batch, summary, first_offset, now):
    """self: the LogValidator, with _timestamp_type, _partition_leader_epoch and _records. batch: the batch to
    change. summary: count and max_timestamp (ms) of its records. first_offset: offset for the first record.
    now: the clock, in ms. Changes the batch and returns the ValidationResult.
    """
    return ___


assigns.check(_assign_in_place)

# %%
from minikafka.record.format import varint

writes_records

# %%
def write_record(out, offset_delta, timestamp_delta, key, value, headers):
    """out: a bytearray. offset_delta, timestamp_delta: ints. key, value: bytes or None. headers: list of pairs,
    a text and bytes (or None). Appends the record to out. Returns the number of bytes appended, an int.
    """
    return ___


writes_records.check(write_record)

# %%
import struct

writes_headers

# %%
def write_header(buffer, position, *, base_offset, last_offset_delta, size_in_bytes, magic, compression_type, timestamp_type,
                 base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, is_transactional, is_control_batch,
                 is_delete_horizon_set, partition_leader_epoch, num_records):
    """buffer: a bytearray that already holds the records of the batch. position: the byte at which the batch
    begins. size_in_bytes: the size of the whole batch, header included. Writes the header. Returns None.
    """
    return ___


writes_headers.check(write_header)
