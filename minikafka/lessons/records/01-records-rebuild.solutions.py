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
# **Exercise 2, a new CRC.** A new CRC is needed only if a field that the CRC covers changes.

# %%
new_checksum.check(needs_new_crc)

# %% [markdown]
# **Exercise 3, the bytes of a batch.** First come the deltas, then the body of each record, then the length of the body, which is a varint as well.
# The header is added once for each batch.

# %%
batch_sizes.check(sizes_of_batches)

# %% [markdown]
# **Exercise 4, the offsets that are gone.** Take all offsets of a batch, and remove those that a record has.

# %%
removed_offsets.check(gone_offsets)

# %% [markdown]
# ### The rungs
#
# Rung 1 first maps every number to a number ≥ 0 (zigzag), then writes that number seven bits at a time.

# %%
from minikafka.lessons.records.rungs import assigns, reads_varints, sums, writes_headers, writes_records, writes_varints

writes_varints.check(write_varint)

# %% [markdown]
# Rung 2 does the reverse. It compares the position with `end` before each byte.

# %%
from minikafka.record.kernels.kernel import TOO_LONG, UNDERFLOW

reads_varints.check(read_varint)

# %% [markdown]
# Rung 3 is one line. The difficult part is to know at which byte the CRC begins.

# %%
from minikafka.common.at_hand import crc32c  # the package crc32c, where there is one

sums.check(compute_checksum)

# %% [markdown]
# Rung 4 changes no record: it calls three setters, and each of them writes into the header.

# %%
from minikafka.log.log_validator import ValidationResult
from minikafka.record.format.timestamp_type import TimestampType

assigns.check(_assign_in_place)

# %% [markdown]
# Rung 5 first writes the body into its own bytearray, because the size of the body comes before the body.

# %%
from minikafka.record.format import varint

writes_records.check(write_record)

# %% [markdown]
# Rung 6 writes what the CRC covers, then the CRC of that, then what stands before it.

# %%
import struct

writes_headers.check(write_header)
