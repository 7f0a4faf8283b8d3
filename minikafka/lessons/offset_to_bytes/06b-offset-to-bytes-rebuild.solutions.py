# %% [markdown]
# # From an offset to bytes: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.offset_to_bytes.exercises import answered, begins

# %% [markdown]
# **Exercise 1, what a read answers.** With `min_one_message` the first batch counts more than the limit. The bound counts more than both.

# %%
answered.check(answer)

# %% [markdown]
# **Exercise 2, where a read begins.** The join needs no segment: the first batch that ends at or after the start is the right one in every file. Only
# the byte is counted within a segment.

# %%
begins.check(read_begins)

# %% [markdown]
# ### The rungs
#
# Rung 1 is the search of an offset index, with timestamps instead of offsets.

# %%
from minikafka.lessons.offset_to_bytes.rungs import reads, times
from minikafka.log.index.time_index import TimestampOffset

times.check(lookup)

# %% [markdown]
# Rung 2 only computes which bytes to return. It reads none of them.

# %%
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.record.format.memory_records import MemoryRecords

reads.check(read)
