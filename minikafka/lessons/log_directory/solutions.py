"""One way to solve each exercise of the lesson *A log directory at scale*."""


def open_transactions(batches):
    return batches.sparkSession.sql(
        """SELECT producerId, min(baseOffset) AS offset
           FROM (SELECT *, max(IF(control, lastOffset, -1)) OVER (PARTITION BY producerId) AS decided FROM {batches})
           WHERE transactional AND NOT control AND baseOffset > decided
           GROUP BY producerId ORDER BY producerId""",
        batches=batches,
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
