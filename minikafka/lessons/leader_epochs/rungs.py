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
    why="Here a follower throws records away. One too many may have been acknowledged; one too few makes two logs "
    "differ.",
    invariants=(
        "It only asks: its answer is where to cut, never above the log end, and whether that settles it.",
        "Where both logs know the epoch that the leader names, they are one up to where it ends first.",
        "Where the follower never had that epoch, nothing above the end of its own next older one can be the leader's; "
        "the leader has to be asked again.",
        "A leader that knows no end (-1) leaves the follower at `fetch_offset`; one that names no epoch (-1), or a "
        "log without epochs, leaves only the leader's end to go by. (The answer to a fetch always names both; your "
        "function is asked without them, too.)",
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
            "You go by the leader's end alone. Of an epoch that the follower never had that end says nothing about the "
            "follower's records.",
        ),
        Belief(
            _cuts(known=lambda own_end, leader_end, log: (min(own_end, log.log_end_offset), True)),
            "You forget the leader's end. Where its part of the epoch is shorter, the rest of yours is not there.",
        ),
        Belief(
            _cuts(unknown=lambda own_end, leader_end, log: (min(own_end, leader_end, log.log_end_offset), False)),
            "You mind the leader's end of an epoch that you do not have. It says nothing of your next older one; "
            "the next answer will.",
        ),
        Belief(
            _cuts(no_end=lambda log, fetch_offset: log.log_end_offset),
            "You stay at the log end where the leader knows no end. The follower goes back to `fetch_offset`.",
        ),
        Belief(
            _cuts(known=_to_the_mark, unknown=_to_the_mark),
            "You cut at the high watermark. A follower's mark lags behind: what was acknowledged may lie above it.",
        ),
        Belief(
            _cuts(unknown=lambda own_end, leader_end, log: (min(own_end, log.log_end_offset), True)),
            "You call it settled where the leader's epoch is unknown here. The epochs below may "
            "differ as well: ask again.",
        ),
    ),
    hints=(
        "First the two answers that tell little: an end of -1 leaves you at `fetch_offset`; an epoch of -1 leaves you "
        "the leader's end, if that is below your own.",
        "Then ask your own log: `log.end_offset_for_epoch(leader_epoch)` gives `epoch` and `offset`, or None.",
        "The same epoch: the least of the two ends and `log.log_end_offset` settles it. An older one: your own end of "
        "it, and False. The answer is `OffsetTruncationState(offset, is_settled)`.",
    ),
)

LADDER = (cuts,)
"""The rungs in the order in which they are climbed."""
