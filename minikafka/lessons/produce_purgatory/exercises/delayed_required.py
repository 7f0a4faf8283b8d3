"""Whether a produce request has to wait after the leader's part is done."""

import random
from functools import cache
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark
from minikafka.lab.exercises.asked_brokers import brokers_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.produce_purgatory import solutions

_NONE, _AWAY, _FEW = Errors.NONE.name, Errors.NOT_LEADER_OR_FOLLOWER.name, Errors.NOT_ENOUGH_REPLICAS.name
_ASKED: list[tuple[int, list[str]]] = [
    (-1, [_NONE]),
    (-1, [_NONE, _NONE]),
    (1, [_NONE, _NONE]),
    (0, [_NONE]),
    (-1, [_AWAY]),
    (-1, [_FEW, _AWAY]),
    (-1, [_NONE, _AWAY]),
    (-1, [_FEW, _NONE]),
    (1, [_NONE, _AWAY]),
    (0, [_AWAY]),
    (-1, [_AWAY, _NONE, _FEW]),
]
_PLACES = {_NONE: ("t-0", "t-1"), _AWAY: ("t-2",), _FEW: ("few-0",)}
"""Partitions whose leader's part ends so: two that broker 0 leads, one that it does not lead, one with too few in sync
for acks=all.
"""


def _case(number: int) -> AskedCase:
    acks, errors = _ASKED[number]
    return AskedCase(
        f"acks {acks}, {', '.join(errors)}",
        (acks, errors),
        lambda: _expected()[number],
        lambda factory: _waits(factory, acks, errors),
    )


@cache
def _expected() -> dict[int, Any]:
    rows = [(number, acks, error) for number, (acks, errors) in enumerate(_ASKED) for error in errors]
    return answers_of(
        "SELECT number, any_value(acks) = -1 AND bool_or(error = 'NONE') FROM {asked} GROUP BY number",
        asked=(rows, "number INT, acks INT, error STRING"),
    )


def _waits(factory: Any, acks: int, errors: list[str]) -> bool:
    free = {error: list(places) for error, places in _PLACES.items()}
    targets = " ".join(f"{free[error].pop(0)} [1x10]" for error in errors)
    topics = ("topic t 0,1/0,1/1,0 min.insync.replicas=1", "topic few 0,1 min.insync.replicas=2")
    with brokers_of(factory, 2, *topics) as brokers:
        brokers.do("change few-0 isr=0", "publish 0", f"produce 0 version=11 acks={acks} {targets}")
        answered = brokers.parts_of_last()
        if answered:
            named = {f"{topic}-{partition}": Errors(code).name for topic, partition, code in answered}
            assert sorted(named.values()) == sorted(errors)
        return answered is None


def _drawn(draw: random.Random) -> AskedCase:
    acks = draw.choice((-1, -1, 1, 0))
    outcomes = [_NONE, _NONE, _AWAY, *([_FEW] if acks == -1 else [])]
    errors = draw.sample(outcomes, draw.randint(1, len(outcomes)))
    return AskedCase("", (acks, errors), lambda: None, lambda factory: _waits(factory, acks, errors))


delayed_required = Exercise(
    "Exercise 1, must the request wait?",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.delayed_produce_request_required,
    drawn=_drawn,
    hints=[
        "Which acks need replicas? And is there anything to wait for, if no partition has appended records?",
        "acks = −1, and at least one partition whose error is NONE.",
    ],
    beliefs=[
        Belief(
            lambda acks, errors: acks == -1,
            "You wait although every partition has refused its records. There is nothing to replicate, so the broker "
            "answers at once.",
        ),
        Belief(
            lambda acks, errors: acks == -1 and all(error == _NONE for error in errors),
            "You answer at once if one partition fails. There is one response for all partitions: it waits for the "
            "others.",
        ),
        Belief(
            lambda acks, errors: acks != 0 and any(error == _NONE for error in errors),
            "You wait with acks=1. For acks=1 the leader's own log is enough.",
        ),
        Belief(
            lambda acks, errors: acks == -1 and errors[0] == _NONE,
            "You look at the first partition only. The request waits if any partition has appended its records.",
        ),
        Belief(
            lambda acks, errors: any(error == _NONE for error in errors),
            "You wait for all acks. Only acks=all waits for replicas.",
        ),
    ],
)
