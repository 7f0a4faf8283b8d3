# %% [markdown]
# # The produce path: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.produce_path.exercises import answered_when, append_allowed, delayed_required, enough_replicas, sorted_partitions

# %% [markdown]
# **Exercise 1, may the append go on?** Leadership first: a broker that does not lead has no say about the ISR. Then the minimum, which is capped by the number of replicas and counts for `acks=all` only.

# %%
append_allowed.check(may_append)

# %% [markdown]
# **Exercise 2, must the request wait?** One partition that took its records is enough.

# %%
delayed_required.check(delayed_produce_request_required)

# %% [markdown]
# **Exercise 3, is this part settled?** The minimum comes last: before the records are replicated there is nothing to complain about.

# %%
enough_replicas.check(check_enough_replicas_reach_offset)

# %% [markdown]
# **Exercise 4, one response, many answers.** Errors are taken over all rows of a partition, records from the last row that is valid. The order of the `WHEN`s is the order of Kafka's questions.

# %%
sorted_partitions.check(answered)

# %% [markdown]
# **Exercise 5, when is each request answered.** The join keeps only fetches before the deadline; a partition without one is late.

# %%
answered_when.check(answers)

# %% [markdown]
# ### The rungs
#
# Rung 1 counts the replicas that the partition has, in sync or not.

# %%
from minikafka.lessons.produce_path.rungs import adds, appends, completes, minimum, tells

minimum.check(_effective_min_isr)

# %% [markdown]
# Rung 2 goes through the pending partitions, and answers when none is left. `force_complete` says whether it was this call that answered.

# %%
from minikafka.common.error_codes import Errors

completes.check(try_complete)

# %% [markdown]
# Rung 3 is exercise 2, and what follows from it. The purgatory tries the request before it watches it, and once more afterwards: the mark may have risen in between.

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

adds.check(_maybe_add_delayed_produce)

# %% [markdown]
# Rung 4 is exercise 1 with the append behind it. The lock is held from the question to the mark, so that nobody changes the ISR in between.

# %%
from minikafka.common.errors import NotEnoughReplicasException, NotLeaderOrFollowerException
from minikafka.log.log_append_info import LeaderHwChange
from minikafka.log.producer.verification_guard import VerificationGuard

appends.check(append_records_to_leader)

# %% [markdown]
# Rung 5 catches from the special to the general, and goes on with the next partition after each.

# %%
from minikafka.common.errors import InvalidTopicException, RecordValidationException
from minikafka.common.topic import is_internal
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.server.log_append_result import LogAppendResult
from minikafka.server.replica_manager import KNOWN_APPEND_ERRORS

tells.check(_append_to_local_log)
