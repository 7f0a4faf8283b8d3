# %% [markdown]
# # High watermark: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.high_watermark import acks_all, clamp, increment, least_end

# %% [markdown]
# **Exercise 1, the least end.** One row for each t first; then a window that never falls.

# %%
def high_watermarks(ends):
    return ends.sparkSession.sql(
        """SELECT t, max(least_end) OVER (ORDER BY t) AS hw
           FROM (SELECT t, CASE WHEN count(end) = count(*) THEN min(end) ELSE 0 END AS least_end FROM {ends} GROUP BY t)
           ORDER BY t""",
        ends=ends,
    )  # fmt: skip


least_end.check(high_watermarks)

# %% [markdown]
# **Exercise 2, update_high_watermark.** The old mark plays no part.

# %%
def updated(old, suggested, log_start, log_end):
    return max(log_start, min(suggested, log_end))


clamp.check(updated)

# %% [markdown]
# **Exercise 3, maybe_increment_high_watermark.** Refused before the old mark is even looked at.

# %%
def incremented(old, new, log_end):
    if new > log_end:
        return "refused"
    return "moved" if new > old else "stays"


increment.check(incremented)

# %% [markdown]
# **Exercise 4, when acks=all is answered.** HW is exclusive: the append of last offset x is answered at the first HW > x.

# %%
def answered(appends, watermarks):
    return appends.sparkSession.sql(
        """SELECT a.t, min(w.t) AS answered
           FROM {appends} a LEFT JOIN {watermarks} w ON w.t >= a.t AND w.hw > a.last_offset
           GROUP BY a.t
           ORDER BY a.t""",
        appends=appends, watermarks=watermarks,
    )  # fmt: skip


acks_all.check(answered)
