"""What the quiz asks about the lesson *Loading*."""

from minikafka.lab.stage.damage import SMALL, another, load
from minikafka.lab.teaching.quiz.question import CHOOSE, ORDER, Question, in_the_order_of
from minikafka.lab.teaching.quiz.small_runs import two_segments


def recovery_point_after_clean() -> int:
    """The recovery point after a clean stop, where the file says 2 and the log ends at 8."""
    log = two_segments()
    log.close()
    return load(another(log.dir), SMALL, clean=True, recovery_point=2).recovery_point


def phases_of_a_load() -> list[str]:
    """Five phases of a load, as a walk comes to them."""
    from minikafka.lab.stepper.stepper import step_through

    log = two_segments()
    log.close()
    walk = step_through(load, another(log.dir), SMALL, clean=True, into={"LogLoader.load"})
    steps = {"litter": "1", "swap": "3", "open": "4", "epochs": "6", "producers": "7"}
    return in_the_order_of(walk, "LogLoader.load", steps)


QUESTIONS = (
    Question(
        CHOOSE,
        "Phase 5: where the log ends",
        "The file of recovery points says 2, the log ends at 8, and the stop was a clean one. Where is the"
        " recovery point after the load?",
        recovery_point_after_clean,
        "A clean stop flushes everything before it closes the logs.",
        {0: "0", 2: "2", 8: "8"},
        card="after a clean stop the recovery point is the log's end",
        replies={
            0: "The high watermark begins at the log start, the recovery point does not.",
            2: "The file is a hint. After a clean stop it is not needed.",
        },
    ),
    Question(
        ORDER,
        "Seven phases",
        "A log is loaded. Bring these into their order.",
        phases_of_a_load,
        "Names first, then contents: only when every file has its final name are segments opened, and what depends on"
        " the log's end comes when that end is known.",
        {
            "producers": "producers, from snapshots and what follows them",
            "open": "segments are opened",
            "litter": "unfinished files go",
            "epochs": "epochs beyond the log's end go",
            "swap": "`.swap` files get their names",
        },
        card="1. leftovers … 3. names … 4. open … 6. epochs … 7. producers",
    ),
)
