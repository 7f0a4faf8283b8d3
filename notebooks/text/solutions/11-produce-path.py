# %% [markdown]
# # The produce path: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.produce_path import answered_when, append_allowed, delayed_required, enough_replicas, sorted_partitions

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
