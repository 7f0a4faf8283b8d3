# %% [markdown]
# # The produce path: rebuild
#
# *Two functions to complete, and three methods of the broker to write anew.*
#
# **Time:** forty-five minutes: half of it for the functions, half for the rungs. **Before:** the lesson [The produce path](11a-produce-path.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill. `check` says *correct*, *not attempted*, or *not yet*, with the first difference; each call of `hint()`
# reveals a little more; `solution()` shows one way (of a rung, after a try of your own). This notebook has a kernel of its own, which knows nothing of what ran in the lesson: begin
# with the first cell. It takes a few seconds, because it wakes Spark and Apache Kafka, which judge what you write.

# %%
from minikafka.lab import ___
from minikafka.lab.stage.replica_witnesses import wake_witnesses

wake_witnesses()

# %% [markdown]
# ## Exercises
#
# Each exercise is a function. `check` compares it with Spark's answers and tells the first difference. Kafka has sat the same exam: the tests send the requests to its own brokers. The function of exercise 1 does the work of the first half of Kafka's `Partition.appendRecordsToLeader`; its arguments are the values that the method reads.

# %%
from minikafka.lessons.produce_path.exercises import append_allowed, sorted_partitions

# %% [markdown]
# **Exercise 1, may the append go on?** *Why: to know which of your producers stop when a broker is down, and which do not notice.*

# %%
def may_append(leads, isr_size, min_isr, replicas, required_acks):
    """leads: this broker leads the partition. isr_size: replicas in sync, the leader among them. min_isr:
    min.insync.replicas. replicas: how many the partition has. required_acks: −1, 0 or 1. Returns 'NONE' or the name
    of an error."""
    return ___


append_allowed.check(may_append)

# %% [markdown]
# **Exercise 2, one response, many answers, in Spark.** *Why: a producer has to read each partition's answer by itself.* Broker 0 is asked, with `acks=1`, and everybody may write everywhere.
# `requested.sparkSession.sql("SELECT … FROM {requested} LEFT JOIN {known} …", requested=requested, known=known)` queries the tables: names in braces are filled in.

# %%
def answered(requested, known):
    """requested: DataFrame of place (in the request, from 0), partition, batches (how many), records (in all of them).
    known: DataFrame of partition, leader (a broker's id). Returns a DataFrame of partition, error (its name), appended
    (records), each partition once, ascending."""
    return ___


sorted_partitions.check(answered)

# %% [markdown]
# ## Rungs
#
# Now the path itself. In each rung you write one method anew, and minikafka's brokers run with *your* function in its place: producers write with all kinds of `acks`, to partitions
# of which some are here and some are not; followers fetch, leaders change, time passes. Kafka's own brokers live through the same. Most of these lives are drawn, and this page does
# not show them. After each operation every answer, what waits in each broker, and all that it knows of its partitions must agree; at the end every byte of every file.
#
# Where they differ you get the shortest life that was found for it, and the first quantity.

# %%
from minikafka.lessons.produce_path.rungs import appends, minimum, tells

minimum

# %%
def _effective_min_isr(self, leader_log):
    """self: the leader's Partition: remote_replicas, those on other brokers. leader_log: has config.min_in_sync_replicas, the topic's
    setting. Returns how many replicas must be in sync for acks=all, the leader among them."""
    return ___


minimum.check(_effective_min_isr)

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.common.errors import NotEnoughReplicasException, NotLeaderOrFollowerException
from minikafka.log.log_append_info import LeaderHwChange
from minikafka.log.producer.verification_guard import VerificationGuard

appends

# %%
def append_records_to_leader(
    self, records, origin, required_acks, verification_guard=VerificationGuard.SENTINEL, transaction_version=-1
):
    """self: a Partition: leader_log_if_local (None: another broker leads), partition_state.isr, _effective_min_isr(log), leader_epoch,
    topic_partition, _time.milliseconds(), _maybe_increment_leader_hw(log, now): True if the mark rose. The log has append_as_leader(records,
    leader epoch, origin, guard, transaction version). Returns what that returned, with leader_hw_change set."""
    return ___


appends.check(append_records_to_leader)

# %%
from minikafka.common.errors import InvalidTopicException, RecordValidationException
from minikafka.common.topic import is_internal
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.server.log_append_result import LogAppendResult
from minikafka.server.replica_manager import KNOWN_APPEND_ERRORS

tells

# %%
def _append_to_local_log(
    self, internal_topics_allowed, origin, entries_per_partition, required_acks, verification_guards, transaction_version
):
    """self: the ReplicaManager: get_partition_or_exception(key), and _failed_append(key, error), the log start for an answer.
    entries_per_partition: dict, key (it has topic_partition) → records. verification_guards: dict, topic_partition → guard. Returns a dict:
    key → LogAppendResult(info, exception, has_custom_error_message); of a failure the info is LogAppendInfo.unknown(log start, record errors)."""
    return ___


tells.check(_append_to_local_log)
