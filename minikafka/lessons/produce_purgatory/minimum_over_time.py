"""What `acks=all` waits for, over time: the log ends of the replicas, the least of them among the in-sync replicas, and
the high watermark, beside the number of replicas that are in sync and the minimum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.lab.course.diagrams import Picture
from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.widgets import drawing

_LEFT, _RIGHT, _TOP, _ROW, _CAPTION = 180, 10, 34, 30, 18


@dataclass(frozen=True, slots=True)
class MinimumMoment:
    """A partition at one moment, and the answer to the request that brings it records.

    `ends`: the log end of each in-sync replica by its broker. `minimum`: min.insync.replicas. Offsets are exclusive.
    """

    caption: str
    now_ms: int
    ends: tuple[tuple[int, int], ...]
    minimum: int
    high_watermark: int
    answer: str

    @property
    def least_end(self) -> int:
        """The least log end among the in-sync replicas."""
        return min(end for _, end in self.ends)

    @property
    def isr(self) -> list[int]:
        """The brokers that are in sync."""
        return [broker for broker, _ in self.ends]

    @property
    def enough(self) -> bool:
        """Whether as many replicas are in sync as the minimum asks for."""
        return len(self.ends) >= self.minimum

    def __str__(self) -> str:
        return (
            f"{self.now_ms} ms, {self.caption}: ISR {self.isr}, {len(self.ends)} in sync, minimum {self.minimum}; least"
            f" log end in the ISR {self.least_end}, high watermark {self.high_watermark}; {self.answer}"
        )


class MinimumOverTime:
    """Collects a moment of a partition after each action upon a `ProducePath`; shown, it is a time line of them."""

    def __init__(self, path: ProducePath, partition: str = "orders-0"):
        self.path, self.partition = path, partition
        self.moments: list[MinimumMoment] = []

    def after(self, caption: str, action: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Do `action(*arguments, **named)`, then record the moment under `caption`; gives what `action` gave."""
        answer = action(*arguments, **named)
        log, isr = self.path.log(self.partition), self.path.isr(self.partition)
        ends = tuple((broker, self.path.log(self.partition, broker).log_end_offset) for broker in isr)
        told = self._told()
        self.moments.append(
            MinimumMoment(caption, self.path.now_ms, ends, log.config.min_in_sync_replicas, log.high_watermark, told)
        )
        return answer

    def picture(self) -> Picture:
        """The time line: a column for each moment, a row for each quantity."""
        words = "\n".join([f"{self.partition} over time", *map(str, self.moments)])
        return Picture(render_minimum(self.partition, self.moments, words), words)

    def _told(self) -> str:
        for posted in reversed(self.path.posted):
            if self.partition in posted.required:
                return "waits" if not posted.request.done else posted.parts[self.partition].error
        return "no request"


def render_minimum(partition: str, moments: list[MinimumMoment], words: str) -> str:
    """The picture of these moments."""
    wide = (drawing.WIDTH - _LEFT - _RIGHT) / len(moments)
    parts = [drawing.text(10, 20, f"{partition} over time", kind="h")]
    top = _TOP + _CAPTION * 2 + 4
    rows = ("replicas in sync", "least log end in the ISR", "high watermark", "the request")
    for row, name in enumerate(rows):
        parts.append(drawing.text(10, top + row * _ROW + 19, name, kind="b"))
    for place, moment in enumerate(moments):
        parts += _column(moment, _LEFT + place * wide, wide, top)
    bottom = top + len(rows) * _ROW
    legend = "slanted: fewer than min.insync.replicas are in sync, so the high watermark stands still"
    parts.append(drawing.text(10, bottom + 20, legend, kind="s"))
    return drawing.svg(drawing.WIDTH, bottom + 32, "".join(parts), words)


def _column(moment: MinimumMoment, x: float, wide: float, top: float) -> list[str]:
    middle, room = x + wide / 2 - 2, wide - 8
    parts = [drawing.text(middle, _TOP + 12, f"{moment.now_ms:,} ms", kind="s", anchor="middle")]
    parts.append(drawing.text(middle, _TOP + 12 + _CAPTION, moment.caption, kind="sb", anchor="middle", room=room))
    behind = moment.high_watermark < moment.least_end
    cells = (
        (f"{len(moment.ends)} in sync, {moment.minimum} needed", "committed" if moment.enough else "pending"),
        (moment.least_end, "a"),
        (moment.high_watermark, "pending" if behind else "a"),
        (moment.answer, "panel"),
    )
    for row, (words, fill) in enumerate(cells):
        y = top + row * _ROW
        parts.append(drawing.rect(x, y, wide - 4, _ROW - 4, fill))
        if not row and not moment.enough:
            parts.append(drawing.hatch(x, y, wide - 4, _ROW - 4, "hw"))
            under = drawing.width(words, "sb") + 6
            parts.append(drawing.rect(middle - under / 2, y + 5, under, _ROW - 14, fill, stroke="none"))
        parts.append(drawing.text(middle, y + 17, words, kind="sb", anchor="middle", fill="ink", room=room))
    return parts
