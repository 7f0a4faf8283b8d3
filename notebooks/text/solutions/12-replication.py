# %% [markdown]
# # Replication and leader epochs: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.replication import counted_end, elected_leader, marks_over_time, out_of_sync, truncation_point

# %% [markdown]
# **Exercise 1, who lags.** A fetch proves something about its own moment, or about the moment of the fetch before, or nothing. `greatest` passes over a null: a follower that never proved anything has the beginning.

# %%
out_of_sync.check(lagging)

# %% [markdown]
# **Exercise 2, the least end that counts.** Twice the stricter set: the committed ISR where members help (to reach the minimum), the maximal one where they hold the mark back.

# %%
counted_end.check(maybe_increment_leader_hw)

# %% [markdown]
# **Exercise 3, the mark over time.** The grid has a row for each moment and replica, so that `last_value` has a gap to fill wherever nothing was told.

# %%
marks_over_time.check(high_watermarks)

# %% [markdown]
# **Exercise 4, where a follower cuts.** `False` in one case only: the follower has never had the leader's epoch. It cuts, and asks with what is then its last one.

# %%
truncation_point.check(get_offset_truncation_state)

# %% [markdown]
# **Exercise 5, who is elected.** The present leader first, then the order of the assignment; the order of the ISR is nobody's.

# %%
elected_leader.check(elect_leader)
