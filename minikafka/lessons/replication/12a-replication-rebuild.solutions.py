# %% [markdown]
# # Replication: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.replication.exercises import marks_over_time, out_of_sync

# %% [markdown]
# **Exercise 1, who lags.** A fetch proves that the follower was caught up at its own moment, or at the moment of the fetch before, or it proves
# nothing. `greatest` ignores null: a follower without any proof gets the time at which the leader began.

# %%
out_of_sync.check(lagging)

# %% [markdown]
# **Exercise 2, the mark over time.** The grid has a row for each moment and replica. `last_value` then fills the rows in which nothing changed.

# %%
marks_over_time.check(high_watermarks)

# %% [markdown]
# ### The rungs
#
# Rung 1 checks two things for each member. Does its log end at another offset than the leader's? Was it caught up too long ago?

# %%
from minikafka.lessons.replication.rungs import joins, leaves, raises

leaves.check(get_out_of_sync_replicas)

# %% [markdown]
# Rung 2 needs both bounds: the high watermark, and the start of the leader's epoch, because a new leader's high watermark may be too low.

# %%
joins.check(_is_follower_in_sync)

# %% [markdown]
# Rung 3 takes the stricter set in both cases. The committed ISR must have the minimum number of members, and every member of the maximal ISR limits
# the high watermark.

# %%
raises.check(_maybe_increment_leader_hw)
