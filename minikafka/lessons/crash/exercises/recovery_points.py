"""Which records are known to be on the device."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, frame
from minikafka.lab.exercises.wrecked import sql
from minikafka.lessons.crash import solutions
from minikafka.witness.log.workload import Workload

_LINES = {
    "append": "append_as_leader [1x10]",
    "roll": "roll leo",
    "background": "tick 0",
    "flush": "flush",
    "checkpoint": "checkpoint",
    "kill": "reopen clean=false",
    "close": "reopen clean=true",
}


@dataclass(frozen=True)
class _EventsCase(WitnessedCase):
    """Operations on a log whose recovery points Spark folds from the events alone."""

    expected: Callable[[], int] = lambda: 0


def _case(words: str) -> _EventsCase:
    """The recovery point after these events."""
    events = words.split()

    def expected() -> int:
        return sql(
            """SELECT aggregate(collect_list(event), struct(0L AS end, 0L AS point, 0L AS rolled, 0L AS written),
                   (s, event) -> CASE event
                       WHEN 'append' THEN struct(s.end + 1 AS end, s.point, s.rolled, s.written)
                       WHEN 'roll' THEN struct(s.end, s.point, s.end AS rolled, s.written)
                       WHEN 'background' THEN struct(s.end, greatest(s.point, s.rolled) AS point, s.rolled, s.written)
                       WHEN 'flush' THEN struct(s.end, s.end AS point, s.rolled, s.written)
                       WHEN 'checkpoint' THEN struct(s.end, s.point, s.rolled, s.point AS written)
                       WHEN 'close' THEN struct(s.end, s.end AS point, s.rolled, s.end AS written)
                       ELSE struct(s.end, s.written AS point, 0L AS rolled, s.written) END,
                   s -> s.point) FROM (SELECT event FROM {events} ORDER BY number)""",
            events=frame(list(enumerate(events)), "number BIGINT, event STRING"),
        )[0]

    workload = Workload.parse("\n".join(_LINES[event] for event in events))
    answer = lambda seen: seen.value(len(events) - 1, "recovery_point")  # noqa: E731
    return _EventsCase(words, (events,), workload, answer, expected=expected)


def _point(**believed):
    """A wrong answer: what `believed` says of some events, `event=lambda end, point, rolled, written: point`."""

    def answer(events):
        end = point = rolled = written = 0
        for event in events:
            end += event == "append"
            if event in believed:
                point = believed[event](end, point, rolled, written)
            elif event in ("flush", "close"):
                point = end
            elif event == "background":
                point = max(point, rolled)
            elif event == "kill":
                point = written
            rolled = end if event == "roll" else 0 if event == "kill" else rolled
            written = point if event in ("checkpoint", "close") else written
        return point

    return answer


def _drawn(draw: random.Random) -> WitnessedCase:
    return _case(" ".join(draw.choice(("append", "append", *_LINES)) for _ in range(draw.randint(1, 12))))


kept_safe = Exercise(
    "Exercise 2, what is known to be on the device",
    lambda: [
        _case("append append"),
        _case("append append flush append"),
        _case("append append roll append"),
        _case("append append roll append background"),
        _case("append flush checkpoint append append flush kill"),
        _case("append append append roll background append kill"),
        _case("append append checkpoint append close append"),
        _case("append append flush checkpoint append kill append background"),
        _case("append append kill append background"),
    ],
    lambda case: case.expected(),
    solutions.recovery_point,
    drawn=_drawn,
    hints=[
        "Which of the events write records to the device, and up to which offset?",
        "A roll asks for a flush of everything below the new segment, and the background task does it. The event "
        '"flush" flushes everything.',
        "After a kill the number in memory is lost. The load takes the one from the checkpoint file, and does not "
        "raise it.",
    ],
    beliefs=[
        Belief(
            _point(append=lambda end, point, rolled, written: end),
            "You count a record as flushed when it is appended. It is only in the page cache then; a flush writes it "
            "to the device.",
        ),
        Belief(
            _point(roll=lambda end, point, rolled, written: end),
            "You flush at the roll itself. The roll only asks for a flush; the background task does it.",
        ),
        Belief(
            _point(background=lambda end, point, rolled, written: end),
            "Your background task flushes everything. It flushes only the records below the new segment.",
        ),
        Belief(
            _point(kill=lambda end, point, rolled, written: end),
            "You count records that a load has read as flushed. Up to 2.7 Kafka did so; since 2.8 the checkpoint "
            "counts.",
        ),
        Belief(
            _point(kill=lambda end, point, rolled, written: point),
            "Your recovery point survives the kill. It was in memory; after a kill the load only knows the "
            "checkpoint file.",
        ),
        Belief(
            _point(kill=lambda end, point, rolled, written: 0),
            "You start from 0 after a kill. The checkpoint file still has its value.",
        ),
        Belief(
            _point(close=lambda end, point, rolled, written: point),
            "A clean stop does not move your recovery point. A clean stop flushes everything.",
        ),
    ],
)
