# %% [markdown]
# # Read: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.read import answered, between_code, between_spark, read_committed, skipped
from minikafka.log.fetch_isolation import FetchIsolation

# %% [markdown]
# **Exercise 1, between high watermark and log end.** A read ends with its segment, so it is asked again; markers are not counted.

# %%
def messages_between(log):
    count, offset = 0, log.high_watermark
    while offset < log.log_end_offset:
        for batch in log.read(offset, 1_048_576, FetchIsolation.LOG_END, True).records.batches():
            count += 0 if batch.is_control_batch else sum(1 for _ in batch)
            offset = batch.next_offset
    return count


between_code.check(messages_between)

# %% [markdown]
# **Exercise 2, the same at every moment.** The outer join keeps the moments at which nothing waits.

# %%
def messages_waiting(records, marks):
    return records.sparkSession.sql(
        """SELECT m.t, count(r.offset) AS messages
           FROM {marks} m LEFT JOIN {records} r ON r.offset >= m.hw AND r.offset < m.leo AND NOT r.control
           GROUP BY m.t
           ORDER BY m.t""",
        records=records, marks=marks,
    )  # fmt: skip


between_spark.check(messages_waiting)

# %% [markdown]
# **Exercise 3, what a read answers.** The limit yields to the first batch, and both yield to the bound.

# %%
def answer(batches, start, max_length, min_one_message, bound):
    wanted = [(base, size) for base, last, size in batches if last >= start and base < bound]
    first, first_size = wanted[0]
    limit = max(max_length, first_size) if min_one_message else max_length
    return first, min(limit, sum(size for _, size in wanted))


answered.check(answer)

# %% [markdown]
# **Exercise 4, what a read_committed consumer skips.** A set of producers, entered by the list, left by the marker.

# %%
def visible(batches, aborted):
    waiting, aborting, seen = sorted(aborted, key=lambda txn: txn[1]), set(), []
    for offsets, producer, kind in batches:
        while waiting and waiting[0][1] <= offsets[-1]:
            aborting.add(waiting.pop(0)[0])
        if kind == "abort":
            aborting.discard(producer)
        elif kind == "data" and producer not in aborting:
            seen += offsets
    return seen


skipped.check(visible)

# %% [markdown]
# **Exercise 5, read_committed.** No list and no walk: a record's fate is its producer's next marker.

# %%
def committed_offsets(records):
    return records.sparkSession.sql(
        """WITH fates AS (
               SELECT *, first_value(marker) IGNORE NULLS OVER (
                   PARTITION BY producer ORDER BY offset ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
               FROM {records})
           SELECT offset FROM fates
           WHERE marker IS NULL AND (NOT transactional OR fate = 'commit')
             AND offset < (SELECT coalesce(min(offset), 9223372036854775807) FROM fates
                           WHERE transactional AND fate IS NULL)
           ORDER BY offset""",
        records=records,
    )  # fmt: skip


read_committed.check(committed_offsets)
