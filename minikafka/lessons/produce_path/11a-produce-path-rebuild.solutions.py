# %% [markdown]
# # The produce path: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.produce_path.exercises import append_allowed, sorted_partitions

# %% [markdown]
# **Exercise 1, may the append go on?** Leadership first: a broker that does not lead has no say about the ISR. Then the minimum, which is capped by the number of replicas and counts for `acks=all` only.

# %%
append_allowed.check(may_append)

# %% [markdown]
# **Exercise 2, one response, many answers.** Errors are taken over all rows of a partition, records from the last row that is valid. The order of the `WHEN`s is the order of Kafka's questions.

# %%
sorted_partitions.check(answered)

# %% [markdown]
# ### The rungs
#
# Rung 1 counts the replicas that the partition has, in sync or not.

# %%
from minikafka.lessons.produce_path.rungs import appends, minimum, tells

minimum.check(_effective_min_isr)

# %% [markdown]
# Rung 2 is exercise 1 with the append behind it. The lock is held from the question to the mark, so that nobody changes the ISR in between.

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.common.errors import NotEnoughReplicasException, NotLeaderOrFollowerException
from minikafka.log.log_append_info import LeaderHwChange
from minikafka.log.producer.verification_guard import VerificationGuard

appends.check(append_records_to_leader)

# %% [markdown]
# Rung 3 catches from the special to the general, and goes on with the next partition after each.

# %%
from minikafka.common.errors import InvalidTopicException, RecordValidationException
from minikafka.common.topic import is_internal
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.server.log_append_result import LogAppendResult
from minikafka.server.replica_manager import KNOWN_APPEND_ERRORS

tells.check(_append_to_local_log)
