"""A leader and its followers: what each has, what each fetched last, and the high watermark that follows from it.

The high watermark is never worked out here: each fetch reads the real log, and minikafka's `Partition` decides how far
the log's mark may rise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets as widgets

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.offset_ruler import SegmentSpan
from minikafka.lab.widgets.player import Player
from minikafka.witness.log.leading_partition import LeadingPartition
from minikafka.witness.spoken import say

_LEFT, _ROW = 130, 40


@dataclass(frozen=True, slots=True)
class ReplicaFrame:
    """One moment: the leader's offsets, and for each follower the offset it asked for last (None: no fetch yet)."""

    caption: str
    log_start: int
    leo: int
    hw: int
    followers: tuple[tuple[str, int | None, bool], ...]
    segments: tuple[SegmentSpan, ...] = ()
    hw_before: int | None = None

    def __str__(self) -> str:
        fetched = say(", ").join(
            (
                say("{name} has not fetched", name=name)
                if end is None
                else say("{name} fetched {end}", name=name, end=end)
            )
            + ("" if in_sync else say(" (not in the ISR)"))
            for name, end, in_sync in self.followers
        )
        moved = "" if self.hw_before in (None, self.hw) else say(" (was {before})", before=self.hw_before)
        words = say("leader's LEO {leo}, {fetched}, HW {hw}", leo=self.leo, fetched=fetched, hw=self.hw)
        return f"{self.caption}{say(': ')}{words}{moved}"


class Replicas:
    """Followers that fetch from `log`, which is the leader's.

    `followers`: their names, all in the ISR at first. As in Kafka, a fetch from offset x says that the follower has
    everything below x, and the leader learns this in no other way.
    """

    def __init__(
        self, log: Any, followers: Iterable[str] = ("follower 1", "follower 2"), title: str = "Leader and followers"
    ):
        self.log = log
        self.title = say(title)
        self._ids = {name: broker_id for broker_id, name in enumerate(followers, start=1)}
        self._leader = LeadingPartition(log, self._ids.values())
        self.frames: list[ReplicaFrame] = []
        self.note(say("as it was found"))

    def note(self, caption: str) -> "Replicas":
        """Record the current state under `caption`."""
        before = self.frames[-1].hw if self.frames else None
        ends = tuple((name, self.fetched[name], broker_id in self._leader.isr) for name, broker_id in self._ids.items())
        log = self.log
        self.frames.append(
            ReplicaFrame(caption, log.log_start_offset, log.log_end_offset, log.high_watermark, ends, (), before)
        )
        return self

    @property
    def fetched(self) -> dict[str, int | None]:
        """The offset that each follower asked for last; None before its first fetch."""
        found = {name: self._leader.fetched(broker_id) for name, broker_id in self._ids.items()}
        return {name: None if place is None else place.message_offset for name, place in found.items()}

    def append(self, records: Any) -> "Replicas":
        """Append `records` as the leader."""
        info = self.log.append_as_leader(records, 0)
        self._leader.look_again()
        if info.first_offset == info.last_offset:
            return self.note(say("leader appends {offset}", offset=info.last_offset))
        return self.note(say("leader appends {first}–{last}", first=info.first_offset, last=info.last_offset))

    def fetch(self, follower: str, offset: int) -> "Replicas":
        """`follower` fetches from `offset`; the leader notes it and tries to raise the high watermark."""
        self._leader.fetch(self._ids[follower], offset)
        return self.note(say("{follower} fetches from {offset}", follower=follower, offset=offset))

    def shrink(self, follower: str) -> "Replicas":
        """`follower` leaves the ISR."""
        self._leader.change_isr(broker_id for broker_id in self._leader.isr if broker_id != self._ids[follower])
        return self.note(say("{follower} leaves the ISR", follower=follower))

    def expand(self, follower: str) -> "Replicas":
        """`follower` joins the ISR."""
        self._leader.change_isr({*self._leader.isr, self._ids[follower]})
        return self.note(say("{follower} joins the ISR", follower=follower))

    def play(self, at: int = -1) -> Player:
        """A slider through what happened so far; `at`: the frame that it shows first (from 0 on; −1: the last one)."""
        low, high = _span(self.frames)
        start = at % len(self.frames)
        return Player(
            self.frames,
            lambda frame: render_replicas(frame, low, high),
            title=self.title,
            start=start,
            pictured=[start],
        )

    def drag(self) -> "ReplicaSliders":
        """A slider for each follower: dragging it makes the follower fetch."""
        return ReplicaSliders(self)


class ReplicaSliders:
    """The shell: a slider for each follower, whose value is the offset of its next fetch. `errors`: what callbacks
    raised.
    """

    def __init__(self, replicas: Replicas):
        self.replicas = replicas
        self.errors: list[Exception] = []
        log = replicas.log
        self.sliders: dict[str, widgets.IntSlider] = {}
        for name, end in replicas.fetched.items():
            value = log.log_start_offset if end is None else end
            slider = widgets.IntSlider(
                value=value,
                min=log.log_start_offset,
                max=log.log_end_offset,
                description=name,
                continuous_update=True,
                layout=widgets.Layout(width="100%", max_width="460px"),
                style={"description_width": "90px"},
            )
            slider.observe(lambda change, name=name: self._fetch(name, change["new"]), names="value")
            self.sliders[name] = slider
        self._picture = widgets.HTML(layout=widgets.Layout(width="100%", margin="0"))
        self._alarm = widgets.HTML("")
        self.widget = widgets.VBox([*self.sliders.values(), self._picture, self._alarm])
        self._span = _span([self.frame])
        self._draw()

    @property
    def frame(self) -> ReplicaFrame:
        """The current state."""
        return self.replicas.frames[-1]

    def static_html(self) -> str:
        """The current state for a page without a kernel."""
        return drawing.static_page(render_replicas(self.frame, *self._span))

    def __str__(self) -> str:
        return str(self.frame)

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        live = self.widget._repr_mimebundle_() or {}
        return {**live, "text/html": self.static_html(), "text/plain": str(self)}

    def _fetch(self, follower: str, offset: int) -> None:
        try:
            self.replicas.fetch(follower, offset)
            self._draw()
            self._alarm.value = ""
        except Exception as error:  # a callback has no caller to tell
            self.errors.append(error)
            self._alarm.value = drawing.page(
                f'<span class="mk-bad">{type(error).__name__}: {escape(str(error))}</span>'
            )

    def _draw(self) -> None:
        self._picture.value = drawing.page(render_replicas(self.frame, *self._span))


def _span(frames: list[ReplicaFrame]) -> tuple[int, int]:
    return min(frame.log_start for frame in frames), max(max(frame.leo for frame in frames), frames[0].log_start + 1)


def render_replicas(frame: ReplicaFrame, low: int | None = None, high: int | None = None) -> str:
    """The picture of one moment: a lane for each replica, the high watermark through all lanes."""
    if low is None or high is None:
        low, high = _span([frame])
    unit = (drawing.WIDTH - _LEFT - 110) / max(high - low, 1)
    lanes = [("leader", frame.leo, True), *frame.followers]
    bottom = 66 + len(lanes) * _ROW
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    for row, (name, end, in_sync) in enumerate(lanes):
        parts += _lane(name, end, in_sync, 66 + row * _ROW, frame, low, unit)
    x = _LEFT + (frame.hw - low) * unit
    parts.append(drawing.line(x, 50, x, bottom, "hw", weight=2.5))
    moved = "" if frame.hw_before in (None, frame.hw) else say(", was {before}", before=frame.hw_before)
    right = x > drawing.WIDTH - 240
    parts.append(
        drawing.text(
            x + (-4 if right else 4),
            50,
            f"HW {frame.hw}{moved}",
            kind="b",
            fill="hw",
            anchor="end" if right else "start",
        )
    )
    step = drawing.tick_step(unit, room=34)
    for offset in range(-(-low // step) * step, high + 1, step):
        tick = _LEFT + (offset - low) * unit
        parts.append(drawing.line(tick, bottom, tick, bottom + 5, "faint"))
        parts.append(drawing.text(tick, bottom + 17, f"{offset:,}", kind="s", anchor="middle"))
    reason = _reason(frame)
    parts.append(drawing.text(_LEFT, bottom + 36, reason, kind="s", room=drawing.WIDTH - _LEFT - 10))
    return drawing.svg(drawing.WIDTH, bottom + 46, "".join(parts), str(frame))


def _reason(frame: ReplicaFrame) -> str:
    """Why the mark stands where it does."""
    in_sync = [(name, end) for name, end, in_isr in frame.followers if in_isr]
    waiting = [name for name, end in in_sync if end is None]
    if waiting:
        return say("no fetch of {names} yet: the HW waits", names=say(" and ").join(waiting))
    least = min([frame.leo, *(end for _, end in in_sync)])
    if frame.hw > least:
        return say("the least end in the ISR is {least} now, but the HW never falls", least=least)
    count = frame.leo - frame.hw
    if count == 1:
        return say("HW = the least end of the in-sync replicas; 1 offset waits for it")
    return say("HW = the least end of the in-sync replicas; {count} offsets wait for it", count=count)


def _lane(name: str, end: int | None, in_sync: bool, y: float, frame: ReplicaFrame, low: int, unit: float) -> list[str]:
    parts = [drawing.text(10, y + 15, name, kind="b")]
    parts.append(drawing.text(10, y + 29, say("in the ISR" if in_sync else "not in the ISR"), kind="s"))
    begin = _LEFT + (frame.log_start - low) * unit
    if end is None:
        words = say("no fetch yet: the leader knows nothing of it")
        return [*parts, drawing.text(_LEFT + 4, y + 16, words, kind="s")]
    parts.append(drawing.rect(begin, y, (min(end, frame.hw) - frame.log_start) * unit, 24, "committed"))
    if end > frame.hw:
        x, width = _LEFT + (frame.hw - low) * unit, (end - frame.hw) * unit
        parts.append(drawing.rect(x, y, width, 24, "pending") + drawing.hatch(x, y, width, 24, "line"))
    dash = "" if in_sync else "5 4"
    parts.append(
        drawing.rect(begin, y, (end - frame.log_start) * unit, 24, "none", stroke="ink", dash=dash, weight=1.3)
    )
    label = f"LEO {end}" if name == "leader" else say("fetched {end}", end=end)
    return [*parts, drawing.text(_LEFT + (end - low) * unit + 6, y + 17, label, kind="s", fill="ink")]
