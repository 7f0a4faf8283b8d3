"""A replacement of segments that was cut off, in Spark."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import SMALL, stopped_at_each_rename
from minikafka.lab.stage.workbench import fresh_log, records, scratch
from minikafka.lessons.loading import solutions
from minikafka.lessons.loading.copied_segments import replace_by_copies
from minikafka.record.format.memory_records import MemoryRecords

_TWO_BY_TWO = ((0, 6), (12, 18))
_STOPS: dict[str, Callable[[], dict[str, bytes]]] = {  # the files that a crash leaves
    "only new files, none renamed": lambda: _stopped(0),
    "the upper new segment renamed": lambda: _stopped(3),
    "the .log of the lower one renamed too, its index not": lambda: _stopped(4),
    "all renamed .swap": lambda: _stopped(6),
    "the old files are going": lambda: _stopped(10),
    "one new segment has its name": lambda: _stopped(21),
    "the .log of the other one has its name too, its index not": lambda: _stopped(22),
    "all renamed .swap, an old segment lies between the two": lambda: _stopped(6, ((0,), (12,))),
    "the lower new segment renamed, the upper one not": lambda: _cleaned(_stopped(6), f"{12:020}"),
    "only the .log of the lower new segment renamed": lambda: _cleaned(
        _stopped(6), f"{0:020}.", f"{12:020}", but=f"{0:020}.log"
    ),
}


def _half_done(name: str, files: dict[str, bytes], draw: random.Random | None = None) -> WreckedCase:
    """Segments are being replaced; the crash leaves `files`. `draw` brings the rows of a drawn case into any order."""

    def wreck() -> Path:
        directory = scratch()
        directory.mkdir(parents=True)
        for file, data in files.items():
            (directory / file).write_bytes(data)
        return directory

    rows = [row for file, data in sorted(files.items()) for row in _row(file, data)]
    table = frame(rows, "base BIGINT, kind STRING, suffix STRING, next BIGINT", draw)

    def expected() -> list[int]:
        return sql(
            """SELECT f.base FROM {files} f
               WHERE f.kind = 'log' AND f.suffix = 'swap'
                     AND NOT EXISTS (SELECT 1 FROM {files} c WHERE c.suffix = 'cleaned' AND c.base <= f.base)
               UNION
               SELECT f.base FROM {files} f CROSS JOIN (
                   SELECT min(s.base) AS low, max(s.next) AS high FROM {files} s
                   LEFT ANTI JOIN {files} c ON c.suffix = 'cleaned' AND c.base <= s.base
                   WHERE s.kind = 'log' AND s.suffix = 'swap') r
               WHERE f.kind = 'log' AND f.suffix = '' AND coalesce(f.base < r.low OR f.base >= r.high, true)
               ORDER BY base""",
            files=table,
        )

    return WreckedCase(name, (table,), expected, wreck, lambda state: [base for base, _ in state.segments])


def _stopped(renames: int, groups: tuple[tuple[int, ...], ...] = _TWO_BY_TWO) -> dict[str, bytes]:
    """The files of a log of segments 0, 6, 12, 18, 24 after so many renames, when each group is replaced by one
    segment.
    """
    return _stops(groups)[renames]


def _cleaned(files: dict[str, bytes], *begins: str, but: str = "-") -> dict[str, bytes]:
    """All new files in `files` are named `.swap`, but here not those whose names begin with one of `begins`, and not with `but`.

    No replacement stops like this, because it renames from the highest offset down; but the rule covers the case.
    """
    return {
        file.replace(".swap", ".cleaned") if file.startswith(begins) and not file.startswith(but) else file: data
        for file, data in files.items()
    }


@cache
def _stops(groups: tuple[tuple[int, ...], ...]) -> list[dict[str, bytes]]:
    """The files before the first rename, and after each."""
    log = fresh_log(SMALL)
    for number in range(14):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    stops = stopped_at_each_rename(log, lambda: replace_by_copies(log, *map(list, groups)))
    return [{file.name: file.read_bytes() for file in directory.iterdir()} for directory in stops]


def _row(file: str, data: bytes):
    """(base, kind, suffix, next offset) of a segment's `.log` or `.index`; nothing for other files."""
    base, kind, *suffix = [*file.split("."), ""] if "." not in file else file.split(".")
    if kind in ("log", "index"):
        batches = list(MemoryRecords.readable_records(data).batches()) if kind == "log" else []
        end = (batches[-1].next_offset if batches else int(base)) if kind == "log" else None
        yield int(base), kind, suffix[0] if suffix else "", end


def _below_the_lowest_cleaned(base: int, lowest: int | None) -> bool:
    return lowest is None or base < lowest


def _in_one_range(swaps: list[tuple[int, int | None]]) -> Callable[[int], bool]:
    """Whether a base lies between the lowest base and the highest end; if no end is known, everything behind does."""
    low = min((base for base, _ in swaps), default=0)
    high = max((end for _, end in swaps if end is not None), default=1 << 62 if swaps else 0)
    return lambda base: low <= base < high


def _after(*, finish=_below_the_lowest_cleaned, replaced=_in_one_range, kinds=("log",)):
    """A wrong loader, which works as Kafka's does unless told otherwise.

    `finish(base, lowest .cleaned)` decides about a `.swap` of one of `kinds`; `replaced(swaps)` which bases go for
    them.
    """

    def loaded(files):
        rows = [tuple(row) for row in files.collect()]
        lowest = min((base for base, _, suffix, _ in rows if suffix == "cleaned"), default=None)
        swaps = [
            (base, end)
            for base, kind, suffix, end in rows
            if kind in kinds and suffix == "swap" and finish(base, lowest)
        ]
        gone = replaced(swaps)
        plain = {base for base, kind, suffix, _ in rows if (kind, suffix) == ("log", "") and not gone(base)}
        return sorted({base for base, _ in swaps} | plain)

    return loaded


def _drawn(draw: random.Random) -> WreckedCase:
    """A stop at any rename; or all new files have been renamed `.swap`, but for some of some segments."""
    groups = draw.choice((((0, 6), (12, 18)), ((6, 12, 18),), ((0,), (18,)), ((6,), (12,)), ((0,), (6, 12), (18,))))
    files = draw.choice(_stops(groups))
    if draw.random() < 0.5:
        files = _stops(groups)[3 * len(groups)]
        for base, *_ in draw.sample(groups, draw.randint(1, len(groups))):
            files = _cleaned(files, f"{base:020}.", but=draw.choice(("-", f"{base:020}.log", f"{base:020}.index")))
    return _half_done("", files, draw)


half_done = Exercise(
    "Exercise 2, a replacement that was cut off",
    lambda: [_half_done(name, files()) for name, files in _STOPS.items()],
    judged_by_spark,
    solutions.segments_after,
    drawn=_drawn,
    draws=6,
    hints=[
        (
            "First decide which .swap segments count. Even one .cleaned file, of a .log or of an index, shows that "
            "the renaming was not finished."
        ),
        (
            "A .swap at or above the lowest .cleaned base is deleted. The others replace everything from their "
            "lowest base (inclusive) to their highest next (exclusive)."
        ),
        "Segments after the load: the .swap segments that count, and the plain ones outside of [low, high).",
    ],
    beliefs=[
        Belief(
            _after(finish=lambda base, lowest: True),
            "You complete every .swap. One at or above the lowest .cleaned base is deleted, because some of its own "
            "files may still be missing.",
        ),
        Belief(
            _after(finish=lambda base, lowest: lowest is None),
            "You undo everything as long as one .cleaned file is left. Only a .swap at or above the lowest .cleaned "
            "base is deleted.",
        ),
        Belief(
            _after(replaced=lambda swaps: lambda base: any(low <= base < high for low, high in swaps)),
            "You use one range for each .swap. There is only one range, from the lowest base to the highest end: "
            "segments in between are deleted, too.",
        ),
        Belief(
            _after(kinds=("log", "index")),
            "You treat an .index as a segment. Only a .log is one: an index may still be named .swap when its .log "
            "already has its final name.",
        ),
        Belief(
            _after(finish=lambda base, lowest: False),
            "You undo every .swap. When no .cleaned file is left, the new segments are complete, and the old ones "
            "may already be deleted.",
        ),
        Belief(
            _after(replaced=lambda swaps: lambda base: base in dict(swaps)),
            "Your .swap replaces only the segment of the same base. It replaces all segments whose base is in its "
            "range of offsets.",
        ),
        Belief(
            _after(finish=lambda base, lowest: lowest is None or base <= lowest),
            "You complete a .swap at the lowest .cleaned offset. The rule is ≥: its own index may still be .cleaned.",
        ),
        Belief(
            lambda files: sorted(
                {base for base, kind, _, _ in (tuple(row) for row in files.collect()) if kind == "log"}
            ),
            "You count each .log, whatever its suffix. A .deleted or .cleaned file is not a segment, and segments "
            "that a .swap replaces are deleted.",
        ),
    ],
    normal=as_rows,
)
