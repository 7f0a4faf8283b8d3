"""What the quiz asks about the lesson *Background tasks*."""

from minikafka.lab.stage.storage_layer import StorageLayer
from minikafka.lab.teaching.quiz.question import COMPUTE, Question


def second_of_retention() -> int:
    """When the records of second 0 go with `retention.ms=400000`: the second."""
    layer = StorageLayer({"retention.ms": 400_000})
    layer.start()
    layer.create("orders-0")
    layer.append("orders-0", *"abc")
    return layer.sleep_until(lambda: layer.log("orders-0").log_start_offset > 0)


def seconds_until_a_topic_is_gone() -> int:
    """How long after `async_delete` the directory is there."""
    layer = StorageLayer()
    layer.start()
    layer.create("orders-0")
    layer.sleep(40)
    layer.delete("orders-0")
    began = layer.second
    return layer.sleep_until(lambda: not any(name.endswith("-delete/") for name in layer.entries())) - began


QUESTIONS = (
    Question(
        COMPUTE,
        "What log.retention.* does",
        "A broker with the default settings starts at second 0. Three records of that second, on all replicas, are in"
        " a topic with `retention.ms=400000`. At which second are they no longer in the log?",
        second_of_retention,
        "`retention.ms` says from when on they may go. The task runs at seconds 30, 330 and 630.",
        card="They go at the next run of the retention task … 30 s after a start, then every five minutes by default",
    ),
    Question(
        COMPUTE,
        "A topic is deleted",
        "How many seconds after a topic is deleted is its disk space free, with the default settings?",
        seconds_until_a_topic_is_gone,
        "First the directory gets another name; a minute later (the broker's `log.segment.delete.delay.ms`, whatever"
        " the topic sets) a task deletes it.",
        card="`log.segment.delete.delay.ms`, by default a minute",
    ),
)
