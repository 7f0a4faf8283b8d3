# %% [markdown]
# # The produce purgatory: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.produce_purgatory.exercises import answered_when, delayed_required, enough_replicas

# %% [markdown]
# **Exercise 1, must the request wait?** The request waits if at least one partition has appended its records.

# %%
delayed_required.check(delayed_produce_request_required)

# %% [markdown]
# **Exercise 2, is this part settled?** The minimum is checked last: before the records are replicated, the request simply waits.

# %%
enough_replicas.check(check_enough_replicas_reach_offset)

# %% [markdown]
# **Exercise 3, when is each request answered.** The join keeps only fetches before the deadline. A partition without such a fetch has timed out.

# %%
answered_when.check(answers)

# %% [markdown]
# ### The rungs
#
# Rung 1 goes through the pending partitions, and answers if none is left. `force_complete` returns whether this call has sent the answer.

# %%
from minikafka.common.error_codes import Errors
from minikafka.lessons.produce_purgatory.rungs import adds, completes

completes.check(try_complete)

# %% [markdown]
# Rung 2 is exercise 1, followed by the answer or the wait. The purgatory checks the request before it begins to watch it, and once more afterwards:
# the high watermark may have risen in between.

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

adds.check(_maybe_add_delayed_produce)
