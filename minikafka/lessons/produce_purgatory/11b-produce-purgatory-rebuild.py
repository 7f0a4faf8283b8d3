# %% [markdown]
# # The produce purgatory: rebuild
#
# *Three functions to complete, and two methods of the broker to write anew.*
#
# **Time:** forty-five minutes: half of it for the functions, half for the rungs. **Before:** the lesson [The produce purgatory](11b-produce-purgatory.ipynb), parts 1 to 5.
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
# Each exercise is a function. `check` compares it with Spark's answers and tells the first difference. Kafka has sat the same exam: the tests send the requests to its own brokers, and ask its own `Partition`. The functions of exercises 1 and 2 do the work of Kafka's `ReplicaManager.delayedProduceRequestRequired` and
# `Partition.checkEnoughReplicasReachOffset`; their arguments are the values that those methods read.

# %%
from minikafka.lessons.produce_purgatory.exercises import answered_when, delayed_required, enough_replicas

# %% [markdown]
# **Exercise 1, must the request wait?** *Why: a request that waits costs a producer's patience and a place in the purgatory. (Its records have been let go.)*

# %%
def delayed_produce_request_required(required_acks, errors):
    """required_acks: −1, 0 or 1. errors: a list of the names of errors, one for each partition, after the leader's
    part is done; 'NONE' for a partition that took its records. Returns True if the request has to wait."""
    return ___


delayed_required.check(delayed_produce_request_required)

# %% [markdown]
# **Exercise 2, is this part settled?** *Why: this is the question that every fetch of a follower asks for each box under its key.*

# %%
def check_enough_replicas_reach_offset(leads, required_offset, high_watermark, in_sync, min_isr):
    """leads: this broker still leads the partition. required_offset, high_watermark: exclusive. in_sync: replicas in
    sync, the leader among them. min_isr: the minimum, at most the number of replicas. Returns a pair: whether the
    records are replicated, and 'NONE' or the name of an error. Either ends the wait."""
    return ___


enough_replicas.check(check_enough_replicas_reach_offset)

# %% [markdown]
# **Exercise 3, when is each request answered, in Spark.** *Why: with a trace of requests and fetches you can tell which follower made a producer wait.* All requests have `acks=all`; there is one follower, always in sync, and the minimum is 2.

# %%
def answers(requests, fetches):
    """requests: DataFrame of request, t (when it came), deadline, partition, required (offset); a row for each
    partition of a request. fetches: DataFrame of t, partition, end: the follower has everything below it. Returns a
    DataFrame of request, at (when it was answered), timed_out (how many of its partitions), ascending by request."""
    return ___


answered_when.check(answers)

# %% [markdown]
# ## Rungs
#
# Now the wait itself. In each rung you write one method anew, and minikafka's brokers run with *your* function in its place: producers write with all kinds of `acks`, to partitions
# of which some are here and some are not; followers fetch, leaders change, time passes. Kafka's own brokers live through the same. Most of these lives are drawn, and this page does
# not show them. After each operation every answer, what waits in each broker, and all that it knows of its partitions must agree; at the end every byte of every file.
#
# Where they differ you get the shortest life that was found for it, and the first quantity.

# %%
from minikafka.common.error_codes import Errors
from minikafka.lessons.produce_purgatory.rungs import adds, completes

completes

# %%
def try_complete(self):
    """self: a DelayedProduce: produce_status, pairs of a partition (it has topic_partition) and its status (acks_pending,
    required_offset, response_status.error); _status_validator(topic_partition, required_offset), which returns (whether the high watermark has
    reached it, error or Errors.NONE); force_complete(), which answers. Returns True if this call has answered."""
    return ___


completes.check(try_complete)

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

adds

# %%
def _maybe_add_delayed_produce(self, required_acks, timeout_ms, results, produce_status, response_callback):
    """self: the ReplicaManager: _enough_replicas, the question of rung 1, and delayed_produce_purgatory.try_complete_else_watch(operation, keys).
    DelayedProduce(timeout_ms, produce_status, question, response_callback) is the operation, TopicPartitionOperationKey.of(partition) a key.
    required_acks: ACKS_ALL (−1), 0 or 1. results: dict, partition → result (exception: None if it took its records). produce_status: dict,
    partition → status (response_status). response_callback(dict of partition → response_status) answers. Returns None."""
    return ___


adds.check(_maybe_add_delayed_produce)
