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

# %% [markdown]
# ### The rungs
#
# Rung 1 compares three things, and nothing else makes a batch a retry.

# %%
from minikafka.lab.rebuild.ladders.append import checks, finds, stable, unstable

finds.check(find_duplicate_batch)

# %% [markdown]
# Rung 2: a new epoch begins with 0, the same epoch goes on. Of a producer that nobody knows, anything may come first.

# %%
from minikafka.common.errors import OutOfOrderSequenceException

checks.check(_check_sequence)

# %% [markdown]
# Rung 3 is the smaller of two bounds.

# %%
stable.check(last_stable_offset)

# %% [markdown]
# Rung 4 asks both lists: whoever began first holds the others back, open or not yet replicated.

# %%
unstable.check(first_unstable_offset)
