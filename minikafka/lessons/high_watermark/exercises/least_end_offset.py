"""The high watermark of a leader, in Spark: the least end of the in-sync replicas."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.high_watermark import solutions
from minikafka.lessons.high_watermark.exercises.replica_ends import (
    LATE_FOLLOWER,
    SLOW_FOLLOWER,
    TWO_FOLLOWERS,
    ends_of,
    least,
    running_maximum,
)
from minikafka.witness.log.workload import Workload


def _watermarks(observations) -> list[tuple[int, int]]:
    return list(enumerate(observations.column("high_watermark")))


def _fetches(name: str, text: str, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    workload = Workload.parse(text)
    ends = frame(ends_of(workload), "t BIGINT, replica BIGINT, end BIGINT", draw)
    return WitnessedCase(name, (ends,), workload, _watermarks, ("high_watermark",))


def _by_t(ends, choose):
    rows = {}
    for row in ends.collect():
        rows.setdefault(row.t, []).append(row.end)
    return [(t, choose(found)) for t, found in sorted(rows.items())]


def _highest(ends):
    return running_maximum(_by_t(ends, lambda found: max(end or 0 for end in found)))


def _majority(ends):
    return running_maximum(
        _by_t(ends, lambda found: sorted((end or 0 for end in found), reverse=True)[len(found) // 2])
    )


def _falls(ends):
    return _by_t(ends, least)


def _least_known(ends):
    return _by_t(ends, lambda found: min(end for end in found if end is not None))


def _ignores_the_unknown(ends):
    return running_maximum(_least_known(ends))


def drawn_fetches(draw: random.Random) -> str:
    """Appends, fetches from where batches begin or end, and changes of the ISR, which always has a follower."""
    bounds, isr, lines = [0], [1, 2], ["isr 1,2"]
    for _ in range(30):
        kind = draw.choice(("append", "append", "fetch", "fetch", "fetch", "isr"))
        if kind == "append":
            bounds.append(bounds[-1] + draw.randint(1, 9))
            lines.append(f"append_as_leader [{bounds[-1] - bounds[-2]}x10]")
        elif kind == "fetch":
            lines.append(f"fetch {draw.choice(isr)} {draw.choice((*bounds[-3:], bounds[-1]))}")
        else:
            isr = draw.sample(range(1, 6), draw.choice((1, 2, 2, 3)))
            lines.append(f"isr {','.join(map(str, isr))}")
    return "\n".join(lines)


def _drawn(draw: random.Random) -> WitnessedCase:
    return _fetches("", drawn_fetches(draw), draw)


least_end = Exercise(
    "Exercise 1, the least end of the in-sync replicas",
    lambda: [
        _fetches("two followers", TWO_FOLLOWERS),
        _fetches("a slow follower leaves the ISR and comes back", SLOW_FOLLOWER),
        _fetches("a third follower fetches last", LATE_FOLLOWER),
    ],
    judged_by_spark,
    solutions.high_watermarks,
    drawn=_drawn,
    draws=6,
    hints=[
        "First make one row for each t, with the least end. Then use a window over t.",
        "While any in-sync follower has not fetched (a null end), the leader raises nothing: count(end) < count(*).",
        "The mark never falls: `max(…) OVER (ORDER BY t)`.",
    ],
    beliefs=[
        Belief(
            _highest,
            "HW is not the highest LEO: records that only one replica has can be lost with it. HW is the least end "
            "in the ISR.",
        ),
        Belief(
            _majority,
            "You count a majority, as Raft does. Kafka waits for every replica in the ISR, and shrinks the ISR.",
        ),
        Belief(
            _falls,
            "Your mark falls when a slow follower joins the ISR. maybe_increment_high_watermark only lets it grow.",
        ),
        Belief(
            _least_known,
            "min skips nulls, so you leave out followers that have not fetched yet; but the leader waits for them. "
            "And your mark can fall.",
        ),
        Belief(
            _ignores_the_unknown,
            "You leave out followers that have not fetched yet. The leader waits for each one in the ISR.",
        ),
    ],
    normal=as_rows,
)
