"""One way to solve the exercise of the lesson *Tombstones and markers*."""


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
