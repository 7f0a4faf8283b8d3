"""One way to solve each exercise of the lesson *From an offset to bytes*."""


def answer(batches, start, max_length, min_one_message, bound):
    wanted = [(base, size) for base, last, size in batches if last >= start and base < bound]
    first, first_size = wanted[0]
    limit = max(max_length, first_size) if min_one_message else max_length
    return first, min(limit, sum(size for _, size in wanted))


def read_begins(batches, starts):
    return batches.sparkSession.sql(
        """WITH placed AS (
               SELECT *, sum(size) OVER (PARTITION BY segment ORDER BY base) - size AS position FROM {batches})
           SELECT start, min_by(segment, base) AS segment, min_by(position, base) AS position
           FROM {starts} JOIN placed ON last >= start
           GROUP BY start ORDER BY start""",
        batches=batches,
        starts=starts,
    )
