# %% [markdown]
# # The produce path: rebuild
#
# *Two functions to complete, and three methods of the broker to rewrite.*
#
# **Time:** an hour: twenty minutes for the functions, forty minutes for the rungs. **Before:** the lesson [The produce path](11a-produce-path.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `append_allowed.hint()` gives one hint; each
# further call gives a plainer one. `append_allowed.solution()` shows one way; for a rung it opens after your own first try.
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
# difference. The project's tests send the same requests to Kafka's own brokers, and compare their answers, too.

# %%
from minikafka.lessons.produce_path.exercises import append_allowed, sorted_partitions

# %% [markdown]
# **Exercise 1, may the append go on?** *Why: to know which of your producers get errors when a broker is down, and which continue to write.* The
# function does the work of the first half of Kafka's `Partition.appendRecordsToLeader`. Its arguments are the values that this method reads.

# %%
def may_append(leads, isr_size, min_isr, replicas, required_acks):
    """leads: True if this broker leads the partition. isr_size: number of replicas in the ISR, the leader
    included. min_isr: min.insync.replicas. replicas: number of replicas of the partition. required_acks: −1
    (all), 0 or 1.
    Returns "NONE" or the name of an error: "NOT_LEADER_OR_FOLLOWER" or "NOT_ENOUGH_REPLICAS".

    Example: may_append(True, 2, 1, 2, -1) is "NONE".
    """
    return ___


append_allowed.check(may_append)

# %% [markdown]
# **Exercise 2, one response, many answers, in Spark.** *Why: one response has a separate answer for each partition, and a producer must check each of
# them.* Kafka's methods are `KafkaApis.handleProduceRequest` and `ReplicaManager.appendRecords`. The request goes to broker 0, with `acks=1`. There
# are no access rights to check. `requested.sparkSession.sql("SELECT … FROM {requested} LEFT JOIN {known} …", requested=requested, known=known)`
# queries the tables: names in braces are filled in.

# %%
def answered(requested, known):
    """requested: DataFrame of place (of the row in the request, from 0), partition, batches (number of
    batches), records (in all of them). A partition may have several rows. known: DataFrame of partition, leader
    (broker id): all partitions that exist.
    Returns a DataFrame of partition, error, appended (number of records appended by this request): one row for
    each partition of the request, ascending. error: "NONE", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_RECORD" or
    "NOT_LEADER_OR_FOLLOWER".

    Example: the request (0, 't-0', 1, 2), (1, 't-9', 1, 5) with the known partition ('t-0', 0) gives ('t-0',
    'NONE', 2), ('t-9', 'UNKNOWN_TOPIC_OR_PARTITION', 0).
    """
    return ___


sorted_partitions.check(answered)

# %% [markdown]
# ## Rungs
#
# In each rung you rewrite one method. minikafka's brokers then run with *your* function in place of their own. Producers write with all kinds of
# `acks`, to partitions that exist on this broker and to others; followers fetch, leaders change, and time passes. Kafka's own brokers run the same
# workloads. Most workloads are drawn at random, and this page does not show them. After each operation these must be equal: every answer, the
# requests that wait in each broker, and the state of each partition on each broker. At the end every byte of every file must be equal.
#
# If something differs, you see the shortest workload that was found, and the first quantity that differs.

# %%
from minikafka.lessons.produce_path.rungs import appends, minimum, tells

minimum

# %%
def _effective_min_isr(self, leader_log):
    """self: the leader's Partition, with remote_replicas: its replicas on other brokers. leader_log: it has
    config.min_in_sync_replicas, the topic's setting. Returns how many replicas must be in sync for acks=all,
    the leader included, an int.
    """
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
    """self: a Partition. It has leader_log_if_local (None if another broker leads), partition_state.isr,
    _effective_min_isr(log), leader_epoch, topic_partition, _time.milliseconds(), and
    _maybe_increment_leader_hw(log, now), which returns True if the high watermark rose. The log has
    append_as_leader(records, leader epoch, origin, guard, transaction version). required_acks: −1 (all), 0 or
    1. Returns the result of append_as_leader, with its leader_hw_change set.
    """
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
    """self: the ReplicaManager. It has get_partition_or_exception(key), and _failed_append(key, error), which
    returns the log start offset for an answer. entries_per_partition: dict, key → records; a key has
    topic_partition. verification_guards: dict, topic_partition → guard.
    Returns a dict, key → LogAppendResult(info, exception, has_custom_error_message). After a failure the info
    is LogAppendInfo.unknown(log start offset, record errors).
    """
    return ___


tells.check(_append_to_local_log)
