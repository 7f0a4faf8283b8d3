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
