"""The produce requests that wait in a leader: a box for each, with what would open it and when the timer will."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.lessons.produce_purgatory.purgatory_moments import PartitionMark, PurgatoryMoment, WaitingProduce

_LEFT, _LANE, _BOX, _UNIT, _CELL = 104, 54, 30, 34, 22
_LABEL, _LABEL_WIDTH = 110, 256
_ROOM = drawing.WIDTH - 20


class PurgatoryBoxes:
    """Collects a frame after each action upon a `ProducePath`; shown, it is a slider through them."""

    def __init__(self, path: ProducePath, title: str = "What waits in broker 0"):
        self.path, self.title = path, title
        self.frames: list[PurgatoryMoment] = []

    def after(self, caption: str, action: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Do `action(*arguments, **named)`, then record the moment under `caption`; gives what `action` gave."""
        answer = action(*arguments, **named)
        self.frames.append(moment_of(self.path, caption))
        return answer

    def play(self) -> Player:
        """The boxes with their slider, at the last frame."""
        rows = max(len(frame.waiting) for frame in self.frames)
        answers = max(len(frame.answered) for frame in self.frames)
        return Player(
            self.frames,
            lambda frame: render_purgatory(frame, rows, answers),
            title=self.title,
            start=len(self.frames) - 1,
        )


def moment_of(path: ProducePath, caption: str) -> PurgatoryMoment:
    """What waits in broker 0 now, and for what."""
    marks = tuple(
        PartitionMark(name, log.high_watermark, log.log_end_offset, tuple(path.isr(name)))
        for name in ("orders-0", "orders-1")
        for log in [path.log(name)]
    )
    waiting = tuple(
        WaitingProduce(posted.number, posted.deadline_ms, tuple(sorted(posted.required.items())))
        for posted in path.posted
        if posted.required and not posted.request.done
    )
    answered = tuple(str(posted) for posted in path.posted if posted.request.done)
    return PurgatoryMoment(caption, path.now_ms, marks, waiting, answered)


def render_purgatory(frame: PurgatoryMoment, rows: int = 0, answers: int = 0) -> str:
    """The picture of one moment. `rows`, `answers`: for how many boxes and answers there is room at least."""
    parts = [drawing.text(10, 20, f"{frame.now_ms} ms: {frame.caption}", kind="h", room=_ROOM)]
    y = 52.0
    for mark in frame.marks:
        parts += _lane(mark, y)
        y += _LANE
    parts.append(drawing.text(10, y, "each box is a request that waits; a label names what it waits for", kind="s"))
    y += 10
    marks = {mark.name: mark.high_watermark for mark in frame.marks}
    for waiting in frame.waiting:
        parts += _box(waiting, marks, frame.now_ms, y)
        y += _BOX + 6
    if not frame.waiting:
        parts.append(drawing.text(24, y + 20, "nothing waits"))
    y += (max(rows, 1) - len(frame.waiting)) * (_BOX + 6) + 14
    parts.append(drawing.text(10, y, "answered:", kind="b"))
    for line, answer in enumerate(frame.answered, 1):
        parts.append(drawing.text(24, y + 18 * line, answer, kind="s", fill="ink", room=_ROOM - 14))
    return drawing.svg(drawing.WIDTH, y + 18 * max(answers, len(frame.answered), 1) + 12, "".join(parts), str(frame))


def _lane(mark: PartitionMark, y: float) -> list[str]:
    parts = [drawing.text(10, y + 15, mark.name, kind="b")]
    for offset in range(mark.log_end):
        committed = offset < mark.high_watermark
        x = _LEFT + offset * _UNIT
        parts.append(drawing.rect(x, y, _UNIT - 4, _CELL, "committed" if committed else "pending"))
        parts.append(drawing.text(x + _UNIT / 2 - 2, y + 15, offset, kind="s", anchor="middle", fill="ink"))
    x = _LEFT + mark.high_watermark * _UNIT - 2
    parts.append(drawing.line(x, y - 5, x, y + _CELL + 4, "hw", weight=3))
    words = f"HW {mark.high_watermark} · LEO {mark.log_end} · ISR {', '.join(map(str, mark.isr))}"
    parts.append(drawing.text(_LEFT, y + _CELL + 15, words, kind="s", fill="ink"))
    return parts


def _box(waiting: WaitingProduce, marks: dict[str, int], now_ms: int, y: float) -> list[str]:
    parts = [drawing.rect(10, y, drawing.WIDTH - 20, _BOX, "panel", stroke="ink", weight=1.5)]
    parts.append(drawing.text(20, y + 20, f"request {waiting.number}", kind="b"))
    for place, (name, offset) in enumerate(waiting.required[:2]):
        done = not offset or marks.get(name, 0) >= offset
        words = f"{'✓' if done else '…'} {name}: " + (f"HW ≥ {offset}" if offset else "refused at once")
        x = _LABEL + place * (_LABEL_WIDTH + 8)
        parts.append(drawing.rect(x, y + 4, _LABEL_WIDTH, _BOX - 8, "committed" if done else "pending"))
        parts.append(drawing.text(x + 8, y + 20, words, kind="s", fill="ink", room=_LABEL_WIDTH - 14))
    left = f"timer: {waiting.deadline_ms - now_ms} ms left"
    parts.append(drawing.text(drawing.WIDTH - 20, y + 20, left, kind="s", anchor="end", fill="ink"))
    return parts
