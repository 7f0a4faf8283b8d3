"""One way to solve each exercise of the lesson *Producers and transactions*."""


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


def producers_known(batches):
    return batches.sparkSession.sql(
        """WITH ended AS (
               SELECT *, max(IF(kind IN ('commit', 'abort'), t, NULL)) OVER (PARTITION BY producer) AS marked
               FROM {batches})
           SELECT producer,
                  coalesce(max_by(sequence + records - 1, t) FILTER (WHERE kind IN ('data', 'plain')), -1) AS last_sequence,
                  coalesce(max_by(first + records - 1, t) FILTER (WHERE kind IN ('data', 'plain')), -1) AS last_offset,
                  min(first) FILTER (WHERE kind = 'data' AND t > coalesce(marked, -1)) AS open_from
           FROM ended GROUP BY producer ORDER BY producer""",
        batches=batches,
    )


def still_known(producers, now):
    day = 86_400_000
    return [producer for producer, timestamp, _, is_open in producers if is_open or now - timestamp < day]
