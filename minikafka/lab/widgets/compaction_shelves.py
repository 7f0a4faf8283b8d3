"""The compaction shelves: a log's records before a cleaning and after it, survivors linked.

Everything is read from the files, before and after; nothing is asked of the cleaner. What went is told apart by what
stood in the log: a newer record of the same key, a transaction that was aborted, a deletion that is over.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_MARGIN, _GAP, _WIDEST = 10, 8, 52
_UPPER, _LOWER, _BOX = 92, 222, 40
_LONGEST_LABEL = 40
_FILLS = {"row": "committed", "tombstone": "pending", "commit": "paper", "abort": "paper", "empty": "panel"}


@dataclass(frozen=True, slots=True)
class ShelvedRecord:
    """One record, or what is left of a batch without records.

    `kind`: "row", "tombstone", "commit", "abort" (markers), or "empty" (a batch's header alone; `offset` is its last).
    `fate`: "" while it stays, else why it went, in few words; `newer`: the offset of the newer record of its key.
    """

    offset: int
    kind: str
    key: str | None = None
    value: str | None = None
    producer: int = -1
    transactional: bool = False
    horizon: bool = False
    fate: str = ""
    newer: int | None = None

    @property
    def label(self) -> str:
        """What the box says: `a=1`, `−a` for a tombstone, C or A for a marker."""
        rows = {"row": f"{self.key or ''}={self.value}", "tombstone": f"−{self.key}"}
        words = {**rows, "commit": "C", "abort": "A", "empty": "·"}[self.kind]
        return drawing.shorten(words, _LONGEST_LABEL)

    def __str__(self) -> str:
        words = {"commit": "commit marker", "abort": "abort marker", "empty": "no record left"}.get(
            self.kind, self.label
        )
        fate = f" ({self.fate})" if self.fate else ""
        return f"{self.offset} {words}{' with horizon' if self.horizon else ''}{fate}"


@dataclass(frozen=True, slots=True)
class ShelvedFile:
    """A segment: base offset, size in bytes, its records; `active` takes the appends."""

    base_offset: int
    size: int
    records: tuple[ShelvedRecord, ...]
    active: bool = False

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.records)) or "no records"
        return f"segment {self.base_offset}{' (active)' if self.active else ''}, {self.size} B: {inside}"


@dataclass(frozen=True, slots=True)
class ShelvesFrame:
    """A log before a cleaning and, in a frame that shows both, after it. `marks`: (name, offset) pairs."""

    caption: str
    before: tuple[ShelvedFile, ...]
    after: tuple[ShelvedFile, ...] | None = None
    marks: tuple[tuple[str, int], ...] = ()

    @property
    def told(self) -> str:
        """How many records and bytes there are, and were."""
        words = _counted(self.before)
        return words if self.after is None else f"{words} → {_counted(self.after)}"

    def __str__(self) -> str:
        marks = "".join(f"; {name} {offset}" for name, offset in self.marks)
        shelves = [("before", self.before)] + ([] if self.after is None else [("after", self.after)])
        lines = [f"{name}: {' | '.join(map(str, files))}" for name, files in shelves]
        return "\n   ".join([f"{self.caption} ({self.told}){marks}", *lines])


class CompactionShelves:
    """Collects two frames around each cleaning; shown, it is two shelves with a slider through the rounds."""

    def __init__(self, log: Any, title: str = "Before and after a cleaning"):
        self._log = log
        self._title = title
        self.frames: list[ShelvesFrame] = []

    def around(self, caption: str, clean: Callable[[], Any]) -> Any:
        """Record the log, call `clean`, record it again; give back what `clean` gave.

        `clean` gives what `Cleaning.turn` gives: the cleaning's marks stand in the picture. None: nothing was cleaned.
        """
        before = files_of_records(self._log)
        answer = clean()
        after = files_of_records(self._log)
        if answer is None:
            self.frames.append(ShelvesFrame(f"{caption}: nothing to clean", before))
            return answer
        marks = (("first dirty", answer.first_dirty), ("first uncleanable", answer.first_uncleanable))
        ended = (("cleaned up to", answer.end), marks[1])
        self.frames.append(ShelvesFrame(f"{caption}: before", before, None, marks))
        self.frames.append(ShelvesFrame(f"{caption}: after", with_fates(before, after, answer.end), after, ended))
        return answer

    def play(self) -> Player:
        """The shelves with their slider, at the last frame; one scale for all frames."""
        most = max(_width_in_boxes(frame.before) for frame in self.frames)
        files = max(len(frame.before) for frame in self.frames)
        unit = min(_WIDEST, (drawing.WIDTH - 2 * _MARGIN - _GAP * files) / max(most, 1))
        last = len(self.frames) - 1
        return Player(self.frames, lambda frame: render_shelves(frame, unit), title=self._title, start=last)


def files_of_records(log: Any) -> tuple[ShelvedFile, ...]:
    """The log's segments as they lie in their files, record by record."""
    active = log.active_segment.base_offset
    return tuple(
        ShelvedFile(
            segment.base_offset,
            segment.size,
            tuple(record for batch in segment.log.batches() for record in _records_of(batch)),
            segment.base_offset == active,
        )
        for segment in log.log_segments
    )


def with_fates(before: tuple[ShelvedFile, ...], after: tuple[ShelvedFile, ...], end: int) -> tuple[ShelvedFile, ...]:
    """`before`, where each record that is not in `after` says why it went; the cleaning got up to offset `end`."""
    stayed = {(record.offset, record.kind) for file in after for record in file.records}
    records = [record for file in before for record in file.records]
    aborted = _aborted(records)
    newest = {r.key: r.offset for r in records if r.key is not None and r.offset < end and r.offset not in aborted}

    def told(record: ShelvedRecord) -> ShelvedRecord:
        if (record.offset, record.kind) in stayed:
            return record
        if record.offset in aborted:
            return replace(record, fate="aborted")
        if record.kind == "row" and record.key is None:
            return replace(record, fate="no key")
        newer = newest.get(record.key, -1)
        if newer > record.offset:
            return replace(record, fate=f"newer at {newer}", newer=newer)
        return replace(record, fate="over")

    return tuple(replace(file, records=tuple(map(told, file.records))) for file in before)


def render_shelves(frame: ShelvesFrame, unit: float | None = None) -> str:
    """The picture of one moment. `unit`: the width of a record's box in px (default: what fits)."""
    if unit is None:
        room = drawing.WIDTH - 2 * _MARGIN - _GAP * len(frame.before)
        unit = min(_WIDEST, room / max(_width_in_boxes(frame.before), 1))
    parts = [drawing.text(_MARGIN, 20, frame.caption, kind="h", room=drawing.WIDTH - 2 * _MARGIN)]
    parts.append(drawing.text(_MARGIN, 38, frame.told, kind="s", room=drawing.WIDTH - 2 * _MARGIN))
    upper, drawn = _shelf(frame.before, _UPPER, unit, _UPPER - 6)
    if frame.after is None:
        parts.append(drawing.text(_MARGIN, _LOWER + 24, "nothing is rewritten", kind="s"))
    else:
        lower, drawn_below = _shelf(frame.after, _LOWER, unit, _LOWER + _BOX + 15)
        parts += _links(frame, upper, lower, unit) + drawn_below
    parts += drawn + _marks(frame, upper, unit)
    parts.append(_legend(_LOWER + _BOX + 42))
    return drawing.svg(drawing.WIDTH, _LOWER + _BOX + 72, "".join(parts), str(frame))


def _shelf(
    files: tuple[ShelvedFile, ...], top: float, unit: float, names_at: float
) -> tuple[dict[int, float], list[str]]:
    """The left edge in px of each segment and of each offset's box, and the drawing of the segments side by side."""
    edges, parts, x = {}, [], float(_MARGIN)
    for file in files:
        width = max(len(file.records), 1) * unit
        words = (
            f"segment {file.base_offset}, {file.size:,} B",
            f"{file.base_offset}, {file.size:,} B",
            f"{file.base_offset}",
        )
        parts.append(drawing.text(x, names_at, drawing.fitting(width, *words), kind="s"))
        edges[file.base_offset] = x
        for number, record in enumerate(file.records):
            edges[record.offset] = x + number * unit
            parts += _box(record, x + number * unit, top, unit)
        parts += _fates(file.records, x, top, unit)
        outline, dash = ("ink", "") if file.active else ("faint", "4 3" if not file.records else "")
        parts.append(
            drawing.rect(x, top, width, _BOX, "none", stroke=outline, weight=2 if file.active else 1.4, dash=dash)
        )
        x += width + _GAP
    return edges, parts


def _box(record: ShelvedRecord, x: float, top: float, unit: float) -> list[str]:
    fill = "gone" if record.fate else _FILLS[record.kind]
    parts = [drawing.rect(x + 1, top + 1, unit - 2, _BOX - 2, fill, stroke="lso" if record.transactional else "line")]
    if record.fate:
        parts.append(drawing.line(x + 2, top + _BOX - 2, x + unit - 2, top + 2, "faint"))
    room = unit - 4
    offset = f"{record.offset}{'◆' if record.horizon else ''}"
    parts.append(
        drawing.text(
            x + unit / 2, top + 15, drawing.fitting(room, offset, str(record.offset)), kind="s", anchor="middle"
        )
    )
    label = drawing.fitting(room, record.label, kind="sb")
    parts.append(drawing.text(x + unit / 2, top + 32, label, kind="sb", anchor="middle", fill="ink"))
    return parts


def _fates(records: tuple[ShelvedRecord, ...], left: float, top: float, unit: float) -> list[str]:
    """Below the boxes, why records went. Neighbours that went for one reason have a bracket, and the reason once."""
    parts, number = [], 0
    for (fate, newer), alike in groupby(records, lambda record: (record.fate, record.newer)):
        count = len(list(alike))
        if fate:
            x, wide = left + number * unit, count * unit
            words = f"→{newer}" if newer is not None else fate
            why, at, y = drawing.fitting(wide + 4, words), x + wide / 2, top + _BOX + 14
            if count > 1:
                parts.append(drawing.line(x + 4, top + _BOX + 4, x + wide - 4, top + _BOX + 4, "faint", weight=1.5))
                y += 4
            room = drawing.width(why, "s") + 2
            parts.append(drawing.rect(at - room / 2, y - 10, room, 13, "paper", stroke="none"))
            parts.append(drawing.text(at, y, why, kind="s", anchor="middle"))
        number += count
    return parts


def _marks(frame: ShelvesFrame, edges: dict[int, float], unit: float) -> list[str]:
    """Each mark stands before the box of its offset, its name above it."""
    bases, parts = {file.base_offset for file in frame.before}, []
    for (name, offset), y, colour in zip(frame.marks, (54, 68), ("leo", "hw"), strict=False):
        at = next((x for place, x in edges.items() if place >= offset), max(edges.values(), default=_MARGIN) + unit)
        at -= _GAP / 2 if offset in bases else 0
        words = f"{name} {offset}"
        wide = drawing.width(words, "sb")
        left = at + 4 if at + 4 + wide < drawing.WIDTH - _MARGIN else at - 4 - wide
        parts.append(
            drawing.line(at, y - 9, at, _UPPER + _BOX + 4, colour, weight=1.8, dash="" if colour == "leo" else "5 3")
        )
        parts.append(drawing.text(left, y, words, kind="sb", fill=colour))
    return parts


def _links(frame: ShelvesFrame, upper: dict[int, float], lower: dict[int, float], unit: float) -> list[str]:
    """A line from each record to where it stands now; to the header that alone is left of a batch a dashed one."""
    parts = []
    for record in (record for file in frame.after or () for record in file.records if record.offset in upper):
        begin, end = upper[record.offset] + unit / 2, lower[record.offset] + unit / 2
        colour, dash = ("faint", "3 3") if record.kind == "empty" else ("good", "")
        parts.append(drawing.line(begin, _UPPER + _BOX + 1, end, _LOWER - 1, colour, weight=1.2, dash=dash))
    return parts


def _legend(y: float) -> str:
    words = "struck through: removed · →7: the newest of its key is at 7 · −a: tombstone of a · ◆: has a delete horizon"
    more = (
        "violet frame: in a transaction · C, A: its marker · dot: a batch without records · bold frame: active segment"
    )
    return drawing.text(_MARGIN, y, words, kind="s") + drawing.text(_MARGIN, y + 17, more, kind="s")


def _records_of(batch: Any) -> list[ShelvedRecord]:
    """The records of a batch of a log file; a batch without records stands for itself."""
    horizon = batch.delete_horizon_ms is not None
    producer, transactional = batch.producer_id, batch.is_transactional
    found = []
    for record in batch:
        if batch.is_control_batch:
            from minikafka.record.format.control_record import ControlRecordType

            kind = ControlRecordType.parse(record.key).name.lower()
            found.append(ShelvedRecord(record.offset, kind, None, None, producer, transactional, horizon))
            continue
        key, value = (
            None if data is None else bytes(data).decode(errors="replace") for data in (record.key, record.value)
        )
        kind = "tombstone" if value is None else "row"
        found.append(ShelvedRecord(record.offset, kind, key, value, producer, transactional, horizon))
    return found or [ShelvedRecord(batch.last_offset, "empty", None, None, producer, transactional, horizon)]


def _aborted(records: list[ShelvedRecord]) -> set[int]:
    """The offsets of records whose transaction's marker, the producer's next one, is an abort."""
    waiting: dict[int, list[int]] = {}
    found: set[int] = set()
    for record in records:
        if record.kind in ("commit", "abort"):
            offsets = waiting.pop(record.producer, [])
            found.update(offsets if record.kind == "abort" else ())
        elif record.transactional and record.kind != "empty":
            waiting.setdefault(record.producer, []).append(record.offset)
    return found


def _width_in_boxes(files: tuple[ShelvedFile, ...]) -> int:
    return sum(max(len(file.records), 1) for file in files)


def _counted(files: tuple[ShelvedFile, ...]) -> str:
    records = sum(record.kind != "empty" for file in files for record in file.records)
    return f"{len(files)} segments, {records} records, {sum(file.size for file in files):,} bytes"
