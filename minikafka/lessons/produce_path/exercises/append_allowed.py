"""Whether a partition takes the records: who leads, and how many replicas are in sync."""

import random
from functools import cache
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark
from minikafka.lab.exercises.asked_brokers import brokers_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.produce_path import solutions

_ASKED = [  # leads, isr_size, min_isr, replicas, required_acks
    (True, 2, 1, 2, -1),
    (True, 1, 1, 2, -1),
    (True, 1, 2, 2, -1),
    (True, 1, 2, 2, 1),
    (True, 1, 2, 2, 0),
    (True, 2, 2, 3, -1),
    (True, 2, 3, 3, -1),
    (True, 1, 3, 1, -1),
    (True, 2, 3, 2, -1),
    (False, 2, 1, 2, -1),
    (False, 1, 2, 2, -1),
    (False, 2, 1, 2, 1),
]


def _case(number: int) -> AskedCase:
    leads, isr_size, min_isr, replicas, acks = _ASKED[number]
    name = f"{'the leader' if leads else 'not the leader'}, {isr_size} of {replicas} in sync, at least {min_isr}"
    return AskedCase(
        f"{name}, acks {acks}",
        _ASKED[number],
        lambda: _expected()[number],
        lambda factory: _asked(factory, *_ASKED[number]),
    )


@cache
def _expected() -> dict[int, Any]:
    schema = "number INT, leads BOOLEAN, isr_size INT, min_isr INT, replicas INT, acks INT"
    return answers_of(
        """SELECT number, CASE WHEN NOT leads THEN 'NOT_LEADER_OR_FOLLOWER'
                               WHEN acks = -1 AND isr_size < least(min_isr, replicas) THEN 'NOT_ENOUGH_REPLICAS'
                               ELSE 'NONE' END
           FROM {asked}""",
        asked=([(number, *asked) for number, asked in enumerate(_ASKED)], schema),
    )


def _asked(factory: Any, leads: bool, isr_size: int, min_isr: int, replicas: int, acks: int) -> str:
    everybody, members = (",".join(map(str, range(count))) for count in (replicas, isr_size))
    with brokers_of(factory, replicas, f"topic t {everybody} min.insync.replicas={min_isr}") as brokers:
        leader = "" if leads else " leader=1"
        isr = members if leads else "0,1" if isr_size > 1 else "1"
        brokers.do(f"change t-0{leader} isr={isr}", "publish 0", f"produce 0 version=11 acks={acks} t-0 [1x10]")
        answered = brokers.parts_of_last()
        if brokers.log_end("t-0") == 1:
            return Errors.NONE.name
        assert answered is not None
        return Errors(answered[0][2]).name


def _allowed(
    *,
    who=lambda acks: acks == -1,
    least=min,
    enough=lambda isr_size, wanted: isr_size >= wanted,
    leader_first=True,
):
    """A wrong answer, where not told otherwise the right one."""

    def may_append(leads, isr_size, min_isr, replicas, required_acks):
        if leader_first and not leads:
            return "NOT_LEADER_OR_FOLLOWER"
        if who(required_acks) and not enough(isr_size, least(min_isr, replicas)):
            return "NOT_ENOUGH_REPLICAS"
        return "NONE" if leads or leader_first is None else "NOT_LEADER_OR_FOLLOWER"

    return may_append


def _drawn(draw: random.Random) -> AskedCase:
    replicas = draw.randint(1, 4)
    leads = replicas == 1 or draw.random() < 0.75
    asked = (leads, draw.randint(1, replicas), draw.randint(1, 5), replicas, draw.choice((-1, -1, 0, 1)))
    return AskedCase("", asked, lambda: None, lambda factory: _asked(factory, *asked))


append_allowed = Exercise(
    "Exercise 1, may the append go on?",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.may_append,
    drawn=_drawn,
    hints=[
        "Check two things, in this order. Does this broker lead? Are enough replicas in sync for these acks?",
        "Only acks = −1 needs a number of replicas. A partition with two replicas cannot have three in sync: the "
        "setting counts only up to the number of replicas.",
    ],
    beliefs=[
        Belief(
            _allowed(who=lambda acks: True),
            "You refuse acks 0 and 1 because too few replicas are in sync. A producer with these acks does not ask "
            "for copies.",
        ),
        Belief(
            _allowed(least=lambda min_isr, replicas: min_isr),
            "You require more replicas in sync than the partition has. The minimum is at most the number of replicas.",
        ),
        Belief(
            _allowed(enough=lambda isr_size, wanted: isr_size > wanted),
            "You require more than the minimum. Exactly the minimum is enough.",
        ),
        Belief(
            _allowed(leader_first=False),
            "You count replicas before you check who leads. Only the leader knows the ISR: check leadership first.",
        ),
        Belief(
            _allowed(leader_first=None),
            "You let a broker append that does not lead. Only the leader assigns offsets.",
        ),
    ],
)
