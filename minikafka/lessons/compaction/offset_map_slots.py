"""The cleaner's offset map, slot by slot: where each key is looked for, what is met there, and where it ends."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_LEFT, _TOP, _CELL = 58, 104, 62
_LONGEST_KEY = 40  # letters that are shown of it


@dataclass(frozen=True, slots=True)
class SlotsFrame:
    """The map after one call: `slots` has the (key, digest, offset) of each slot, None for an empty one.

    `probes`: the slots that the call looked at, in that order; `verdict`: what came of it, in words.
    """

    caption: str
    slots: tuple[tuple[str, str, int] | None, ...]
    probes: tuple[int, ...] = ()
    verdict: str = ""

    def __str__(self) -> str:
        inside = ", ".join(f"{i}: {s[0]} → {s[2]}" if s else f"{i}: empty" for i, s in enumerate(self.slots))
        looked = f"looks at {', '.join(map(str, self.probes))}; " if self.probes else ""
        return f"{self.caption}: {looked}{self.verdict}\n   slots {inside}"


class OffsetMapSlots:
    """A real `SkimpyOffsetMap` of a few slots that is filled and asked key by key, a frame for each call.

    `map` is the map itself; which slots it looks at is watched while it looks. The keys stand in the picture for the
    reader's sake: the map keeps their digests only.
    """

    def __init__(self, slots: int, title: str = "The offset map, slot by slot"):
        from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap

        self.map = SkimpyOffsetMap(slots * SkimpyOffsetMap.BYTES_PER_ENTRY)
        self._title = title
        self._slots: list[tuple[str, str, int] | None] = [None] * slots
        self.frames: list[SlotsFrame] = [SlotsFrame("An empty map", tuple(self._slots), verdict=f"{slots} slots")]

    def put(self, key: str, offset: int) -> int:
        """Put `offset` under `key`; gives the slot that it went to."""
        _, probes = _watched(self.map.put, key.encode(), offset)
        end, old = probes[-1], self._slots[probes[-1]]
        passed, shown = self._passed(probes), drawing.shorten(key, _LONGEST_KEY)
        self._slots[end] = (shown, _hex(key), offset)
        last = f"slot {end} holds {shown}: offset {old[2]} becomes {offset}" if old else f"slot {end} is free"
        self._snap(f"put {shown} → {offset}", probes, "; ".join([*passed, last]))
        return end

    def get(self, key: str) -> int:
        """The offset under `key`, or −1."""
        found, probes = _watched(self.map.get, key.encode())
        shown, slot = drawing.shorten(key, _LONGEST_KEY), probes[-1]
        last = f"slot {slot} holds {shown}" if found >= 0 else f"slot {slot} is empty: {shown} is not in the map"
        self._snap(f"get {shown} = {found}".replace("-", "−"), probes, "; ".join([*self._passed(probes), last]))
        return found

    def play(self) -> Player:
        """The map with its slider, at the last frame."""
        return Player(self.frames, render_slots, title=self._title, start=len(self.frames) - 1)

    def _passed(self, probes: list[int]) -> list[str]:
        return [f"slot {slot} holds {self._slots[slot][0]}" for slot in probes[:-1]]

    def _snap(self, caption: str, probes: list[int], verdict: str) -> None:
        self.frames.append(SlotsFrame(caption, tuple(self._slots), tuple(probes), verdict))


def tries(key: str, slots: int, count: int = 4) -> list[int]:
    """The slots that a map of so many `slots` looks at for `key`, at its first `count` tries."""
    from minikafka.log.cleaner.offset_map_kernel import slot_of

    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    high, low = (int.from_bytes(half, "big", signed=True) for half in (digest[:8], digest[8:]))
    return [slot_of(high, low, attempt, slots) for attempt in range(count)]


def _watched(call: Callable[..., Any], *arguments: Any) -> tuple[Any, list[int]]:
    """What `call` gives, and the slots that `slot_of` named meanwhile."""
    from minikafka.log.cleaner.offset_map_kernel import slot_of

    named: list[int] = []

    def watch(frame: Any, event: str, result: Any) -> None:
        if event == "return" and frame.f_code is slot_of.__code__:
            named.append(result)

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        return call(*arguments), named
    finally:
        sys.setprofile(previous)


def render_slots(frame: SlotsFrame) -> str:
    """The picture of one call."""
    width = min(100, (drawing.WIDTH - _LEFT - 10) / len(frame.slots))
    parts = [
        drawing.text(10, 20, frame.caption, kind="h"),
        drawing.text(10, 40, frame.verdict, room=drawing.WIDTH - 20),
        drawing.text(_LEFT - 8, _TOP - 8, "slot", kind="s", anchor="end"),
        drawing.text(_LEFT - 8, _TOP + 18, "digest", kind="s", anchor="end"),
        drawing.text(_LEFT - 8, _TOP + 36, "key", kind="s", anchor="end"),
        drawing.text(_LEFT - 8, _TOP + 53, "offset", kind="s", anchor="end"),
    ]
    for slot, entry in enumerate(frame.slots):
        x = _LEFT + slot * width
        middle = x + (width - 4) / 2
        ends_here = bool(frame.probes) and slot == frame.probes[-1]
        fill = "mark" if ends_here else "a" if entry else "panel"
        looked = slot in frame.probes
        parts.append(
            drawing.rect(x, _TOP, width - 4, _CELL, fill, stroke="ink" if looked else "line", weight=2 if looked else 1)
        )
        parts.append(drawing.text(middle, _TOP - 8, slot, kind="s", anchor="middle"))
        if entry:
            parts.append(
                drawing.text(
                    middle,
                    _TOP + 18,
                    drawing.fitting(width - 8, f"{entry[1][:6]}…", kind="sm"),
                    kind="sm",
                    anchor="middle",
                )
            )
            parts.append(
                drawing.text(
                    middle, _TOP + 36, drawing.fitting(width - 8, entry[0], kind="b"), kind="b", anchor="middle"
                )
            )
            parts.append(drawing.text(middle, _TOP + 53, entry[2], kind="s", anchor="middle", fill="ink"))
        if looked:
            tries = ", ".join(str(i + 1) for i, probe in enumerate(frame.probes) if probe == slot)
            parts.append(
                drawing.text(
                    middle,
                    _TOP - 40,
                    drawing.fitting(width - 6, f"try {tries}", tries),
                    kind="sb",
                    anchor="middle",
                    fill="hw",
                )
            )
            parts.append(drawing.polygon([(middle - 6, _TOP - 34), (middle + 6, _TOP - 34), (middle, _TOP - 24)], "hw"))
    words = "▼ looked at, in this order · yellow: where the call ended · the map keeps digest and offset, not the key"
    parts.append(drawing.text(10, _TOP + _CELL + 24, words, kind="s"))
    return drawing.svg(drawing.WIDTH, _TOP + _CELL + 36, "".join(parts), str(frame))


def _hex(key: str) -> str:
    return hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
