"""One way to solve each exercise of the lesson *Append*."""


def offsets_given(appends, max_message_bytes):
    return appends.sparkSession.sql(
        """SELECT t, IF(ok, coalesce(sum(IF(ok, records, 0)) OVER before, 0), NULL) AS first_offset
           FROM (SELECT *, batches = 1 AND base_offset = 0 AND crc_ok AND bytes <= {limit} AS ok FROM {appends})
           WINDOW before AS (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
           ORDER BY t""",
        appends=appends,
        limit=max_message_bytes,
    )


def ends_of_a_follower(fetches):
    log_end, answers = 0, []
    for fetched_in, batches in fetches:
        later = [number for number, (_, _, epoch) in enumerate(batches) if epoch > fetched_in]
        taken = batches[: later[0]] if later else batches
        lasts = [last for _, last, _ in taken]
        if lasts != sorted(set(lasts)):
            answers.append("OffsetsOutOfOrderException")
        elif taken and taken[0][0] < log_end:
            answers.append("UnexpectedAppendOffsetException")
        else:
            log_end = lasts[-1] + 1 if taken else log_end
            answers.append(log_end)
    return answers
