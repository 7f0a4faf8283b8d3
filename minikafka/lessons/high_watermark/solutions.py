"""One way to solve each exercise of the lesson *High watermark*."""


def high_watermarks(ends):
    return ends.sparkSession.sql(
        """SELECT t, max(least_end) OVER (ORDER BY t) AS hw
           FROM (SELECT t, CASE WHEN count(end) = count(*) THEN min(end) ELSE 0 END AS least_end
                 FROM {ends} GROUP BY t)
           ORDER BY t""",
        ends=ends,
    )


def updated(old, suggested, log_start, log_end):
    return max(log_start, min(suggested, log_end))


def incremented(old, new, log_end):
    if new > log_end:
        return "refused"
    return "moved" if new > old else "stays"


def answered(appends, watermarks):
    return appends.sparkSession.sql(
        """SELECT a.t, min(w.t) AS answered
           FROM {appends} a LEFT JOIN {watermarks} w ON w.t >= a.t AND w.hw > a.last_offset
           GROUP BY a.t
           ORDER BY a.t""",
        appends=appends,
        watermarks=watermarks,
    )
