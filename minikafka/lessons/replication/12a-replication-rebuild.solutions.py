# %% [markdown]
# # Replication: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.replication.exercises import marks_over_time, out_of_sync

# %% [markdown]
# **Exercise 1, who lags.** A fetch proves something about its own moment, or about the moment of the fetch before, or nothing. `greatest` passes over a null: a follower that never proved anything has the beginning.

# %%
out_of_sync.check(lagging)

# %% [markdown]
# **Exercise 2, the mark over time.** The grid has a row for each moment and replica, so that `last_value` has a gap to fill wherever nothing was told.

# %%
marks_over_time.check(high_watermarks)

# %% [markdown]
# ### The rungs
#
# Rung 1 asks two things of each member: does it end elsewhere than the leader, and has it been so for too long?

# %%
from minikafka.lessons.replication.rungs import joins, leaves, raises

leaves.check(get_out_of_sync_replicas)

# %% [markdown]
# Rung 2 needs both bounds: the mark where it is known, the start of the epoch where a new leader's mark still lags behind.

# %%
joins.check(_is_follower_in_sync)

# %% [markdown]
# Rung 3 takes the stricter set twice: the committed ISR where members help (to reach the minimum), the maximal one where they hold the mark back.

# %%
raises.check(_maybe_increment_leader_hw)
