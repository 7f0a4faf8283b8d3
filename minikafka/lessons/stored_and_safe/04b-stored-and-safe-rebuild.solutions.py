# %% [markdown]
# # Stored and safe: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.stored_and_safe.exercises import log_start, stored_codecs

# %% [markdown]
# **Exercise 1, the codec of the stored batch.** Three kinds of topic, and the marker, which none of them touches.

# %%
stored_codecs.check(codecs_stored)

# %% [markdown]
# **Exercise 2, the log start's moments.** Two kinds of event: those that may only raise it, up to HW, and truncations.

# %%
log_start.check(new_log_start)

# %% [markdown]
# ### The rungs
#
# Rung 1: the topic's word, and where it has none the producer's.

# %%
from minikafka.lessons.stored_and_safe.rungs import compresses, flushes, validates
from minikafka.record.codecs.compression import Compression, CompressionType

compresses.check(target_compression)

# %% [markdown]
# Rung 2: the magic for everybody, the rest for clients.

# %%
from minikafka.common.errors import InvalidRecordException
from minikafka.log.append_origin import AppendOrigin

validates.check(_validate_batch)

# %% [markdown]
# Rung 3 has two offsets: up to which is flushed, and which is marked.

# %%
flushes.check(_flush)
