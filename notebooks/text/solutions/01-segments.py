# %% [markdown]
# # Segments: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.segments import by_size, by_time, rolling, sparse_index

# %% [markdown]
# **Exercise 1, rolling.** Two numbers are carried along: bytes in the active segment, and the log end offset. The question comes
# before the write.

# %%
def base_offsets(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size > segment_bytes - bytes_:
            bases.append(log_end)
            size = 0
        size, log_end = size + bytes_, log_end + count
    return bases


rolling.check(base_offsets)

# %% [markdown]
# **Exercise 2, the sparse index.** The question comes before the batch is counted, so the first batch never has an entry.

# %%
def index_entries(base_offset, batches, interval):
    entries, since_entry, position = [], 0, 0
    for last_offset, bytes_ in batches:
        if since_entry > interval:
            entries.append((last_offset - base_offset, position))
            since_entry = 0
        since_entry, position = since_entry + bytes_, position + bytes_
    return entries


sparse_index.check(index_entries)

# %% [markdown]
# **Exercise 3, retention by size.** `rest` is what stays if this segment and all older ones go. It falls from row to row, so the
# condition never holds again once it has failed: the walk's *stop at the first no* comes for free.

# %%
def deletable_by_size(segments, retention_bytes):
    return segments.sparkSession.sql(
        """SELECT base
           FROM (SELECT base, sum(size) OVER () - sum(size) OVER (ORDER BY base) AS rest FROM {segments})
           WHERE rest >= {limit} AND {limit} >= 0
           ORDER BY base""",
        segments=segments, limit=retention_bytes,
    )  # fmt: skip


by_size.check(deletable_by_size)

# %% [markdown]
# **Exercise 4, retention by time.** Here it does not come for free: `bool_and` over all rows so far is the walk that stops.

# %%
def deletable_by_time(segments, now, retention_ms):
    return segments.sparkSession.sql(
        """SELECT base
           FROM (SELECT base, bool_and({now} - largest_timestamp > {limit}) OVER (ORDER BY base) AS expired FROM {segments})
           WHERE expired AND {limit} >= 0
           ORDER BY base""",
        segments=segments, now=now, limit=retention_ms,
    )  # fmt: skip


by_time.check(deletable_by_time)
