"""The exercises of the lesson *Loading and recovery*.

Spark judges from tables: which batches there were, what happened to them. minikafka and Kafka answer the same cases by
loading a real directory to which the same has happened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from minikafka.lab.exercises.exercise import Belief, Case, Exercise, answered_early
from minikafka.lab.exercises.solutions import loading as solutions
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.stage.damage import SMALL, flip, kill, named, remove, replace_by_copies
from minikafka.lab.stage.workbench import fresh_log, records, scratch


@dataclass(frozen=True)
class WreckedCase(Case):
    """A case that can be asked of Spark and of whoever loads a log.

    `expected()`: Spark's answer. `wreck()`: makes the directory; then `answer(state)` reads the answer from what
    `minikafka.witness.runner.observed_state` says of the log loaded from it with `checkpoints` and `settings`.
    """

    expected: Callable[[], Any]
    wreck: Callable[[], Path]
    answer: Callable[[tuple], Any]
    checkpoints: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=lambda: SMALL)


def judged_by_spark(case: WreckedCase) -> Any:
    """Spark's answer to `case`, from tables alone."""
    return case.expected()


def judged_by_loading(factory: Callable[..., Any]) -> Callable[[WreckedCase], Any]:
    """A judge that loads each case's directory with `factory`: minikafka's log, or Kafka's."""
    from minikafka.common.scheduler import ManualScheduler
    from minikafka.common.time import ManualTime
    from minikafka.lab.stage.workbench import NOON
    from minikafka.witness.runner import observed_state

    def judge(case: WreckedCase) -> Any:
        time = ManualTime(NOON)
        start, point, clean = (case.checkpoints.get(name, 0) for name in ("log_start", "recovery_point", "clean"))
        config = {name: str(value) for name, value in case.settings.items()}
        log = factory(case.wreck(), config, start, point, ManualScheduler(time), time, bool(clean), None)
        state = log.observed_state() if hasattr(log, "observed_state") else observed_state(log)
        log.close()
        return case.answer(state)

    return judge


def _sql(query: str, **tables: Any) -> Any:
    from minikafka.spark import session

    return as_rows(session().sql(query, **tables))


# 1. Where a damaged log ends, in Spark

_PER_SEGMENT = 3  # batches of two records, 95 bytes each, in segments of at most 300 bytes


def _damaged(bad: tuple[int, ...], recovery_point: int, batches: int = 9) -> WreckedCase:
    """Batches numbered `bad` (of two records each) have a byte flipped; the load begins at `recovery_point`."""

    def wreck() -> Path:
        log = fresh_log(SMALL)
        for number in range(batches):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        bytes_of_a_batch = next(log.log_segments[0].log.batches()).size_in_bytes
        directory = kill(log)
        for number in bad:
            segment, place = divmod(number, _PER_SEGMENT)
            flip(directory, f"{segment * 2 * _PER_SEGMENT:020}.log", place * bytes_of_a_batch + bytes_of_a_batch - 4)
        return directory

    rows = [(n // _PER_SEGMENT * 2 * _PER_SEGMENT, 2 * n, 2 * n + 1, n not in bad) for n in range(batches)]
    table = frame(rows, "segment BIGINT, first BIGINT, last BIGINT, sound BOOLEAN")

    def expected() -> int:
        return _sql(
            """SELECT aggregate(
                   array_sort(collect_list(struct(first, last, segment, sound))),
                   struct(0L AS end, false AS over),
                   (s, b) -> CASE WHEN s.over THEN s
                                  WHEN NOT b.sound AND b.segment >= {from_segment} THEN struct(b.first AS end, true AS over)
                                  ELSE struct(b.last + 1 AS end, false AS over) END,
                   s -> s.end) FROM {batches}""",
            batches=table,
            from_segment=max(base for base, *_ in rows if base <= recovery_point),
        )[0]

    names = ", ".join(f"{2 * n}–{2 * n + 1}" for n in bad) or "none"
    bases = ", ".join(str(base) for base in sorted({base for base, *_ in rows}))
    name = f"segments {bases}; damaged batches: {names}; recovery point {recovery_point}"
    checkpoints = {"recovery_point": recovery_point}
    return WreckedCase(name, (table, recovery_point), expected, wreck, lambda state: state[4], checkpoints)


def _ends(choose):
    """A wrong answer that needs only plain Python: `choose(rows, recovery point)` of rows (segment, first, last,
    sound).
    """
    return lambda batches, point: choose([tuple(row) for row in batches.orderBy("first").collect()], point)


def _first_bad(rows):
    return next((first for _, first, _, sound in rows if not sound), rows[-1][2] + 1)


def _doubtful(rows, point):
    """The rows of the segments that are scanned."""
    return [row for row in rows if row[0] >= max(segment for segment, *_ in rows if segment <= point)]


def _cut_at(end, whole=lambda rows: rows[-1][2] + 1):
    """A wrong answer: `end(segment, first, last)` of the first bad batch that is scanned; without one `whole(rows)`."""
    return _ends(
        lambda rows, point: next((end(*row) for *row, sound in _doubtful(rows, point) if not sound), whole(rows))
    )


def _segment_before(rows, point):
    """The last segment that begins strictly below the point."""
    return max((segment for segment, *_ in rows if segment < point), default=rows[0][0])


def _later_segments_stay(rows, point):
    doubtful = max(segment for segment, *_ in rows if segment <= point)
    kept, cut_segments = [], set()
    for segment, _, last, sound in rows:
        if not sound and segment >= doubtful:
            cut_segments.add(segment)
        if segment not in cut_segments:
            kept.append(last)
    return kept[-1] + 1 if kept else rows[0][1]


damaged_end = Exercise(
    "Exercise 1, where a damaged log ends",
    lambda: [
        _damaged((7,), 0),
        _damaged((3, 7), 0),
        _damaged((1,), 8),
        _damaged((4,), 10),
        _damaged((5,), 12),
        _damaged((), 6),
    ],
    judged_by_spark,
    solutions.log_end,
    hints=[
        "Three questions: which segments are scanned, where is the first bad batch among them, and if there is none?",
        (
            "The scan begins with the segment that holds the recovery point, at its first byte: max(segment) with"
            " segment <= recovery point."
        ),
        (
            "The log ends at the first offset of the first bad batch; whole segments above go too. Without one:"
            " max(last) + 1."
        ),
    ],
    beliefs=[
        Belief(
            _ends(lambda rows, point: _first_bad(rows)),
            "You scan the whole log. What lies in segments below the recovery point was flushed, and nobody looks"
            " at it.",
        ),
        Belief(
            _ends(lambda rows, point: max(last for _, _, last, sound in rows if sound) + 1),
            "Your log goes on behind the bad batch. The scan ends it there: before the first bad batch.",
        ),
        Belief(
            _ends(lambda rows, point: _first_bad([row for row in rows if row[0] >= _segment_before(rows, point)])),
            "With a recovery point at a segment's base you scan the segment before, too. The one that holds the point"
            " is the one that begins there.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: segment),
            "You drop the whole damaged segment. Its sound batches before the bad one stay.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: first - 1),
            "You give the last offset that stays. The log end is the next one: the first offset of the bad batch.",
        ),
        Belief(
            _ends(_later_segments_stay),
            "You cut the segment with the bad batch and keep the later ones. The scan ends there, and they are deleted,"
            " sound or not.",
        ),
        Belief(
            _ends(lambda rows, point: _first_bad([row for row in rows if row[1] >= point] or rows[-1:])),
            "You begin at the recovery point or behind it. The scan takes the whole segment that holds it, from its"
            " first byte.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: last + 1),
            "Your log ends behind the bad batch. It ends before it: at the batch's first offset.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: first, whole=lambda rows: rows[-1][2]),
            "Without a bad batch you give the last offset. The log end is the offset that the next record gets: one"
            " more.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: first, whole=lambda rows: None),
            "Without a bad batch you have no answer. Then nothing is cut, and the log ends where its last batch does.",
        ),
    ],
    normal=lambda answer: (as_rows(answer) or [None])[0] if hasattr(answer, "collect") else answer,
)


# 2. The leader epochs that recovery finds, in Spark


def _epochs(epochs: tuple[int, ...]) -> WreckedCase:
    """One batch of two records for each of `epochs`; the checkpoint of the epochs is lost."""

    def wreck() -> Path:
        log = fresh_log()
        for number in range(len(epochs)):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        bytes_of_a_batch = log.size // len(epochs)
        directory = remove(kill(log), "leader-epoch-checkpoint")
        with open(named(directory, ".log"), "r+b") as file:  # the CRC does not cover the epoch
            for number, epoch in enumerate(epochs):
                file.seek(number * bytes_of_a_batch + 12)
                file.write(epoch.to_bytes(4, "big", signed=True))
        return directory

    rows = [(2 * n, 2 * n + 1, epoch) for n, epoch in enumerate(epochs)]
    table = frame(rows, "first BIGINT, last BIGINT, epoch BIGINT")

    def expected() -> list[tuple[int, int]]:
        return _sql(
            """SELECT b.epoch, min(b.first) FROM {batches} b
               LEFT ANTI JOIN {batches} earlier ON earlier.first < b.first AND earlier.epoch >= b.epoch
               WHERE b.epoch >= 0 GROUP BY b.epoch ORDER BY b.epoch""",
            batches=table,
        )

    def answer(state: tuple) -> list[tuple[int, int]]:
        return [tuple(entry) for entry in state[6]]

    return WreckedCase(
        f"batches of epochs {', '.join(map(str, epochs))}", (table,), expected, wreck, answer, settings={}
    )


def _entries(choose):
    return lambda batches: choose([tuple(row) for row in batches.orderBy("first").collect()])


def _changes(rows):
    return [
        (epoch, first)
        for (first, _, epoch), before in zip(rows, [None, *[e for *_, e in rows]], strict=False)
        if epoch != before
    ]


def _rises(rows):
    with_epoch = [(first, epoch) for first, _, epoch in rows if epoch >= 0]
    befores = [-1, *[epoch for _, epoch in with_epoch]]
    return [(epoch, first) for (first, epoch), before in zip(with_epoch, befores, strict=False) if epoch > before]


def _firsts(rows):
    found = {}
    for first, _, epoch in rows:
        found.setdefault(epoch, first)
    return list(found.items())


def _forgets_at_none(rows):
    entries, latest = [], -1
    for first, _, epoch in rows:
        if epoch > latest:
            entries.append((epoch, first))
        latest = max(latest, epoch) if epoch >= 0 else -1
    return entries


def _rising(rows, place):
    entries, latest = [], -1
    for row in rows:
        if row[2] > latest:
            latest = row[2]
            entries.append((latest, row[place]))
    return entries


epoch_entries = Exercise(
    "Exercise 2, the epochs that recovery finds",
    lambda: [
        _epochs((0, 0, 1, 1, 4)),
        _epochs((2, 3, 1, 3, 5)),
        _epochs((-1, -1, 7, -1, 8)),
        _epochs((7, -1, 5, 5, 8)),
        _epochs((6, 6, 6, 6, 6)),
    ],
    judged_by_spark,
    solutions.epochs,
    hints=[
        "An entry says where an epoch begins. Which batches begin one?",
        (
            "A batch begins an epoch when its epoch is greater than every one before it: a window that ends one row"
            " before."
        ),
        "Batches without an epoch have −1, and never make an entry: coalesce(…, -1).",
    ],
    beliefs=[
        Belief(
            _entries(_changes),
            "You note each change. Epochs in the cache only rise: a batch with a lower one, or with −1, makes no"
            " entry.",
        ),
        Belief(
            _entries(_rises),
            "You compare with the batch before. A batch makes an entry only if its epoch is greater than all"
            " before it.",
        ),
        Belief(
            _entries(_forgets_at_none),
            "After a batch without an epoch you begin anew. What came before it still counts: only a greater epoch"
            " makes an entry.",
        ),
        Belief(
            _entries(lambda rows: _rising(rows, 1)),
            "You note where an epoch's first batch ends. An entry has the first offset that was written in the epoch.",
        ),
        Belief(
            _entries(lambda rows: [(epoch, first) for first, _, epoch in rows if epoch >= 0]),
            "You make an entry for each batch. One entry stands for all batches of an epoch.",
        ),
        Belief(
            _entries(lambda rows: [row for row in _firsts(rows) if row[0] >= 0]),
            "You note where each epoch is met first. One that is lower than an epoch before it makes no entry: the"
            " cache only rises.",
        ),
        Belief(
            _entries(lambda rows: _firsts(rows)),
            "You note where each epoch is met first, −1 and lower ones too. Only an epoch above all before it makes an"
            " entry.",
        ),
    ],
    normal=as_rows,
)


# 3. A replacement that was cut off, in Spark

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
    "the lower new segment renamed, the upper one not": lambda: _upper_one_cleaned(),
}


def _half_done(name: str) -> WreckedCase:
    """Segments are being replaced; the crash comes after some renames."""
    files = _STOPS[name]()

    def wreck() -> Path:
        directory = scratch()
        directory.mkdir(parents=True)
        for file, data in files.items():
            (directory / file).write_bytes(data)
        return directory

    rows = [row for file, data in sorted(files.items()) for row in _row(file, data)]
    table = frame(rows, "base BIGINT, kind STRING, suffix STRING, next BIGINT")

    def expected() -> list[int]:
        return _sql(
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

    return WreckedCase(name, (table,), expected, wreck, lambda state: [base for base, _ in state[5]])


def _stopped(renames: int, groups: tuple[tuple[int, ...], ...] = _TWO_BY_TWO) -> dict[str, bytes]:
    """The files of a log of segments 0, 6, 12, 18, 24 after so many renames, when each group is replaced by one
    segment.
    """
    return _stops(groups)[renames]


def _upper_one_cleaned() -> dict[str, bytes]:
    """No replacement stops so, for it renames from the highest offset down; but the rule speaks of it."""
    upper = f"{12:020}"
    return {
        file.replace(".swap", ".cleaned") if file.startswith(upper) else file: data
        for file, data in _stopped(6).items()
    }


@cache
def _stops(groups: tuple[tuple[int, ...], ...]) -> list[dict[str, bytes]]:
    """The files before the first rename, and after each."""
    from minikafka.common import file_ops

    log = fresh_log(SMALL)
    for number in range(14):
        log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
    stops: list[dict[str, bytes]] = []
    home = Path(log.dir)

    def note(operation: str, path: Path) -> None:
        if operation == "rename" and Path(path).parent == home:
            stops.append({file.name: file.read_bytes() for file in home.iterdir()})
        elif not stops or operation == "write":
            before.update({file.name: file.read_bytes() for file in home.iterdir()})

    before: dict[str, bytes] = {}
    with file_ops.observe(note):
        replace_by_copies(log, *map(list, groups))
    kill(log)
    return [before, *stops]


def _row(file: str, data: bytes):
    """(base, kind, suffix, next offset) of a segment's `.log` or `.index`; nothing for other files."""
    from minikafka.record.memory_records import MemoryRecords

    base, kind, *suffix = [*file.split("."), ""] if "." not in file else file.split(".")
    if kind in ("log", "index"):
        batches = list(MemoryRecords.readable_records(data).batches()) if kind == "log" else []
        end = (batches[-1].next_offset if batches else int(base)) if kind == "log" else None
        yield int(base), kind, suffix[0] if suffix else "", end


def _below_the_lowest_cleaned(base: int, lowest: int | None) -> bool:
    return lowest is None or base < lowest


def _in_one_range(swaps: list[tuple[int, int | None]]) -> Callable[[int], bool]:
    """Whether a base lies from the lowest one to the highest end; where no end is known, all behind does."""
    low = min((base for base, _ in swaps), default=0)
    high = max((end for _, end in swaps if end is not None), default=1 << 62 if swaps else 0)
    return lambda base: low <= base < high


def _after(*, finish=_below_the_lowest_cleaned, replaced=_in_one_range, kinds=("log",)):
    """A wrong loader, where not told otherwise as Kafka's.

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


half_done = Exercise(
    "Exercise 3, a replacement that was cut off",
    lambda: [_half_done(name) for name in _STOPS],
    judged_by_spark,
    solutions.segments_after,
    hints=[
        (
            "First decide which .swap segments count. One .cleaned file, of a .log or of an index, tells that the"
            " renaming was not over."
        ),
        (
            "A .swap at or above the lowest .cleaned base is dropped. Those that remain replace everything from the"
            " lowest base to the highest next."
        ),
        "Segments after the load: the .swap ones that count, and the plain ones outside of [low, high).",
    ],
    beliefs=[
        Belief(
            _after(finish=lambda base, lowest: True),
            "You finish every .swap. One at or above the lowest .cleaned base is dropped: its own files may not all be"
            " there yet.",
        ),
        Belief(
            _after(finish=lambda base, lowest: lowest is None),
            "You undo all while one .cleaned file is left. Only a .swap at or above the lowest .cleaned base is"
            " dropped.",
        ),
        Belief(
            _after(replaced=lambda swaps: lambda base: any(low <= base < high for low, high in swaps)),
            "You give each .swap a range of its own. There is one, from the lowest base to the highest end: what lies"
            " between goes, too.",
        ),
        Belief(
            _after(kinds=("log", "index")),
            "You take an .index for a segment. Only a .log is one: an index that is .swap still may follow a .log that"
            " has its name.",
        ),
        Belief(
            _after(finish=lambda base, lowest: False),
            "You undo every .swap. Once no .cleaned file is left the new segments are complete, and the old ones may be"
            " gone already.",
        ),
        Belief(
            _after(replaced=lambda swaps: lambda base: base in dict(swaps)),
            "Your .swap replaces only the segment of its own name. It replaces all whose base lies in its range of"
            " offsets.",
        ),
        Belief(
            _after(finish=lambda base, lowest: lowest is None or base <= lowest),
            "You finish a .swap at the lowest .cleaned offset. The rule is ≥: its own index may still be .cleaned.",
        ),
        Belief(
            lambda files: sorted(
                {base for base, kind, _, _ in (tuple(row) for row in files.collect()) if kind == "log"}
            ),
            "You count each .log, whatever follows its name. A .deleted or .cleaned file is no segment, and what a"
            " .swap replaces goes.",
        ),
    ],
    normal=as_rows,
)


# 4. What the checkpoints are bent to


def _checkpointed(clean: bool, recovery_point: int, log_start: int) -> WreckedCase:
    """A log of offsets 4 to 13 is loaded with these checkpoints."""
    first_base, log_end = 4, 14

    def wreck() -> Path:
        log = fresh_log(SMALL)
        log.truncate_fully_and_start_at(first_base)
        for number in range(5):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        return kill(log)

    def expected() -> tuple[int, int]:
        return _sql(
            """SELECT start, greatest(start, IF(clean AND NOT emptied, end, least(point, end)))
               FROM (SELECT *, greatest(checkpoint, IF(emptied, checkpoint, first_base)) AS start,
                            IF(emptied, checkpoint, log_end) AS end
                     FROM (SELECT *, log_end < checkpoint AS emptied FROM {case}))""",
            case=frame(
                [(clean, recovery_point, log_start, first_base, log_end)],
                "clean BOOLEAN, point BIGINT, checkpoint BIGINT, first_base BIGINT, log_end BIGINT",
            ),
        )[0]

    stop = "clean" if clean else "unclean"
    name = (
        f"{stop} stop; recovery point {recovery_point}, log start {log_start}; first segment {first_base}, log end"
        f" {log_end}"
    )
    arguments = (clean, recovery_point, log_start, first_base, log_end)
    checkpoints = {"clean": clean, "recovery_point": recovery_point, "log_start": log_start}
    return WreckedCase(name, arguments, expected, wreck, lambda state: (state[0], state[1]), checkpoints)


bent = Exercise(
    "Exercise 4, what the checkpoints are bent to",
    lambda: [
        _checkpointed(False, 8, 0),
        _checkpointed(False, 99, 6),
        _checkpointed(True, 8, 0),
        _checkpointed(False, 0, 6),
        _checkpointed(False, 0, 0),
        _checkpointed(False, 8, 40),
        _checkpointed(True, 8, 40),
    ],
    judged_by_spark,
    solutions.loaded,
    hints=[
        "The log start is never below the first segment, and never below its checkpoint.",
        (
            "The recovery point: after a clean stop everything is flushed. After an unclean one the checkpoint holds,"
            " as far as the log goes."
        ),
        (
            "A checkpointed start above the log end means that segments were lost: the log is empty and begins there."
            " Last, no recovery point lies below the start."
        ),
    ],
    beliefs=[
        Belief(
            lambda clean, point, start, base, end: (
                solutions.loaded(clean, point, start, base, end)[0],
                max(end, start),
            ),
            "You move the recovery point to the log end. Up to 2.7 Kafka did; now what was recovered is not taken for"
            " flushed.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                max(start, base),
                start if clean and start > end else max(start, end if clean else min(point, end)),
            ),
            "You raise the recovery point to the checkpointed start only. The log may begin above it, at its first"
            " segment.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                start,
                max(start, start if start > end else end if clean else min(point, end)),
            ),
            "You leave the log start below the first segment. There is nothing to read: it is never below the base of"
            " the first one.",
        ),
        Belief(
            lambda clean, point, start, base, end: (base, max(base, end if clean else min(point, end))),
            "Your log begins at its first segment. The checkpoint may be higher: DeleteRecords moves the start inside a"
            " segment.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                max(start, base),
                end if clean and end >= start else min(point, max(start, end)),
            ),
            "You leave the recovery point below the log start. It is raised to the start: what is gone needs no"
            " recovery.",
        ),
        Belief(
            lambda clean, point, start, base, end: (max(start, base), max(start, base, min(point, end))),
            "You treat both stops alike. A clean stop has flushed everything: then the recovery point is the log end.",
        ),
        Belief(
            lambda clean, point, start, base, end: (
                min(max(start, base), end),
                max(min(max(start, base), end), end if clean else min(point, end)),
            ),
            "You lower the log start to the log end. It is the other way round: the segments go, and the empty log"
            " begins at the checkpoint.",
        ),
        Belief(
            lambda clean, point, start, base, end: (start, point),
            "You take the checkpoints as they are. They were written at another moment than the files: bend them to"
            " what the files hold.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)

EXERCISES = answered_early(damaged_end, epoch_entries, half_done, bent)
