"""The way of a query of log directories, from its plan to rows, with a mark where it is."""

from collections.abc import Collection
from dataclasses import dataclass

from minikafka.lab.widgets import drawing

PLAN = {
    "find_partitions": ("which directories,", "which segments"),
    "Bounds": ("which offsets: log", "start, HW or LSO"),
    "byte_ranges": ("which bytes: the", "index, split, pruned"),
    "tasks_of": ("small ranges", "together"),
}
"""What is done once, where the query is planned."""
READ = {
    "batch_pieces": ("bytes, 4 MiB at a", "time; checksums"),
    "decoded_runs": ("many batches at", "once into columns"),
    "RecordRows": ("the rows that count,", "the columns wanted"),
    "Spark": ("joins, groups, sorts", "what it is given"),
}
"""What each task does, on whichever worker it runs."""
_AT = {
    "KafkaLogReader.partitions": "find_partitions",
    "KafkaLogReader._tasks_of_bytes": "byte_ranges",
    "KafkaLogReader.read": "batch_pieces",
}
_WIDTH, _GAP, _LEFT, _TOP, _HEIGHT = 176, 26, 76, 32, 64


@dataclass(frozen=True)
class PlanFrame:
    """Where the query is (`here`), where it has been before, and the function that runs."""

    here: str
    visited: tuple[str, ...]
    method: str

    def __str__(self) -> str:
        ways = (" → ".join(f"[{name}]" if name == self.here else name for name in row) for row in (PLAN, READ))
        return f"{'; each task: '.join(ways)}: we are in {self.method}"


def plan_frames(methods: Collection[str]) -> list[PlanFrame]:
    """A frame for each of the functions that run one after another."""
    frames: list[PlanFrame] = []
    visited: dict[str, None] = {}
    for method in methods:
        here = _AT.get(method) or method.partition(".")[0]
        visited[here] = None
        frames.append(PlanFrame(here, tuple(visited), method))
    return frames


def render_plan_map(frame: PlanFrame) -> str:
    """The picture: two rows of four boxes, the present one with a thick frame and a pointer."""
    parts = [drawing.text(_LEFT, 18, f"we are in {frame.method}", kind="b", room=drawing.WIDTH - 90)]
    for row, (label, stations) in enumerate((("plan", PLAN), ("task", READ))):
        y = _TOP + row * (_HEIGHT + 34)
        parts.append(drawing.text(8, y + _HEIGHT / 2 + 4, label, kind="b"))
        for place, (name, words) in enumerate(stations.items()):
            x = _LEFT + place * (_WIDTH + _GAP)
            parts += _box(name, words, x, y, frame)
            if place:
                parts += _arrow(x - _GAP, y + _HEIGHT / 2, x)
    return drawing.svg(drawing.WIDTH, _TOP + 2 * _HEIGHT + 56, "".join(parts), str(frame))


def _box(name: str, words: tuple[str, str], x: float, y: float, frame: PlanFrame) -> list[str]:
    here, been = frame.here == name, name in frame.visited
    fill = "mark" if here else "committed" if been else "panel"
    middle, below = x + _WIDTH / 2, y + _HEIGHT
    parts = [drawing.rect(x, y, _WIDTH, _HEIGHT, fill, stroke="ink" if here else "line", weight=3 if here else 1)]
    parts.append(drawing.text(middle, y + 21, name, kind="b", anchor="middle", room=_WIDTH - 10))
    for line, text in enumerate(words):
        parts.append(drawing.text(middle, y + 40 + 16 * line, text, kind="s", anchor="middle", room=_WIDTH - 8))
    if here:
        parts.append(drawing.polygon([(middle, below + 2), (middle - 8, below + 14), (middle + 8, below + 14)], "ink"))
    return parts


def _arrow(x1: float, y: float, x2: float) -> list[str]:
    tip = drawing.polygon([(x2 - 1, y), (x2 - 7, y - 4), (x2 - 7, y + 4)], "faint")
    return [drawing.line(x1 + 1, y, x2 - 6, y, "faint", weight=1.5), tip]
