"""How dirty logs are: a bar for each, the share that is clean and the share that is dirty, on one scale from 0 to 1."""

from dataclasses import dataclass
from typing import Any

from minikafka.lab.course.diagrams import Picture
from minikafka.lab.stage.cleaning import Cleaning
from minikafka.lab.widgets import drawing
from minikafka.log.cleaner.cleanable_offsets import cleanable_offsets
from minikafka.log.cleaner.log_to_clean import LogToClean

_LEFT, _TOP, _BAR, _ROW = 90, 60, 26, 44
_SCALE = 440  # px from 0 to 1


@dataclass(frozen=True, slots=True)
class Dirt:
    """A log's bytes below its first uncleanable offset: all of them, and those that no cleaning has seen (`dirty`).

    `least`: its min.cleanable.dirty.ratio; a log is cleaned at a ratio above it.
    """

    name: str
    total: int
    dirty: int
    least: float

    @property
    def ratio(self) -> float:
        """The share of dirty bytes, 0 to 1."""
        return self.dirty / self.total

    def __str__(self) -> str:
        verdict = "to be cleaned" if self.ratio > self.least else "left alone"
        return f"{self.name}: {self.dirty:,} of {self.total:,} B dirty = {self.ratio:.3f}, {verdict}"


def dirt_of(*logs: Any) -> list[Dirt]:
    """How dirty each of these logs is now, as a cleaner sees it. Raises ZeroDivisionError for a log without bytes."""
    checkpoints = Cleaning(*logs).manager.all_cleaner_checkpoints()
    found = []
    for log in logs:
        dirty, uncleanable, _ = cleanable_offsets(log, checkpoints.get(log.topic_partition), log.time.milliseconds())
        to_clean = LogToClean(log, dirty, uncleanable)
        found.append(Dirt(log.name, to_clean.total_bytes, to_clean.cleanable_bytes, log.config.min_cleanable_ratio))
    return found


def dirty_ratios(*logs: Any) -> Picture:
    """The bars of these logs, and on each the ratio above which it is cleaned."""
    found = dirt_of(*logs)
    words = "\n".join(["Dirty ratios", *(f"{each}; limit {each.least:g}" for each in found)])
    parts = [drawing.text(10, 22, "Dirty ratio: the share of dirty bytes", kind="h")]
    for place, each in enumerate(found):
        parts += _bar(each, _TOP + place * _ROW)
    bottom = _TOP + len(found) * _ROW
    for tenth in range(0, 11, 2):
        x = _LEFT + _SCALE * tenth / 10
        parts.append(drawing.text(x, bottom + 4, f"{tenth / 10:g}", kind="s", anchor="middle"))
    legend = "slanted: dirty bytes · plain: clean bytes · thick line: min.cleanable.dirty.ratio of the log"
    parts.append(drawing.text(10, bottom + 28, legend, kind="s"))
    return Picture(drawing.svg(drawing.WIDTH, bottom + 40, "".join(parts), words), words)


def _bar(each: Dirt, y: float) -> list[str]:
    wide, limit = _SCALE * each.ratio, _LEFT + _SCALE * each.least
    return [
        drawing.text(_LEFT - 8, y + 18, each.name, kind="b", anchor="end", room=_LEFT - 14),
        drawing.rect(_LEFT, y, _SCALE, _BAR, "committed"),
        drawing.rect(_LEFT, y, wide, _BAR, "pending", stroke="ink", weight=1.5),
        drawing.hatch(_LEFT, y, wide, _BAR, "hw"),
        drawing.line(limit, y - 6, limit, y + _BAR + 6, "ink", weight=3),
        drawing.text(
            _LEFT + _SCALE + 12, y + 18, str(each).partition(": ")[2], room=drawing.WIDTH - _LEFT - _SCALE - 20
        ),
    ]
