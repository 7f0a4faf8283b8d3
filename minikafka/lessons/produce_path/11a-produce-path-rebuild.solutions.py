# %% [markdown]
# # The produce path: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.produce_path.exercises import append_allowed, sorted_partitions

# %% [markdown]
# **Exercise 1, may the append go on?** First check who leads: a broker that does not lead does not know the ISR. Then check the minimum. It is at
# most the number of replicas, and counts for `acks=all` only.

# %%
append_allowed.check(may_append)

# %% [markdown]
# **Exercise 2, one response, many answers.** The error comes from all rows of a partition, the number of records from its last valid row. The order
# of the `WHEN`s is the order of Kafka's checks.

# %%
sorted_partitions.check(answered)

# %% [markdown]
# ### The rungs
#
# Rung 1 counts all replicas of the partition, whether they are in sync or not.

# %%
from minikafka.lessons.produce_path.rungs import appends, minimum, tells

minimum.check(_effective_min_isr)

# %% [markdown]
# Rung 2 is exercise 1, followed by the append. It holds the lock from the check to the high watermark, so that the ISR cannot change in between.

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.common.errors import NotEnoughReplicasException, NotLeaderOrFollowerException
from minikafka.log.log_append_info import LeaderHwChange
from minikafka.log.producer.verification_guard import VerificationGuard

appends.check(append_records_to_leader)

# %% [markdown]
# Rung 3 catches special exceptions before general ones, and continues with the next partition after each.

# %%
from minikafka.common.errors import InvalidTopicException, RecordValidationException
from minikafka.common.topic import is_internal
from minikafka.log.log_append_info import LogAppendInfo
from minikafka.server.log_append_result import LogAppendResult
from minikafka.server.replica_manager import KNOWN_APPEND_ERRORS

tells.check(_append_to_local_log)
