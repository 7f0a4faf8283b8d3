"""One way to solve the exercise of the lesson *Leader epochs*."""


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
