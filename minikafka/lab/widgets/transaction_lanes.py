"""The transaction lanes: a lane for each producer, its batches at their offsets, and what holds the last stable offset.

A transaction is a bracket from its first record to its marker; an open one has no end yet. Everything is read from the
log's files, its marks and its transaction index; nothing is derived from what was sent.
"""

from dataclasses import dataclass
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_LEFT, _RIGHT, _TOP, _ROW = 132, 40, 116, 62
_MARKS = (("LEO", "leo"), ("HW", "hw"), ("LSO", "lso"))
_FILLS = {"plain": "panel", "open": "pending", "commit": "committed", "abort": "gone"}
_WORDS = {"open": "open", "commit": "committed", "abort": "aborted"}


@dataclass(frozen=True, slots=True)
class LaneBatch:
    """A batch: its producer (−1: none), first and last offset (inclusive), and the marker that it is, "" for data."""

    producer_id: int
    first: int
    last: int
    transactional: bool
    marker: str = ""


@dataclass(frozen=True, slots=True)
class LaneTransaction:
    """A transaction from offset `first` to its marker at `last` (None while open); `fate` is "open", "commit" or
    "abort".

    `replicated`: the marker is below the high watermark. Only then does the transaction let go of the last stable
    offset.
    """

    producer_id: int
    first: int
    last: int | None = None
    fate: str = "open"
    replicated: bool = False

    def __str__(self) -> str:
        if self.last is None:
            return f"open from {self.first}"
        waits = "" if self.replicated else ", marker not replicated yet"
        return f"{_WORDS[self.fate]} {self.first}–{self.last}{waits}"


@dataclass(frozen=True, slots=True)
class LaneFrame:
    """One moment: the log's marks, its batches and transactions, and the entries of its transaction indexes
    (producer, first offset, marker's offset, last stable offset after it)."""

    caption: str
    log_start: int
    lso: int
    hw: int
    leo: int
    batches: tuple[LaneBatch, ...]
    transactions: tuple[LaneTransaction, ...]
    index: tuple[tuple[int, int, int, int], ...]
    lso_before: int | None = None

    @property
    def producers(self) -> tuple[int, ...]:
        """The lanes, topmost first: the producers in the order of their first batches, then the records without a
        producer.
        """
        ids = dict.fromkeys(batch.producer_id for batch in self.batches)
        return (*(each for each in ids if each >= 0), *(each for each in ids if each < 0))

    def __str__(self) -> str:
        lanes = []
        for producer_id in self.producers:
            own = [str(t) for t in self.transactions if t.producer_id == producer_id]
            lanes.append(f"{_name(producer_id)}: {', '.join(own) or 'no transaction'}")
        moved = "" if self.lso_before in (None, self.lso) else f" (was {self.lso_before})"
        entries = ", ".join(_entry(entry) for entry in self.index) or "empty"
        return (
            f"{self.caption}: {'; '.join(lanes) or 'no records'}; LSO {self.lso}{moved} ≤ HW {self.hw} ≤ LEO"
            f" {self.leo}; transaction index: {entries}"
        )


class TransactionLanes:
    """Collects a frame at each `snap`; shown, it is the lanes with a slider through time. Suits logs of a few dozen
    offsets.
    """

    def __init__(self, log: Any, title: str = "Transactions of the log"):
        self._log = log
        self._title = title
        self.frames: list[LaneFrame] = []

    def snap(self, caption: str) -> "TransactionLanes":
        """Record the log as it is now under `caption`, and return the lanes."""
        log = self._log
        batches = tuple(_read(batch) for segment in log.log_segments for batch in segment.log.batches())
        index = [tuple(txn)[:4] for segment in log.log_segments for txn in segment.txn_index.all_aborted_txns()]
        before = self.frames[-1].lso if self.frames else None
        self.frames.append(
            LaneFrame(
                caption, log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset,
                batches, transactions_of(batches, log.high_watermark), tuple(index), before,
            )
        )  # fmt: skip
        return self

    def play(self, since: int = 0) -> Player:
        """The lanes with their slider, set to the last frame; all frames have the same scale and the same lanes.

        `since`: the first offset that is drawn, for a log that is longer than a few dozen offsets.
        """
        low = max(since, min(frame.log_start for frame in self.frames))
        high = max(frame.leo for frame in self.frames)
        lanes = tuple(dict.fromkeys(each for frame in reversed(self.frames) for each in frame.producers))
        last = len(self.frames) - 1
        return Player(self.frames, lambda frame: render_lanes(frame, low, high, lanes), title=self._title, start=last)


def transactions_of(batches: tuple[LaneBatch, ...], high_watermark: int) -> tuple[LaneTransaction, ...]:
    """The transactions that `batches`, in the order of the log, begin and end."""
    begun: dict[int, int] = {}
    found = []
    for batch in batches:
        if batch.marker and batch.producer_id in begun:
            first, replicated = begun.pop(batch.producer_id), batch.last < high_watermark
            found.append(LaneTransaction(batch.producer_id, first, batch.last, batch.marker, replicated))
        elif batch.transactional and not batch.marker:
            begun.setdefault(batch.producer_id, batch.first)
    return (*found, *(LaneTransaction(producer_id, first) for producer_id, first in begun.items()))


def render_lanes(
    frame: LaneFrame, low: int | None = None, high: int | None = None, lanes: tuple[int, ...] | None = None
) -> str:
    """The picture of one moment on the scale from offset `low` to `high`, with these lanes (default: its own)."""
    low, high = frame.log_start if low is None else low, frame.leo if high is None else high
    lanes = frame.producers if lanes is None else lanes
    unit = (drawing.WIDTH - _LEFT - _RIGHT) / max(high - low + 1, 6)
    place = lambda offset: _LEFT + (offset - low) * unit  # noqa: E731
    bottom = _TOP + _ROW * max(len(lanes), 1) + 2
    moved = "" if frame.lso_before in (None, frame.lso) else f"LSO {frame.lso_before} → {frame.lso}"
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    held = f"{moved}; {_reason(frame)}" if moved else _reason(frame)
    parts.append(drawing.text(10, 38, held, kind="s", room=drawing.WIDTH - 20))
    drawn = [batch for batch in frame.batches if not batch.marker and place(batch.first) >= _LEFT]
    short = any(drawing.width(_label(batch), "s") > (batch.last + 1 - batch.first) * unit for batch in drawn)
    for row, producer_id in enumerate(lanes):
        parts += _lane(frame, producer_id, _TOP + row * _ROW, place, unit, short)
    if not lanes:
        parts.append(drawing.text(_LEFT + 4, _TOP + 26, "no records yet", kind="s"))
    parts += _marks(frame, place, bottom)
    step = drawing.tick_step(unit, room=24)
    for offset in range(-(-low // step) * step, high + 1, step):
        parts.append(drawing.text(place(offset) + unit / 2, bottom + 16, offset, kind="s", anchor="middle"))
    parts.append(drawing.text(10, bottom + 16, "offsets", kind="b"))
    parts += _index(frame, bottom + 42)
    height = bottom + 42 + 18 * max(len(frame.index), 1) + 28
    return drawing.svg(drawing.WIDTH, height, "".join(parts) + _legend(height - 18), str(frame))


def _lane(frame: LaneFrame, producer_id: int, top: float, place, unit: float, short: bool) -> list[str]:
    """One producer: brackets over its transactions, boxes for its batches, all with `short` labels or none."""
    parts = [drawing.text(10, top + 40, _name(producer_id), kind="b")]
    parts.append(drawing.line(_LEFT, top + _ROW - 4, drawing.WIDTH - _RIGHT, top + _ROW - 4, "line", weight=0.6))
    own = [t for t in frame.transactions if t.producer_id == producer_id]
    for txn in (t for t in own if place(t.first) >= _LEFT):
        begin, end = place(txn.first) + 2, place(frame.leo if txn.last is None else txn.last + 1) - 2
        solid = txn.last is not None and txn.replicated
        parts.append(drawing.line(begin, top + 18, begin, top + 23, "ink", weight=1.4))
        parts.append(drawing.line(begin, top + 18, end, top + 18, "ink", weight=1.4, dash="" if solid else "4 3"))
        if txn.last is not None:
            parts.append(drawing.line(end, top + 18, end, top + 23, "ink", weight=1.4))
        words = _WORDS[txn.fate] + ("" if solid or txn.last is None else ", marker above HW")
        room = max(end - begin, 46) if txn.last is not None else drawing.WIDTH - begin
        parts.append(
            drawing.text(begin + 2, top + 13, drawing.fitting(room, words, _WORDS[txn.fate]), kind="s", fill="ink")
        )
    for batch in frame.batches:
        if batch.producer_id == producer_id and place(batch.first) >= _LEFT:
            parts += _batch(batch, _fate(batch, own), top + 26, place, unit, short)
    return parts


def _fate(batch: LaneBatch, own: list[LaneTransaction]) -> str:
    """What became of the batch's transaction."""
    for txn in own:
        if batch.transactional and txn.first <= batch.first and (txn.last is None or batch.last <= txn.last):
            return txn.fate
    return "plain"


def _label(batch: LaneBatch, short: bool = False) -> str:
    """The offsets of a batch; of several, `short`, only the first."""
    if batch.first == batch.last:
        return str(batch.first)
    return f"{batch.first}…" if short else f"{batch.first}–{batch.last}"


def _batch(batch: LaneBatch, fate: str, y: float, place, unit: float, short: bool = False) -> list[str]:
    left, width, height = place(batch.first), (batch.last + 1 - batch.first) * unit, 24
    if batch.marker:
        letter = {"commit": "C", "abort": "A"}[batch.marker]
        box = drawing.rect(left + 1, y, width - 2, height, "paper", stroke="ink", weight=2)
        kind = "b" if width >= 16 else "sb"
        return [box, drawing.text(left + width / 2, y + 17, letter, kind=kind, anchor="middle", fill="ink")]
    parts = [drawing.rect(left + 1, y, width - 2, height, _FILLS[fate], stroke="faint")]
    if fate == "open":
        parts.append(drawing.hatch(left + 1, y, width - 2, height, "line"))
    if fate == "abort":
        parts.append(drawing.line(left + 1, y + height, left + width - 1, y, "faint", weight=1.2))
    label = drawing.fitting(width, _label(batch, short))
    wide = drawing.width(label, "s") + 4
    patch = drawing.rect(left + width / 2 - wide / 2, y + 4, wide, 16, _FILLS[fate], stroke="none")
    return [
        *parts,
        patch if label else "",
        drawing.text(left + width / 2, y + 16, label, kind="s", anchor="middle", fill="ink"),
    ]


def _marks(frame: LaneFrame, place, bottom: float) -> list[str]:
    """LEO, HW and LSO, each at the left edge of its offset, through all lanes."""
    parts = []
    for row, ((name, colour), value) in enumerate(zip(_MARKS, (frame.leo, frame.hw, frame.lso), strict=True)):
        at, y = place(value), 60 + row * 18
        dash = "" if name == "LSO" else "2 3" if name == "HW" else "6 3"
        parts.append(drawing.text(10, y + 4, name, kind="b", fill=colour))
        parts.append(drawing.line(52, y, at, y, colour, dash="2 3"))
        parts.append(drawing.line(at, y, at, bottom, colour, weight=2.2 if name == "LSO" else 1.4, dash=dash))
        end = at > drawing.WIDTH - 90
        wide = drawing.width(value, "b") + 4
        left = at - 4 - wide if end else at + 4
        parts.append(drawing.rect(left, y - 8, wide, 15, "paper", stroke="none"))
        parts.append(drawing.text(left + 2, y + 4, value, kind="b", fill=colour))
    return parts


def _index(frame: LaneFrame, y: float) -> list[str]:
    parts = [drawing.text(10, y, "txn index", kind="b")]
    for row, entry in enumerate(frame.index):
        parts.append(drawing.text(_LEFT, y + row * 18, _entry(entry), kind="sm", fill="ink"))
    if not frame.index:
        parts.append(drawing.text(_LEFT, y, "empty: only aborted transactions are noted in it", kind="s"))
    return parts


def _legend(y: float) -> str:
    parts, x = [], float(_LEFT)
    for kind, words in (("open", "open"), ("commit", "committed"), ("abort", "aborted"), ("plain", "no transaction")):
        sample = LaneBatch(0, 0, 0, transactional=True)
        parts += _batch(sample, kind, y - 10, lambda offset, x=x: x + 18 * offset, 18)[:-2]
        parts.append(drawing.text(x + 26, y + 8, words, kind="s"))
        x += 26 + drawing.width(words, "s") + 24
    for letter, words in (("C", "commit marker"), ("A", "abort marker")):
        parts.append(drawing.rect(x, y - 6, 18, 18, "paper", stroke="ink", weight=2))
        parts.append(drawing.text(x + 9, y + 8, letter, kind="sb", anchor="middle", fill="ink"))
        parts.append(drawing.text(x + 26, y + 8, words, kind="s"))
        x += 26 + drawing.width(words, "s") + 20
    return "".join(parts)


def _reason(frame: LaneFrame) -> str:
    """What holds the last stable offset where it is."""
    held = [t for t in frame.transactions if t.first == frame.lso and not t.replicated]
    if frame.lso == frame.hw and not held:
        return "below the high watermark every transaction is decided: LSO = HW"
    if not held:
        return "LSO is where the oldest undecided transaction begins"
    txn = held[0]
    if txn.last is None:
        return f"LSO waits for {_name(txn.producer_id)}, whose transaction is open from {txn.first}"
    return f"{_name(txn.producer_id)}'s marker at {txn.last} is there, but HW {frame.hw} has not passed it: LSO waits"


def _entry(entry: tuple[int, int, int, int]) -> str:
    producer_id, first, last, lso = entry
    return f"{_name(producer_id)} aborted {first}–{last}, LSO then {lso}"


def _name(producer_id: int) -> str:
    return f"producer {producer_id}" if producer_id >= 0 else "no producer"


def _read(batch: Any) -> LaneBatch:
    """A batch of a log file; a marker with its kind."""
    marker = ""
    if batch.is_control_batch:
        from minikafka.record.format.control_record import EndTransactionMarker

        record = next(iter(batch.load_full_batch()), None)
        marker = "" if record is None else EndTransactionMarker.deserialize(record).control_type.name.lower()
    return LaneBatch(batch.producer_id, batch.base_offset, batch.last_offset, batch.is_transactional, marker)
