"""One way to solve each exercise of the lesson *An audit of a log directory*."""


def lags(records, groups):
    return records.sparkSession.sql(
        """SELECT name, count(r.offset) AS records, coalesce(max(newest) - min_by(timestamp, r.offset), 0) AS ms
           FROM {groups} g
           LEFT JOIN (SELECT *, max(timestamp) OVER () AS newest FROM {records}) r ON r.offset >= g.offset
           GROUP BY name ORDER BY name""",
        records=records,
        groups=groups,
    )


def first_difference(ours, theirs, high_watermark):
    return ours.sparkSession.sql(
        """SELECT min(offset) AS offset
           FROM {ours} o FULL JOIN {theirs} t USING (offset)
           WHERE offset < {high_watermark}
             AND NOT (o.timestamp <=> t.timestamp AND o.key <=> t.key AND o.value <=> t.value)
           HAVING min(offset) IS NOT NULL""",
        ours=ours,
        theirs=theirs,
        high_watermark=high_watermark,
    )


def saved(records, end):
    return records.sparkSession.sql(
        """SELECT CAST(key AS STRING) AS key, count(*) - 1 AS removed
           FROM {records} WHERE offset < {end}
           GROUP BY key HAVING count(*) > 1 ORDER BY key""",
        records=records,
        end=end,
    )
