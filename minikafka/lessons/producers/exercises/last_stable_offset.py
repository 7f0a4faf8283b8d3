"""The last stable offset, in Spark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.producers import solutions
from minikafka.witness.log.operations import AppendAsLeader
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations


def _stable(name: str, text: str, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    workload = Workload.parse(text)
    events, marks, end, mark = [], [], 0, 0
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            batch = operation.batches[0]
            kind = batch.marker or ("data" if batch.txn else "plain")
            events.append((t, batch.pid if batch.pid >= 0 else None, kind, end, end + batch.count - 1))
            end += batch.count
        else:
            mark = end
        marks.append((t, mark))
    arguments = (
        frame(events, "t BIGINT, producer BIGINT, kind STRING, first BIGINT, last BIGINT", draw),
        frame(marks, "t BIGINT, hw BIGINT", draw),
    )

    def answer(observations: Observations) -> list[tuple[int, int]]:
        return list(enumerate(observations.column("last_stable_offset")))

    return WitnessedCase(name, arguments, workload, answer, ("read_committed",))


_RAISE = "maybe_increment_high_watermark leo"
_ONE_OF_TWO = f"""
append_as_leader [3x10 pid=7 epoch=0 seq=0 txn]
{_RAISE}
append_as_leader [2x10]
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
{_RAISE}
append_as_leader [1x10]
{_RAISE}
"""
_INTERLEAVED = f"""
append_as_leader [1x10]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [2x10 pid=8 epoch=0 seq=0 txn]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [commit pid=8 epoch=0]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
append_as_leader [1x10 pid=8 epoch=0 seq=2 txn]
{_RAISE}
"""
_SLOW_REPLICATION = f"""
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
append_as_leader [2x10 pid=7 epoch=0 seq=2 txn]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [abort pid=7 epoch=0]
{_RAISE}
"""
_TWO_BATCHES = f"""
append_as_leader [1x10]
append_as_leader [2x10 pid=7 epoch=0 seq=0 txn]
append_as_leader [1x10 pid=7 epoch=0 seq=2 txn]
{_RAISE}
append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]
{_RAISE}
"""


def _stable_by(events, marks, choose, reached: int = 0) -> list[tuple[int, int]]:
    """LSO at each mark by `choose(undecided, unreplicated, hw)`, which gets the first offsets of the transactions that
    are open, and of those whose marker is not replicated.

    A marker counts as replicated when it is below hw + `reached`.
    """
    rows = events.orderBy("t").collect()
    answers = []
    for t, hw in (tuple(row) for row in marks.orderBy("t").collect()):
        begun, unreplicated = {}, []
        for row in (row for row in rows if row.t <= t):
            if row.kind == "data":
                begun.setdefault(row.producer, row.first)
            elif row.kind in ("commit", "abort") and row.producer in begun:
                first = begun.pop(row.producer)
                unreplicated += [first] if row.first >= hw + reached else []
        answers.append((t, choose(list(begun.values()), unreplicated, hw)))
    return answers


def _drawn(draw: random.Random) -> WitnessedCase:
    """Transactions side by side, with plain batches between them; producer 9 has no transactions."""
    lines, sequences = [], {7: 0, 8: 0, 9: 0, 1 << 40: 0}
    for _ in range(30):
        pid, count = draw.choice([*sequences]), draw.randint(1, 3)
        kind = draw.choice(("data", "data", "data", "commit", "abort", "plain", "mark"))
        if kind == "mark":
            lines.append(_RAISE)
        elif kind == "plain":
            lines.append(f"append_as_leader [{count}x10]")
        elif kind == "data" or pid == 9:
            lines.append(f"append_as_leader [{count}x10 pid={pid} epoch=0 seq={sequences[pid]}{' txn' * (pid != 9)}]")
            sequences[pid] += count
        else:
            lines.append(f"append_as_leader origin=coordinator transaction_version=0 [{kind} pid={pid} epoch=0]")
    return _stable("", "\n".join(lines), draw)


last_stable = Exercise(
    "Exercise 2, the last stable offset",
    lambda: [
        _stable("one transaction aborts", _ONE_OF_TWO),
        _stable("two transactions, interleaved", _INTERLEAVED),
        _stable("markers that wait for the high watermark", _SLOW_REPLICATION),
        _stable("a transaction of two batches", _TWO_BATCHES),
    ],
    judged_by_spark,
    solutions.stable_offsets,
    drawn=_drawn,
    draws=6,
    hints=[
        "First join each transactional batch with its marker: the next marker of the same producer, commit or abort.",
        "At moment t a batch is undecided if its marker is not written yet, or if the marker is at or above HW.",
        "LSO is the least first offset of the undecided batches, but never above HW. Without undecided batches it is "
        "HW.",
    ],
    beliefs=[
        Belief(
            lambda events, marks: _stable_by(events, marks, lambda open_, waiting, hw: hw),
            "You return HW. An open transaction holds LSO back, because read_committed consumers must not see its "
            "records yet.",
        ),
        Belief(
            lambda events, marks: _stable_by(events, marks, lambda open_, waiting, hw: min([hw, *open_])),
            "In your answer a transaction stops holding LSO back when its marker is written. The marker must be "
            "replicated first: HW has to pass it.",
        ),
        Belief(
            lambda events, marks: _stable_by(
                events, marks, lambda open_, waiting, hw: min(hw, max([*open_, *waiting], default=hw))
            ),
            "You use the newest undecided transaction. The oldest one counts.",
        ),
        Belief(
            lambda events, marks: _stable_by(
                events, marks, lambda open_, waiting, hw: min([hw, *open_, *waiting]), reached=1
            ),
            "You treat a marker at HW as replicated. HW is the first offset that is not replicated: the marker must "
            "be below it.",
        ),
        Belief(
            lambda events, marks: _stable_by(
                events, marks, lambda open_, waiting, hw: min([*open_, *waiting], default=hw)
            ),
            "Your LSO rises above HW. If a transaction begins above HW, LSO is HW: it is never above HW.",
        ),
    ],
    normal=as_rows,
)
