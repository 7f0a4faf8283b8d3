"""The segment shelf: each segment as its file, batch by batch, with the index entries as links into it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_LEFT, _ROW, _MOST_ROWS = 132, 104, 6


@dataclass(frozen=True, slots=True)
class BatchOnFile:
    """A batch: first and last offset (inclusive), and where it stands in its file, in bytes."""

    first: int
    last: int
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class ShelvedSegment:
    """One segment: its batches, the (offset, position) pairs of its offset index, the (timestamp, offset) of its time
    index.
    """

    base_offset: int
    size: int
    batches: tuple[BatchOnFile, ...]
    offset_entries: tuple[tuple[int, int], ...]
    time_entries: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, segment: Any) -> "ShelvedSegment":
        """Read a `LogSegment`, its indexes included."""
        batches, position = [], 0
        for batch in segment.log.batches():
            batches.append(BatchOnFile(batch.base_offset, batch.last_offset, position, batch.size_in_bytes))
            position += batch.size_in_bytes
        offsets, times = segment.offset_index, segment.time_index
        offset_entries = [offsets.entry(number) for number in range(offsets.entries)]
        time_entries = [times.entry(number) for number in range(times.entries)]
        return cls(
            segment.base_offset,
            segment.size,
            tuple(batches),
            tuple((entry.offset, entry.position) for entry in offset_entries),
            tuple((entry.timestamp, entry.offset) for entry in time_entries),
        )

    def __str__(self) -> str:
        batches = " ".join(f"{batch.first}–{batch.last}@{batch.position}" for batch in self.batches) or "no batch"
        entries = " ".join(f"{offset}→{position}" for offset, position in self.offset_entries) or "none"
        return f"segment {self.base_offset}, {self.size:,} B: {batches}; index {entries}"


@dataclass(frozen=True, slots=True)
class ShelfFrame:
    """All segments of a log at one moment; `note` says what a bold frame around a segment means, for those in
    `marked`.
    """

    caption: str
    segments: tuple[ShelvedSegment, ...]
    marked: frozenset[int] = frozenset()
    note: str = ""

    def __str__(self) -> str:
        marked = f" ({self.note}: {', '.join(map(str, sorted(self.marked)))})" if self.marked else ""
        return f"{self.caption}{marked}: " + " | ".join(map(str, self.segments))


class SegmentShelf:
    """Collects a frame at each `snap`; shown, it is a shelf with a slider through time."""

    def __init__(self, log: Any, title: str = "Segments of the log"):
        self._log = log
        self._title = title
        self.frames: list[ShelfFrame] = []

    def snap(self, caption: str, *marked: int, note: str = "marked") -> "SegmentShelf":
        """Record the segments as they are now; those with a base offset in `marked` are drawn bold."""
        segments = tuple(ShelvedSegment.of(segment) for segment in self._log.log_segments)
        self.frames.append(ShelfFrame(caption, segments, frozenset(marked), note))
        return self

    def play(self) -> Player:
        """The shelf with its slider, set to the last frame; all frames have one scale."""
        segments = [segment for frame in self.frames for segment in frame.segments]
        longest = max((segment.size for segment in segments), default=1)
        earliest = _earliest(segments)
        last = len(self.frames) - 1
        return Player(self.frames, lambda frame: render_shelf(frame, longest, earliest), title=self._title, start=last)


def render_shelf(frame: ShelfFrame, longest: int | None = None, earliest: int | None = None) -> str:
    """The picture of one moment.

    `longest`: bytes that the full width stands for (default: the largest segment). `earliest`: the time in ms from
    which the entries of time indexes are counted (default: the first of this frame).
    """
    longest = max(longest or max((segment.size for segment in frame.segments), default=1), 1)
    scale = (drawing.WIDTH - _LEFT - 20) / longest
    earliest = _earliest(frame.segments) if earliest is None else earliest
    left_out = max(len(frame.segments) - _MOST_ROWS, 0)
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - (200 if left_out else 20))]
    if left_out:
        parts.append(
            drawing.text(drawing.WIDTH - 10, 20, f"{left_out} older segments not drawn", kind="s", anchor="end")
        )
    for row, segment in enumerate(frame.segments[left_out:]):
        active = segment is frame.segments[-1]
        top = 34 + row * _ROW
        parts += _segment(segment, top, scale, active, segment.base_offset in frame.marked, frame.note)
        parts += _entries(segment, top, scale, earliest)
    bottom = 34 + _ROW * max(len(frame.segments) - left_out, 1)
    parts += _byte_scale(bottom, scale, longest)
    if any(segment.time_entries for segment in frame.segments[left_out:]):
        parts.append(drawing.text(_LEFT, bottom + 36, f"time index: +0 ms is {earliest:,} ms", kind="s"))
    return drawing.svg(drawing.WIDTH, bottom + 44, "".join(parts), str(frame))


def _earliest(segments: Iterable[ShelvedSegment]) -> int:
    """The first time in ms that stands in a time index of these, 0 without any."""
    return min((timestamp for segment in segments for timestamp, _ in segment.time_entries), default=0)


def _byte_scale(y: float, scale: float, longest: int) -> list[str]:
    """The bytes of a file from 0 to `longest`, with a number now and then."""
    step = drawing.tick_step(scale, room=60)
    parts = [drawing.text(_LEFT - 12, y + 17, "byte", kind="s", anchor="end")]
    parts.append(drawing.line(_LEFT, y, _LEFT + longest * scale, y, "faint"))
    for position in range(0, longest + 1, step):
        x = _LEFT + position * scale
        parts.append(drawing.line(x, y, x, y + 5, "faint"))
        parts.append(drawing.text(x, y + 17, f"{position:,}", kind="s", anchor="middle"))
    return parts


def _segment(segment: ShelvedSegment, top: float, scale: float, active: bool, marked: bool, note: str) -> list[str]:
    parts = [drawing.text(10, top + 17, f"{segment.base_offset}", kind="bm")]
    parts.append(drawing.text(10, top + 33, f"{segment.size:,} B" + (", active" if active else ""), kind="s"))
    if marked:
        parts.append(drawing.text(10, top + 49, f"● {note}", kind="b", fill="bad", room=_LEFT - 16))
    width = max(segment.size * scale, 3)
    for number, batch in enumerate(segment.batches):
        x, wide = _LEFT + batch.position * scale, batch.size * scale
        parts.append(drawing.rect(x, top, wide, 24, "a" if number % 2 else "f"))
        offsets = str(batch.first) if batch.first == batch.last else f"{batch.first}–{batch.last}"
        words = drawing.fitting(wide - 4, offsets)
        parts.append(drawing.text(x + wide / 2, top + 16, words, kind="s", anchor="middle", fill="ink"))
    outline = "bad" if marked else "ink" if active else "faint"
    dash = "4 3" if not segment.batches else ""
    parts.append(
        drawing.rect(_LEFT, top, width, 24, "none", stroke=outline, weight=2 if marked or active else 1, dash=dash)
    )
    return parts


def _entries(segment: ShelvedSegment, top: float, scale: float, earliest: int) -> list[str]:
    parts = [drawing.text(_LEFT - 6, top + 62, ".index", kind="sm", anchor="end")]
    parts.append(drawing.text(_LEFT - 6, top + 82, ".timeindex", kind="sm", anchor="end"))
    x = _LEFT
    for number, (offset, position) in enumerate(segment.offset_entries):
        words = f"{offset}→{position}"
        width = drawing.width(words, "sm") + 10
        x = max(x, _LEFT + position * scale - width / 2)
        if x + width > drawing.WIDTH - 60:
            parts.append(drawing.text(x, top + 62, f"+{len(segment.offset_entries) - number} more", kind="s"))
            break
        parts.append(drawing.line(x + width / 2, top + 48, _LEFT + position * scale, top + 25, "leo", weight=1.3))
        parts.append(drawing.polygon(_arrow(_LEFT + position * scale, top + 25), "leo"))
        parts.append(drawing.rect(x, top + 48, width, 19, "panel"))
        parts.append(drawing.text(x + width / 2, top + 62, words, kind="sm", anchor="middle", fill="ink"))
        x += width + 5
    if not segment.offset_entries:
        parts.append(drawing.text(_LEFT, top + 62, "no entry", kind="s"))
    times = " · ".join(f"+{_span(timestamp - earliest)}→{offset}" for timestamp, offset in segment.time_entries[:4])
    more = len(segment.time_entries) - 4
    parts.append(
        drawing.text(_LEFT, top + 82, (times or "no entry") + (f"  +{more} more" if more > 0 else ""), kind="s")
    )
    return parts


def _span(milliseconds: int) -> str:
    """A length of time, 0 or more, in words: "8 min", "1 h 30 min", "1,500 ms"."""
    if milliseconds % 1000 or not milliseconds:
        return f"{milliseconds:,} ms"
    parts, left = [], milliseconds // 1000
    for unit, seconds in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= seconds:
            parts.append(f"{left // seconds:,} {unit}")
            left %= seconds
    return " ".join(parts)


def _arrow(x: float, y: float) -> list[tuple[float, float]]:
    return [(x - 3.5, y + 7), (x + 3.5, y + 7), (x, y)]
