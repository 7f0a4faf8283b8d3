# %% [markdown]
# # Leader epochs: rebuild
#
# *A function to complete, and a method of the broker to write anew.*
#
# **Time:** twenty-five minutes: ten for the function, a quarter of an hour for the rung. **Before:** the lesson [Leader epochs](12b-leader-epochs.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way (for a rung, after your own first try). This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.replica_witnesses import wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# The exercise is a function. `check` compares it with Spark's answers and tells the first difference. The project's tests put Kafka's own `PartitionChangeBuilder` into the same states and compare its answers. The function
# has the name of Kafka's method (`electLeader`), and leaves out the election of the preferred replica.

# %%
from minikafka.lessons.leader_epochs.exercises import elected_leader

# %% [markdown]
# **Exercise 1, who is elected.** *Why: to know what happens before you switch a broker off.* Some partitions are in a cluster without eligible leader replicas (ELR). Their ISR keeps its last member, and `elr` and `last_known` are empty.

# %%
def elect_leader(replicas, leader, isr, elr, last_known, is_acceptable, unclean):
    """replicas: broker ids in the order of the assignment. leader: the present one, −1 for none. isr, elr: broker ids.
    last_known: the leader before the partition lost it, −1 for none. is_acceptable(broker id): it is alive.
    unclean: the topic allows unclean elections.
    Returns (the leader from now on, −1 for none; whether the election is unclean)."""
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
    """log: has log_end_offset, and end_offset_for_epoch(epoch): its greatest epoch up to that one (epoch) and where that ends
    (offset), or None. leader_epoch_offset: has leader_epoch and end_offset, the leader's answer, −1 for unknown. fetch_offset: from
    where the follower would go on. Returns OffsetTruncationState(offset to cut at, whether that settles it)."""
    return ___


cuts.check(get_offset_truncation_state)
