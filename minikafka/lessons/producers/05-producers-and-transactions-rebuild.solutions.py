# %% [markdown]
# # Producers and transactions: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.producers.exercises import known_producers, last_stable, remembered, sequences

# %% [markdown]
# **Exercise 1, a producer's sequences.** Three questions in this order: one of the five? an older epoch? the sequence that was to come?

# %%
sequences.check(answers_to)

# %% [markdown]
# **Exercise 2, the last stable offset.** Each transactional batch gets its marker; it counts until the marker is there *and* below HW.

# %%
last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 3, what a snapshot says.** Each producer's last batch of data, and its first one behind its last marker.

# %%
known_producers.check(producers_known)

# %% [markdown]
# **Exercise 4, who is still known.** An open transaction, or less than a day since the timestamp of the last batch.

# %%
remembered.check(still_known)

# %% [markdown]
# ### The rungs
#
# Rung 1 compares three things, and nothing else makes a batch a retry.

# %%
from minikafka.lessons.producers.rungs import checks, completes, fences, finds, stable, unstable

finds.check(find_duplicate_batch)

# %% [markdown]
# Rung 2: a new epoch begins with 0, the same epoch goes on. Of a producer that nobody knows, anything may come first.

# %%
from minikafka.common.errors import OutOfOrderSequenceException

checks.check(_check_sequence)

# %% [markdown]
# Rung 3: older is too old; in version 2 the same is, too, while there is something to end.

# %%
from minikafka.common.errors import InvalidProducerEpochException
from minikafka.log.append_origin import AppendOrigin

fences.check(_check_producer_epoch)

# %% [markdown]
# Rung 4: it may come, it ends what is open, and the entry learns of it.

# %%
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_append_info import TV_UNKNOWN
from minikafka.record.format.control_record import ControlRecordType

completes.check(append_end_txn_marker)

# %% [markdown]
# Rung 5 is the smaller of two bounds.

# %%
stable.check(last_stable_offset)

# %% [markdown]
# Rung 6 asks both lists: whoever began first holds the others back, open or not yet replicated.

# %%
unstable.check(first_unstable_offset)
