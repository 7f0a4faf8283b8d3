"""The binary search of an index, step by step: recorded from the real `lookup`, not imitated beside it."""

import sys
from dataclasses import dataclass
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_MOST_SLOTS = 16


@dataclass(frozen=True, slots=True)
class SearchFrame:
    """One look into the index: slots `low` to `high` (inclusive) are still possible, and slot `middle` is examined.

    `keys` are the absolute offsets of all slots, `positions` what they point to; `middle` is None before the first look
    and at the end; `answer` has the result at the end.
    """

    target: int
    keys: tuple[int, ...]
    positions: tuple[int, ...]
    low: int
    high: int
    middle: int | None = None
    answer: str = ""

    @property
    def verdict(self) -> str:
        """What this look tells, in words."""
        if self.answer:
            return self.answer
        if self.middle is None:
            return f"{len(self.keys)} entries; slots {self.low} to {self.high} may hold the answer"
        key = self.keys[self.middle]
        if key == self.target:
            return f"slot {self.middle} holds {key}: found"
        if key > self.target:
            return f"slot {self.middle} holds {key} > {self.target}: go on to the left, up to slot {self.middle - 1}"
        return f"slot {self.middle} holds {key} < {self.target}: go on to the right, from slot {self.middle}"

    def __str__(self) -> str:
        return f"look up {self.target}: {self.verdict}"


def search_index(index: Any, target: int, title: str = "Binary search in the offset index") -> Player:
    """A player over one `index.lookup(target)` of an `OffsetIndex`, frame by frame."""
    return Player(search_frames(index, target), render_search, title=title)


def search_frames(index: Any, target: int) -> list[SearchFrame]:
    """Run `index.lookup(target)` and note which slots its search examines."""
    entries = [index.entry(number) for number in range(index.entries)]
    keys, positions = tuple(entry.offset for entry in entries), tuple(entry.position for entry in entries)
    looks: list[tuple[int, int, int]] = []
    code = type(index).index_slot_range_for.__code__

    def local_trace(frame, event, arg):
        seen = frame.f_locals
        if "found" in seen and (not looks or looks[-1][2] != seen["middle"]) and event == "line":
            looks.append((seen["low"], seen["high"], seen["middle"]))
        return local_trace

    previous = sys.gettrace()
    sys.settrace(lambda frame, event, arg: local_trace if frame.f_code is code else None)
    try:
        result = index.lookup(target)
    finally:
        sys.settrace(previous)
    whole = (0, max(len(keys) - 1, 0))
    low, high = looks[0][:2] if looks else whole
    frames = [SearchFrame(target, keys, positions, low, high)]
    frames += [SearchFrame(target, keys, positions, *seen) for seen in looks]
    slot = keys.index(result.offset) if result.offset in keys else -1
    answer = f"the answer is slot {slot}: offset {result.offset} at byte {result.position}" if slot >= 0 else (
        f"no entry is small enough: begin at offset {result.offset}, byte {result.position}"
    )  # fmt: skip
    return [*frames, SearchFrame(target, keys, positions, max(slot, 0), max(slot, 0), None, answer)]


def render_search(frame: SearchFrame) -> str:
    """The picture of one look."""
    centre = frame.middle if frame.middle is not None else (frame.low + frame.high) // 2
    first = max(0, min(centre - _MOST_SLOTS // 2, len(frame.keys) - _MOST_SLOTS))
    slots = range(first, min(first + _MOST_SLOTS, len(frame.keys)))
    width = min(92, (drawing.WIDTH - 100) / max(len(slots), 1))
    parts = [
        drawing.text(10, 20, f"look up offset {frame.target}", kind="h"),
        drawing.text(10, 40, frame.verdict, kind=""),
    ]
    for y, words in ((84, "slot"), (106, "offset"), (130, "byte")):
        parts.append(drawing.text(62, y, words, kind="s", anchor="end"))
    for number, slot in enumerate(slots):
        x = 72 + number * width
        possible, looked_at = frame.low <= slot <= frame.high, slot == frame.middle
        fill = "mark" if looked_at else "a" if possible else "gone"
        parts.append(
            drawing.rect(
                x, 90, width - 2, 22, fill, stroke="ink" if looked_at else "line", weight=2.5 if looked_at else 1
            )
        )
        if not possible and not looked_at:
            parts.append(drawing.line(x, 112, x + width - 2, 90, "faint", weight=0.8))
        parts.append(drawing.text(x + width / 2 - 1, 84, slot, kind="s", anchor="middle"))
        parts.append(
            drawing.text(
                x + width / 2 - 1, 106, frame.keys[slot], kind="sb" if looked_at else "s", anchor="middle", fill="ink"
            )
        )
        parts.append(drawing.text(x + width / 2 - 1, 130, frame.positions[slot], kind="s", anchor="middle"))
        if looked_at:
            parts.append(
                drawing.polygon([(x + width / 2 - 6, 62), (x + width / 2 + 4, 62), (x + width / 2 - 1, 71)], "hw")
            )
    if len(slots) < len(frame.keys):
        parts.append(
            drawing.text(
                drawing.WIDTH - 10, 20, f"slots {slots[0]}–{slots[-1]} of {len(frame.keys)}", kind="s", anchor="end"
            )
        )
    parts.append(drawing.text(72, 154, "blue: still possible · struck through: ruled out · ▼ looked at", kind="s"))
    return drawing.svg(drawing.WIDTH, 164, "".join(parts), str(frame))
