# %% [markdown]
# # Producers and transactions: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.producers.exercises import known_producers, last_stable, remembered, sequences

# %% [markdown]
# **Exercise 1, a producer's sequences.** Check three things in this order. Is it one of the last five batches? Is its epoch older? Is its sequence
# the expected one?

# %%
sequences.check(answers_to)

# %% [markdown]
# **Exercise 2, the last stable offset.** Join each transactional batch with its marker. The batch holds LSO back until the marker is written *and* is
# below HW.

# %%
last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 3, what a snapshot says.** Take each producer's last batch of data, and its first batch of data after its last marker.

# %%
known_producers.check(producers_known)

# %% [markdown]
# **Exercise 4, who is still known.** A producer is known if it has an open transaction, or if its last batch's timestamp is less than a day old.

# %%
remembered.check(still_known)

# %% [markdown]
# ### The rungs
#
# Rung 1 compares three values: the epoch, the first and the last sequence.

# %%
from minikafka.lessons.producers.rungs import checks, completes, fences, finds, stable, unstable

finds.check(find_duplicate_batch)

# %% [markdown]
# Rung 2: a new epoch begins with sequence 0; in the same epoch the sequences continue. An unknown producer may begin with any sequence.

# %%
from minikafka.common.errors import OutOfOrderSequenceException

checks.check(_check_sequence)

# %% [markdown]
# Rung 3: an older epoch is refused. In version 2 a marker with the known epoch is refused, too, if a transaction is open.

# %%
from minikafka.common.errors import InvalidProducerEpochException
from minikafka.log.append_origin import AppendOrigin

fences.check(_check_producer_epoch)

# %% [markdown]
# Rung 4: first the checks, then the completed transaction, then the update of the entry.

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
# Rung 6 looks at both lists. The transaction that began first counts, whether it is open or ended but not yet replicated.

# %%
unstable.check(first_unstable_offset)
