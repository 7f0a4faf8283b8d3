# %% [markdown]
# # Producers and transactions: rebuild
#
# *Four functions to complete, and six methods of the log to rewrite.*
#
# **Time:** an hour and thirty minutes: forty minutes for the functions, fifty minutes for the rungs. **Before:** the lesson [Producers and transactions](05-producers-and-transactions.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `sequences.hint()` gives one hint; each
# further call gives a plainer one. `sequences.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___, wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first difference.

# %%
from minikafka.lessons.producers.exercises import known_producers, last_stable, remembered, sequences

# %% [markdown]
# **Exercise 1, a producer's sequences.** *Why: a producer reports OutOfOrderSequenceException, and you want to know whether the producer or the
# broker is wrong.* Kafka's methods are `ProducerStateEntry.findDuplicateBatch`, and `checkProducerEpoch` and `checkSequence` of `ProducerAppendInfo`.

# %%
def answers_to(batches):
    """batches: list of (epoch, first sequence, number of records), the batches of one producer, in the order in
    which they arrive at an empty log. Returns a list with one entry for each batch: the first offset under
    which it is stored (for a retry: under which it was stored the first time), or the name of the exception:
    "InvalidProducerEpochException" or "OutOfOrderSequenceException".

    Example: answers_to([(0, 0, 3), (0, 3, 2), (0, 3, 2), (0, 9, 1)]) is [0, 3, 3,
    "OutOfOrderSequenceException"].
    """
    return ___


sequences.check(answers_to)

# %% [markdown]
# **Exercise 2, the last stable offset, in Spark.** *Why: one open transaction stops every read_committed consumer.* Kafka's method is
# `UnifiedLog.lastStableOffset`. `events.sparkSession.sql("SELECT … FROM {events} …", events=events, marks=marks)` queries the tables.

# %%
def stable_offsets(events, marks):
    """events: DataFrame of t (a moment), producer (id, null if none), kind ("data": a batch in a transaction,
    "plain": a batch without a transaction, "commit" or "abort": a marker), first and last (offsets, both
    inclusive). marks: DataFrame of t, hw: the high watermark.
    Returns a DataFrame of t, lso: the last stable offset, for each t of marks, ascending by t.

    Example: the event (0, 7, 'data', 0, 2) and the marks (0, 0), (1, 3) give (0, 0), (1, 0).
    """
    return ___


last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 3, what a snapshot says, in Spark.** *Why: `minikafka dump-log` shows you a snapshot, and you want to check it.* Kafka's method is
# `ProducerStateManager.takeSnapshot`.

# %%
def producers_known(batches):
    """batches: DataFrame of t (0, 1, 2 …), producer (id), kind ("data": in a transaction, "plain": without one,
    "commit", "abort": markers, which bring no new epoch), sequence (of the first record; null for a marker),
    records (how many), first (offset of the first record).
    Returns a DataFrame of producer, last_sequence, last_offset (both of the producer's last record, −1 if it
    has written no record), open_from (first offset of its open transaction, null if none is open), ascending by
    producer.

    Example: (0, 7, 'plain', 0, 3, 0) gives (7, 2, 2, NULL).
    """
    return ___


known_producers.check(producers_known)

# %% [markdown]
# **Exercise 4, who is still known.** *Why: a log forgets a producer after a while. A producer that writes once a week is not protected from
# duplicates.* Kafka's method is `ProducerStateManager.removeExpiredProducers`.

# %%
def still_known(producers, now):
    """producers: list of (producer id, timestamp of its last batch, time at which that batch arrived, True if
    it has an open transaction), times in ms. now: the time of the check, in ms. producer.id.expiration.ms is
    one day, 86,400,000 ms.
    Returns the list of the ids that the log still knows after the check, in the same order.

    Example: still_known([(5, 0, 0, False), (6, 3_600_000, 3_600_000, False)], 86_400_000) is [6].
    """
    return ___


remembered.check(still_known)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one of six methods. They decide whether a producer's batch is accepted, and which consumers must wait for it. minikafka
# then runs with your function in place of its own, on workloads that this page does not show. Apache Kafka runs the same workloads. After each
# operation everything that can be observed must be equal, and at the end every byte on disk.

# %%
from minikafka.lessons.producers.rungs import checks, completes, fences, finds, stable, unstable

finds

# %%
def find_duplicate_batch(self, batch):
    """self: the ProducerStateEntry of the batch's producer. batch: it has producer_epoch, base_sequence and
    last_sequence. Returns the BatchMetadata of the batch that this one repeats, or None.
    """
    return ___


finds.check(find_duplicate_batch)

# %%
from minikafka.common.errors import OutOfOrderSequenceException

checks

# %%
def _check_sequence(self, producer_epoch, first_seq, offset):
    """self: a ProducerAppendInfo. producer_epoch, first_seq, offset: epoch, first sequence and offset of the
    batch, ints. Raises OutOfOrderSequenceException, or returns None.
    """
    return ___


checks.check(_check_sequence)

# %%
from minikafka.common.errors import InvalidProducerEpochException

fences

# %%
def _check_producer_epoch(self, producer_epoch, offset, transaction_version):
    """self: a ProducerAppendInfo. producer_epoch, offset: epoch and offset of the batch. transaction_version:
    0, 1 or 2 for a marker, −1 for data. Raises InvalidProducerEpochException, or returns None.
    """
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
    """self: a ProducerAppendInfo. marker: it has control_type and coordinator_epoch. producer_epoch, offset,
    timestamp (ms), transaction_version: those of the marker. Returns a CompletedTxn, or None.
    """
    return ___


completes.check(append_end_txn_marker)

# %%
stable

# %%
def last_stable_offset(self):
    """self: a Log. It has first_unstable_offset (an offset or None) and high_watermark. Returns the last stable
    offset, an int, exclusive."""
    return ___


stable.check(last_stable_offset)

# %%
unstable

# %%
def first_unstable_offset(self):
    """self: a ProducerStateManager. It has ongoing_txns and unreplicated_txns. Returns a LogOffsetMetadata, or
    None."""
    return ___


unstable.check(first_unstable_offset)
