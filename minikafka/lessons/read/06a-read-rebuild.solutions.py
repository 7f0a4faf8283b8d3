# %% [markdown]
# # Read isolation: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.read.exercises import between_code, between_spark, read_committed, skipped
from minikafka.log.fetch_isolation import FetchIsolation

# %% [markdown]
# **Exercise 1, between high watermark and log end.** A read ends at the end of its segment, so the function reads again. It does not count markers.

# %%
between_code.check(messages_between)

# %% [markdown]
# **Exercise 2, the same at every moment.** The outer join keeps moments at which nothing waits.

# %%
between_spark.check(messages_waiting)

# %% [markdown]
# **Exercise 3, what a read_committed consumer skips.** The function keeps a set of producers: a producer enters it at an offset of the list, and
# leaves it at its abort marker.

# %%
skipped.check(visible)

# %% [markdown]
# **Exercise 4, read_committed.** The query needs no list and no loop: the next marker of a record's producer decides about the record.

# %%
read_committed.check(committed_offsets)

# %% [markdown]
# ### The rung
#
# The last stable offset of an entry tells when no later entry can overlap the read.

# %%
from minikafka.lessons.read.rungs import collects
from minikafka.log.index.transaction_index import TxnIndexSearchResult

collects.check(collect_aborted_txns)
