# %% [markdown]
# # Append: solutions
#
# One way to solve each exercise. Others that pass the checks are as good.

# %%
from minikafka.lab.exercises.append import first_offsets, last_stable, log_start, sequences

# %% [markdown]
# **Exercise 1, the offsets that a leader gives.** Accepted or not first; then the records accepted before this row.

# %%
def offsets_given(appends, max_message_bytes):
    return appends.sparkSession.sql(
        """SELECT t, IF(ok, coalesce(sum(IF(ok, records, 0)) OVER before, 0), NULL) AS first_offset
           FROM (SELECT *, batches = 1 AND base_offset = 0 AND crc_ok AND bytes <= {limit} AS ok FROM {appends})
           WINDOW before AS (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
           ORDER BY t""",
        appends=appends, limit=max_message_bytes,
    )  # fmt: skip


first_offsets.check(offsets_given)

# %% [markdown]
# **Exercise 2, a producer's sequences.** Three questions in this order: one of the five? an older epoch? the sequence that was to come?

# %%
def answers_to(batches):
    log_end, known_epoch, last, recent, answers = 0, None, -1, [], []
    for epoch, first, count in batches:
        expected = last + 1 if epoch == known_epoch else 0
        earlier = [offset for f, c, offset in recent if epoch == known_epoch and (f, c) == (first, count)]
        if earlier:
            answers.append(earlier[0])
        elif known_epoch is not None and epoch < known_epoch:
            answers.append("InvalidProducerEpochException")
        elif known_epoch is not None and first != expected:
            answers.append("OutOfOrderSequenceException")
        else:
            answers.append(log_end)
            recent = [*(recent if epoch == known_epoch else []), (first, count, log_end)][-5:]
            known_epoch, last, log_end = epoch, first + count - 1, log_end + count
    return answers


sequences.check(answers_to)

# %% [markdown]
# **Exercise 3, the last stable offset.** Each transactional batch gets its marker; it counts until the marker is there *and* below HW.

# %%
def stable_offsets(events, marks):
    return events.sparkSession.sql(
        """SELECT m.t, least(m.hw, coalesce(min(d.first), m.hw)) AS lso
           FROM {marks} m LEFT JOIN (
               SELECT e.t, e.first, min(x.t) AS decided, min(x.first) AS marker
               FROM {events} e LEFT JOIN {events} x ON x.producer = e.producer AND x.kind <> 'data' AND x.first > e.first
               WHERE e.kind = 'data'
               GROUP BY e.t, e.first) d
             ON d.t <= m.t AND (d.decided IS NULL OR d.decided > m.t OR d.marker >= m.hw)
           GROUP BY m.t, m.hw
           ORDER BY m.t""",
        events=events, marks=marks,
    )  # fmt: skip


last_stable.check(stable_offsets)

# %% [markdown]
# **Exercise 4, the log start's moments.** Two kinds of event: those that may only raise it, up to HW, and truncations.

# %%
def new_log_start(event, offset, log_start, hw):
    if event == "truncate fully":
        return offset
    if event == "truncate":
        return min(offset, log_start)
    return log_start if offset > hw else max(offset, log_start)


log_start.check(new_log_start)
