"""What update_high_watermark makes of a suggested mark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lessons.high_watermark import solutions
from minikafka.witness.log.workload import Workload
from minikafka.witness.spoken import say


def _set_to(suggested: int, *, old: int, log_start: int, records: int = 10) -> WitnessedCase:
    lines = ["append_as_leader [1x10]\n" * records + f"update_high_watermark {max(old, log_start)}"]
    lines += [f"maybe_increment_log_start_offset {log_start}"] if log_start else []
    lines += [f"update_high_watermark {old}", f"update_high_watermark {suggested}"]
    name = say(
        "HW {old}, suggested {suggested}, log start {log_start}, LEO {leo}",
        old=old,
        suggested=suggested,
        log_start=log_start,
        leo=records,
    )

    def answer(observations):
        return observations.value(-1, "high_watermark")

    return WitnessedCase(name, (old, suggested, log_start, records), Workload.parse("\n".join(lines)), answer)


def _drawn(draw: random.Random) -> WitnessedCase:
    records = draw.randint(1, 12)
    log_start = draw.randint(0, records)
    old = draw.randint(log_start, records)
    return _set_to(draw.randint(0, records + 3), old=old, log_start=log_start, records=records)


clamp = Exercise(
    "Exercise 2, update_high_watermark",
    lambda: [
        _set_to(7, old=5, log_start=0),
        _set_to(3, old=8, log_start=0),
        _set_to(1, old=6, log_start=4),
        _set_to(10, old=4, log_start=4),
        _set_to(12, old=6, log_start=0),
    ],
    judged_by_spark,
    solutions.updated,
    drawn=_drawn,
    hints=[
        "Two bounds: nothing below the log start, nothing above the log end offset.",
        "Both bounds are allowed values. The old mark does not matter: this method may move it back.",
    ],
    beliefs=[
        Belief(
            lambda old, suggested, log_start, log_end: max(old, solutions.updated(old, suggested, log_start, log_end)),
            "You never let the mark fall. That is maybe_increment_high_watermark; update_high_watermark may move it"
            " back.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: max(log_start, min(suggested, log_end - 1)),
            "You stop at the last record. The mark is an exclusive bound: it may be equal to LEO, the offset of the "
            "next record.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: max(log_start, suggested),
            "You let the mark go above LEO. Records that are not written are not replicated: the mark is lowered to "
            "LEO.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: min(suggested, log_end),
            "You let the mark go below the log start. It is raised to the log start.",
        ),
        Belief(
            lambda old, suggested, log_start, log_end: suggested if log_start <= suggested <= log_end else old,
            "You keep the old mark if the suggested one is outside the log. The mark is moved to the nearest bound.",
        ),
    ],
)
