"""What the quiz asks about the lesson *Start and stop*."""

from minikafka.lab.stage.storage_layer import StorageLayer
from minikafka.lab.teaching.quiz.question import CHOOSE, ORDER, Question, in_the_order_of


def recovered_after_an_empty_life() -> int:
    """How many segments are read when a broker was stopped cleanly, started, and killed before it wrote anything.

    It has two logs of three segments each.
    """
    layer = StorageLayer()
    layer.start()
    layer.create("orders-0", "users-0")
    for name in ("orders-0", "users-0"):
        for value in "ab":
            layer.append(name, value)
            layer.roll(name)
        layer.append(name, "c")
    layer.stop()
    layer.start()
    layer.kill()
    return len(layer.start())


def steps_of_a_stop() -> list[str]:
    """Four steps of a clean stop, as a walk comes to them."""
    from minikafka.lab.stepper.stepper import step_through

    layer = StorageLayer()
    layer.start()
    layer.create("orders-0")
    walk = step_through(layer.before_shutdown(), into={"LogManager.shutdown"})
    return in_the_order_of(walk, "LogManager.shutdown", {"flush": "2", "points": "4", "marker": "5", "lock": "7"})


QUESTIONS = (
    Question(
        CHOOSE,
        "The stop and the start",
        "Two logs with three segments each. The broker was stopped cleanly, started again, and was killed before it"
        " had written a record. How many of the six segments does the next start check from their first batch on?",
        recovered_after_an_empty_life,
        "The marker goes before the first log is opened, so the start is an unclean one. But the recovery points are"
        " the log ends, and a log is read from the segment on that holds its recovery point.",
        {0: "none", 2: "two", 6: "six"},
        card="A start takes it away before it opens the first log … checks each log from the segment of its recovery"
        " point on",
        replies={
            0: "The marker of the clean stop went with the first start after it.",
            6: "The clean stop has written the ends of the logs into the file of recovery points.",
        },
    ),
    Question(
        ORDER,
        "The stop and the start",
        "A broker's log manager shuts down. Bring these into their order.",
        steps_of_a_stop,
        "The marker says that everything else has been done, so it comes after that; then others may have the"
        " directory.",
        {
            "marker": "the marker of a clean stop is written",
            "lock": "the locks are released",
            "flush": "logs are flushed and closed",
            "points": "recovery points are written",
        },
        card="a stop writes from right to left … flushes and closes all logs … writes the checkpoints … writes the"
        " marker … releases the lock",
    ),
)
