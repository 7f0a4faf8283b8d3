"""One way to solve each exercise of the lesson *Leader epochs*."""


def elect_leader(replicas, leader, isr, elr, last_known, is_acceptable, unclean):
    for replica in [leader, *replicas]:
        if replica in (isr or elr) and is_acceptable(replica):
            return replica, False
    if not isr and not elr and last_known >= 0 and is_acceptable(last_known):
        return last_known, True
    for replica in replicas:
        if unclean and is_acceptable(replica):
            return replica, True
    return -1, False


def epoch_ends(epochs, log_end, asked):
    return epochs.sparkSession.sql(
        """SELECT a.epoch,
                  IF(a.epoch > max(e.epoch), NULL,
                     coalesce(max(e.epoch) FILTER (WHERE e.epoch <= a.epoch), a.epoch)) AS found,
                  IF(a.epoch > max(e.epoch), NULL,
                     coalesce(min(e.start_offset) FILTER (WHERE e.epoch > a.epoch), {log_end})) AS end_offset
           FROM {asked} a CROSS JOIN {epochs} e
           GROUP BY a.epoch ORDER BY a.epoch""",
        epochs=epochs,
        log_end=log_end,
        asked=asked,
    )
