"""One way to solve each exercise of the lesson *Compaction*."""


def slot_of(digest, attempt, slots):
    begin = min(attempt, 12)
    probe = int.from_bytes(digest[begin : begin + 4], "big", signed=True) + max(attempt - 12, 0)
    return (0 if probe == -(2**31) else abs(probe)) % slots


def filthiest(segments, min_ratio):
    return segments.sparkSession.sql(
        """SELECT log
           FROM (SELECT log, sum(IF(base >= first_dirty, size, 0)) / sum(size) AS ratio
                 FROM {segments} WHERE NOT active GROUP BY log)
           WHERE ratio > {min_ratio}
           ORDER BY ratio DESC LIMIT 1""",
        segments=segments,
        min_ratio=min_ratio,
    )


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
