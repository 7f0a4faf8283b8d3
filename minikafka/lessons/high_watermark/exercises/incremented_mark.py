"""What maybe_increment_high_watermark makes of a new mark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lessons.high_watermark import solutions
from minikafka.witness.log.workload import Workload
from minikafka.witness.spoken import say


def _increment_to(new: int, *, old: int, records: int = 10) -> WitnessedCase:
    text = "append_as_leader [1x10]\n" * records + f"update_high_watermark {old}\nmaybe_increment_high_watermark {new}"

    def answer(observations):
        before, after = (observations.value(operation, "high_watermark") for operation in (-2, -1))
        if new > records:  # Spark says nothing about exceptions, but it does say that the mark stays
            return "refused" if before == after else "moved"
        return "moved" if after != before else "stays"

    name = say("HW {old}, new {new}, LEO {leo}", old=old, new=new, leo=records)
    return WitnessedCase(name, (old, new, records), Workload.parse(text), answer)


def _drawn(draw: random.Random) -> WitnessedCase:
    records = draw.randint(1, 12)
    return _increment_to(draw.randint(0, records + 3), old=draw.randint(0, records), records=records)


increment = Exercise(
    "Exercise 3, maybe_increment_high_watermark",
    lambda: [
        _increment_to(6, old=4),
        _increment_to(2, old=4),
        _increment_to(10, old=4),
        _increment_to(11, old=4),
        _increment_to(4, old=4),
    ],
    judged_by_spark,
    solutions.incremented,
    drawn=_drawn,
    hints=[
        "There are three outcomes. Which one does the method check first, before it looks at the old mark?",
        "A mark above LEO is refused with an exception, not lowered. A mark at LEO is allowed.",
    ],
    beliefs=[
        Belief(
            lambda old, new, log_end: "refused" if new > log_end else "moved" if new >= old else "stays",
            "You count the same mark as a move. The mark does not change, so it stays.",
        ),
        Belief(
            lambda old, new, log_end: "moved" if min(new, log_end) > old else "stays",
            "You let a mark above LEO pass, or lower it to LEO. The leader's method refuses with"
            " IllegalArgumentException: such a mark is a bug.",
        ),
        Belief(
            lambda old, new, log_end: "moved" if old < new <= log_end else "stays",
            "If the new mark is above LEO, you leave the old one. That would hide a bug: the new mark is refused "
            "with an exception.",
        ),
        Belief(
            lambda old, new, log_end: "refused" if not old <= new <= log_end else "moved" if new > old else "stays",
            "You refuse a lower mark. It is no error (a slow follower joins the ISR, say): the mark stays.",
        ),
        Belief(
            lambda old, new, log_end: "refused" if new > log_end else "moved" if new != old else "stays",
            "You let the mark fall. maybe_increment_high_watermark only lets it grow.",
        ),
        Belief(
            lambda old, new, log_end: "refused" if new >= log_end else "moved" if new > old else "stays",
            "You refuse a mark at LEO. The bound is exclusive: at LEO everything is committed.",
        ),
    ],
)
