"""Which producers left a transaction open, and since which offset, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.drawn_logs import after_lines, read_from
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.log_directory import solutions
from minikafka.witness.log.operations import parse_operation

_COLUMNS = "producerId, baseOffset, lastOffset, transactional, control"
_SCHEMA = "producerId BIGINT, baseOffset BIGINT, lastOffset BIGINT, transactional BOOLEAN, control BOOLEAN"


def _case(story: str, draw: random.Random | None = None) -> AskedCase:
    """`story`: batches by commas: `7+2` two records in a transaction of producer 7, `7!` its marker, `+1` a record of
    nobody, `i9+1` one of the idempotent producer 9. `draw` brings the rows of a drawn case into any order.
    """
    lines = _lines(story)
    batches = frame(read_from(lines, _COLUMNS, table="batches", bounds="log_end"), _SCHEMA, draw)

    def expected() -> list[tuple[int, int]]:
        return as_rows(
            batches.sparkSession.sql(
                """SELECT producerId, min(baseOffset) AS offset FROM {batches} b
                   WHERE transactional AND NOT control
                     AND NOT EXISTS (SELECT 1 FROM {batches} m
                                     WHERE m.control AND m.producerId = b.producerId AND m.baseOffset > b.baseOffset)
                   GROUP BY producerId ORDER BY producerId""",
                batches=batches,
            )
        )

    def asked(factory: Any) -> list[tuple[int, int]]:
        runner = after_lines(lines, factory)
        producers = runner.apply(parse_operation("flush")).producers
        runner.let_go()
        return [(producer, first) for producer, *_, first in producers if first >= 0]

    return AskedCase(f"batches in order ({_in_words(story)})", (batches,), expected, asked)


def _lines(story: str) -> list[str]:
    lines, sequences = [], dict[str, int]()
    for step in story.split(", "):
        if step.endswith("!"):
            lines.append(f"append_as_leader origin=coordinator transaction_version=0 [commit pid={step[:-1]} epoch=0]")
            continue
        who, count = step.split("+")
        pid, sequence = who.removeprefix("i"), sequences.get(who, 0)
        sequences[who] = sequence + int(count)
        sender = f" pid={pid} epoch=0 seq={sequence}" if who else ""
        lines.append(f"append_as_leader [{count}x10{sender}{'' if who.startswith('i') or not who else ' txn'}]")
    return lines


def _in_words(story: str) -> str:
    said = []
    for step in story.split(", "):
        if step.endswith("!"):
            said.append(f"marker of {step[:-1]}")
        else:
            who, count = step.split("+")
            named = f"{who[1:]}, idempotent" if who.startswith("i") else f"{who}, transaction" if who else "nobody"
            said.append(f"{count} of {named}")
    return "; ".join(said)


def _drawn(draw: random.Random) -> AskedCase:
    steps, begun = [], set()
    for _ in range(40):
        who = draw.choice(("0", "3", "7", "9", "10", f"{2**40}", f"{2**40 + 7}", "i5", "i11", ""))
        if who in begun and draw.random() < 0.4:
            steps.append(f"{who}!")
            begun.remove(who)
        else:
            steps.append(f"{who}+{draw.randint(1, 3)}")
            begun |= {who} if who.isdigit() else set()
    return _case(", ".join(steps), draw)


def _open(
    *,
    counts=lambda row: row.transactional and not row.control,
    ends=lambda row, marker: marker.producerId == row.producerId and marker.baseOffset > row.baseOffset,
    choose=min,
    first_of_all=False,
):
    """A wrong answer, where not told otherwise the right one."""

    def open_transactions(batches):
        rows = batches.orderBy("baseOffset").collect()
        markers = [row for row in rows if row.control]
        found: dict[int, list[int]] = {}
        for row in rows:
            if counts(row) and not any(ends(row, marker) for marker in markers):
                found.setdefault(row.producerId, []).append(row.baseOffset)
        if first_of_all:
            for producer in found:
                found[producer] = [row.baseOffset for row in rows if counts(row) and row.producerId == producer]
        return [(producer, choose(offsets)) for producer, offsets in sorted(found.items())]

    return open_transactions


open_transaction = Exercise(
    "Exercise 1, what is open",
    lambda: [
        _case("7+2, 9+1, 9!, 9+2"),
        _case("7+1, 7!, +2, 7+2, 7+1"),
        _case("7+1, 9+1, 7!, 7+1, 9!, i5+2"),
        _case("+1, 7+1, i5+1, 9+3, 9!, 7+1, +1"),
        _case("7+1, 7!, 9+1, 9!"),
        _case("0+2, 7+1, 7!, 0+1"),
    ],
    judged_by_spark,
    solutions.open_transactions,
    drawn=_drawn,
    draws=6,
    hints=[
        "A control batch is a marker: it ends the transaction of its own producer, and decides about the batches "
        "before it.",
        "For each producer the offset of its last marker: max(IF(control, lastOffset, -1)) OVER (PARTITION BY producerId).",
        "A batch belongs to an open transaction if it is transactional, not a marker, and after that offset. Take "
        "the first such batch.",
    ],
    beliefs=[
        Belief(
            _open(first_of_all=True),
            "You return the begin of the producer's first transaction, which has ended. The open one begins after "
            "its last marker.",
        ),
        Belief(
            _open(ends=lambda row, marker: marker.baseOffset > row.baseOffset),
            "You let the marker of one producer end the transaction of another. Each marker ends only the "
            "transaction of its own producer.",
        ),
        Belief(
            _open(ends=lambda row, marker: marker.producerId == row.producerId),
            "You treat a producer that has ever ended a transaction as one without an open transaction. It may have "
            "begun another one.",
        ),
        Belief(
            _open(choose=max),
            "You return the last batch of the open transaction. Return its first batch.",
        ),
        Belief(
            _open(counts=lambda row: row.producerId >= 0 and not row.control),
            "You include idempotent producers. They have an id as well, but no transaction.",
        ),
        Belief(
            _open(counts=lambda row: row.transactional),
            "You include markers: control batches are transactional, too.",
        ),
    ],
    normal=as_rows,
)
