"""Fetches of followers as workloads, and the ends of the replicas that they lead to."""

from minikafka.witness.log.operations import AppendAsLeader, Fetch, Isr
from minikafka.witness.log.workload import Workload


def ends_of(workload: Workload) -> list[tuple[int, int, int | None]]:
    """(t, replica, end) after each operation t, for the leader (replica 0) and the in-sync followers; None before the
    first fetch.

    Follows appends of one batch, fetches from plain offsets, and changes of the ISR; the exercises use nothing else.
    """
    leader, fetched, isr, rows = 0, {}, workload.isr, []
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            leader += operation.batches[0].count
        elif isinstance(operation, Fetch):
            fetched[operation.replica] = operation.offset.distance
        elif isinstance(operation, Isr):
            isr = operation.replicas
        rows += [(t, 0, leader), *((t, replica, fetched.get(replica)) for replica in isr)]
    return rows


TWO_FOLLOWERS = """
isr 1,2
append_as_leader [1x10]
fetch 1 0
fetch 2 0
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 3
fetch 2 2
fetch 2 3
"""
SLOW_FOLLOWER = """
isr 1,2
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 4
fetch 2 1
isr 1
isr 1,2
fetch 2 3
"""
LATE_FOLLOWER = """
isr 1,2,3
append_as_leader [1x10]
append_as_leader [1x10]
fetch 1 2
fetch 2 1
fetch 3 0
fetch 3 2
fetch 2 2
"""


def running_maximum(pairs):
    highest, result = 0, []
    for t, value in pairs:
        highest = max(highest, value)
        result.append((t, highest))
    return result


def least(found):
    return 0 if None in found else min(found)
