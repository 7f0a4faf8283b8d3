"""Which producers a log still remembers after a check for those that have been idle too long."""

import random
from collections.abc import Callable

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, frame
from minikafka.lessons.producers import solutions
from minikafka.witness.log.workload import START_MS, Workload
from minikafka.witness.observation import Observations

_HOUR, _DAY = 3_600_000, 86_400_000
Seen = tuple[int, int, int, bool]
"""A producer, the timestamp of its last batch, when that batch came (both in ms), and whether its transaction is open."""


def _idle(name: str, hours: int, *producers: tuple[int, int, int, bool], early_ms: int = 0) -> WitnessedCase:
    """A check `hours` after the first batch, `early_ms` milliseconds less; of each producer: the hour of its batch, how
    many hours its clock is behind, and whether it leaves a transaction open. In the order of their batches.
    """
    lines, now, seen = [], 0, []
    for producer, hour, behind, is_open in producers:
        lines.append(f"tick {(hour - now) * _HOUR}")
        words = f"1x1 pid={producer} epoch=0 seq=0 ts=now-{behind * _HOUR}"
        lines.append(f"append_as_leader [{words}{' txn' if is_open else ''}]")
        seen.append((producer, START_MS + (hour - behind) * _HOUR, START_MS + hour * _HOUR, is_open))
        now = hour
    lines.append(f"tick {(hours - now) * _HOUR - early_ms}")

    def answer(observations: Observations) -> list[int]:
        return [producer[0] for producer in observations.column("producers")[-1]]

    return WitnessedCase(name, (seen, START_MS + hours * _HOUR - early_ms), Workload.parse("\n".join(lines)), answer)


def _judged_by_spark(case: WitnessedCase) -> list[int]:
    """The producers that Spark does not find idle for a day."""
    seen, now = case.arguments
    rows = frame(seen, "producer BIGINT, timestamp BIGINT, came BIGINT, open BOOLEAN")
    found = rows.sparkSession.sql(
        "SELECT producer FROM {rows} WHERE open OR {now} < timestamp + 86400000 ORDER BY producer", rows=rows, now=now
    )
    return [row.producer for row in found.collect()]


def _kept(rule: Callable[[int, int, bool], bool], *, at: int = 1) -> Callable[[list[Seen], int], list[int]]:
    """Those for which `rule(ms since the time, now, open)` holds; `at` 1 counts from the timestamp, 2 from the arrival."""
    return lambda producers, now: [seen[0] for seen in producers if rule(now - seen[at], now, seen[3])]


def _drawn(draw: random.Random) -> WitnessedCase:
    hours = sorted(draw.randint(0, 40) for _ in range(draw.randint(1, 6)))
    producers = [(5 + n, hour, draw.choice((0, 0, 1, 3, 24, 30)), draw.random() < 0.2) for n, hour in enumerate(hours)]
    late = draw.choice((hours[-1] + draw.randint(1, 30), max(hours[-1] + 1, hours[0] + 24)))
    return _idle("", late, *producers, early_ms=draw.choice((0, 1)))


remembered = Exercise(
    "Exercise 4, who is still known",
    lambda: [
        _idle("idle for 23, 24 and 25 hours", 25, (5, 0, 0, False), (6, 1, 0, False), (7, 2, 0, False)),
        _idle("an open transaction", 30, (5, 0, 0, True), (6, 1, 0, False)),
        _idle("a clock that is behind", 24, (5, 2, 3, False), (6, 3, 0, False), (7, 4, 4, False)),
        _idle("nobody is left", 50, (5, 0, 0, False), (6, 20, 10, False)),
        _idle("a millisecond less than a day", 25, (5, 0, 0, False), (6, 1, 0, False), early_ms=1),
    ],
    _judged_by_spark,
    solutions.still_known,
    drawn=_drawn,
    hints=[
        "The log never forgets a producer with an open transaction.",
        "Idle time counts from the timestamp of the last batch. The producer sets this timestamp.",
        "A check forgets a producer that has been idle for exactly `producer.id.expiration.ms`, here one day.",
    ],
    beliefs=[
        Belief(
            _kept(lambda idle, now, is_open: is_open or idle < _DAY, at=2),
            "You count from the arrival of the batch. The log keeps the batch's timestamp, which comes from the "
            "producer's clock.",
        ),
        Belief(
            _kept(lambda idle, now, is_open: idle < _DAY),
            "You forget a producer with an open transaction. The log knows it as long as the transaction is open.",
        ),
        Belief(
            _kept(lambda idle, now, is_open: is_open or idle <= _DAY),
            "You wait for more than a day. The check also forgets a producer that has been idle for exactly one day.",
        ),
        Belief(
            _kept(lambda idle, now, is_open: True),
            "You forget no producer. A check runs every ten minutes and removes those that have been idle for a day.",
        ),
    ],
)
