"""Whether one partition's part of a waiting request is settled, and how."""

import random
from functools import cache
from typing import Any

from minikafka.common.topic_partition import TopicPartition
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.asked_brokers import brokers_of, fetch_line
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.produce_purgatory import solutions

_REPLICAS = 3
_ASKED = [  # leads, required_offset, high_watermark, in_sync, min_isr
    (True, 2, 3, 3, 1),
    (True, 3, 3, 3, 2),
    (True, 4, 3, 3, 2),
    (True, 4, 3, 1, 2),
    (True, 3, 3, 1, 2),
    (True, 1, 3, 2, 3),
    (True, 3, 3, 2, 2),
    (True, 1, 0, 3, 2),
    (False, 2, 3, 2, 1),
    (False, 4, 3, 2, 2),
]


def _case(number: int) -> AskedCase:
    leads, required, mark, in_sync, min_isr = _ASKED[number]
    who = "the leader" if leads else "no longer the leader"
    return AskedCase(
        f"{who}, waiting for {required}, HW {mark}, {in_sync} in sync, at least {min_isr}",
        _ASKED[number],
        lambda: _expected()[number],
        lambda factory: _asked(factory, *_ASKED[number]),
    )


@cache
def _expected() -> dict[int, Any]:
    schema = "number INT, leads BOOLEAN, required BIGINT, hw BIGINT, in_sync INT, min_isr INT"
    return answers_of(
        """SELECT number, leads AND hw >= required,
                  CASE WHEN NOT leads THEN 'NOT_LEADER_OR_FOLLOWER'
                       WHEN hw >= required AND in_sync < min_isr THEN 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'
                       ELSE 'NONE' END
           FROM {asked}""",
        asked=([(number, *asked) for number, asked in enumerate(_ASKED)], schema),
    )


def _asked(factory: Any, leads: bool, required: int, mark: int, in_sync: int, min_isr: int) -> tuple[bool, str]:
    """Everybody fetches all records, so that the mark is at the log end; then the ISR shrinks, or another leads."""
    everybody = ",".join(map(str, range(_REPLICAS)))
    with brokers_of(factory, _REPLICAS, f"topic t {everybody} min.insync.replicas={min_isr}") as brokers:
        brokers.do(*["produce 0 acks=1 t-0 [1x10]"] * mark)
        brokers.do(*(fetch_line(follower, ("t-0", mark)) for follower in range(1, _REPLICAS)))
        isr = ",".join(map(str, range(in_sync)))
        brokers.do(f"change t-0 isr={isr}" + ("" if leads else " leader=1"), "publish 0")
        cluster, kafka = brokers.runner.cluster, jvm_of(factory)
        if kafka is None:
            partition = cluster.replica_manager(0).get_partition_or_exception(TopicPartition("t", 0))
            assert partition.log.high_watermark == mark
            reached, error = partition.check_enough_replicas_reach_offset(required)
            return reached, error.name
        java_partition = kafka.find_class("org.apache.kafka.common.TopicPartition")("t", 0)
        answer = (
            cluster.replica_manager(0).getPartitionOrException(java_partition).checkEnoughReplicasReachOffset(required)
        )
        return answer._1(), answer._2().name()


def _checked(
    *,
    reached=lambda mark, required: mark >= required,
    few=lambda in_sync, min_isr: in_sync < min_isr,
    few_first=False,
    few_reached=True,
    without_leader=(False, "NOT_LEADER_OR_FOLLOWER"),
):
    """A wrong answer, where not told otherwise the right one."""

    def check_enough_replicas_reach_offset(leads, required_offset, high_watermark, in_sync, min_isr):
        if not leads:
            return without_leader
        if few_first and few(in_sync, min_isr):
            return True, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
        if not reached(high_watermark, required_offset):
            return False, "NONE"
        return (few_reached, "NOT_ENOUGH_REPLICAS_AFTER_APPEND") if few(in_sync, min_isr) else (True, "NONE")

    return check_enough_replicas_reach_offset


def _drawn(draw: random.Random) -> AskedCase:
    mark, in_sync = draw.randint(0, 6), draw.randint(1, _REPLICAS)
    leads = in_sync == 1 or draw.random() < 0.8
    asked = (leads, max(0, mark + draw.randint(-2, 2)), mark, in_sync, draw.randint(1, _REPLICAS))
    return AskedCase("", asked, lambda: None, lambda factory: _asked(factory, *asked))


enough_replicas = Exercise(
    "Exercise 2, is this part settled?",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.check_enough_replicas_reach_offset,
    drawn=_drawn,
    hints=[
        "Check in this order: who leads, where the high watermark is, how many replicas are in sync.",
        "`required_offset` and the high watermark are both exclusive: if they are equal, the records are replicated.",
        "While the high watermark is below the required offset there is no error, even if few replicas are in sync: "
        "the request waits.",
    ],
    beliefs=[
        Belief(
            _checked(reached=lambda mark, required: mark > required),
            "You require the high watermark to be above the required offset. Both are exclusive: at 3, the records 0 "
            "to 2 are replicated.",
        ),
        Belief(
            _checked(few_reached=False),
            "You return False with the error. The high watermark has reached the offset, so the records are "
            "replicated; the error says that now too few replicas are in sync.",
        ),
        Belief(
            _checked(few_first=True),
            "You end the wait because few replicas are in sync now. Others may come back in time, so the request "
            "waits.",
        ),
        Belief(
            _checked(few=lambda in_sync, min_isr: False),
            "You do not check the minimum again. The records are replicated, but fewer replicas than the minimum are "
            "in sync now.",
        ),
        Belief(
            _checked(without_leader=(False, "NONE")),
            "You let the request wait although this broker no longer leads. It will never know whether the records "
            "are replicated.",
        ),
        Belief(
            _checked(few=lambda in_sync, min_isr: in_sync <= min_isr),
            "You require more than the minimum. Exactly the minimum is enough.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)
