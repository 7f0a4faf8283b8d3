# %% [markdown]
# # Replication and leader epochs: rebuild
#
# *Three functions to complete, and four methods of the broker to write anew.*
#
# **Time:** an hour and a half: half an hour for the functions, an hour for the rungs. **Before:** the lesson [Replication and leader epochs](12-replication.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and tells the first difference. The project's tests put Kafka's own `Replica`, `Partition` and `PartitionChangeBuilder` into the same states and compare their answers. The function of exercise 3
# has the name of Kafka's method (`electLeader`), and leaves out the election of the preferred replica.

# %%
from minikafka.lessons.replication.exercises import elected_leader, marks_over_time, out_of_sync

# %% [markdown]
# **Exercise 1, who lags, in Spark.** *Why: to find in a trace why a follower left the ISR although it was fetching all the time.*
# `fetches.sparkSession.sql("SELECT … FROM {fetches} … {now}", fetches=fetches, now=now, …)` queries the table: names in braces are filled in.

# %%
def lagging(fetches, began, leader_end, now, max_lag):
    """fetches: DataFrame of replica, t (ms), offset (asked for), end (of the leader's log at t), of followers that are
    in the ISR. began: ms: since then the leader leads. leader_end: at now (ms). max_lag: replica.lag.time.max.ms.
    Returns a DataFrame: the replicas that must leave the ISR, ascending."""
    return ___


out_of_sync.check(lagging)

# %% [markdown]
# **Exercise 2, the mark over time, in Spark.** *Why: to see afterwards which replica held the mark back, and when.* Here only the ISR counts: every replica outside of it is far behind.

# %%
def high_watermarks(events, min_isr):
    """events: DataFrame of t, replica, end (its known end, −1: none; null: as before), in_isr (BOOLEAN; null: as
    before). Replica 0 leads. min_isr: below that many members the mark stands still.
    Returns a DataFrame of t, hw for every t, ascending; hw begins at 0 and never falls."""
    return ___


marks_over_time.check(high_watermarks)

# %% [markdown]
# **Exercise 3, who is elected.** *Why: to know what happens before you switch a broker off.* Some partitions are in a cluster without eligible leader replicas (ELR). Their ISR keeps its last member, and `elr` and `last_known` are empty.

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
# In each rung you write one method anew, and minikafka's brokers run with *your* function in its place. Kafka's own brokers run the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must agree: every answer, the state of each partition on each broker, and the leaders' requests to the controller. At the end every byte of every file must agree.
#
# If they differ, you get the shortest workload that was found for it, and the first quantity that differs.

# %%
from minikafka.lessons.replication.rungs import cuts, joins, leaves, raises

leaves

# %%
def get_out_of_sync_replicas(self, max_lag_ms):
    """self: the leader's Partition: partition_state (is_inflight, isr), _local_broker_id, get_replica(broker id).state_snapshot
    (log_end_offset, last_caught_up_time_ms), local_log_or_exception.log_end_offset, _time.milliseconds(). Returns a frozenset of
    broker ids: those of the ISR that have been behind for more than max_lag_ms."""
    return ___


leaves.check(get_out_of_sync_replicas)

# %%
joins

# %%
def _is_follower_in_sync(self, follower_replica):
    """self: a Partition: leader_log_if_local, with high_watermark (None: another broker leads), and leader_epoch_start_offset (None likewise).
    follower_replica: has state_snapshot.log_end_offset. Returns True if the follower lacks nothing that may be acknowledged."""
    return ___


joins.check(_is_follower_in_sync)

# %%
from minikafka.server.offset_truncation_state import OffsetTruncationState

cuts

# %%
def get_offset_truncation_state(log, leader_epoch_offset, fetch_offset):
    """log: has log_end_offset, and end_offset_for_epoch(epoch): its greatest epoch up to that one (epoch) and where that ends
    (offset), or None. leader_epoch_offset: has leader_epoch and end_offset, the leader's answer, −1 for unknown. fetch_offset: from
    where the follower would go on. Returns OffsetTruncationState(offset to cut at, whether that settles it)."""
    return ___


cuts.check(get_offset_truncation_state)

# %%
raises

# %%
def _maybe_increment_leader_hw(self, leader_log, current_time_ms):
    """self: the leader's Partition: is_under_min_isr, partition_state.maximal_isr, replica_lag_time_max_ms, remote_replicas (each with
    broker_id and state_snapshot), _is_replica_isr_eligible(broker id). A snapshot has log_end_offset, log_end_offset_metadata, and
    is_caught_up(leader's end, now, longest lag). leader_log: has log_end_offset_metadata, whose message_offset is the number, and
    maybe_increment_high_watermark(metadata): None where nothing rose. Returns True where the mark rose."""
    return ___


raises.check(_maybe_increment_leader_hw)
