# %% [markdown]
# # Read isolation: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lessons.read.exercises import between_code, between_spark, read_committed, skipped
from minikafka.log.fetch_isolation import FetchIsolation

# %% [markdown]
# **Exercise 1, between high watermark and log end.** A read ends with its segment, so it is asked again; markers are not counted.

# %%
between_code.check(messages_between)

# %% [markdown]
# **Exercise 2, the same at every moment.** The outer join keeps the moments at which nothing waits.

# %%
between_spark.check(messages_waiting)

# %% [markdown]
# **Exercise 3, what a read_committed consumer skips.** A set of producers, entered by the list, left by the marker.

# %%
skipped.check(visible)

# %% [markdown]
# **Exercise 4, read_committed.** No list and no walk: a record's fate is its producer's next marker.

# %%
read_committed.check(committed_offsets)

# %% [markdown]
# ### The rung
#
# The last stable offset that an entry carries tells when no later entry can matter any more.

# %%
from minikafka.lessons.read.rungs import collects
from minikafka.log.index.transaction_index import TxnIndexSearchResult

collects.check(collect_aborted_txns)
