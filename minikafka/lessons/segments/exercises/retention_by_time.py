"""Retention by time, in Spark."""

import random
from itertools import takewhile

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.segments import solutions
from minikafka.lessons.segments.exercises.retention import cleaned_up, deleted, spares_the_active_segment
from minikafka.witness.log.workload import START_MS

DAY = 86_400_000


def _aged(ages, retention_ms: int, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    config = f"retention.ms={retention_ms} message.timestamp.before.max.ms={1 << 62}"
    workload = cleaned_up(config, [f"2x10 ts=now-{age + 5},now-{age}" for age in ages])
    rows = [(number * 2, START_MS - age) for number, age in enumerate(ages)]
    segments = frame(rows, "base BIGINT, largest_timestamp BIGINT", draw)
    limit = f"{retention_ms / DAY:g} days" if retention_ms > 0 else f"{retention_ms} ms"
    name = "" if draw else f"segments aged {', '.join(f'{age / DAY:g}' for age in ages)} days, retention {limit}"
    return WitnessedCase(name, (segments, START_MS, retention_ms), workload, deleted)


def _each_for_itself(segments, now, retention_ms):
    rows = segments.orderBy("base").collect()
    return [row.base for row in rows if retention_ms >= 0 and now - row.largest_timestamp > retention_ms]


def _oldest_while(stays):
    """A wrong answer: segments go from the oldest on, up to the first for which `stays(age, retention_ms)`."""

    def deletable(segments, now, retention_ms):
        rows = segments.orderBy("base").collect()
        expired = takewhile(lambda row: not stays(now - row.largest_timestamp, retention_ms), rows)
        return [row.base for row in expired]

    return deletable


def _the_oldest_only(segments, now, retention_ms):
    return as_rows(solutions.deletable_by_time(segments, now, retention_ms))[:1]


def _nothing_if_nothing_stays(segments, now, retention_ms):
    gone = as_rows(solutions.deletable_by_time(segments, now, retention_ms))
    return gone if len(gone) < segments.count() else []


def _drawn(draw: random.Random) -> WitnessedCase:
    """Expired segments in any order, then one that stays, then any."""
    limit = draw.choice((1, 1000, 7 * DAY))
    old, young = (limit + 1, limit + 2, limit + 5 * DAY, 400 * DAY), (limit, limit - 1, 0)
    expired = [draw.choice(old) for _ in range(draw.randint(1, 8))]
    return _aged([*expired, draw.choice(young), *(draw.choice(old + young) for _ in range(5))], limit, draw)


by_time = Exercise(
    "Exercise 4, retention by time",
    lambda: [
        _aged((10 * DAY, 1 * DAY, 9 * DAY, 0), 7 * DAY),
        _aged((8 * DAY, 7 * DAY, 0), 7 * DAY),
        _aged((30 * DAY, 20 * DAY, 10 * DAY), 7 * DAY),
        _aged((9 * DAY, 1 * DAY), -1),
        # 0 is a limit, too.
        _aged((1 * DAY, 0), 0),
    ],
    judged_by_spark,
    solutions.deletable_by_time,
    drawn=_drawn,
    draws=6,
    hints=[
        "A segment is expired when now - its largest timestamp > retention.ms.",
        "Kafka goes from the oldest segment on and stops at the first that stays. So all older segments must be "
        "expired, too.",
        "`bool_and(…) OVER (ORDER BY base)` is true as long as every row so far was.",
    ],
    beliefs=[
        Belief(
            _each_for_itself,
            "You decide about each segment on its own. Kafka goes from the oldest segment on and stops at the first "
            "that stays. An expired segment after that one stays, too.",
        ),
        Belief(
            _oldest_while(lambda age, limit: limit < 0 or age < limit),
            "You delete a segment that is exactly as old as retention.ms. It must be older: `>`.",
        ),
        spares_the_active_segment(solutions.deletable_by_time),
        Belief(
            _the_oldest_only, "You delete only one segment. Kafka deletes all expired ones up to the first that stays."
        ),
        Belief(
            _nothing_if_nothing_stays,
            "If all are expired you delete none (in SQL, a comparison with the minimum of no rows is null). Kafka "
            "deletes all of them.",
        ),
        Belief(
            _oldest_while(lambda age, limit: age <= limit),
            "You treat −1 as a number of milliseconds. It means that there is no limit.",
        ),
    ],
    normal=as_rows,
)
