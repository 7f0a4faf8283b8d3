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
