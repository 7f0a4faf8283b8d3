"""The way of a produce request through six classes, with a mark where it is, and the place in which it may wait."""

from collections.abc import Collection
from dataclasses import dataclass

from minikafka.lab.widgets import drawing

STATIONS = {
    "KafkaApis": ("sorts", "partitions"),
    "ReplicaManager": ("appends to each,", "answers or waits"),
    "Partition": ("leader? enough", "replicas in sync?"),
    "Log": ("checks records,", "gives offsets"),
    "LocalLog": ("the last segment,", "the log's end"),
    "LogSegment": ("bytes to the file,", "index entries"),
}
"""The six classes on the way down, and what each does. `Log` is Kafka's `UnifiedLog`."""
PURGATORY = "purgatory"
_AT = {
    "ProduceHandler": "KafkaApis",
    "RequestChannel": "KafkaApis",
    "DelayedProduce": PURGATORY,
    "DelayedOperation": PURGATORY,
    "DelayedOperationPurgatory": PURGATORY,
    "DelayedOperations": PURGATORY,
}
_WIDTH, _GAP, _LEFT, _TOP, _HEIGHT = 130, 16, 6, 34, 66


@dataclass(frozen=True)
class MapFrame:
    """Where the request is (`here`), where it has been before, and the method that runs."""

    here: str
    visited: tuple[str, ...]
    method: str

    def __str__(self) -> str:
        way = " → ".join(f"[{name}]" if name == self.here else name for name in STATIONS)
        waits = f"; {'[purgatory]' if self.here == PURGATORY else 'purgatory'}"
        return f"{way}{waits}: {self.method}"


def station_of(method: str) -> str:
    """The station at which a method ("LocalLog.append") works."""
    owner = method.partition(".")[0]
    return _AT.get(owner, owner)


def map_frames(methods: Collection[str]) -> list[MapFrame]:
    """A frame for each of the methods that run one after another."""
    frames: list[MapFrame] = []
    visited: dict[str, None] = {}
    for method in methods:
        visited[station_of(method)] = None
        frames.append(MapFrame(station_of(method), tuple(visited), method))
    return frames


def render_produce_map(frame: MapFrame) -> str:
    """The picture: six boxes in a row, the waiting place below, the present one with a thick frame and a pointer."""
    parts = [drawing.text(_LEFT, 18, f"we are in {frame.method}", kind="b", room=drawing.WIDTH - 20)]
    for place, (name, words) in enumerate(STATIONS.items()):
        x = _LEFT + place * (_WIDTH + _GAP)
        parts += _box(name, words, x, _TOP, frame)
        if place:
            parts += _arrow(x - _GAP, _TOP + _HEIGHT / 2, x)
    x, y = _LEFT + _WIDTH + _GAP, _TOP + _HEIGHT + 26
    parts.append(drawing.line(x + _WIDTH / 2, _TOP + _HEIGHT, x + _WIDTH / 2, y, "faint", dash="4 3"))
    parts += _box(PURGATORY, ("acks=all waits here", "for the high watermark"), x, y, frame, width=_WIDTH + 30)
    after = x + _WIDTH + 44
    words = "opened by: a follower's fetch that raises the mark, a loss of leadership, or the timer"
    parts.append(drawing.text(after, y + 38, words, kind="s", room=drawing.WIDTH - after - 8))
    return drawing.svg(drawing.WIDTH, y + _HEIGHT + 22, "".join(parts), str(frame))


def _box(name: str, words: tuple[str, str], x: float, y: float, frame: MapFrame, *, width: float = _WIDTH) -> list[str]:
    here, been = frame.here == name, name in frame.visited
    fill = "mark" if here else "committed" if been else "panel"
    parts = [drawing.rect(x, y, width, _HEIGHT, fill, stroke="ink" if here else "line", weight=3 if here else 1)]
    parts.append(drawing.text(x + width / 2, y + 22, name, kind="b", anchor="middle", room=width - 10))
    for line, text in enumerate(words):
        middle = x + width / 2
        parts.append(drawing.text(middle, y + 41 + 16 * line, text, kind="s", anchor="middle", room=width - 8))
    if here:
        middle, below = x + width / 2, y + _HEIGHT
        parts.append(drawing.polygon([(middle, below + 2), (middle - 8, below + 14), (middle + 8, below + 14)], "ink"))
    return parts


def _arrow(x1: float, y: float, x2: float) -> list[str]:
    tip = drawing.polygon([(x2 - 1, y), (x2 - 7, y - 4), (x2 - 7, y + 4)], "faint")
    return [drawing.line(x1 + 1, y, x2 - 6, y, "faint", weight=1.5), tip]
