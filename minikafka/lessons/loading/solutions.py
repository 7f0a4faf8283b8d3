"""One way to solve each exercise of the lesson *Loading*."""


def clean_end(segments, batches):
    return segments.sparkSession.sql(
        """SELECT coalesce(max(b.last) + 1, max(a.base)) AS log_end
           FROM (SELECT max(base) AS base FROM {segments}) a LEFT JOIN {batches} b ON b.segment = a.base""",
        segments=segments,
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


def files_gone(names):
    offsets = {name: int(name[:20]) for name in names if name[:20].isdigit()}
    bases = {offset for name, offset in offsets.items() if name.endswith(".log")}
    strays = [name for name in offsets if name.endswith(".snapshot") and offsets[name] not in bases]
    newest = max(strays, default=None)
    gone = [name for name in names if name.endswith(".deleted")]
    gone += [name for name in offsets if name.endswith("index") and offsets[name] not in bases]
    gone += [name for name in strays if name != newest or offsets[name] < max(bases)]
    return sorted(gone)
