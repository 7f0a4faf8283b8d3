"""One way to solve each exercise of the lesson *Loading and recovery*."""


def log_end(batches, recovery_point):
    return batches.sparkSession.sql(
        """WITH doubtful AS (
               SELECT * FROM {batches}
               WHERE segment >= (SELECT max(segment) FROM {batches} WHERE segment <= {point}))
           SELECT coalesce((SELECT min(first) FROM doubtful WHERE NOT sound), (SELECT max(last) + 1 FROM {batches})) AS log_end""",
        batches=batches,
        point=recovery_point,
    )


def epochs(batches):
    return batches.sparkSession.sql(
        """SELECT epoch, first AS start_offset
           FROM (SELECT *, max(epoch) OVER (ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                 FROM {batches})
           WHERE epoch > coalesce(before, -1)
           ORDER BY first""",
        batches=batches,
    )


def segments_after(files):
    return files.sparkSession.sql(
        """WITH swaps AS (
               SELECT base, next FROM {files}
               WHERE kind = 'log' AND suffix = 'swap'
                     AND base < coalesce((SELECT min(base) FROM {files} WHERE suffix = 'cleaned'), 9223372036854775807)),
           replaced AS (SELECT min(base) AS low, max(next) AS high FROM swaps)
           SELECT base FROM swaps
           UNION
           SELECT base FROM {files}, replaced
           WHERE kind = 'log' AND suffix = '' AND (low IS NULL OR base < low OR base >= high)
           ORDER BY base""",
        files=files,
    )


def loaded(clean, recovery_point, log_start, first_base, log_end):
    if log_end < log_start:  # segments are missing: all of the log is dropped, it begins anew
        first_base = log_end = log_start
        clean = False
    start = max(log_start, first_base)
    point = log_end if clean else min(recovery_point, log_end)
    return start, max(start, point)
