"""The ladder of the lesson *Leader epochs*: where a follower cuts."""

from minikafka.lab.exercises.task import Belief
from minikafka.lab.rebuild import also_asked
from minikafka.lab.rebuild.harnesses import BROKERS
from minikafka.lab.rebuild.rung import Rung
from minikafka.server import offset_truncation_state, replica_fetcher  # noqa: F401  (who calls the function)
from minikafka.server.offset_truncation_state import OffsetTruncationState

_DRAWN = {
    "fixed": {"replica.lag.time.max.ms": "2000", "replica.fetch.max.bytes": "1048576"},
    "weights": {"reassign": 0, "metadata": 0, "list_offsets": 0, "change": 14},
}
"""Knobs for workloads of three brokers whose leader changes often."""


def get_offset_truncation_state(log, leader_epoch_offset, fetch_offset):
    leader_epoch, leader_end = leader_epoch_offset.leader_epoch, leader_epoch_offset.end_offset
    if leader_end == -1:
        return OffsetTruncationState(fetch_offset, True)
    own = None if leader_epoch == -1 else log.end_offset_for_epoch(leader_epoch)
    if own is None:
        return OffsetTruncationState(min(leader_end, log.log_end_offset), True)
    if own.epoch != leader_epoch:
        return OffsetTruncationState(min(own.offset, log.log_end_offset), False)
    return OffsetTruncationState(min(own.offset, leader_end, log.log_end_offset), True)


def _cuts(
    *,
    no_end=lambda log, fetch_offset: fetch_offset,
    unknown=lambda own_end, leader_end, log: (min(own_end, log.log_end_offset), False),
    known=lambda own_end, leader_end, log: (min(own_end, leader_end, log.log_end_offset), True),
):
    """A version with another cut where the follower knows the leader's epoch, or where it does not."""

    def version(log, leader_epoch_offset, fetch_offset):
        leader_epoch, leader_end = leader_epoch_offset.leader_epoch, leader_epoch_offset.end_offset
        if leader_end == -1:
            return OffsetTruncationState(no_end(log, fetch_offset), True)
        own = None if leader_epoch == -1 else log.end_offset_for_epoch(leader_epoch)
        if own is None:
            return OffsetTruncationState(min(leader_end, log.log_end_offset), True)
        cut = known if own.epoch == leader_epoch else unknown
        return OffsetTruncationState(*cut(own.offset, leader_end, log))

    return version


def _to_the_leaders_end(own_end, leader_end, log):
    return min(leader_end, log.log_end_offset), True


def _to_the_mark(own_end, leader_end, log):
    return log.high_watermark, True


_TWO = (
    "broker replica.lag.time.max.ms=10000\nstart 0\nstart 1\ntopic t 0,1 min.insync.replicas=1\npublish 0\npublish 1\n"
    "produce 0 t-0 [2x10]\nfollow 1\nfollow 1\n"
)
_LED_BY = "change t-0 leader={0} isr={0}\npublish {0}\nproduce {0} acks=1 t-0 [{1}x{2}]\n"
_BACK = "start {0}\nfollow {0}\nfollow {0}\nfollow {0}\nfollow {0}\n"


cuts = Rung(
    "Rung 1, where a follower cuts",
    offset_truncation_state.get_offset_truncation_state,
    why="This method decides which records a follower removes from its own log.",
    invariants=(
        "It changes nothing. It returns the offset at which to truncate, never above the log end, and True if no "
        "further question to the leader is needed.",
        "If both logs have the epoch that the leader names, they are equal up to the lower of its two ends.",
        "If the follower never had that epoch, take its own next older one: records above the end of that epoch "
        "cannot be the leader's. Then the leader must be asked again: False.",
        "If the leader knows no end (-1), the answer is `fetch_offset`. If it names no epoch (-1), or if the "
        "follower's log has no epochs, the leader's end is the only bound. (The answer to a real fetch always has "
        "both; your function is tested without them, too.)",
    ),
    also_asked=also_asked.by_other_answers,
    chosen=(
        _TWO + "produce 0 acks=1 t-0 [3x10]\ncrash 0\n" + _LED_BY.format(1, 1, 30) + _BACK.format(0),
        _TWO
        + f"crash 0\n{_LED_BY.format(1, 3, 10)}crash 1\nstart 0\n{_LED_BY.format(0, 1, 50)}crash 0\nstart 1\n"
        + _LED_BY.format(1, 2, 30)
        + _BACK.format(0),
        # The follower has more of the older epoch than the leader.
        _TWO
        + "change t-0 isr=0\npublish 0\nproduce 0 acks=1 t-0 [8x10]\ncrash 0\n"
        + f"{_LED_BY.format(1, 3, 10)}crash 1\nstart 0\n{_LED_BY.format(0, 1, 50)}crash 0\nstart 1\n"
        + _LED_BY.format(1, 2, 30)
        + _BACK.format(0),
    ),
    profiles=(_DRAWN, _DRAWN, _DRAWN),
    returns=(OffsetTruncationState, tuple),
    changes_nothing=True,
    harness=BROKERS,
    solution=get_offset_truncation_state,
    beliefs=(
        Belief(
            _cuts(known=_to_the_leaders_end, unknown=_to_the_leaders_end),
            "You use the leader's end only. If the follower never had that epoch, its end says nothing about the "
            "follower's records.",
        ),
        Belief(
            _cuts(known=lambda own_end, leader_end, log: (min(own_end, log.log_end_offset), True)),
            "You ignore the leader's end. If the leader has fewer records of this epoch, the rest of yours is not in "
            "its log.",
        ),
        Belief(
            _cuts(unknown=lambda own_end, leader_end, log: (min(own_end, leader_end, log.log_end_offset), False)),
            "You use the leader's end of an epoch that the follower does not have. It says nothing about your next "
            "older epoch; the next answer will.",
        ),
        Belief(
            _cuts(no_end=lambda log, fetch_offset: log.log_end_offset),
            "You return the log end if the leader knows no end. The answer is `fetch_offset`.",
        ),
        Belief(
            _cuts(known=_to_the_mark, unknown=_to_the_mark),
            "You truncate at the high watermark. A follower's high watermark may be too low: acknowledged records "
            "may be above it.",
        ),
        Belief(
            _cuts(unknown=lambda own_end, leader_end, log: (min(own_end, log.log_end_offset), True)),
            "You return True although the follower does not have the leader's epoch. Older epochs may differ as "
            "well, so the leader must be asked again: False.",
        ),
    ),
    hints=(
        "First handle the two special answers. For an end of -1 return `fetch_offset`. For an epoch of -1 return the "
        "leader's end, or the log end if that is lower.",
        "Then look into the follower's log: `log.end_offset_for_epoch(leader_epoch)` returns `epoch` and `offset`, "
        "or None.",
        "If the epoch is the same: the least of both ends and `log.log_end_offset`, and True. If it is older: the "
        "least of the follower's own end and `log.log_end_offset`, and False. Return `OffsetTruncationState(offset, "
        "is_settled)`.",
    ),
)

LADDER = (cuts,)
"""The rungs in the order in which they are climbed."""
