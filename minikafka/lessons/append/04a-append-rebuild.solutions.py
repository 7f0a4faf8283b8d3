# %% [markdown]
# # Append: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.append.exercises import first_offsets, follower_ends, log_start, stored_codecs

# %% [markdown]
# **Exercise 1, the offsets that a leader gives.** Accepted or not first; then the records accepted before this row.

# %%
first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, the codec of the stored batch.** Three kinds of topic, and the marker, which none of them touches.

# %%
stored_codecs.check(codecs_stored)

# %% [markdown]
# **Exercise 3, where a follower ends.** First what is left out; then whether the rest is in order, and begins at LEO or above.

# %%
follower_ends.check(ends_of_a_follower)

# %% [markdown]
# **Exercise 4, the log start's moments.** Two kinds of event: those that may only raise it, up to HW, and truncations.

# %%
log_start.check(new_log_start)

# %% [markdown]
# ### The rungs
#
# Rung 1: the topic's word, and where it has none the producer's.

# %%
from minikafka.lessons.append.rungs import compresses, examines, flushes, trims, validates
from minikafka.record.codecs.compression import Compression, CompressionType

compresses.check(target_compression)

# %% [markdown]
# Rung 2 cuts, and never refuses.

# %%
from minikafka.record.format.memory_records import MemoryRecords

trims.check(trim_invalid_bytes)

# %% [markdown]
# Rung 3: the magic for everybody, the rest for clients.

# %%
from minikafka.common.errors import InvalidRecordException
from minikafka.log.append_origin import AppendOrigin

validates.check(_validate_batch)

# %% [markdown]
# Rung 4 has two offsets: up to which is flushed, and which is marked.

# %%
flushes.check(_flush)

# %% [markdown]
# Rung 5 is one loop. A later epoch ends it; what was found before counts.

# %%
from minikafka.common.errors import CorruptRecordException, OffsetsOutOfOrderException, RecordTooLargeException
from minikafka.log.log_append_info import LogAppendInfo

examines.check(analyze_and_validate_records)
