"""A producer's sequences: which batches are written, which are retries, which are refused."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase
from minikafka.lessons.producers import solutions
from minikafka.spark import session
from minikafka.witness.log.dataframes import batches_frame
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations


def _sequences(name: str, *batches: tuple[int, int, int]) -> WitnessedCase:
    lines = [f"append_as_leader [{count}x10 pid=7 epoch={epoch} seq={first}]" for epoch, first, count in batches]

    def answer(observations: Observations) -> list[int | str]:
        pairs = zip(observations.column("error"), observations.column("result"), strict=True)
        return [error or int(result.split("..")[0]) for error, result in pairs]

    return WitnessedCase(f"{name}: {list(batches)}", (list(batches),), Workload.parse("\n".join(lines)), answer)


_STATE = (
    "epoch BIGINT, last BIGINT, leo BIGINT, recent ARRAY<STRUCT<first BIGINT, last BIGINT, offset BIGINT>>, answers"
    " ARRAY<STRING>"
)
_SEQUENCES = f"""
SELECT explode(aggregate(
  incoming,
  from_json('{{{{"epoch": -1, "last": -1, "leo": 0, "recent": [], "answers": []}}}}', '{_STATE}'),
  (s, b) -> CASE
    WHEN b.epoch = s.epoch AND exists(s.recent, r -> r.first = b.first AND r.last = b.last) THEN
      named_struct('epoch', s.epoch, 'last', s.last, 'leo', s.leo, 'recent', s.recent, 'answers', s.answers ||
        array(string(filter(s.recent, r -> r.first = b.first AND r.last = b.last)[0].offset)))
    WHEN b.epoch < s.epoch THEN
      named_struct('epoch', s.epoch, 'last', s.last, 'leo', s.leo, 'recent', s.recent, 'answers', s.answers ||
        array('InvalidProducerEpochException'))
    WHEN s.epoch <> -1 AND b.first <> IF(b.epoch = s.epoch, s.last + 1, 0) THEN
      named_struct('epoch', s.epoch, 'last', s.last, 'leo', s.leo, 'recent', s.recent, 'answers', s.answers ||
        array('OutOfOrderSequenceException'))
    ELSE
      named_struct('epoch', b.epoch, 'last', b.last, 'leo', s.leo + b.records, 'recent',
        reverse(slice(reverse(IF(b.epoch = s.epoch, s.recent, filter(s.recent, r -> false)) ||
                              array(named_struct('first', b.first, 'last', b.last, 'offset', s.leo))), 1, 5)),
        'answers', s.answers || array(string(s.leo)))
  END,
  s -> s.answers)) AS answer
FROM (SELECT array_sort(collect_list(struct(op, producer_epoch AS epoch, base_sequence AS first,
                                            base_sequence + records - 1 AS last, records))) AS incoming FROM {{batches}})
"""


def _judged_by_a_fold(case: WitnessedCase) -> list[int | str]:
    """What Spark makes of the batches alone: a fold that carries epoch, last sequence and the last five batches."""
    spark = session()
    rows = spark.sql(_SEQUENCES, batches=batches_frame(case.workload, spark)).collect()
    return [int(row.answer) if row.answer.isdigit() else row.answer for row in rows]


def _answers(batches, *, remembered: int = 5, refuses_duplicates: bool = False, writes_duplicates: bool = False,
             new_epoch_goes_on: bool = False, unknown_begins_at_0: bool = False, by_first_sequence: bool = False,
             through_epochs: bool = False, refused_epoch_stays: bool = False) -> list[int | str]:  # fmt: skip
    """The answers by Kafka's rules, or with one of them bent."""
    log_end, known_epoch, last, recent, answers = 0, None, -1, [], []
    for epoch, first, count in batches:
        same = epoch == known_epoch
        alike = [(f == first and (c == count or by_first_sequence), offset) for f, c, offset in recent]
        found = [offset for is_alike, offset in alike if is_alike and (same or through_epochs)]
        expected = last + 1 if same or new_epoch_goes_on else 0
        if found and not writes_duplicates:
            answers.append("OutOfOrderSequenceException" if refuses_duplicates else found[0])
        elif known_epoch is not None and epoch < known_epoch:
            answers.append("InvalidProducerEpochException")
        elif (known_epoch is not None or unknown_begins_at_0) and first != expected and not found:
            answers.append("OutOfOrderSequenceException")
            known_epoch = epoch if refused_epoch_stays else known_epoch
        else:
            answers.append(log_end)
            recent = [*(recent if same or through_epochs else []), (first, count, log_end)][-remembered:]
            known_epoch, last, log_end = epoch, first + count - 1, log_end + count
    return answers


def _drawn(draw: random.Random) -> WitnessedCase:
    """Mostly what a producer would send next, or a batch that it has sent already."""
    batches: list[tuple[int, int, int]] = []
    for _ in range(draw.randint(1, 14)):
        epoch, first, count = batches[-1] if batches else (draw.choice((0, 0, 3)), draw.choice((0, 0, 5)), 0)
        following = (epoch, first + count, draw.randint(1, 3))
        beginning = (epoch + 1, draw.choice((0, 0, 0, first + count)), draw.randint(1, 2))
        anything = (max(0, epoch + draw.randint(-1, 1)), draw.randint(0, 6), draw.randint(1, 3))
        batches.append(
            draw.choice([following] * 4 + [beginning, anything] + draw.sample(batches, min(len(batches), 2)))
        )
    return _sequences("", *batches)


sequences = Exercise(
    "Exercise 1, a producer's sequences",
    lambda: [
        _sequences("a retry", (0, 0, 3), (0, 3, 2), (0, 3, 2), (0, 5, 1)),
        _sequences("a gap, then what was missing", (0, 0, 2), (0, 4, 2), (0, 2, 2), (0, 4, 2)),
        _sequences("the sixth batch back", *[(0, n, 1) for n in range(6)], (0, 1, 1), (0, 0, 1)),
        _sequences("a new epoch, then the old one", (0, 0, 2), (0, 2, 2), (1, 4, 1), (1, 0, 1), (0, 4, 1), (1, 1, 2)),
        _sequences("a producer that the log has never seen", (3, 40, 2), (3, 42, 1), (3, 40, 2)),
        _sequences("the same first sequence, another length", (0, 0, 2), (0, 0, 3)),
        _sequences("the same sequences in a new epoch", (0, 0, 2), (1, 0, 2)),
        _sequences("a refused batch of a new epoch", (0, 0, 2), (1, 4, 1), (0, 2, 1)),
    ],
    _judged_by_a_fold,
    solutions.answers_to,
    drawn=_drawn,
    hints=[
        "Keep from batch to batch: the epoch, the last sequence, the log end, and the last five batches with their "
        "first offsets.",
        "Check in this order. Is it exactly one of the five? Is its epoch older than the known one? Is its sequence "
        "the expected one?",
        (
            "In a new epoch the expected sequence is 0, and no earlier batches are remembered. An unknown producer "
            "may begin with any sequence."
        ),
    ],
    beliefs=[
        Belief(
            lambda batches: _answers(batches, refuses_duplicates=True),
            "You refuse a retry. The producer did not get the first answer. So the retry succeeds, with the offset "
            "of the first time.",
        ),
        Belief(
            lambda batches: _answers(batches, writes_duplicates=True),
            "You write a retry again. Then the records are in the log twice; sequences exist to prevent that.",
        ),
        Belief(
            lambda batches: _answers(batches, remembered=1),
            "You remember one batch. A producer may have five requests in flight, so the log remembers five batches.",
        ),
        Belief(
            lambda batches: _answers(batches, remembered=1_000_000),
            "You remember more than five batches. The log keeps the last five of a producer; a retry of an older one "
            "is out of order.",
        ),
        Belief(
            lambda batches: _answers(batches, remembered=4),
            "You remember four batches. A producer may have five requests in flight: the oldest of the five may be "
            "retried, too.",
        ),
        Belief(
            lambda batches: _answers(batches, by_first_sequence=True),
            "You recognise a retry by its first sequence only. First and last sequence must be those of a remembered "
            "batch: a batch of another length is not a retry.",
        ),
        Belief(
            lambda batches: _answers(batches, through_epochs=True),
            "You remember batches of an older epoch. A new epoch begins without remembered batches, and the same "
            "sequences then belong to other records.",
        ),
        Belief(
            lambda batches: _answers(batches, new_epoch_goes_on=True),
            "Your sequences go on in a new epoch. A new epoch begins at sequence 0 again.",
        ),
        Belief(
            lambda batches: _answers(batches, refused_epoch_stays=True),
            "You keep the epoch of a refused batch. A refused batch changes nothing that the log knows about the "
            "producer: the old epoch remains.",
        ),
        Belief(
            lambda batches: _answers(batches, unknown_begins_at_0=True),
            "You require an unknown producer to begin at 0. It may begin with any sequence, because the log may have "
            "deleted what it knew about this producer.",
        ),
    ],
)
