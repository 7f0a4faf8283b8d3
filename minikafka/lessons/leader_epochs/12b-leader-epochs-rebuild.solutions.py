# %% [markdown]
# # Leader epochs: solutions
#
# One way to solve each. Others that pass the checks are as good.

# %%
from minikafka.lessons.leader_epochs.exercises import elected_leader, ends_of_epochs

# %% [markdown]
# **Exercise 1, who is elected.** The present leader first, then the order of the assignment; the order of the ISR does not matter. If ISR and ELR are
# both empty, the last known leader may return, before any other replica.

# %%
elected_leader.check(elect_leader)

# %% [markdown]
# **Exercise 2, where an epoch ended.** The answer is about the greatest epoch up to the one asked for. It ends where the next newer epoch begins, or at the log end.

# %%
ends_of_epochs.check(epoch_ends)

# %% [markdown]
# ### The rung
#
# Rung 1 returns `False` in one case only: the follower does not have the epoch that the leader named, but an older one. It truncates, and asks
# again with the epoch that is then its last one.

# %%
from minikafka.lessons.leader_epochs.rungs import cuts
from minikafka.server.offset_truncation_state import OffsetTruncationState

cuts.check(get_offset_truncation_state)
