"""One way to solve each exercise of the lesson *The produce path*."""


def may_append(leads, isr_size, min_isr, replicas, required_acks):
    if not leads:
        return "NOT_LEADER_OR_FOLLOWER"
    if required_acks == -1 and isr_size < min(min_isr, replicas):
        return "NOT_ENOUGH_REPLICAS"
    return "NONE"


def answered(requested, known):
    return requested.sparkSession.sql(
        """SELECT partition,
                  CASE WHEN max(leader) IS NULL THEN 'UNKNOWN_TOPIC_OR_PARTITION'
                       WHEN bool_or(batches <> 1) THEN 'INVALID_RECORD'
                       WHEN max(leader) <> 0 THEN 'NOT_LEADER_OR_FOLLOWER'
                       ELSE 'NONE' END AS error,
                  coalesce(max_by(records, place) FILTER (WHERE batches = 1 AND leader = 0), 0) AS appended
           FROM {requested} LEFT JOIN {known} USING (partition)
           GROUP BY partition ORDER BY partition""",
        requested=requested,
        known=known,
    )
