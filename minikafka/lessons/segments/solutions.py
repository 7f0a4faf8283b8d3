"""One way to solve each exercise of the lesson *Segments*."""


def base_offsets(first_offset, appends, segment_bytes):
    bases, size, log_end = [first_offset], 0, first_offset
    for count, bytes_ in appends:
        if size > segment_bytes - bytes_:
            bases.append(log_end)
            size = 0
        size, log_end = size + bytes_, log_end + count
    return bases


def index_entries(base_offset, batches, interval):
    entries, since_entry, position = [], 0, 0
    for last_offset, bytes_ in batches:
        if since_entry > interval:
            entries.append((last_offset - base_offset, position))
            since_entry = 0
        since_entry, position = since_entry + bytes_, position + bytes_
    return entries


def deletable_by_size(segments, retention_bytes):
    return segments.sparkSession.sql(
        """SELECT base
           FROM (SELECT base, sum(size) OVER () - sum(size) OVER (ORDER BY base) AS rest FROM {segments})
           WHERE rest >= {limit} AND {limit} >= 0
           ORDER BY base""",
        segments=segments,
        limit=retention_bytes,
    )


def deletable_by_time(segments, now, retention_ms):
    return segments.sparkSession.sql(
        """SELECT base
           FROM (SELECT base, bool_and({now} - largest_timestamp > {limit}) OVER (ORDER BY base) AS expired
                 FROM {segments})
           WHERE expired AND {limit} >= 0
           ORDER BY base""",
        segments=segments,
        now=now,
        limit=retention_ms,
    )
