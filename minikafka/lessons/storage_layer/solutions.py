"""One way to solve each exercise of the lesson *Background tasks*."""


def recovery_points(events, now):
    return events.sparkSession.sql(
        """SELECT partition, max(IF(kind = 'roll', log_end, 0)) AS offset
           FROM {events} JOIN (SELECT max(id) AS tick FROM range(30, {now} + 1, 60)) ON second < tick
           GROUP BY partition ORDER BY partition""",
        events=events,
        now=now,
    )


def deleted(segments, now):
    return segments.sparkSession.sql(
        """WITH placed AS (
               SELECT *, lead(base) OVER (PARTITION BY partition ORDER BY base) AS next FROM {segments}),
           judged AS (
               SELECT partition, base, NOT contains(policy, 'compact')
                      AND (coalesce(next <= log_start, false)
                           OR policy = 'delete' AND retention_ms >= 0 AND {now} - newest > retention_ms) AS may_go
               FROM placed)
           SELECT partition, base
           FROM (SELECT *, min(may_go) OVER (PARTITION BY partition ORDER BY base) AS goes FROM judged)
           WHERE goes ORDER BY partition, base""",
        segments=segments,
        now=now,
    )
