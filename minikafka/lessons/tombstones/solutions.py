"""One way to solve each exercise of the lesson *Tombstones and markers*."""


def surviving(records, end, now):
    return records.sparkSession.sql(
        """SELECT offset
           FROM (SELECT *, max(IF(offset < {end} AND NOT aborted, offset, NULL)) OVER (PARTITION BY key) AS newest
                 FROM {records})
           WHERE NOT aborted
             AND (offset >= {end}
                  OR key IS NOT NULL AND offset = newest
                     AND (value IS NOT NULL OR horizon IS NULL OR {now} < horizon))
           ORDER BY offset""",
        records=records,
        end=end,
        now=now,
    )


def tombstones_gone(tombstones, cleanings, retention_ms):
    return tombstones.sparkSession.sql(
        """WITH horizons AS (
               SELECT offset, min(c.t) + {retention_ms} AS horizon
               FROM {tombstones} w LEFT JOIN {cleanings} c ON c.t >= w.t GROUP BY offset)
           SELECT offset, min(t) AS gone
           FROM horizons LEFT JOIN {cleanings} ON t >= horizon
           GROUP BY offset ORDER BY offset""",
        tombstones=tombstones,
        cleanings=cleanings,
        retention_ms=retention_ms,
    )
