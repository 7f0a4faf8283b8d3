"""One way to solve each exercise of the lesson *Compaction*."""


def slot_of(digest, attempt, slots):
    begin = min(attempt, 12)
    probe = int.from_bytes(digest[begin : begin + 4], "big", signed=True) + max(attempt - 12, 0)
    return (0 if probe == -(2**31) else abs(probe)) % slots


def cleanable_offsets(log, last_clean_offset, now):
    start, end = log.log_start_offset, log.log_end_offset
    invalid = last_clean_offset is not None and not start <= last_clean_offset <= end
    first_dirty = start if invalid or last_clean_offset is None else last_clean_offset
    bounds = [log.last_stable_offset, log.active_segment.base_offset]
    lag = log.config.compaction_lag_ms
    if lag > 0:
        segments = log.non_active_log_segments_from(first_dirty)
        bounds += [segment.base_offset for segment in segments if segment.largest_timestamp > now - lag][:1]
    return first_dirty, max(first_dirty, min(bounds)), invalid


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


def should_retain_record(offset_map, batch, record, current_time):
    if record.offset > offset_map.latest_offset:
        return True
    if record.key is None:
        return False
    newest = record.offset >= offset_map.get(record.key)
    deletion_stands = batch.delete_horizon_ms is None or current_time < batch.delete_horizon_ms
    return newest and (record.value is not None or deletion_stands)


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
