# %% [markdown]
# # Append: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.append.exercises import first_offsets, follower_ends

# %% [markdown]
# **Exercise 1, the offsets that a leader gives.** Accepted or not first; then the records accepted before this row.

# %%
first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, where a follower ends.** First what is left out; then whether the rest is in order, and begins at LEO or above.

# %%
follower_ends.check(ends_of_a_follower)

# %% [markdown]
# ### The rungs
#
# Rung 1 cuts, and never refuses.

# %%
from minikafka.lessons.append.rungs import examines, trims
from minikafka.record.format.memory_records import MemoryRecords

trims.check(trim_invalid_bytes)

# %% [markdown]
# Rung 2 is one loop. A later epoch ends it; what was found before counts.

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
