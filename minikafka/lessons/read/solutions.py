"""One way to solve each exercise of the lesson *Read isolation*."""

from minikafka.log.fetch_isolation import FetchIsolation


def messages_between(log):
    count, offset = 0, log.high_watermark
    while offset < log.log_end_offset:
        for batch in log.read(offset, 1_048_576, FetchIsolation.LOG_END).records.batches():
            if not batch.is_control_batch:
                count += sum(record.offset >= log.high_watermark for record in batch)
            offset = batch.next_offset
    return count


def messages_waiting(records, marks):
    return records.sparkSession.sql(
        """SELECT m.t, count(r.offset) AS messages
           FROM {marks} m LEFT JOIN {records} r ON r.offset >= m.hw AND r.offset < m.leo AND NOT r.control
           GROUP BY m.t
           ORDER BY m.t""",
        records=records,
        marks=marks,
    )


def visible(batches, aborted):
    waiting, aborting, seen = sorted(aborted, key=lambda txn: txn[1]), set(), []
    for offsets, producer, kind in batches:
        while waiting and waiting[0][1] <= offsets[-1]:
            aborting.add(waiting.pop(0)[0])
        if kind == "abort":
            aborting.discard(producer)
        elif kind == "data" and producer not in aborting:
            seen += offsets
    return seen


def committed_offsets(records):
    return records.sparkSession.sql(
        """WITH fates AS (
               SELECT *, first_value(marker) IGNORE NULLS OVER (
                   PARTITION BY producer ORDER BY offset ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
               FROM {records})
           SELECT offset FROM fates
           WHERE marker IS NULL AND (NOT transactional OR fate = 'commit')
             AND offset < (SELECT coalesce(min(offset), 9223372036854775807) FROM fates
                           WHERE transactional AND fate IS NULL)
           ORDER BY offset""",
        records=records,
    )
