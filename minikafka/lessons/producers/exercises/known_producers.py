"""What a log knows of its producers, and a snapshot of it says, in Spark."""

import random
from collections.abc import Callable
from typing import Any

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame
from minikafka.lessons.producers import solutions
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations

_SCHEMA = "t BIGINT, producer BIGINT, kind STRING, sequence BIGINT, records BIGINT, first BIGINT"


def _known(name: str, *batches: str, draw: random.Random | None = None) -> WitnessedCase:
    """These batches, and a restart at the end, so that all that is known comes from the snapshot.

    `draw` brings the rows of a drawn case into any order.
    """
    marker = "append_as_leader origin=coordinator transaction_version=0 [{}]"
    lines = [
        (marker if words.startswith(("commit", "abort")) else "append_as_leader [{}]").format(words)
        for words in batches
    ]
    workload = Workload.parse("\n".join([*lines, "reopen"]))
    rows, end = [], 0
    for t, append in workload.appends:
        batch = append.batches[0]
        if batch.pid >= 0:
            kind = batch.marker or ("data" if batch.txn else "plain")
            rows.append((t, batch.pid, kind, None if batch.marker else batch.seq, batch.count, end))
        end += batch.count

    def answer(observations: Observations) -> list[tuple]:
        last = observations.column("producers")[-1]
        return [
            (pid, sequence, offset, None if opened < 0 else opened) for pid, _, sequence, offset, _, _, opened in last
        ]

    table = frame(rows, _SCHEMA, draw)
    return WitnessedCase(name, (table,), workload, answer)


_WINDOWS = """
WITH later AS (
  SELECT *, count_if(kind IN ('commit', 'abort')) OVER after AS markers, count_if(kind IN ('data', 'plain')) OVER after AS data
  FROM {batches}
  WINDOW after AS (PARTITION BY producer ORDER BY t ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING))
SELECT p.producer, coalesce(l.sequence + l.records - 1, -1) AS last_sequence, coalesce(l.first + l.records - 1, -1) AS last_offset,
       o.first AS open_from
FROM (SELECT DISTINCT producer FROM {batches}) p
LEFT JOIN later l ON l.producer = p.producer AND l.kind IN ('data', 'plain') AND l.data = 0
LEFT JOIN (SELECT producer, min(first) AS first FROM later WHERE kind = 'data' AND markers = 0 GROUP BY producer) o
  ON o.producer = p.producer
ORDER BY p.producer
"""


def _judged_by_windows(case: WitnessedCase) -> Any:
    """What Spark makes of the table: each producer's last batch, and its first one behind its last marker."""
    [batches] = case.arguments
    return batches.sparkSession.sql(_WINDOWS, batches=batches)


def _rows(change: Callable[[tuple, list], tuple | None]) -> Callable[[Any], list[tuple]]:
    """The right rows, each changed by `change(row, batches of its producer)`; None leaves it out."""

    def answers(batches: Any) -> list[tuple]:
        rows = batches.orderBy("t").collect()
        right = as_rows(solutions.producers_known(batches))
        changed = (change(row, [batch for batch in rows if batch.producer == row[0]]) for row in right)
        return [row for row in changed if row is not None]

    return answers


def _first_data(batches: list, *, last: bool = False) -> int | None:
    data = [batch.first for batch in batches if batch.kind == "data"]
    return (data[-1] if last else data[0]) if data else None


def _drawn(draw: random.Random) -> WitnessedCase:
    """Some have only markers; who has a transaction open writes in it until its marker. After a marker 0 comes first."""
    batches, sequences, is_open = ["2x1 pid=5 epoch=0 seq=3 txn"], {}, set()
    for _ in range(28):
        pid, count = draw.choice((3, 7, 8, 1000, 1 << 40)), draw.randint(1, 4)
        kind = draw.choice((" txn", " txn", "", "marker", "none"))
        if kind == "marker":
            pid = draw.choice((pid, pid, pid, 11, 1 << 33))
            is_open.discard(pid)
            sequences.setdefault(pid, 0)
            batches.append(f"{draw.choice(('commit', 'abort'))} pid={pid} epoch=0")
        elif kind == "none":
            batches.append(f"{count}x1")
        else:
            is_open |= {pid} if kind else set()
            first = sequences.get(pid, draw.choice((0, 40, 2_000_000_000)))
            batches.append(f"{count}x1 pid={pid} epoch=0 seq={first}{' txn' * (pid in is_open)}")
            sequences[pid] = first + count
    return _known("", *batches, draw=draw)


known_producers = Exercise(
    "Exercise 3, what a snapshot says",
    lambda: [
        _known("two producers without transactions", "3x1 pid=7 epoch=0 seq=0", "2x1 pid=8 epoch=0 seq=5", "2x1 pid=7 epoch=0 seq=3"),
        _known(
            "one transaction committed, one open",
            "2x1 pid=7 epoch=0 seq=0 txn", "1x1 pid=8 epoch=0 seq=0 txn", "commit pid=7 epoch=0", "2x1 pid=8 epoch=0 seq=1 txn",
        ),
        _known(
            "aborted, and open once more",
            "1x1 pid=7 epoch=0 seq=0 txn", "abort pid=7 epoch=0", "2x1", "1x1 pid=7 epoch=0 seq=1 txn", "3x1 pid=7 epoch=0 seq=2 txn",
        ),
        _known("a marker without a batch", "abort pid=9 epoch=0", "1x1 pid=7 epoch=0 seq=0 txn"),
        # The last marker counts: nothing is open behind it.
        _known(
            "two transactions of one producer are over",
            "1x1 pid=7 epoch=0 seq=0 txn", "commit pid=7 epoch=0", "2x1 pid=7 epoch=0 seq=1 txn", "abort pid=7 epoch=0",
        ),
    ],
    _judged_by_windows,
    solutions.producers_known,
    drawn=_drawn,
    draws=6,
    hints=[
        "Last sequence and last offset are those of the last record in the producer's last batch: `max_by(…, t)`.",
        "A marker is not a batch of data. It ends the transaction. Here it brings no new epoch, so last sequence and last "
        "offset stay.",
        "A transaction is open from the producer's first batch of data after its last marker.",
    ],
    beliefs=[
        Belief(
            _rows(lambda row, batches: (row[0], row[1], batches[-1].first + batches[-1].records - 1, row[3])),
            "You take a marker's offset as the last offset. The snapshot holds the last offset of data, to recognise "
            "a retry of that batch.",
        ),
        Belief(
            _rows(lambda row, batches: (*row[:3], _first_data(batches))),
            "You keep transactions open although their marker is written.",
        ),
        Belief(
            _rows(lambda row, batches: (*row[:3], None if row[3] is None else _first_data(batches, last=True))),
            "You take the newest batch of the open transaction. It is open from its first batch on.",
        ),
        Belief(
            _rows(lambda row, batches: (*row[:3], None)),
            "You return no open transactions. The snapshot has the first offset of each; without it, LSO would pass "
            "that offset after a restart.",
        ),
        Belief(
            _rows(lambda row, batches: None if row[1] < 0 else row),
            "You leave out a producer that has written only a marker. It has an entry, too, because the log must "
            "know its epoch.",
        ),
        Belief(
            _rows(lambda row, batches: (row[0], row[1] if row[1] < 0 else row[1] + 1, *row[2:])),
            "You return the next sequence. The snapshot has the last one that was written.",
        ),
    ],
    normal=as_rows,
)  # fmt: skip
