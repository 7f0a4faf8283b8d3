"""One way to solve each exercise of the lesson *Crash and recovery*."""


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


def recovery_point(events):
    end = point = rolled_at = checkpoint = 0
    for event in events:
        if event == "append":
            end += 1
        elif event == "roll":
            rolled_at = end
        elif event == "background":
            point = max(point, rolled_at)
        elif event == "flush":
            point = end
        elif event == "checkpoint":
            checkpoint = point
        elif event == "close":
            checkpoint = point = end
        elif event == "kill":
            point, rolled_at = checkpoint, 0
    return point
