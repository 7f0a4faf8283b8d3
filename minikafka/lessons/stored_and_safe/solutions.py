"""One way to solve each exercise of the lesson *Stored and safe*."""


def codecs_stored(batches, compression_type):
    return batches.sparkSession.sql(
        """SELECT t, CASE WHEN marker OR {topic} = 'producer' THEN codec
                          WHEN {topic} = 'uncompressed' THEN 'none'
                          ELSE {topic} END AS codec
           FROM {batches} ORDER BY t""",
        batches=batches,
        topic=compression_type,
    )


def new_log_start(event, offset, log_start, hw):
    if event == "truncate fully":
        return offset
    if event == "truncate":
        return min(offset, log_start)
    return log_start if offset > hw else max(offset, log_start)
