"""One way to solve each exercise of the lesson *The produce purgatory*."""


def delayed_produce_request_required(required_acks, errors):
    return required_acks == -1 and "NONE" in errors


def check_enough_replicas_reach_offset(leads, required_offset, high_watermark, in_sync, min_isr):
    if not leads:
        return False, "NOT_LEADER_OR_FOLLOWER"
    if high_watermark < required_offset:
        return False, "NONE"
    return True, "NOT_ENOUGH_REPLICAS_AFTER_APPEND" if in_sync < min_isr else "NONE"


def answers(requests, fetches):
    return requests.sparkSession.sql(
        """SELECT request, max(coalesce(at, deadline)) AS at, count_if(at IS NULL) AS timed_out
           FROM (SELECT r.request, r.partition, r.deadline, min(f.t) AS at
                 FROM {requests} r
                 LEFT JOIN {fetches} f ON f.partition = r.partition AND f.end >= r.required
                                      AND f.t >= r.t AND f.t < r.deadline
                 GROUP BY r.request, r.partition, r.deadline)
           GROUP BY request ORDER BY request""",
        requests=requests,
        fetches=fetches,
    )
