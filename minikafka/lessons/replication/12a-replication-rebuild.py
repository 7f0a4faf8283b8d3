# %% [markdown]
# # Replication: rebuild
#
# *Two functions to complete, and three methods of the broker to rewrite.*
#
# **Time:** fifty-five minutes: twenty-five minutes for the functions, thirty minutes for the rungs. **Before:** the lesson [Replication](12a-replication.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `out_of_sync.hint()` gives one hint; each
# further call gives a plainer one. `out_of_sync.solution()` shows one way; for a rung it opens after your own first try.
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
# In each exercise you complete a function. `check` calls it with several cases, compares the results with Spark's answers, and shows the first difference. The project's tests put Kafka's own `Replica` and `Partition` into the same states and compare their answers.

# %%
from minikafka.lessons.replication.exercises import marks_over_time, out_of_sync

# %% [markdown]
# **Exercise 1, who lags, in Spark.** *Why: a follower can leave the ISR although it fetches all the time. With this query you find the reason in a
# trace.* Kafka's methods are `Partition.getOutOfSyncReplicas` and `Replica.updateFetchStateOrThrow`. `fetches.sparkSession.sql("SELECT … FROM
# {fetches} … {now}", fetches=fetches, now=now, …)` queries the table: names in braces are filled in.

# %%
def lagging(fetches, began, leader_end, now, max_lag):
    """fetches: DataFrame of replica (broker id), t (ms), offset (that the fetch asked for), end (the leader's
    log end offset at t), of followers in the ISR. began: ms, the moment at which the leader began to lead. now:
    ms. leader_end: the leader's log end offset at now. max_lag: replica.lag.time.max.ms. Returns a DataFrame of
    one column, ascending: the replicas that must leave the ISR.

    Example: the fetch (1, 0, 0, 5) with began 0, leader_end 5, now 31000 and max_lag 30000 gives 1.
    """
    return ___


out_of_sync.check(lagging)

# %% [markdown]
# **Exercise 2, the mark over time, in Spark.** *Why: to see afterwards which replica kept the high watermark low, and when.* Kafka's method is
# `Partition.maybeIncrementLeaderHW`. Here only members of the ISR count: every other replica is far behind.

# %%
def high_watermarks(events, min_isr):
    """events: DataFrame of t (a moment: 0, 1, 2 …), replica (broker id), end (its log end offset as the leader
    knows it; −1: it has not fetched yet; null: no change), in_isr (BOOLEAN; null: no change). A moment may have
    rows for several replicas. Replica 0 leads. min_isr: with fewer members in the ISR the high watermark does
    not rise.
    Returns a DataFrame of t, hw for every t, ascending. hw begins at 0 and never falls.

    Example: (0, 0, 0, true), (0, 1, -1, true), (1, 0, 3, NULL), (2, 1, 2, NULL) with min_isr 1 give (0, 0), (1,
    0), (2, 2).
    """
    return ___


marks_over_time.check(high_watermarks)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method. minikafka's brokers then run with *your* function in place of their own. Kafka's own brokers run the same
# workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must agree: every answer, the state of
# each partition on each broker, and the leaders' requests to the controller. At the end every byte of every file must agree.
#
# If they differ, you get the shortest workload that was found for it, and the first quantity that differs.

# %%
from minikafka.lessons.replication.rungs import joins, leaves, raises

leaves

# %%
def get_out_of_sync_replicas(self, max_lag_ms):
    """self: the leader's Partition. It has partition_state (is_inflight, isr: a set of broker ids),
    _local_broker_id, get_replica(broker id).state_snapshot (log_end_offset, last_caught_up_time_ms),
    local_log_or_exception.log_end_offset, and _time.milliseconds().
    Returns a frozenset of broker ids: the members of the ISR that have been behind for more than max_lag_ms.
    """
    return ___


leaves.check(get_out_of_sync_replicas)

# %%
joins

# %%
def _is_follower_in_sync(self, follower_replica):
    """self: a Partition. It has leader_log_if_local, with high_watermark, and leader_epoch_start_offset; both
    are None if another broker leads. follower_replica: it has state_snapshot.log_end_offset. Returns True if
    the follower may join the ISR, else False.
    """
    return ___


joins.check(_is_follower_in_sync)

# %%
raises

# %%
def _maybe_increment_leader_hw(self, leader_log, current_time_ms):
    """self: the leader's Partition. It has is_under_min_isr, partition_state.maximal_isr,
    replica_lag_time_max_ms, remote_replicas (each with broker_id and state_snapshot), and
    _is_replica_isr_eligible(broker id). A snapshot has log_end_offset, log_end_offset_metadata, and
    is_caught_up(leader's end, now in ms, longest lag in ms). leader_log: it has log_end_offset_metadata (its
    message_offset is the offset), and maybe_increment_high_watermark(metadata), which returns None if the mark
    did not rise.
    Returns True if the high watermark rose, else False.
    """
    return ___


raises.check(_maybe_increment_leader_hw)
