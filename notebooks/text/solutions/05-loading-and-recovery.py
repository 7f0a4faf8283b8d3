# %% [markdown]
# # Loading and recovery: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.loading import bent, damaged_end, epoch_entries, half_done

# %% [markdown]
# **Exercise 1, where a damaged log ends.** First the segments in doubt, whole ones; then the first bad batch in them.

# %%
def log_end(batches, recovery_point):
    return batches.sparkSession.sql(
        """WITH doubtful AS (
               SELECT * FROM {batches}
               WHERE segment >= (SELECT max(segment) FROM {batches} WHERE segment <= {point}))
           SELECT coalesce((SELECT min(first) FROM doubtful WHERE NOT sound), (SELECT max(last) + 1 FROM {batches})) AS log_end""",
        batches=batches, point=recovery_point,
    )  # fmt: skip


damaged_end.check(log_end)

# %% [markdown]
# **Exercise 2, the epochs that recovery finds.** A batch makes an entry when its epoch is above all before it.

# %%
def epochs(batches):
    return batches.sparkSession.sql(
        """SELECT epoch, first AS start_offset
           FROM (SELECT *, max(epoch) OVER (ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM {batches})
           WHERE epoch > coalesce(before, -1)
           ORDER BY first""",
        batches=batches,
    )  # fmt: skip


epoch_entries.check(epochs)

# %% [markdown]
# **Exercise 3, a replacement that was cut off.** The lowest `.cleaned` file decides which `.swap` segments count.

# %%
def segments_after(files):
    return files.sparkSession.sql(
        """WITH swaps AS (
               SELECT base, next FROM {files}
               WHERE kind = 'log' AND suffix = 'swap'
                     AND base < coalesce((SELECT min(base) FROM {files} WHERE suffix = 'cleaned'), 9223372036854775807)),
           replaced AS (SELECT min(base) AS low, max(next) AS high FROM swaps)
           SELECT base FROM swaps
           UNION
           SELECT base FROM {files}, replaced
           WHERE kind = 'log' AND suffix = '' AND (low IS NULL OR base < low OR base >= high)
           ORDER BY base""",
        files=files,
    )  # fmt: skip


half_done.check(segments_after)

# %% [markdown]
# **Exercise 4, what the checkpoints are bent to.** A log that ends below its start is emptied first; the rest is clamping.

# %%
def loaded(clean, recovery_point, log_start, first_base, log_end):
    if log_end < log_start:
        clean, first_base, log_end = False, log_start, log_start
    start = max(log_start, first_base)
    return start, max(start, log_end if clean else min(recovery_point, log_end))


bent.check(loaded)
