"""One way to solve each exercise of the lesson *Replication*."""


def lagging(fetches, began, leader_end, now, max_lag):
    return fetches.sparkSession.sql(
        """SELECT replica
           FROM (SELECT *, CASE WHEN offset >= end THEN t
                                WHEN offset >= lag(end) OVER fetched THEN lag(t) OVER fetched END AS caught_up
                 FROM {fetches} WINDOW fetched AS (PARTITION BY replica ORDER BY t))
           GROUP BY replica
           HAVING max_by(offset, t) <> {leader_end} AND {now} - greatest({began}, max(caught_up)) > {max_lag}
           ORDER BY replica""",
        fetches=fetches,
        began=began,
        leader_end=leader_end,
        now=now,
        max_lag=max_lag,
    )


def high_watermarks(events, min_isr):
    return events.sparkSession.sql(
        """WITH grid AS (SELECT * FROM (SELECT DISTINCT t FROM {events}), (SELECT DISTINCT replica FROM {events})),
                known AS (SELECT t, last_value(end, true) OVER so_far AS end, last_value(in_isr, true) OVER so_far AS in_isr
                          FROM grid LEFT JOIN {events} USING (t, replica)
                          WINDOW so_far AS (PARTITION BY replica ORDER BY t)),
                least AS (SELECT t, min(end) AS end, count(*) AS members FROM known WHERE in_isr GROUP BY t)
           SELECT t, max(IF(members >= {min_isr}, greatest(end, 0), 0)) OVER (ORDER BY t) AS hw
           FROM least ORDER BY t""",
        events=events,
        min_isr=min_isr,
    )
