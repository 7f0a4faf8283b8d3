"""Answers on their file: which bytes of a segment's file a read gives, and which batches they hold whole."""

from dataclasses import dataclass
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.lab.widgets.segment_shelf import BatchOnFile, ShelvedSegment
from minikafka.log.fetch_isolation import FetchIsolation

_LEFT, _RIGHT, _TOP, _HEIGHT = 96, 24, 52, 26


@dataclass(frozen=True, slots=True)
class AnswerFrame:
    """One answer: bytes `begin` to `end` (exclusive) of the file of `batches`; `whole` and `cut` are what they hold."""

    caption: str
    start: int
    batches: tuple[BatchOnFile, ...]
    begin: int
    end: int
    whole: tuple[BatchOnFile, ...]
    cut: BatchOnFile | None
    incomplete: bool

    @property
    def words(self) -> str:
        """The answer in one line."""
        if self.begin == self.end:
            return "no bytes"
        parts = [f"bytes {self.begin:,} to {self.end:,}: {self.end - self.begin:,} B"]
        if self.whole:
            parts.append(f"whole batches from {self.whole[0].first} to {self.whole[-1].last}")
        if self.cut:
            parts.append(f"batch {_offsets(self.cut)} is cut")
        if self.incomplete:
            parts.append("first_entry_incomplete")
        return "; ".join(parts)

    def __str__(self) -> str:
        return f"{self.caption}: {self.words}"


class AnswersOnFile:
    """Collects a frame at each `read`; shown, it is the file with a slider through the answers."""

    def __init__(self, log: Any, title: str = "Answers on the file"):
        self._log, self._title = log, title
        self.frames: list[AnswerFrame] = []

    def read(self, start: int, max_length: int, *, min_one_message: bool = True) -> "AnswersOnFile":
        """Read from offset `start` up to the log end, at most `max_length` bytes; return the answers."""
        found = self._log.read(start, max_length, FetchIsolation.LOG_END, min_one_message=min_one_message)
        place = found.fetch_offset_metadata
        bases = [segment.base_offset for segment in self._log.log_segments]
        batches = ShelvedSegment.of(self._log.log_segments[bases.index(place.segment_base_offset)]).batches
        begin = place.relative_position_in_segment
        end = begin + found.records.size_in_bytes
        held = [batch for batch in batches if begin <= batch.position < end]
        whole = tuple(batch for batch in held if batch.position + batch.size <= end)
        without = "" if min_one_message else ", without min_one_message"
        caption = f"read from {start}, at most {max_length:,} B{without}"
        cut = held[len(whole)] if len(held) > len(whole) else None
        frame = AnswerFrame(caption, start, batches, begin, end, whole, cut, found.first_entry_incomplete)
        self.frames.append(frame)
        return self

    def play(self, at: int = 0) -> Player:
        """The file with its slider, at frame `at`."""
        return Player(self.frames, render_answer, title=self._title, start=at)


def render_answer(frame: AnswerFrame) -> str:
    """The picture of one answer."""
    size = frame.batches[-1].position + frame.batches[-1].size
    scale = (drawing.WIDTH - _LEFT - _RIGHT) / size
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    parts.append(drawing.text(10, _TOP + 17, "the file", kind="b"))
    for batch in frame.batches:
        parts += _batch(frame, batch, _LEFT + batch.position * scale, batch.size * scale)
    bottom = _TOP + _HEIGHT
    parts.append(drawing.text(10, bottom + 37, "the answer", kind="b"))
    x, width = _LEFT + frame.begin * scale, (frame.end - frame.begin) * scale
    for edge in {frame.begin, frame.end}:
        parts.append(drawing.line(_LEFT + edge * scale, _TOP, _LEFT + edge * scale, bottom + 46, "ink", weight=2))
    parts.append(drawing.rect(x, bottom + 26, width, 14, "leo", stroke="ink"))
    parts.append(drawing.text(_LEFT, bottom + 62, frame.words, kind="s", room=drawing.WIDTH - _LEFT - 10))
    parts += _bytes(bottom + 70, scale, size)
    return drawing.svg(drawing.WIDTH, bottom + 98, "".join(parts), str(frame))


def _batch(frame: AnswerFrame, batch: BatchOnFile, x: float, width: float) -> list[str]:
    """The batch as a box below its offsets; of a batch that is cut, the part that is sent is hatched."""
    whole = batch in frame.whole
    parts = [
        drawing.rect(x, _TOP, width, _HEIGHT, "committed" if whole else "panel", stroke="ink" if whole else "line")
    ]
    if batch == frame.cut:
        sent = width * (frame.end - batch.position) / batch.size
        parts.append(drawing.rect(x, _TOP, sent, _HEIGHT, "pending"))
        parts.append(drawing.hatch(x, _TOP, sent, _HEIGHT, "line"))
    asked = batch.first <= frame.start <= batch.last
    words = drawing.fitting(width - 4, _offsets(batch), kind="sb" if asked else "s")
    parts.append(drawing.text(x + width / 2, _TOP - 6, words, kind="sb" if asked else "s", anchor="middle", fill="ink"))
    return parts


def _bytes(y: float, scale: float, size: int) -> list[str]:
    """The bytes of the file from 0 to its end, with a number now and then."""
    step = drawing.tick_step(scale, room=60)
    parts = [drawing.text(10, y + 17, "byte", kind="s"), drawing.line(_LEFT, y, _LEFT + size * scale, y, "faint")]
    for position in range(0, size + 1, step):
        x = _LEFT + position * scale
        parts.append(drawing.line(x, y, x, y + 5, "faint"))
        parts.append(drawing.text(x, y + 17, f"{position:,}", kind="s", anchor="middle"))
    return parts


def _offsets(batch: BatchOnFile) -> str:
    return str(batch.first) if batch.first == batch.last else f"{batch.first}–{batch.last}"
