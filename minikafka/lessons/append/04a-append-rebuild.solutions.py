# %% [markdown]
# # Append: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.append.exercises import first_offsets, follower_ends

# %% [markdown]
# **Exercise 1, the offsets that a leader gives.** First decide for each append whether it is accepted. Then sum the accepted records of the rows
# before it.

# %%
first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, where a follower ends.** First remove the batches that the follower leaves out. Then check that the others are in order and begin at
# LEO or above.

# %%
follower_ends.check(ends_of_a_follower)

# %% [markdown]
# ### The rungs
#
# Rung 1 cuts the rest off, and never raises an error.

# %%
from minikafka.lessons.append.rungs import examines, trims
from minikafka.record.format.memory_records import MemoryRecords

trims.check(trim_invalid_bytes)

# %% [markdown]
# Rung 2 is one loop. A batch of a later epoch ends the loop; the batches before it count.

# %%
from minikafka.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
    OffsetsOutOfOrderException,
    RecordTooLargeException,
)
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.record.codecs.compression import CompressionType

examines.check(analyze_and_validate_records)
