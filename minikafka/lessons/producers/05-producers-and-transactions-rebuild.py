# %% [markdown]
# # Producers and transactions: rebuild
#
# *Four functions to complete, and six methods of the log to write anew.*
#
# **Time:** fifty-five minutes: twenty for the functions, thirty-five for the rungs. **Before:** the lesson [Producers and transactions](05-producers-and-transactions.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way (of a rung, after a try of your own). This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# Each exercise is a function. `check` compares it with Spark's answers and reports the first difference.

# %%
from minikafka.lessons.producers.exercises import known_producers, last_stable, remembered, sequences

# %% [markdown]
# **Exercise 1, a producer's sequences.** *Why: OutOfOrderSequenceException in a producer's log, and the question who is wrong.*

# %%
def answers_to(batches):
    """batches: [(epoch, first sequence, records), …] of one producer, to an empty log. Returns for each the first offset at
    which it is stored, or the name of the exception: InvalidProducerEpochException, OutOfOrderSequenceException."""
    return ___


sequences.check(answers_to)

# %% [markdown]
# **Exercise 2, the last stable offset, in Spark.** *Why: one forgotten transaction stops every read_committed
# consumer.* `events.sparkSession.sql("SELECT … FROM {events} …", events=events, marks=marks)` queries the tables.

# %%
def stable_offsets(events, marks):
    """events: DataFrame of t, producer (null: none), kind (data, plain, commit, abort), first, last offset; `data` is
    transactional. marks: DataFrame of t, hw. Returns a DataFrame of t, lso for each t of marks, in the order of t."""
    return ___


last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 3, what a snapshot says, in Spark.** *Why: `minikafka dump-log` shows you a snapshot; is it what it should be?*

# %%
def producers_known(batches):
    """batches: DataFrame of t, producer, kind (data: transactional, plain, commit, abort), sequence (of the first record; null for
    markers), records, first (offset). Returns a DataFrame of producer, last_sequence, last_offset (−1 without a batch), open_from
    (null: no transaction is open), in the order of producer."""
    return ___


known_producers.check(producers_known)

# %% [markdown]
# **Exercise 4, who is still known.** *Why: a producer that writes once a week is not protected from duplicates between its weeks.*

# %%
def still_known(producers, now):
    """producers: [(id, timestamp of the last batch, when it came, is a transaction open), …], times in ms; now: the time of the
    check. Returns the ids that are known after it, in the same order; `producer.id.expiration.ms` is a day."""
    return ___


remembered.check(still_known)

# %% [markdown]
# ## Rungs
#
# Six methods that decide what a producer's batch becomes, and who must wait for it. minikafka runs with your function in the method's place, on workloads that this page does not show, and Apache Kafka
# does the same: what can be observed after each operation must agree, and at the end every byte on the disk.

# %%
from minikafka.lessons.producers.rungs import checks, completes, fences, finds, stable, unstable

finds

# %%
def find_duplicate_batch(self, batch):
    """self: the ProducerStateEntry of the batch's producer. Returns the BatchMetadata that batch repeats, or None."""
    return ___


finds.check(find_duplicate_batch)

# %%
from minikafka.common.errors import OutOfOrderSequenceException

checks

# %%
def _check_sequence(self, producer_epoch, first_seq, offset):
    """self: a ProducerAppendInfo; the batch's epoch, first sequence and offset. Raises OutOfOrderSequenceException, or returns nothing."""
    return ___


checks.check(_check_sequence)

# %%
from minikafka.common.errors import InvalidProducerEpochException

fences

# %%
def _check_producer_epoch(self, producer_epoch, offset, transaction_version):
    """self: a ProducerAppendInfo; the batch's epoch and offset; transaction_version: 0 to 2 of a marker, −1 of data. Raises
    InvalidProducerEpochException, or returns nothing."""
    return ___


fences.check(_check_producer_epoch)

# %%
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_append_info import TV_UNKNOWN
from minikafka.record.format.control_record import ControlRecordType

completes

# %%
def append_end_txn_marker(self, marker, *, producer_epoch, offset, timestamp, transaction_version):
    """self: a ProducerAppendInfo; marker has control_type and coordinator_epoch; offset: the marker's. Returns a CompletedTxn, or
    None."""
    return ___


completes.check(append_end_txn_marker)

# %%
stable

# %%
def last_stable_offset(self):
    """self: a Log with first_unstable_offset (an offset or None) and high_watermark. Returns an offset, exclusive."""
    return ___


stable.check(last_stable_offset)

# %%
unstable

# %%
def first_unstable_offset(self):
    """self: a ProducerStateManager with ongoing_txns and unreplicated_txns. Returns a LogOffsetMetadata, or None."""
    return ___


unstable.check(first_unstable_offset)
