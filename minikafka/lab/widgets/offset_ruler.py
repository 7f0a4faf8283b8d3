"""The offset ruler: log start, LSO, HW and LEO of a log on one line, above the segments that hold the records.

Every one of the four is a boundary, so it points at the left edge of its offset: the offset HW itself is not committed,
and at LEO there is no record yet.
"""

from dataclasses import dataclass
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.witness.spoken import say

_LEFT, _RIGHT = 116, 36
_MARKS = (("LEO", "leo"), ("HW", "hw"), ("LSO", "lso"), ("log start", "start"))


@dataclass(frozen=True, slots=True)
class SegmentSpan:
    """One segment on the ruler: offsets from `base_offset` up to, not including, `end_offset`; its log's `size` in
    bytes.
    """

    base_offset: int
    end_offset: int
    size: int

    def __str__(self) -> str:
        return f"[{self.base_offset}, {self.end_offset}) {self.size:,} B"


@dataclass(frozen=True, slots=True)
class Offsets:
    """What the ruler shows of a log at one moment; all four offsets but the log start are exclusive upper bounds."""

    log_start: int
    lso: int
    hw: int
    leo: int
    segments: tuple[SegmentSpan, ...]

    @classmethod
    def of(cls, log: Any) -> "Offsets":
        """Read `log` (a `Log`, or anything with the same attributes)."""
        found = list(log.log_segments)
        bases = [segment.base_offset for segment in found]
        ends = [*bases[1:], max(log.log_end_offset, bases[-1])] if bases else []
        spans = tuple(
            SegmentSpan(segment.base_offset, end, segment.size) for segment, end in zip(found, ends, strict=True)
        )
        return cls(log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset, spans)

    def marks(self) -> tuple[tuple[str, str, int], ...]:
        """(name, colour, offset) of the four marks, topmost first."""
        values = (self.leo, self.hw, self.lso, self.log_start)
        return tuple((say(name), colour, value) for (name, colour), value in zip(_MARKS, values, strict=True))

    def moved_since(self, before: "Offsets | None") -> list[str]:
        """What differs from `before`, in words."""
        if before is None:
            return []
        pairs = zip(reversed(before.marks()), reversed(self.marks()), strict=True)
        moved = [f"{name} {old} → {new}" for (name, _, old), (_, _, new) in pairs if old != new]
        old_bases, bases = ({span.base_offset for span in state.segments} for state in (before, self))
        moved += [say("segment {base} added", base=base) for base in sorted(bases - old_bases)]
        moved += [say("segment {base} removed", base=base) for base in sorted(old_bases - bases)]
        sizes = {span.base_offset: span.size for span in before.segments}
        for span in self.segments:
            if sizes.get(span.base_offset, span.size) != span.size:
                before_it = sizes[span.base_offset]
                grown = say("segment {base}: {old:,} → {new:,} B", base=span.base_offset, old=before_it, new=span.size)
                moved.append(grown)
        return moved or [say("nothing moved")]

    def __str__(self) -> str:
        words = (
            "log start {log_start} ≤ LSO {lso} ≤ HW {hw} ≤ LEO {leo}; segments {segments}"
            if self.log_start <= self.lso
            else "log start {log_start} > LSO {lso} ≤ HW {hw} ≤ LEO {leo}; segments {segments}"  # it is inside a batch
        )
        return say(
            words,
            log_start=self.log_start,
            lso=self.lso,
            hw=self.hw,
            leo=self.leo,
            segments=", ".join(map(str, self.segments)) or say("none"),
        )


@dataclass(frozen=True, slots=True)
class RulerFrame:
    """One moment: what happened, the offsets after it, and those before it."""

    caption: str
    offsets: Offsets
    before: Offsets | None = None

    def __str__(self) -> str:
        moved = self.offsets.moved_since(self.before)
        in_brackets = say(" ({words})", words=say(", ").join(moved)) if moved else ""
        return f"{self.caption}{say(': ')}{self.offsets}{in_brackets}"


class OffsetRuler:
    """Collects a frame at each `snap`; shown, it is a ruler with a slider through time."""

    def __init__(self, log: Any, title: str = "Offsets of the log"):
        self._log = log
        self._title = say(title)
        self.frames: list[RulerFrame] = []

    def snap(self, caption: str) -> "OffsetRuler":
        """Record the log as it is now under `caption`, and return the ruler."""
        before = self.frames[-1].offsets if self.frames else None
        self.frames.append(RulerFrame(caption, Offsets.of(self._log), before))
        return self

    def play(self) -> Player:
        """The ruler with its slider, set to the last frame; all frames have one scale."""
        low, high = scale_of([frame.offsets for frame in self.frames])
        pictures = [(frame, low, high) for frame in self.frames]
        render = {id(frame): render_ruler(frame, low, high) for frame, low, high in pictures}
        return Player(self.frames, lambda frame: render[id(frame)], title=self._title, start=len(self.frames) - 1)


def scale_of(moments: list[Offsets]) -> tuple[int, int]:
    """First and last offset that the rulers of all `moments` must show."""
    low = min(min([each.log_start, each.hw, *(span.base_offset for span in each.segments)]) for each in moments)
    high = max(max([each.leo, each.hw, *(span.end_offset for span in each.segments)]) for each in moments)
    return low, max(high, low + 1)


def render_ruler(frame: RulerFrame, low: int | None = None, high: int | None = None) -> str:
    """The picture of one moment, on the scale from offset `low` to `high` (default: its own)."""
    if low is None or high is None:
        low, high = scale_of([frame.offsets])
    scale = _Scale(low, high)
    offsets = frame.offsets
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    moved = offsets.moved_since(frame.before)
    parts.append(
        drawing.text(10, 38, say("; ").join(moved) or say("as it was found"), kind="s", room=drawing.WIDTH - 20)
    )
    parts += _marks(offsets, scale)
    parts += _cells(offsets, scale)
    parts += _segments(offsets, scale)
    return drawing.svg(drawing.WIDTH, 232, "".join(parts), str(frame))


class _Scale:
    """Offsets to x. With room for a box each, offsets are drawn as boxes; else the ruler is a plain axis."""

    def __init__(self, low: int, high: int):
        self.low, self.high = low, high
        self.boxes = high - low + 1 <= 48
        self.unit = (drawing.WIDTH - _LEFT - _RIGHT) / (high - low + (1 if self.boxes else 0))

    def x(self, offset: int) -> float:
        return _LEFT + (offset - self.low) * self.unit

    def label_step(self) -> int:
        """The distance between the offsets for which a number fits."""
        digits = len(str(self.high))
        return drawing.tick_step(self.unit, room=digits * 7 + 8)


def _marks(offsets: Offsets, scale: _Scale) -> list[str]:
    parts = []
    for row, (name, colour, value) in enumerate(offsets.marks()):
        x, y = scale.x(value), 60 + row * 19
        near_end = x > drawing.WIDTH - 130
        parts.append(drawing.text(10, y + 4, name, kind="b", fill=colour))
        parts.append(drawing.line(64 if colour != "start" else 78, y, x, y, colour, weight=1, dash="2 3"))
        parts.append(drawing.line(x, y, x, 142, colour, weight=2))
        parts.append(drawing.polygon([(x - 4, 135), (x + 4, 135), (x, 142)], colour))
        label = f"{value:,}"
        parts.append(_plate(x + (-6 if near_end else 6), y + 4, label, colour, "end" if near_end else "start"))
    return parts


def _plate(x: float, y: float, label: str, colour: str, anchor: str) -> str:
    """A label on a patch of paper, so that the lines beneath don't cross it."""
    width = drawing.width(label, "b") + 4
    left = x - 2 if anchor == "start" else x - width + 2
    return drawing.rect(left, y - 11, width, 14, "paper", stroke="none") + drawing.text(
        x, y, label, kind="b", anchor=anchor, fill=colour
    )


def _cells(offsets: Offsets, scale: _Scale) -> list[str]:
    top, height = 142, 26
    if not scale.boxes:
        return _axis(offsets, scale, top, height)
    parts, step = [], scale.label_step()
    held = [(span.base_offset, span.end_offset) for span in offsets.segments]
    for offset in range(scale.low, scale.high + 1):
        x = scale.x(offset)
        on_disk = any(base <= offset < end for base, end in held)
        if not on_disk:
            dash = "3 3" if offset == offsets.leo else "1 4"
            parts.append(drawing.rect(x, top, scale.unit, height, "none", dash=dash))
        else:
            parts.append(drawing.rect(x, top, scale.unit, height, _state(offset, offsets)))
            parts.append(_texture(offset, offsets, x, top, scale.unit, height))
        if offset % step == 0 or offset == scale.low and step == 1:
            shade = "" if on_disk else "faint"
            parts.append(
                drawing.text(x + scale.unit / 2, top + 18, offset, kind="s", anchor="middle", fill=shade or "ink")
            )
    return parts


def _axis(offsets: Offsets, scale: _Scale, top: float, height: float) -> list[str]:
    """Ranges instead of boxes, for a ruler with many offsets."""
    parts = []
    first = offsets.segments[0].base_offset if offsets.segments else offsets.log_start
    edges = sorted({first, max(first, offsets.log_start), max(first, offsets.hw), offsets.leo})
    for begin, end in zip(edges, edges[1:]):
        x, width = scale.x(begin), scale.x(end) - scale.x(begin)
        parts.append(drawing.rect(x, top, width, height, _state(begin, offsets)))
        parts.append(_texture(begin, offsets, x, top, width, height))
    step = scale.label_step()
    for offset in range(-(-scale.low // step) * step, scale.high + 1, step):
        x = scale.x(offset)
        parts.append(drawing.line(x, top + height - 6, x, top + height, "ink"))
        parts.append(drawing.text(x, top + 15, f"{offset:,}", kind="s", anchor="middle", fill="ink"))
    return parts


def _state(offset: int, offsets: Offsets) -> str:
    if offset < offsets.log_start:
        return "gone"
    return "committed" if offset < offsets.hw else "pending"


def _texture(offset: int, offsets: Offsets, x: float, y: float, width: float, height: float) -> str:
    """Not committed: slanted lines. Below the log start: a line through."""
    if offset < offsets.log_start:
        return drawing.line(x, y + height, x + width, y, "faint", weight=0.8)
    return "" if offset < offsets.hw else drawing.hatch(x, y, width, height, "line")


def _segments(offsets: Offsets, scale: _Scale) -> list[str]:
    top, parts = 178, [drawing.text(10, 193, say("segments"), kind="b")]
    for number, span in enumerate(offsets.segments):
        active = number == len(offsets.segments) - 1
        x, end = scale.x(span.base_offset), scale.x(span.end_offset)
        width = max(end - x, 7)
        parts.append(
            drawing.rect(
                x + 1, top, width - 2, 20, "panel", stroke="ink" if active else "line", weight=2 if active else 1
            )
        )
        words = drawing.fitting(width - 8, f"{span.base_offset} · {span.size:,} B", str(span.base_offset))
        parts.append(drawing.text(x + 5, top + 14, words, kind="s", fill="ink"))
        if active:
            room = drawing.WIDTH - 10 - (x + width + 4)
            words = drawing.fitting(room, say("active" if width > 7 else "active, empty"), say("active"))
            parts.append(drawing.text(x + width + 4, top + 14, words, kind="s"))
    legend = [
        ("committed", say("below HW: committed"), ""),
        ("pending", say("from HW on: not yet"), "hatch"),
        ("gone", say("below log start: not readable"), "line"),
    ]
    x = _LEFT
    for colour, words, texture in legend:
        parts.append(drawing.rect(x, 210, 16, 11, colour))
        parts.append(drawing.hatch(x, 210, 16, 11, "line", 5) if texture == "hatch" else "")
        parts.append(drawing.line(x, 221, x + 16, 210, "faint", weight=0.8) if texture == "line" else "")
        parts.append(drawing.text(x + 22, 220, words, kind="s"))
        x += 22 + drawing.width(words, "s") + 22
    return parts
