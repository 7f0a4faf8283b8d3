"""Where a follower ends: which of the fetched batches it takes, and which sets it refuses."""

import random
from collections.abc import Callable

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase
from minikafka.lessons.append import solutions
from minikafka.spark import session
from minikafka.witness.log.dataframes import batches_frame, operations_frame
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations

Fetch = tuple[int, list[tuple[int, int, int]]]
"""The epoch in which the follower asked, and (first offset, last offset, leader epoch) of each batch that it got."""


def _fetched(name: str, *fetches: Fetch) -> WitnessedCase:
    lines = []
    for epoch, batches in fetches:
        words = (f"[{last - first + 1}x1 offset={first} leader_epoch={leader}]" for first, last, leader in batches)
        lines.append(f"append_as_follower leader_epoch={epoch} {' '.join(words)}")

    def answer(observations: Observations) -> list[int | str]:
        pairs = zip(observations.column("error"), observations.column("log_end_offset"), strict=True)
        return [error or end for error, end in pairs]

    return WitnessedCase(f"{name}: {list(fetches)}", (list(fetches),), Workload.parse("\n".join(lines)), answer)


_ENDS = """
WITH got AS (
  SELECT op, leader_epoch AS asked, transform(array_sort(collect_list(struct(batch, distance AS first,
         distance + records - 1 AS last, epoch))), b -> b) AS batches
  FROM (SELECT o.op, o.leader_epoch, b.batch, b.distance, b.records, b.leader_epoch AS epoch
        FROM {operations} o JOIN {batches} b ON b.op = o.op)
  GROUP BY op, leader_epoch),
taken AS (
  SELECT op, filter(batches, b -> NOT exists(batches, e -> e.batch <= b.batch AND e.epoch > asked)) AS kept FROM got),
judged AS (
  SELECT op, CASE WHEN size(kept) = 0 THEN 'nothing'
                  WHEN exists(kept, b -> exists(kept, e -> e.batch < b.batch AND e.last >= b.last)) THEN 'order'
                  ELSE 'fine' END AS state, get(kept, 0).first AS first, try_element_at(kept, -1).last + 1 AS next
  FROM taken)
SELECT explode(aggregate(array_sort(collect_list(struct(op, state, first, next))),
  named_struct('leo', 0L, 'answers', CAST(array() AS ARRAY<STRING>)),
  (s, j) -> named_struct(
    'leo', IF(j.state = 'fine' AND j.first >= s.leo, j.next, s.leo),
    'answers', s.answers || array(CASE WHEN j.state = 'order' THEN 'OffsetsOutOfOrderException'
                                       WHEN j.state = 'fine' AND j.first < s.leo THEN 'UnexpectedAppendOffsetException'
                                       WHEN j.state = 'fine' THEN string(j.next) ELSE string(s.leo) END)),
  s -> s.answers)) AS answer
FROM judged
"""


def _judged_by_a_fold(case: WitnessedCase) -> list[int | str]:
    """What Spark makes of the fetched batches: those before the first later epoch, then a fold over the log's end."""
    spark = session()
    tables = {"operations": operations_frame(case.workload, spark), "batches": batches_frame(case.workload, spark)}
    rows = spark.sql(_ENDS, **tables).collect()
    return [int(row.answer) if row.answer.isdigit() else row.answer for row in rows]


def _ends(
    *,
    skips: Callable[[list, int], list] | None = None,
    in_order: bool = True,
    refuses_gaps: bool = False,
    may_repeat: bool = False,
    end: Callable[[list], int] = lambda taken: taken[-1][1] + 1,
) -> Callable[[list[Fetch]], list[int | str]]:
    """The answers by Kafka's rules, or with one of them bent."""

    def answers(fetches: list[Fetch]) -> list[int | str]:
        log_end, found = 0, []
        for asked, batches in fetches:
            taken = (skips or _before_a_later_epoch)(batches, asked)
            lasts = [last for _, last, _ in taken]
            answer: int | str = log_end
            if in_order and lasts != sorted(set(lasts)):
                answer = "OffsetsOutOfOrderException"
            elif taken and (taken[0][0] < log_end and not may_repeat or refuses_gaps and taken[0][0] > log_end):
                answer = "UnexpectedAppendOffsetException"
            elif taken:
                log_end = answer = end(taken)
            found.append(answer)
        return found

    return answers


def _before_a_later_epoch(batches: list, asked: int) -> list:
    later = [number for number, (_, _, epoch) in enumerate(batches) if epoch > asked]
    return batches[: later[0]] if later else batches


def _drawn(draw: random.Random) -> WitnessedCase:
    """Mostly batches that follow, with gaps; some come again, out of order, or are of a later epoch."""
    fetches, end, asked = [], 0, 0
    for _ in range(draw.randint(1, 4)):
        asked += draw.choice((0, 0, 0, 1))
        batches, first = [], max(0, end + draw.choice((0, 0, 0, 0, 3, -2)))
        for _ in range(draw.choice((1, 1, 2, 3, 4))):
            last = first + draw.randint(0, 2)
            batches.append((first, last, max(0, asked + draw.choice((-1, 0, 0, 0, 0, 1)))))
            first = max(0, draw.choice((last + 1, last + 1, last + 1, last + 4, first, first - 1)))
        end = max(end, batches[-1][1] + 1)
        fetches.append((asked, batches))
    return _fetched("", *fetches)


follower_ends = Exercise(
    "Exercise 2, where a follower ends",
    lambda: [
        _fetched("two batches, then one", (0, [(0, 1, 0), (2, 2, 0)]), (0, [(3, 5, 0)])),
        _fetched("gaps", (0, [(0, 1, 0), (5, 6, 0)]), (0, [(20, 20, 0)])),
        _fetched("a new leader's batches", (0, [(0, 1, 0), (2, 3, 1)]), (1, [(2, 3, 1)])),
        _fetched("epochs that rise and fall", (1, [(0, 0, 1), (1, 1, 2), (2, 2, 1)]), (0, [(1, 1, 2)])),
        _fetched("what it has already", (0, [(0, 3, 0)]), (0, [(2, 5, 0)]), (0, [(4, 5, 0)])),
        _fetched("out of order", (0, [(0, 1, 0), (4, 5, 0), (2, 3, 0)]), (0, [(0, 0, 0)])),
        _fetched("out of order, but left out", (0, [(0, 1, 0), (4, 5, 1), (2, 3, 0)]), (0, [(2, 3, 0)])),
        _fetched("nothing that counts", (0, [(0, 1, 1)]), (0, [(0, 1, 0)])),
        _fetched("two of a later epoch", (0, [(0, 1, 0), (2, 3, 1), (4, 5, 1)])),
        _fetched("what it has in part", (0, [(0, 3, 0)]), (0, [(2, 3, 0), (4, 5, 0)])),
    ],
    _judged_by_a_fold,
    solutions.ends_of_a_follower,
    drawn=_drawn,
    hints=[
        "First decide which batches count: all before the first batch whose epoch is later than the one in which the "
        "follower asked.",
        "Then check two things. Do the last offsets grow from batch to batch? Does the first batch begin at or above "
        "the log end?",
        "The new log end is the last offset + 1. If the answer is refused, or if no batch is left, the log end stays.",
    ],
    beliefs=[
        Belief(
            _ends(skips=lambda batches, asked: batches),
            "You take batches of a later epoch than the one in which the follower asked. They may not follow "
            "what it has: its log may have been cut in between.",
        ),
        Belief(
            _ends(skips=lambda batches, asked: [batch for batch in batches if batch[2] <= asked]),
            "You leave out only the batches of a later epoch. The follower leaves out everything from the first of "
            "them on.",
        ),
        Belief(
            _ends(refuses_gaps=True),
            "You refuse gaps. A follower accepts gaps, because compaction on the leader makes them.",
        ),
        Belief(
            _ends(may_repeat=True),
            "You write records that the follower already has. An answer that begins below its log end is refused.",
        ),
        Belief(
            _ends(in_order=False),
            "You accept batches whose last offsets do not grow. The whole answer is refused.",
        ),
        Belief(
            _ends(end=lambda taken: taken[0][0] + sum(last - first + 1 for first, last, _ in taken)),
            "You count records. The log end is the last offset + 1, even if there are gaps.",
        ),
    ],
)
