"""In which log directory a new partition goes."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, call_private, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.managed import managed
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.start_and_stop import solutions


@dataclass(frozen=True)
class _Asked:
    """Live log directories in their order, how many logs each has, and which are cordoned."""

    log_dirs: tuple[str, ...]
    counts: tuple[int, ...]
    cordoned: frozenset[str] = frozenset()

    def __str__(self) -> str:
        said = [
            f"{name} {count} logs{' (cordoned)' if name in self.cordoned else ''}"
            for name, count in zip(self.log_dirs, self.counts, strict=True)
        ]
        return ", ".join(said)

    @property
    def log_counts(self) -> dict[str, int]:
        return {name: count for name, count in zip(self.log_dirs, self.counts, strict=True) if count}


_ASKED = (
    _Asked(("a", "b", "c"), (3, 1, 2)),
    _Asked(("a", "b", "c"), (2, 0, 1)),
    _Asked(("c", "b", "a"), (1, 1, 1)),
    _Asked(("a", "b", "c"), (3, 1, 2), frozenset("b")),
    _Asked(("b", "a"), (2, 1), frozenset("ab")),
    _Asked(("a",), (4,), frozenset("a")),
    _Asked(("d", "a", "c"), (1, 0, 0), frozenset("c")),
)


@cache
def _spark_says() -> dict[int, list[str]]:
    rows = [
        (number, place, name, count, name in asked.cordoned)
        for number, asked in enumerate(_ASKED)
        for place, (name, count) in enumerate(zip(asked.log_dirs, asked.counts, strict=True))
    ]
    return answers_of(
        """WITH told AS (SELECT *, min(cordoned) OVER (PARTITION BY number) AS none_left FROM {log_dirs})
           SELECT number, transform(
                      array_sort(collect_list(struct(IF(none_left, 0, logs) AS logs, place, name))), d -> d.name)
           FROM told WHERE NOT cordoned OR (none_left AND place = 0) GROUP BY number""",
        log_dirs=(rows, "number INT, place INT, name STRING, logs INT, cordoned BOOLEAN"),
    )


def _case(asked: _Asked, expected: Callable[[], Any] = lambda: None) -> AskedCase:
    arguments = (list(asked.log_dirs), set(asked.cordoned), asked.log_counts)
    return AskedCase(str(asked), arguments, expected, lambda factory: _manager_says(factory, asked))


def _spark_said(number: int) -> list[str]:
    return _spark_says()[number]


def _manager_says(factory: Any, asked: _Asked) -> list[str]:
    """What a manager tries that has as many logs in each directory."""
    from minikafka.common.topic_partition import TopicPartition

    with managed(factory, asked.log_dirs) as one:
        one.start()
        for log_dir, count in zip(one.log_dirs, asked.counts, strict=True):
            for number in range(count):
                partition = TopicPartition(f"in-{log_dir.name}", number)
                one.manager.maybe_update_preferred_log_dir(partition, log_dir)
                one.manager.get_or_create_log(partition, is_new=True)
        one.manager.log_dirs.update_cordoned_log_dirs(one.directory / name for name in asked.cordoned)
        kafka = jvm_of(factory)
        if kafka is None:
            counts = {one.directory / name: count for name, count in asked.log_counts.items()}
            return [log_dir.name for log_dir in one.manager.log_dirs.next_log_dirs(counts)]
        theirs = one.manager.log_manager
        found = call_private(kafka, theirs.getClass(), theirs, "nextLogDirs")
        return [Path(found.apply(place).getPath()).name for place in range(found.size())]


def _chosen(*, may=lambda name, cordoned: name not in cordoned, weight=lambda count, name: count, none_left=True):
    """A wrong answer, where not told otherwise the right one."""

    def next_log_dirs(live_log_dirs, cordoned_log_dirs, log_counts):
        candidates = [name for name in live_log_dirs if may(name, cordoned_log_dirs)]
        if not candidates and none_left:
            return live_log_dirs[:1]
        return sorted(candidates, key=lambda name: weight(log_counts.get(name, 0), name))

    return next_log_dirs


def _without_empty_ones(live_log_dirs, cordoned_log_dirs, log_counts):
    candidates = [name for name in log_counts if name not in cordoned_log_dirs]
    return sorted(candidates, key=log_counts.get) or live_log_dirs[:1]


def _drawn(draw: random.Random) -> AskedCase:
    names = tuple(draw.sample("abcdef", draw.randint(1, 4)))
    cordoned = draw.sample(names, draw.choice((0, 0, 0, 1, len(names) - 1, len(names))))
    return _case(_Asked(names, tuple(draw.randint(0, 3) for _ in names), frozenset(cordoned)))


next_log_directory = Exercise(
    "Exercise 1, where a new partition goes",
    lambda: [_case(asked, partial(_spark_said, number)) for number, asked in enumerate(_ASKED)],
    judged_by_spark,
    solutions.next_log_dirs,
    drawn=_drawn,
    hints=[
        "Leave out the cordoned directories. If none is left, the answer is only the first live one.",
        "Sort the others by their number of logs: `log_counts.get(name, 0)`.",
        "Python's `sorted` keeps the order of equal entries: the order of log.dirs. (Kafka does the same with up to "
        "four directories; with more, equal ones come in the order of a hash map.)",
    ],
    beliefs=[
        Belief(
            _chosen(may=lambda name, cordoned: True),
            "You use cordoned directories. They are used only if all directories are cordoned.",
        ),
        Belief(
            _chosen(weight=lambda count, name: 0),
            "You use the order of log.dirs only. The directory with the fewest logs comes first, however large they "
            "are.",
        ),
        Belief(
            _chosen(weight=lambda count, name: -count),
            "You take the fullest first. The one with the fewest logs comes first.",
        ),
        Belief(
            _chosen(weight=lambda count, name: (count, name)),
            "You sort directories with equally many logs by their names. They stay in the order of log.dirs.",
        ),
        Belief(
            _without_empty_ones,
            "You forget directories without logs. They are missing in log_counts, and come first in the answer.",
        ),
        Belief(
            _chosen(none_left=False),
            "You return no directory if all are cordoned. Then the answer is the first live one.",
        ),
    ],
)
