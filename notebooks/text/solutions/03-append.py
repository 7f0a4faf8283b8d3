# %% [markdown]
# # Append: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.append import first_offsets, last_stable, log_start, sequences

# %% [markdown]
# **Exercise 1, the offsets that a leader gives.** Accepted or not first; then the records accepted before this row.

# %%
first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, a producer's sequences.** Three questions in this order: one of the five? an older epoch? the sequence that was to come?

# %%
sequences.check(answers_to)

# %% [markdown]
# **Exercise 3, the last stable offset.** Each transactional batch gets its marker; it counts until the marker is there *and* below HW.

# %%
last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 4, the log start's moments.** Two kinds of event: those that may only raise it, up to HW, and truncations.

# %%
log_start.check(new_log_start)
