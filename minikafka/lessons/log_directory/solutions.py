"""One way to solve each exercise of the lesson *A log directory at scale*."""


def open_transactions(batches):
    return batches.sparkSession.sql(
        """SELECT producerId, min(baseOffset) AS offset
           FROM (SELECT *, max(IF(control, lastOffset, -1)) OVER (PARTITION BY producerId) AS decided FROM {batches})
           WHERE transactional AND NOT control AND baseOffset > decided
           GROUP BY producerId ORDER BY producerId""",
        batches=batches,
    )


def lags(records, groups):
    return records.sparkSession.sql(
        """SELECT name, count(r.offset) AS records, coalesce(max(newest) - min_by(timestamp, r.offset), 0) AS ms
           FROM {groups} g
           LEFT JOIN (SELECT *, max(timestamp) OVER () AS newest FROM {records}) r ON r.offset >= g.offset
           GROUP BY name ORDER BY name""",
        records=records,
        groups=groups,
    )


def reading_from(records, moment):
    return records.sparkSession.sql(
        """WITH wanted AS (SELECT min(offset) AS first FROM {records} WHERE timestamp >= {moment})
           SELECT first AS offset, count(IF(timestamp < {moment}, 1, NULL)) AS older
           FROM wanted JOIN {records} r ON r.offset >= first
           GROUP BY first""",
        records=records,
        moment=moment,
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
