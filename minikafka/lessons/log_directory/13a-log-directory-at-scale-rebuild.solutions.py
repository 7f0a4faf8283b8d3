# %% [markdown]
# # A log directory at scale: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.log_directory.exercises import moment, open_transaction

# %% [markdown]
# **Exercise 1, what is open.** A window gives each batch the offset of its producer's last marker. Transactional batches after that marker are
# undecided.

# %%
open_transaction.check(open_transactions)

# %% [markdown]
# **Exercise 2, from a moment on.** If no record fits, `min` is null, `offset >= null` is true for no row, and GROUP BY over no rows gives no row.

# %%
moment.check(reading_from)
