"""Which files a load after a clean stop takes away."""

import random
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import SMALL
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.loading import solutions

_CLOSED = tuple(
    f"{base:020}.{kind}" for base in (0, 6, 12) for kind in ("log", "index", "timeindex", "snapshot")[: 3 + (base > 0)]
) + (f"{18:020}.snapshot",)
"""What a closed log of the segments 0, 6 and 12 leaves, which ends at 18; the file of epochs is left out here."""


def _littered(what: str, *more: str, without: tuple[str, ...] = ()) -> WreckedCase:
    """The closed log with `more` files (empty ones, or copies of a snapshot), and `without` some of its own."""
    names = sorted({*_CLOSED, *more} - set(without))

    def wreck() -> Path:
        log = fresh_log(SMALL)
        for number in range(9):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        log.close()
        directory = Path(log.dir)
        snapshot = (directory / f"{6:020}.snapshot").read_bytes()
        for name in more:
            (directory / name).write_bytes(snapshot if name.endswith(".snapshot") else b"")
        for name in without:
            (directory / name).unlink()
        return directory

    def expected() -> list[str]:
        return sql(
            """WITH files AS (
                    SELECT name, try_cast(split(name, '[.]')[0] AS BIGINT) AS at,
                           element_at(split(name, '[.]'), -1) AS kind FROM {names}),
                segments AS (SELECT at FROM files WHERE kind = 'log'),
                strays AS (SELECT name, at, rank() OVER (ORDER BY at DESC) AS age FROM files
                           WHERE kind = 'snapshot' AND at NOT IN (SELECT at FROM segments))
                SELECT name FROM files WHERE kind = 'deleted'
                    OR kind IN ('index', 'timeindex', 'txnindex') AND at NOT IN (SELECT at FROM segments)
                UNION SELECT name FROM strays WHERE age > 1 OR at < (SELECT max(at) FROM segments)
                ORDER BY name""",
            names=frame([(name,) for name in names], "name STRING"),
        )

    def answer(state: tuple, left: set[str]) -> list[str]:
        return [name for name in names if name not in left]

    return WreckedCase(what, (names,), expected, wreck, checkpoints={"clean": True}, answer_by_files=answer)


def _goes(rule):
    """A wrong answer: the files for which `rule(kind, offset, bases, newest)` holds; `newest` is the newest stray
    snapshot, or one more than the last base.
    """

    def answer(names):
        parsed = [(name, name.rpartition(".")[2], int(name[:20])) for name in names if name[:20].isdigit()]
        bases = {offset for _, kind, offset in parsed if kind == "log"}
        newest = max((at for _, kind, at in parsed if kind == "snapshot" and at not in bases), default=max(bases) + 1)
        return sorted(name for name, kind, at in parsed if rule(kind, at, bases, newest))

    return answer


_INDEXES = ("index", "timeindex", "txnindex")


def _is_stray(kind, at, bases, newest):
    return kind == "snapshot" and at not in bases and (at != newest or at < max(bases))


def _drawn(draw: random.Random) -> WreckedCase:
    kinds = (
        "index",
        "timeindex",
        "txnindex",
        "snapshot",
        "snapshot",
        "log.deleted",
        "index.deleted",
        "snapshot.deleted",
    )
    more = {f"{draw.randint(1, 18):020}.{draw.choice(kinds)}" for _ in range(draw.randint(0, 8))} - {*_CLOSED}
    snapshots = [name for name in _CLOSED if name.endswith(".snapshot")]
    return _littered("", *sorted(more), without=tuple(draw.sample(snapshots, draw.choice((0, 0, 1, 2)))))


leftovers = Exercise(
    "Exercise 4, which files go",
    lambda: [
        _littered("a clean stop, nothing else"),
        _littered(
            "two segments were being deleted",
            f"{100:020}.log.deleted",
            f"{100:020}.index.deleted",
            f"{3:020}.snapshot.deleted",
        ),
        _littered(
            "indexes without a .log", f"{24:020}.index", f"{24:020}.timeindex", f"{9:020}.txnindex", f"{6:020}.txnindex"
        ),
        _littered("snapshots where no segment begins", f"{3:020}.snapshot", f"{15:020}.snapshot"),
        _littered("the last snapshot is missing", f"{9:020}.snapshot", without=(f"{18:020}.snapshot",)),
        _littered(
            "names that Kafka does not know", f"{6:020}.log.bak", f"{0:020}.min.opt", "notes.txt", f"{6:019}x.txt"
        ),
    ],
    judged_by_spark,
    solutions.files_gone,
    drawn=_drawn,
    hints=[
        "Here three kinds of files are deleted: `.deleted` files, indexes without a `.log`, and snapshots at which no "
        "segment begins, except one.",
        "An index (.index, .timeindex or .txnindex) is deleted if there is no .log of the same offset. A snapshot is "
        "a *stray* if no segment begins at its offset.",
        "The newest stray snapshot stays, unless a segment begins above it: a clean stop wrote it at the log end. "
        "All other strays are deleted.",
    ],
    beliefs=[
        Belief(
            _goes(lambda kind, at, bases, newest: kind == "deleted" or _is_stray(kind, at, bases, newest)),
            "You keep indexes without a .log. Phase 4 of the load deletes them; they are called orphaned.",
        ),
        Belief(
            _goes(
                lambda kind, at, bases, newest: (
                    kind == "deleted"
                    or (kind in _INDEXES and at not in bases)
                    or (kind == "snapshot" and at not in bases)
                )
            ),
            "You delete every snapshot at which no segment begins. The one at the log end was written by the clean "
            "stop for this load.",
        ),
        Belief(
            _goes(lambda kind, at, bases, newest: kind == "deleted" or (kind in _INDEXES and at not in bases)),
            "You keep snapshots at which no segment begins. Only the newest of them stays, and only if no segment "
            "begins above it.",
        ),
        Belief(
            _goes(
                lambda kind, at, bases, newest: (
                    kind == "deleted"
                    or (kind in _INDEXES and at not in bases)
                    or (kind == "snapshot" and at not in bases and at != newest)
                )
            ),
            "You keep the newest stray snapshot in every case. If a segment begins above it, it is deleted, too.",
        ),
        Belief(
            _goes(
                lambda kind, at, bases, newest: (
                    (kind in _INDEXES and at not in bases) or _is_stray(kind, at, bases, newest)
                )
            ),
            "You keep .deleted files. The process that renamed them has ended; phase 1 of the load deletes them.",
        ),
        Belief(
            _goes(
                lambda kind, at, bases, newest: (
                    kind not in (*_INDEXES, "log", "snapshot")
                    or (kind in _INDEXES and at not in bases)
                    or _is_stray(kind, at, bases, newest)
                )
            ),
            "You delete files whose names Kafka does not know. The loader does not touch them.",
        ),
    ],
    normal=lambda answer: sorted(answer) if isinstance(answer, list | tuple | set) else answer,
)
