# %% [markdown]
# # Leader epochs: rebuild
#
# *A function to complete, and a method of the broker to write anew.*
#
# **Time:** twenty-five minutes: ten for the function, a quarter of an hour for the rung. **Before:** the lesson [Leader epochs](12b-leader-epochs.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call the methods of the same object. `elected_leader.hint()` gives one hint; each further call gives a
# plainer one. `elected_leader.solution()` shows one way; for a rung it opens after your own first try.
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
from minikafka.lessons.leader_epochs.exercises import elected_leader

# %% [markdown]
# **Exercise 1, who is elected.** *Why: to know before you stop a broker which replica will lead.* Some partitions are in a cluster without eligible
# leader replicas (ELR). Their ISR keeps its last member, and `elr` and `last_known` are empty.

# %%
def elect_leader(replicas, leader, isr, elr, last_known, is_acceptable, unclean):
    """replicas: list of broker ids, in the order of the assignment. leader: the present leader, −1 if there is none. isr, elr: lists of
    broker ids. last_known: the last leader before the partition had none, −1 if it is not known. is_acceptable(broker id): True if
    the broker is alive. unclean: True if the topic allows unclean elections.
    Returns (the new leader, −1 if there is none; True if the election is unclean).

    Example: elect_leader([0, 1, 2], 0, [0, 1, 2], [], -1, lambda broker: broker != 0, False) is (1, False).
    """
    return ___


elected_leader.check(elect_leader)

# %% [markdown]
# ## Rungs
#
# In the rung you write one method anew, and minikafka's brokers run with *your* function in its place. Kafka's own brokers run the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must agree: every answer, the state of each partition on each broker, and the leaders' requests to the controller. At the end every byte of every file must agree.
#
# If they differ, you get the shortest workload that was found for it, and the first quantity that differs.

# %%
from minikafka.lessons.leader_epochs.rungs import cuts
from minikafka.server.offset_truncation_state import OffsetTruncationState

cuts

# %%
def get_offset_truncation_state(log, leader_epoch_offset, fetch_offset):
    """log: the follower's. It has log_end_offset and end_offset_for_epoch(epoch), which returns None or two values: epoch (the greatest epoch of
    this log up to the given one) and offset (where that epoch ends, exclusive). leader_epoch_offset: the leader's answer, with leader_epoch and
    end_offset (exclusive); −1 means unknown. fetch_offset: the offset from which the follower would fetch next.
    Returns OffsetTruncationState(offset at which to truncate, True if no further question to the leader is needed).
    """
    return ___


cuts.check(get_offset_truncation_state)
