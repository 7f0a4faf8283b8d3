"""The replicas of one partition, a lane each: what each holds, of which leader epochs, and where its marks stand.

What is shown of a broker that runs is asked of its log; of one that is down, read from its directory. Records that came
or were cut since the frame before are marked.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from minikafka.lab.stage.replica_moments import HeldRecord, ReplicaLane, ReplicaMoment
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_LEFT, _TOP, _LANE, _CELL, _END = 168, 70, 80, 32, 96
_WIDEST = 64
_EPOCHS = "abcdefg"


class ReplicaLanes:
    """Collects a frame after each action upon a partition's replicas; shown, it is a slider through them.

    `replication`: a `Replication`, which gives the moments (`replication.moment(caption)`).
    """

    def __init__(self, replication: Any, title: str = "Replicas of one partition"):
        self.replication, self.title = replication, title
        self.frames: list[ReplicaMoment] = []

    def after(self, caption: str, action: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Do `action(*arguments, **named)`, then record the moment under `caption`; gives what `action` gave."""
        answer = action(*arguments, **named)
        moment = self.replication.moment(caption)
        self.frames.append(marked(self.frames[-1] if self.frames else None, moment))
        return answer

    def sleep(self, seconds: int, fetching: Collection[int] = ()) -> list[int]:
        """Let so many seconds pass, in each of which the brokers `fetching` fetch once; a moment is recorded whenever
        the ISR has changed. Gives the seconds at which it has.
        """
        changed = []
        for _ in range(seconds):
            isr = self.replication.isr
            self.replication.sleep(1)
            self.replication.fetch(*fetching)
            if self.replication.isr != isr:
                changed.append(self.replication.second)
                self.frames.append(marked(self.frames[-1], self.replication.moment("the ISR has changed")))
        return changed

    def play(self, upto: int | None = None) -> Player:
        """The lanes with their slider, at the last frame; one scale for all frames. A page that is only read shows each
        frame in which a log was cut.

        `upto`: how many frames, from the first on (default: all).
        """
        span = span_of(self.frames)
        frames = self.frames[:upto]
        cuts = [number for number, frame in enumerate(frames) if _cuts(frame)]
        return Player(
            frames,
            lambda frame: render_replica_lanes(frame, *span),
            title=self.title,
            start=len(frames) - 1,
            pictured=cuts,
        )


def _cuts(frame: ReplicaMoment) -> bool:
    return any(record.sign == "−" for lane in frame.lanes for record in lane.records)


def marked(before: ReplicaMoment | None, now: ReplicaMoment) -> ReplicaMoment:
    """The frame `now`, in which records that came or were cut since `before` have their signs."""
    if before is None:
        return now
    then = {lane.broker: _unsigned(lane) for lane in before.lanes}
    lanes = [replace(lane, records=_signed(then[lane.broker], lane.records)) for lane in now.lanes]
    return replace(now, lanes=tuple(lanes))


def _unsigned(lane: ReplicaLane) -> tuple[HeldRecord, ...]:
    return tuple(replace(record, sign="") for record in lane.records if record.sign != "−")


def _signed(then: tuple[HeldRecord, ...], now: tuple[HeldRecord, ...]) -> tuple[HeldRecord, ...]:
    came = tuple(replace(record, sign="" if record in then else "+") for record in now)
    held = {record.offset for record in now}
    cut = tuple(replace(record, sign="−") for record in then if record not in now and record.offset not in held)
    return tuple(sorted(came + cut, key=lambda record: record.offset))


def span_of(frames: list[ReplicaMoment]) -> tuple[int, int]:
    """The first offset that any of the frames shows, and the end of the last one."""
    offsets = [record.offset for frame in frames for lane in frame.lanes for record in lane.records]
    ends = [lane.log_end for frame in frames for lane in frame.lanes]
    return min(offsets, default=0), max([*(offset + 1 for offset in offsets), *ends, 1])


def render_replica_lanes(frame: ReplicaMoment, low: int | None = None, high: int | None = None) -> str:
    """The picture of one moment. `low`, `high`: the offsets of the scale, `high` exclusive."""
    if low is None or high is None:
        low, high = span_of([frame])
    unit = min(_WIDEST, (drawing.WIDTH - _LEFT - _END) / max(high - low, 1))
    room = drawing.WIDTH - 20
    parts = [drawing.text(10, 20, f"second {frame.second}: {frame.caption}", kind="h", room=room)]
    parts.append(drawing.text(10, 40, frame.controller, kind="s", fill="ink", room=room))
    for row, lane in enumerate(frame.lanes):
        parts += _lane(lane, _TOP + row * _LANE, low, unit, lane.broker == frame.leader)
    bottom = _TOP + len(frame.lanes) * _LANE
    for offset in range(low, high + 1):
        parts.append(drawing.text(_LEFT + (offset - low) * unit, bottom + 6, offset, kind="s", anchor="middle"))
    words = f"acks=all: {frame.told}" if frame.producers else "no producer with acks=all so far"
    parts.append(drawing.text(10, bottom + 28, words, kind="s", fill="ink", room=room))
    legend = "in a box: value and leader epoch · thick: new · struck out: cut · slanted lines: broker is down"
    parts.append(drawing.text(10, bottom + 46, legend, kind="s", room=room))
    return drawing.svg(drawing.WIDTH, bottom + 56, "".join(parts), str(frame))


def _lane(lane: ReplicaLane, y: float, low: int, unit: float, leads: bool) -> list[str]:
    words = [f"{lane.role}, {lane.standing}" if lane.standing else lane.role]
    words += [f"has fetched from {lane.known_end}"] if lane.known_end is not None else []
    parts = [drawing.rect(4, y - 10, _LEFT - 30, 58, "mark" if leads else "panel", stroke="line")]
    parts.append(drawing.text(12, y + 7, f"broker {lane.broker}", kind="b"))
    parts += [drawing.text(12, y + 24 + 16 * line, text, kind="s", room=_LEFT - 44) for line, text in enumerate(words)]
    for record in lane.records:
        parts += _cell(record, _LEFT + (record.offset - low) * unit, y, unit, lane.role == "is down")
    end = _LEFT + (lane.log_end - low) * unit
    parts.append(drawing.line(end, y - 3, end, y + _CELL + 3, "leo", weight=2))
    cut_off = [record.offset + 1 for record in lane.records if record.sign == "−"]
    after = _LEFT + (max([lane.log_end, *cut_off]) - low) * unit
    parts.append(drawing.text(after + 7, y + 20, f"LEO {lane.log_end}", kind="s", fill="leo"))
    x = _LEFT + (lane.high_watermark - low) * unit
    parts.append(drawing.line(x, y - 8, x, y + _CELL + 5, "hw", weight=3))
    parts.append(drawing.text(x, y - 11, f"HW {lane.high_watermark}", kind="sb", anchor="middle", fill="hw"))
    known = ", ".join(f"{epoch} from {start}" for epoch, start in lane.epochs)
    parts.append(drawing.text(_LEFT + 3, y + _CELL + 15, f"epoch cache: {known or 'empty'}", kind="s"))
    return parts


def _cell(record: HeldRecord, x: float, y: float, unit: float, down: bool) -> list[str]:
    cut = record.sign == "−"
    fill = "gone" if cut else _EPOCHS[record.epoch % len(_EPOCHS)]
    new = record.sign == "+"
    inset = 2.5
    parts = [
        drawing.rect(
            x + inset,
            y,
            unit - 2 * inset,
            _CELL,
            fill,
            stroke="ink" if new else "line",
            weight=2.4 if new else 1,
            dash="4 3" if cut else "",
        )
    ]
    if down:
        parts.append(drawing.hatch(x + inset, y, unit - 2 * inset, _CELL, "line"))
    middle = x + unit / 2
    value = drawing.fitting(unit - 8, record.value, record.value[:1], kind="b")
    parts.append(drawing.text(middle, y + 14, value, kind="b", anchor="middle"))
    parts.append(drawing.text(middle, y + 27, f"e{record.epoch}", kind="s", anchor="middle", fill="ink"))
    if cut:
        parts.append(drawing.line(x + inset, y + _CELL / 2, x + unit - inset, y + _CELL / 2, "bad", weight=2))
    return parts
