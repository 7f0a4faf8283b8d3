"""One way to solve each exercise of the lesson *Append*."""


def offsets_given(appends, max_message_bytes):
    return appends.sparkSession.sql(
        """SELECT t, IF(ok, coalesce(sum(IF(ok, records, 0)) OVER before, 0), NULL) AS first_offset
           FROM (SELECT *, batches = 1 AND base_offset = 0 AND crc_ok AND bytes <= {limit} AS ok FROM {appends})
           WINDOW before AS (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
           ORDER BY t""",
        appends=appends,
        limit=max_message_bytes,
    )


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
        events=events,
        marks=marks,
    )


def new_log_start(event, offset, log_start, hw):
    if event == "truncate fully":
        return offset
    if event == "truncate":
        return min(offset, log_start)
    return log_start if offset > hw else max(offset, log_start)
