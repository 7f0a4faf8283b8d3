# %% [markdown]
# # Stored and safe: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.stored_and_safe.exercises import log_start, stored_codecs

# %% [markdown]
# **Exercise 1, the codec of the stored batch.** There are three kinds of topic. A marker is stored as it is in each of them.

# %%
stored_codecs.check(codecs_stored)

# %% [markdown]
# **Exercise 2, the log start's moments.** There are two kinds of event. Some can only raise the log start, and at most to HW. The others are
# truncations.

# %%
log_start.check(new_log_start)

# %% [markdown]
# ### The rungs
#
# Rung 1 takes the topic's codec. With `compression.type=producer` the topic has no codec of its own, and the rung takes the producer's.

# %%
from minikafka.lessons.stored_and_safe.rungs import compresses, flushes, validates
from minikafka.record.codecs.compression import Compression, CompressionType

compresses.check(target_compression)

# %% [markdown]
# Rung 2 checks the magic of every batch. The other checks are for clients only.

# %%
from minikafka.common.errors import InvalidRecordException
from minikafka.log.append_origin import AppendOrigin

validates.check(_validate_batch)

# %% [markdown]
# Rung 3 has two offsets: one up to which it flushes, and one that becomes the recovery point.

# %%
flushes.check(_flush)
