# %% [markdown]
# # Records: rebuild
#
# *Four functions to complete, and six methods of the log to write anew.*
#
# **Time:** an hour and a half: half an hour for the functions, an hour for the rungs. **Before:** the lesson [Records](01-records.ipynb), parts 1 to 5.
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
from minikafka.lessons.records.exercises import attribute_bits, batch_sizes, new_checksum, removed_offsets

# %% [markdown]
# **Exercise 1, the attributes.** *Why: one byte decides how all the others are read.*

# %%
def attributes(bits):
    """bits: the attributes of a batch, 0 to 127. Returns (codec's name, LogAppendTime?, transactional?, control?, delete horizon?),
    a codec of none, gzip, snappy, lz4 or zstd, then four times True or False."""
    return ___


attribute_bits.check(attributes)

# %% [markdown]
# **Exercise 2, a new CRC.** *Why: the leader has gone over all bytes of a batch to compare its CRC; whether it must do so a second time, a topic's setting decides.*

# %%
def needs_new_crc(batch_type, max_timestamp, topic_type, now):
    """batch_type, topic_type: "CreateTime" or "LogAppendTime"; max_timestamp: the batch's, which is right; now: the clock, in ms. Returns
    True when the leader must compute a new CRC."""
    return ___


new_checksum.check(needs_new_crc)

# %% [markdown]
# **Exercise 3, the bytes of a batch, in Spark.** *Why: to know what a topic will take on disk before the first record is sent.*
# `records.sparkSession.sql("SELECT … FROM {records}", records=records)` queries the DataFrame. Windows such as `first(…) OVER (PARTITION BY … ORDER BY …)` help.

# %%
def sizes_of_batches(records):
    """records: DataFrame of batch, number (its offset delta), timestamp (ms), key_size, value_size (bytes, null for null); no headers,
    no codec. Returns a DataFrame of batch and its bytes, by batch."""
    return ___


batch_sizes.check(sizes_of_batches)

# %% [markdown]
# **Exercise 4, the offsets that are gone, in Spark.** *Why: a consumer that counts records by subtracting offsets is wrong in a compacted topic; by how much?*

# %%
def gone_offsets(batches, records):
    """batches: DataFrame of base_offset, last_offset_delta; records: DataFrame of offset. Returns a DataFrame of base_offset and
    offset, ascending: each offset of a batch that no record has."""
    return ___


removed_offsets.check(gone_offsets)

# %% [markdown]
# ## Rungs
#
# Now the bytes themselves. In each rung you write one method of the log anew, and minikafka runs with *your* function in its place: what the leader rebuilds, what a cleaner
# writes and what a reader reads all goes through it, and compiled short cuts are off. What clients send is made without it. Apache Kafka does the same workloads. Most of them are drawn, and this page does
# not show them; after each operation all that can be observed must agree, and at the end every byte of every file.
#
# Where they differ you get the shortest workload that was found for it, the first quantity and the first byte. An error of your code is told with your
# line, the arguments and the log at that moment; a loop without an end is ended.

# %%
from minikafka.lessons.records.rungs import assigns, reads_varints, sums, writes_headers, writes_records, writes_varints

writes_varints

# %%
def write_varint(value, out):
    """value: a whole number of 64 bits with a sign; out: a bytearray. Appends the varint to out and returns nothing."""
    return ___


writes_varints.check(write_varint)

# %%
from minikafka.record.kernels.kernel import TOO_LONG, UNDERFLOW

reads_varints

# %%
def read_varint(data, position, end):
    """data: bytes; the varint begins at position, and no byte from end on may be looked at. Returns (number, the position behind it),
    (0, UNDERFLOW) or (0, TOO_LONG)."""
    return ___


reads_varints.check(read_varint)

# %%
from crc32c import crc32c

sums

# %%
def compute_checksum(self):
    """self: a RecordBatch; self.buffer has its bytes. Returns the CRC that it should have; crc32c(bytes) computes one."""
    return ___


sums.check(compute_checksum)

# %%
from minikafka.log.log_validator import ValidationResult
from minikafka.record.format.timestamp_type import TimestampType

assigns

# %%
def _assign_in_place(self, batch, summary, first_offset, now):
    """self: the LogValidator; summary: count and max_timestamp of the batch's records; now: the clock in ms. Changes the batch and
    returns the ValidationResult."""
    return ___


assigns.check(_assign_in_place)

# %%
from minikafka.record.format import varint

writes_records

# %%
def write_record(out, offset_delta, timestamp_delta, key, value, headers):
    """out: a bytearray; key, value: bytes or None; headers: pairs of text and bytes (or None). Appends the record; returns its bytes."""
    return ___


writes_records.check(write_record)

# %%
import struct

writes_headers

# %%
def write_header(buffer, position, *, base_offset, last_offset_delta, size_in_bytes, magic, compression_type, timestamp_type,
                 base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, is_transactional, is_control_batch,
                 is_delete_horizon_set, partition_leader_epoch, num_records):
    """buffer: bytes that can be written, the records in them already; position: where the batch begins. Returns nothing."""
    return ___


writes_headers.check(write_header)
