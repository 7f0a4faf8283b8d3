# %% [markdown]
# # Records: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.records.exercises import attribute_bits, batch_sizes, new_checksum, removed_offsets

# %% [markdown]
# **Exercise 1, the attributes.** Three bits are the codec's number, four more are flags of their own.

# %%
attribute_bits.check(attributes)

# %% [markdown]
# **Exercise 2, a new CRC.** Only what lies under the CRC counts, and only if it changes.

# %%
new_checksum.check(needs_new_crc)

# %% [markdown]
# **Exercise 3, the bytes of a batch.** First the deltas, then the body of each record, then its length, which is a varint as well; the header comes once.

# %%
batch_sizes.check(sizes_of_batches)

# %% [markdown]
# **Exercise 4, the offsets that are gone.** All offsets that a batch stands for, less those that a record has.

# %%
removed_offsets.check(gone_offsets)

# %% [markdown]
# ### The rungs
#
# Rung 1 makes a number ≥ 0 of any number, then writes it seven bits at a time.

# %%
from minikafka.lessons.records.rungs import assigns, reads_varints, sums, writes_headers, writes_records, writes_varints

writes_varints.check(write_varint)

# %% [markdown]
# Rung 2 is the way back. The bound is asked before each byte.

# %%
from minikafka.record.kernels.kernel import TOO_LONG, UNDERFLOW

reads_varints.check(read_varint)

# %% [markdown]
# Rung 3 is one line. The work was to know where it begins.

# %%
from crc32c import crc32c

sums.check(compute_checksum)

# %% [markdown]
# Rung 4 touches no record: three setters, each of which writes into the header.

# %%
from minikafka.log.log_validator import ValidationResult
from minikafka.record.format.timestamp_type import TimestampType

assigns.check(_assign_in_place)

# %% [markdown]
# Rung 5 writes the body first, because its size stands before it.

# %%
from minikafka.record.format import varint

writes_records.check(write_record)

# %% [markdown]
# Rung 6 writes what the CRC covers, then the CRC of that, then what stands before it.

# %%
import struct

writes_headers.check(write_header)
