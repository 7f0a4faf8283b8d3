# %% [markdown]
# # The produce purgatory: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.produce_purgatory.exercises import answered_when, delayed_required, enough_replicas

# %% [markdown]
# **Exercise 1, must the request wait?** One partition that took its records is enough.

# %%
delayed_required.check(delayed_produce_request_required)

# %% [markdown]
# **Exercise 2, is this part settled?** The minimum comes last: before the records are replicated there is nothing to complain about.

# %%
enough_replicas.check(check_enough_replicas_reach_offset)

# %% [markdown]
# **Exercise 3, when is each request answered.** The join keeps only fetches before the deadline; a partition without one is late.

# %%
answered_when.check(answers)

# %% [markdown]
# ### The rungs
#
# Rung 1 goes through the pending partitions, and answers when none is left. `force_complete` says whether it was this call that answered.

# %%
from minikafka.common.error_codes import Errors
from minikafka.lessons.produce_purgatory.rungs import adds, completes

completes.check(try_complete)

# %% [markdown]
# Rung 2 is exercise 1, and what follows from it. The purgatory tries the request before it watches it, and once more afterwards: the mark may have risen in between.

# %%
from minikafka.cluster.partition import ACKS_ALL
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

adds.check(_maybe_add_delayed_produce)
