# %% [markdown]
# # Replication: rebuild
#
# *Two functions to complete, and three methods of the broker to write anew.*
#
# **Time:** an hour and five minutes: twenty minutes for the functions, three quarters of an hour for the rungs. **Before:** the lesson [Replication](12a-replication.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and tells the first difference. The project's tests put Kafka's own `Replica` and `Partition` into the same states and compare their answers.

# %%
from minikafka.lessons.replication.exercises import marks_over_time, out_of_sync

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
# ## Rungs
#
# In each rung you write one method anew, and minikafka's brokers run with *your* function in its place. Kafka's own brokers run the same workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must agree: every answer, the state of each partition on each broker, and the leaders' requests to the controller. At the end every byte of every file must agree.
#
# If they differ, you get the shortest workload that was found for it, and the first quantity that differs.

# %%
from minikafka.lessons.replication.rungs import joins, leaves, raises

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
raises

# %%
def _maybe_increment_leader_hw(self, leader_log, current_time_ms):
    """self: the leader's Partition: is_under_min_isr, partition_state.maximal_isr, replica_lag_time_max_ms, remote_replicas (each with
    broker_id and state_snapshot), _is_replica_isr_eligible(broker id). A snapshot has log_end_offset, log_end_offset_metadata, and
    is_caught_up(leader's end, now, longest lag). leader_log: has log_end_offset_metadata, whose message_offset is the number, and
    maybe_increment_high_watermark(metadata): None where nothing rose. Returns True where the mark rose."""
    return ___


raises.check(_maybe_increment_leader_hw)
