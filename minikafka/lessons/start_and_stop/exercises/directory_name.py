"""What the name of a directory in a log directory says."""

import random
import re
from functools import cache
from typing import Any

from minikafka.common.errors import KafkaException
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.managed import managed
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.start_and_stop import solutions

_ID = "0123456789abcdef0123456789abcdef"
_REFUSED = ("refused", "", -1)
_NAMES = (
    "orders-0",
    "eu-orders-12",
    "orders.v1-3",
    f"orders-0.{_ID}-delete",
    f"eu-orders-1.{_ID}-future",
    f"my.topic-2.{_ID}-stray",
    "orders",
    "lost+found",
    "orders-x",
    "orders-",
    "orders-0-delete",
    "stray-7",
    "-0",
)


@cache
def _spark_says() -> dict[int, tuple[str, str, int]]:
    return answers_of(
        """WITH kinds AS (
               SELECT *, nullif(regexp_extract(name, '-(delete|future|stray)$', 1), '') AS ending FROM {names}),
           parts AS (
               SELECT number, coalesce(ending, 'current') AS kind,
                      IF(ending IS NULL, name, regexp_extract(name, '^(.+)[.][^.]+$', 1)) AS plain FROM kinds)
           SELECT number, IF(plain RLIKE '^.+-[0-9]+$', kind, 'refused'),
                  regexp_extract(plain, '^(.+)-([0-9]+)$', 1),
                  coalesce(try_cast(nullif(regexp_extract(plain, '^(.+)-([0-9]+)$', 2), '') AS INT), -1)
           FROM parts""",
        names=(list(enumerate(_NAMES)), "number INT, name STRING"),
    )


def _case(number: int) -> AskedCase:
    name = _NAMES[number]
    return AskedCase(
        repr(name.replace(_ID, "ID")),
        (name,),
        lambda: _spark_says()[number],
        lambda factory: _manager_says(factory, name),
    )


def _manager_says(factory: Any, name: str) -> tuple[str, str, int]:
    """Where a manager puts the log in a directory of this name when it starts."""
    with managed(factory) as one:
        directory = one.log_dirs[0] / name
        directory.mkdir(parents=True)
        try:
            one.start()
        except KafkaException:
            return _REFUSED
        kafka = jvm_of(factory)
        if kafka is None:
            from minikafka.log.log_dir_name import parse_topic_partition_name

            partition = parse_topic_partition_name(directory)
            waits = bool(list(one.manager.logs_to_be_deleted))
        else:
            partition = kafka.log_class("LocalLog").parseTopicPartitionName(kafka.file(directory))
            waits = one.manager.log_manager.hasLogsToBeDeleted()
            partition = _python(partition)
        if waits:
            return ("delete", *partition)
        for kind, is_future in (("current", False), ("future", True)):
            if one.manager.get_log(partition, is_future=is_future):
                return (kind, *partition)
        return ("stray", *partition)


def _python(partition: Any) -> Any:
    from minikafka.common.topic_partition import TopicPartition

    return TopicPartition(partition.topic(), partition.partition())


def _parsed(name, *, split=str.rpartition, dot=str.rpartition, needs_id=True, number=r"[0-9]+", kinds=True):
    """A wrong answer, where not told otherwise the right one."""
    ending = re.search("-(delete|future|stray)$", name) if kinds else None
    if ending:
        plain, point, _ = dot(name, ".")
        if not point and needs_id:
            return _REFUSED
        name = plain if point else name[: ending.start()]
    topic, _, partition = split(name, "-")
    if not topic or not re.fullmatch(number, partition):
        return _REFUSED
    return (ending[1] if ending else "current", topic, int(partition) if partition.isdigit() else 0)


def _drawn(draw: random.Random) -> AskedCase:
    topic = draw.choice(("orders", "eu-orders", "a.b", "x-1", "stray", "delete-1", "v1.2-future", "", "-"))
    partition = draw.choice(("-0", "-12", "-7", "-2147483647", "-x", "-", "", "-1x"))
    ending = draw.choice(("", "", "-delete", *(f".{_ID}-{kind}" for kind in ("delete", "future", "stray"))))
    name = f"{topic}{partition}{ending}" or "orders"
    return AskedCase("", (name,), lambda: None, lambda factory: _manager_says(factory, name))


directory_name = Exercise(
    "Exercise 2, what a name says",
    lambda: [_case(number) for number in range(len(_NAMES))],
    judged_by_spark,
    solutions.parse_topic_partition_name,
    drawn=_drawn,
    hints=[
        "Look at the end first: -delete, -future or -stray. Such a name also has a dot and an id before this ending; "
        "without a dot it is refused.",
        "What is left is topic-partition. A topic's name may have dashes and dots: use `name.rpartition('-')`.",
        "The topic must not be empty, and the partition must be a number (`isdigit`). Otherwise the name is refused.",
    ],
    beliefs=[
        Belief(
            lambda name: _parsed(name, split=str.partition),
            "You split at the first dash. A topic's name may have dashes: the partition comes after the last one.",
        ),
        Belief(
            lambda name: _parsed(name, kinds=False),
            "You recognise only plain names. If a log waits for its deletion, is being moved, or is stray, the end "
            "of its name says so.",
        ),
        Belief(
            lambda name: _parsed(name, dot=str.partition),
            "You cut at the first dot. A topic's name may have dots: the id comes after the last one.",
        ),
        Belief(
            lambda name: _parsed(name, needs_id=False),
            "You accept an ending without an id. Before the ending there must be a dot and an id; without them the "
            "start refuses the name.",
        ),
        Belief(
            lambda name: _parsed(name, number=r".*"),
            "You accept a partition that is not a number. With such a directory the start fails.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)
