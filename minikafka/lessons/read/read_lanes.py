"""Read lanes: one log, one read, three readers.

Each lane shows what `Log.read` sends to a reader of one isolation, and what that reader keeps: a follower appends all
of it, a consumer hands some of it to its application.
"""

from dataclasses import dataclass
from typing import Any

from minikafka.lab.stage.readers import EARLIER, MARKER, SEEN, SKIPPED, delivered
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.log.fetch_isolation import FetchIsolation

_LEFT, _RIGHT, _TOP, _LANE = 166, 50, 126, 78
_LANES = (  # isolation, who reads so, the bound's name, its colour
    (FetchIsolation.LOG_END, "a follower", "LEO", "leo"),
    (FetchIsolation.HIGH_WATERMARK, "read_uncommitted", "HW", "hw"),
    (FetchIsolation.TXN_COMMITTED, "read_committed", "LSO", "lso"),
)
_LOOKS = {SEEN: "committed", EARLIER: "pending", MARKER: "panel", SKIPPED: "gone"}
_PRODUCERS = "bdfeg"


@dataclass(frozen=True, slots=True)
class LaidBatch:
    """A batch of the log, first to last offset (inclusive); `words` says whose it is, `producer` is -1 for none."""

    first: int
    last: int
    producer: int
    words: str


@dataclass(frozen=True, slots=True)
class Lane:
    """What one reader gets: `fates` of the offsets sent, `size` in bytes, the offset where it `begins`; or `error`."""

    name: str
    reader: str
    bound_name: str
    colour: str
    bound: int
    fates: tuple[tuple[int, str], ...] = ()
    size: int = 0
    begins: int = -1
    incomplete: bool = False
    aborted: tuple[tuple[int, int], ...] | None = None
    error: str = ""

    @property
    def words(self) -> str:
        """The answer in one line."""
        if self.error:
            return self.error
        sent = [offset for offset, _ in self.fates]
        nothing = f"{self.size:,} B, no whole batch" if self.size else "empty"
        words = [f"{self.size:,} B, offsets {sent[0]} to {sent[-1]}" if sent else nothing]
        words += ["the first batch is cut"] if self.incomplete else []
        if self.aborted is not None:
            listed = ", ".join(f"producer {producer} from {first}" for producer, first in self.aborted)
            words.append(f"aborted: {listed or 'none'}")
        return "; ".join(words)

    def __str__(self) -> str:
        seen = [offset for offset, fate in self.fates if fate == SEEN]
        verb = "gets" if self.bound_name == "LEO" else "keeps"  # a follower takes whole batches, from its own end
        return f"{self.name} (below {self.bound_name} {self.bound}): {self.words}; {self.reader} {verb} {_ranges(seen)}"


@dataclass(frozen=True, slots=True)
class ReadFrame:
    """One read from offset `start` as each of the three readers, on the log as it was then."""

    caption: str
    start: int
    log_start: int
    batches: tuple[LaidBatch, ...]
    segments: tuple[int, ...]
    lanes: tuple[Lane, ...]

    def __str__(self) -> str:
        return f"{self.caption}: " + " | ".join(map(str, self.lanes))


class ReadLanes:
    """Collects a frame at each `read`; shown, it is three lanes with a slider through the reads."""

    def __init__(self, log: Any, title: str = "One log, three readers"):
        self._log, self._title = log, title
        self.frames: list[ReadFrame] = []

    def read(
        self, start: int, max_length: int = 1_048_576, *, min_one_message: bool = True, caption: str = ""
    ) -> "ReadLanes":
        """Read from offset `start`, at most `max_length` bytes, with each isolation; return the lanes."""
        log = self._log
        lanes = tuple(_lane(log, row, start, max_length, min_one_message) for row in _LANES)
        batches = tuple(_laid(batch) for segment in log.log_segments for batch in segment.log.batches())
        bases = tuple(segment.base_offset for segment in log.log_segments)
        limit = "" if max_length == 1_048_576 else f", at most {max_length:,} B"
        limit += "" if min_one_message else ", without min_one_message"
        words = caption or f"read from {start}{limit}"
        self.frames.append(ReadFrame(words, start, log.log_start_offset, batches, bases, lanes))
        return self

    def play(self, at: int = 0) -> Player:
        """The lanes with their slider, at frame `at`."""
        return Player(self.frames, render_lanes, title=self._title, start=at)


def _lane(log: Any, row: tuple, start: int, max_length: int, min_one_message: bool) -> Lane:
    isolation, reader, bound_name, colour = row
    ends = {"LEO": log.log_end_offset, "HW": log.high_watermark, "LSO": log.last_stable_offset}
    head = (isolation.name, reader, bound_name, colour, ends[bound_name])
    try:
        found = log.read(start, max_length, isolation, min_one_message=min_one_message)
    except Exception as error:  # the answer that this reader gets
        return Lane(*head, error=type(error).__name__)
    taken = delivered(found, start)
    if isolation is FetchIsolation.LOG_END:  # a follower appends all that it is sent
        taken = [(record, SEEN) for record, _ in taken]
    fates = tuple((record.offset, fate) for record, fate in taken)
    listed = found.aborted_transactions
    aborted = None if listed is None else tuple((txn.producer_id, txn.first_offset) for txn in listed)
    begins = found.fetch_offset_metadata.message_offset
    return Lane(
        *head,
        fates=fates,
        size=found.records.size_in_bytes,
        begins=begins,
        incomplete=found.first_entry_incomplete,
        aborted=aborted,
    )


def _laid(batch: Any) -> LaidBatch:
    words = "plain" if batch.producer_id < 0 else f"producer {batch.producer_id}"
    if batch.is_control_batch:
        key = next(iter(batch)).key
        words = f"{'✓' if key[3] else '✗'} {batch.producer_id}"
    return LaidBatch(batch.base_offset, batch.last_offset, batch.producer_id, words)


def render_lanes(frame: ReadFrame) -> str:
    """The picture of one read."""
    low = min(frame.batches[0].first if frame.batches else frame.start, frame.start)
    high = max(*(lane.bound for lane in frame.lanes), frame.start)
    unit = (drawing.WIDTH - _LEFT - _RIGHT) / (high - low + 1)
    place = lambda offset: _LEFT + (offset - low) * unit  # noqa: E731
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    parts += _log_row(frame, place, unit)
    for number, lane in enumerate(frame.lanes):
        parts += _lane_row(lane, _TOP + number * _LANE, place, unit, low, frame.lanes[0].bound)
    bottom = _TOP + len(frame.lanes) * _LANE
    x = place(frame.start)
    parts.append(drawing.polygon([(x - 6, 84), (x + 6, 84), (x, 93)], "ink"))
    near_end = x > drawing.WIDTH - 90
    words = f"read from {frame.start}"
    shift, anchor = (-9, "end") if near_end else (9, "start")
    parts.append(drawing.text(x + shift, 93, words, kind="sb", fill="ink", anchor=anchor))
    for number in range(len(frame.lanes)):
        top = _TOP + number * _LANE
        parts.append(drawing.line(x, top - 3, x, top + 30, "ink", weight=1.5, dash="5 3"))
    parts += _legend(bottom - 10)
    return drawing.svg(drawing.WIDTH, bottom + 10, "".join(parts), str(frame))


def _log_row(frame: ReadFrame, place, unit: float) -> list[str]:
    """The batches as they lie in the log, with whose they are, and where segments begin."""
    parts = [drawing.text(10, 50, "the log", kind="b")]
    producers = sorted({batch.producer for batch in frame.batches if batch.producer >= 0})
    for batch in frame.batches:
        if batch.last < frame.log_start:
            continue
        first = max(batch.first, frame.log_start)
        x, width = place(first), (batch.last - first + 1) * unit
        colour = _PRODUCERS[producers.index(batch.producer) % len(_PRODUCERS)] if batch.producer >= 0 else "a"
        parts.append(drawing.rect(x, 36, width, 22, colour))
        short = batch.words.replace("producer ", "p")
        words = drawing.fitting(width - 4, batch.words, short)
        parts.append(drawing.text(x + width / 2, 51, words, kind="s", anchor="middle", fill="ink"))
    low = frame.batches[0].first if frame.batches else frame.log_start
    if frame.log_start > low:
        x, width = place(low), (frame.log_start - low) * unit
        parts.append(drawing.text(10, 66, f"log start {frame.log_start}", kind="s"))
        parts.append(drawing.rect(x, 36, width, 22, "gone", dash="2 4"))
        parts.append(drawing.text(x + width / 2, 51, "deleted" if width > 50 else "✗", kind="s", anchor="middle"))
    for base in frame.segments:
        x = place(base)
        parts.append(drawing.line(x, 31, x, 66, "ink", weight=2))
        parts.append(drawing.text(x + 4, 71, f"segment {base}" if unit * 3 > 60 else base, kind="s"))
    return parts


def _lane_row(lane: Lane, top: float, place, unit: float, low: int, leo: int) -> list[str]:
    parts = [drawing.text(10, top + 12, lane.reader, kind="b"), drawing.text(10, top + 27, lane.name, kind="s")]
    fates = dict(lane.fates)
    for offset in range(low, leo):
        parts += _cell(offset, fates.get(offset), place(offset), top, unit)
    x = place(lane.bound)
    parts.append(drawing.line(x, top - 16, x, top + 32, lane.colour, weight=2.5))
    parts.append(drawing.text(x + 5, top - 6, f"{lane.bound_name} {lane.bound}", kind="sb", fill=lane.colour))
    colour = "bad" if lane.error else "ink"
    parts.append(drawing.text(_LEFT, top + 44, lane.words, kind="s", fill=colour, room=drawing.WIDTH - _LEFT - 10))
    return parts


def _cell(offset: int, fate: str | None, x: float, top: float, unit: float) -> list[str]:
    """The offset in one lane: not sent (empty, dashed), or with the fate of its record."""
    if fate is None:
        number = drawing.text(x + unit / 2, top + 17, offset, kind="s", anchor="middle") if unit > 20 else ""
        return [drawing.rect(x, top, unit, 26, "none", dash="2 4"), number]
    parts = [drawing.rect(x, top, unit, 26, _LOOKS[fate], stroke="ink" if fate == SEEN else "line")]
    if fate == EARLIER:
        parts.append(drawing.hatch(x, top, unit, 26, "line"))
    if fate == SKIPPED:
        parts.append(drawing.line(x, top + 26, x + unit, top, "bad", weight=1.2))
    if unit > 20:
        words, kind = ("◆", "s") if fate == MARKER else (offset, "sb" if fate == SEEN else "s")
        parts.append(drawing.text(x + unit / 2, top + 17, words, kind=kind, anchor="middle", fill="ink"))
    return parts


def _legend(y: float) -> list[str]:
    parts, x = [], 10.0
    for fate, words in (
        (SEEN, "kept"),
        (SKIPPED, "sent, skipped: aborted"),
        (MARKER, "◆ sent, skipped: marker"),
        (EARLIER, "sent, skipped: below the start"),
    ):
        parts.append(drawing.rect(x, y, 16, 11, _LOOKS[fate], stroke="ink" if fate == SEEN else "line"))
        parts.append(drawing.hatch(x, y, 16, 11, "line", 5) if fate == EARLIER else "")
        parts.append(drawing.line(x, y + 11, x + 16, y, "bad", weight=1.2) if fate == SKIPPED else "")
        parts.append(drawing.text(x + 22, y + 10, words, kind="s"))
        x += 22 + drawing.width(words, "s") + 16
    parts.append(drawing.rect(x, y, 16, 11, "none", dash="2 4"))
    parts.append(drawing.text(x + 22, y + 10, "not sent", kind="s"))
    return parts


def _ranges(offsets: list[int]) -> str:
    """`0..4 7 9..12`, or "nothing"."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and runs[-1][1] + 1 == offset:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return " ".join(str(first) if first == last else f"{first}..{last}" for first, last in runs) or "nothing"
