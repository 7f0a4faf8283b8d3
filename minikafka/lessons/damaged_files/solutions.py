"""One way to solve each exercise of the lesson *Damaged and missing files*."""


def epochs(batches):
    return batches.sparkSession.sql(
        """SELECT epoch, first AS start_offset
           FROM (SELECT *, max(epoch) OVER (ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                 FROM {batches})
           WHERE epoch > coalesce(before, -1)
           ORDER BY first""",
        batches=batches,
    )


def segments_left(segments, recovery_point):
    scanned_from = max(base for base, _, _, _ in segments if base <= recovery_point)
    left = []
    for base, records, good, has_index in segments:
        if not has_index:  # recovered as soon as it is opened, and nobody asks what was cut
            left.append((base, good))
        elif base < scanned_from or good == records:
            left.append((base, records))
        else:
            return [*left, (base, good)]
    return left
