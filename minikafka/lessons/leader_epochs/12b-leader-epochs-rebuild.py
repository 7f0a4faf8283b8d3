# %% [markdown]
# # Leader epochs: rebuild
#
# *Two functions to complete, and a method of the broker to rewrite.*
#
# **Time:** thirty-five minutes: twenty-five minutes for the functions, ten minutes for the rung. **Before:** the lesson [Leader epochs](12b-leader-epochs.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `elected_leader.hint()` gives one hint; each
# further call gives a plainer one. `elected_leader.solution()` shows one way; for a rung it opens after your own first try.
#
# This notebook has its own kernel, so nothing from the lesson is defined here. Begin with the first cell. It takes a few seconds, because it starts
# Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.replica_witnesses import wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first
# difference. The project's tests put Kafka's own `PartitionChangeBuilder` into the same states and compare its answers. The function of exercise 1
# has the name of Kafka's `PartitionChangeBuilder.electLeader`, without the election of the preferred replica.

# %%
from minikafka.lessons.leader_epochs.exercises import elected_leader, ends_of_epochs

# %% [markdown]
# **Exercise 1, who is elected.** *Why: to know before you stop a broker which replica will lead.* Some partitions are in a cluster without eligible
# leader replicas (ELR). Their ISR keeps its last member, and `elr` and `last_known` are empty.

# %%
def elect_leader(replicas, leader, isr, elr, last_known, is_acceptable, unclean):
    """replicas: list of broker ids, in the order of the assignment. leader: the present leader, −1 if there is
    none. isr, elr: lists of broker ids. last_known: the last leader before the partition had none, −1 if it is
    not known. is_acceptable(broker id): True if the broker is alive. unclean: True if the topic allows unclean
    elections.
    Returns (the new leader, −1 if there is none; True if the election is unclean).

    Example: elect_leader([0, 1, 2], 0, [0, 1, 2], [], -1, lambda broker: broker != 0, False) is (1, False).
    """
    return ___


elected_leader.check(elect_leader)

# %% [markdown]
# **Exercise 2, where an epoch ended, in Spark.** *Why: with this answer of the leader a follower finds out where to truncate.* Kafka's method is
# `LeaderEpochFileCache.endOffsetFor`.
# `epochs.sparkSession.sql("SELECT … FROM {epochs} … {log_end}", epochs=epochs, log_end=log_end, asked=asked)` queries the tables: names in braces are
# filled in.

# %%
def epoch_ends(epochs, log_end, asked):
    """epochs: DataFrame of epoch, start_offset (of its first record): the epochs in the leader's log, at least
    one; both columns rise. log_end: the leader's log end offset, exclusive. asked: DataFrame of epoch (0 or
    more): the epochs that followers ask for, each once.
    Returns a DataFrame of epoch, found, end_offset, ascending by epoch, one row for each row of asked. found:
    the epoch of the leader's answer. end_offset: where that epoch ends in the leader's log, exclusive. Both are
    null if the epoch asked for is above the leader's latest one. For an epoch below the leader's first one,
    found is the epoch asked for, and end_offset the leader's first start_offset.

    Example: the epochs (0, 0), (3, 2), the log end 5 and the asked epoch 1 give (1, 0, 2).
    """
    return ___


ends_of_epochs.check(epoch_ends)

# %% [markdown]
# ## Rungs
#
# You rewrite one method. minikafka's brokers then run with *your* function in place of their own. Kafka's own brokers run the same workloads. Most
# workloads are drawn at random, and this page does not show them. After each operation these must agree: every answer, the state of each partition on
# each broker, and the leaders' requests to the controller. At the end every byte of every file must agree.
#
# If they differ, you get the shortest workload that was found for it, and the first quantity that differs.

# %%
from minikafka.lessons.leader_epochs.rungs import cuts
from minikafka.server.offset_truncation_state import OffsetTruncationState

cuts

# %%
def get_offset_truncation_state(log, leader_epoch_offset, fetch_offset):
    """log: the follower's. It has log_end_offset and end_offset_for_epoch(epoch), which returns None or two
    values: epoch (the greatest epoch of this log up to the given one) and offset (where that epoch ends,
    exclusive). leader_epoch_offset: the leader's answer, with leader_epoch and end_offset (exclusive); −1 means
    unknown. fetch_offset: the offset from which the follower would fetch next.
    Returns OffsetTruncationState(offset at which to truncate, True if no further question to the leader is
    needed).
    """
    return ___


cuts.check(get_offset_truncation_state)
