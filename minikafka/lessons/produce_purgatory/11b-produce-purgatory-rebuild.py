# %% [markdown]
# # The produce purgatory: rebuild
#
# *Three functions to complete, and two methods of the broker to rewrite.*
#
# **Time:** forty-five minutes: twenty-five minutes for the functions, twenty minutes for the rungs. **Before:** the lesson [The produce purgatory](11b-produce-purgatory.ipynb), parts 1 to 5.
#
# A `___` is a blank for you to fill: write your code there and run the cell. `check` answers *correct*, *not attempted*, or *not yet*; with *not yet*
# it shows the first difference. For help, call `hint()` or `solution()` of the object that has `check`. `delayed_required.hint()` gives one hint;
# each further call gives a plainer one. `delayed_required.solution()` shows one way; for a rung it opens after your own first try.
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
# difference. The project's tests send the same requests to Kafka's own brokers, and put the same questions to Kafka's own `Partition`.

# %%
from minikafka.lessons.produce_purgatory.exercises import answered_when, delayed_required, enough_replicas

# %% [markdown]
# **Exercise 1, must the request wait?** *Why: a producer waits for a request that waits in the purgatory.* The function does the work of Kafka's
# `ReplicaManager.delayedProduceRequestRequired`.

# %%
def delayed_produce_request_required(required_acks, errors):
    """required_acks: −1 (all), 0 or 1. errors: list of names of errors, one for each partition of the request,
    after the leader has tried to append; "NONE" for a partition whose records were appended. Returns True if
    the request must wait, else False.

    Example: delayed_produce_request_required(-1, ["NONE"]) is True.
    """
    return ___


delayed_required.check(delayed_produce_request_required)

# %% [markdown]
# **Exercise 2, is this part settled?** *Why: each fetch of a follower checks the waiting requests of that partition in this way.* The function does
# the work of Kafka's `Partition.checkEnoughReplicasReachOffset`. Its arguments are the values that this method reads.

# %%
def check_enough_replicas_reach_offset(leads, required_offset, high_watermark, in_sync, min_isr):
    """leads: True if this broker still leads the partition. required_offset: the offset after the request's
    last record, exclusive. high_watermark: exclusive. in_sync: number of replicas in the ISR, the leader
    included. min_isr: the minimum that counts; it is at most the number of replicas. Returns a pair: True if
    the records are replicated, and "NONE" or the name of an error ("NOT_LEADER_OR_FOLLOWER" or
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND"). The request waits only if the pair is (False, "NONE").

    Example: check_enough_replicas_reach_offset(True, 2, 3, 3, 1) is (True, "NONE").
    """
    return ___


enough_replicas.check(check_enough_replicas_reach_offset)

# %% [markdown]
# **Exercise 3, when is each request answered, in Spark.** *Why: with a trace of requests and fetches you can find out why a producer had to wait.*
# Kafka's class is `DelayedProduce`. All requests have `acks=all`. There is one follower; it is always in sync, and the minimum is 2.

# %%
def answers(requests, fetches):
    """requests: DataFrame of request (its number), t (when it arrived), deadline, partition, required (offset,
    exclusive): one row for each partition of a request. fetches: DataFrame of t, partition, end: the follower
    has all records below end. t and deadline are moments of one clock. Returns a DataFrame of request, at (when
    it was answered), timed_out (for how many of its partitions the answer was REQUEST_TIMED_OUT), ascending by
    request.

    Example: the request (1, 0, 5, 't-0', 2) and the fetches (1, 't-0', 0), (2, 't-0', 2) give (1, 2, 0).
    """
    return ___


answered_when.check(answers)

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
from minikafka.common.error_codes import Errors
from minikafka.lessons.produce_purgatory.rungs import adds, completes

completes

# %%
def try_complete(self):
    """self: a DelayedProduce. produce_status: pairs of a partition (with topic_partition) and its status
    (acks_pending, required_offset, response_status.error). _status_validator(topic_partition, required_offset)
    returns (True if the high watermark has reached the offset, an error or Errors.NONE). force_complete() sends
    the answer and returns True, or False if it was already sent.
    Returns True if this call has answered the request, else False.
    """
    return ___


completes.check(try_complete)

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

adds

# %%
def _maybe_add_delayed_produce(self, required_acks, timeout_ms, results, produce_status, response_callback):
    """self: the ReplicaManager, with _enough_replicas (the function that rung 1 calls as _status_validator) and
    delayed_produce_purgatory.try_complete_else_watch(operation, keys). DelayedProduce(timeout_ms,
    produce_status, _enough_replicas, response_callback) is the operation;
    TopicPartitionOperationKey.of(topic_partition) is a key. required_acks: ACKS_ALL (−1), 0 or 1. results:
    dict, partition → result (its exception is None if the records were appended). produce_status: dict,
    partition → status (with response_status). response_callback(dict of partition → response_status) sends the
    answer. Returns None.
    """
    return ___


adds.check(_maybe_add_delayed_produce)
