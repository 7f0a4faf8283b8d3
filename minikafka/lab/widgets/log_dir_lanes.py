"""The log manager's tasks on a line of time, and below it a log directory as it lies on the disk at each moment.

What is on the disk is read from the disk; what is in memory is asked of the logs. Lines that are new or have changed
since the frame before are marked.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

LANES = (
    ("kafka-log-retention", "retention"),
    ("kafka-log-flusher", "flusher"),
    ("kafka-recovery-point-checkpoint", "recovery points"),
    ("kafka-log-start-offset-checkpoint", "log starts"),
    ("kafka-delete-logs", "deletion"),
)
"""The manager's five tasks, and what their lanes are called."""

OF_LOGS = ("flush-log", "delete-file")
"""Tasks of single logs that are shown as well: what a roll and a deletion leave to the background."""

_MARKS = (
    (True, False, "Large square", "a task runs now"),
    (False, False, "Small full square", "a task of the log manager has run"),
    (False, True, "Small hollow square", "a task of one log has run"),
)
"""The squares on the lanes: whether the task runs now, whether it is one of `OF_LOGS`, its look, and what it means."""

_UP = ("Bar", "the broker is up")
_KILLED = ("Cross", "it is killed")

_MARGIN, _LEFT, _TOP, _LANE, _ROW = 10, 118, 62, 19, 18
_CONTENT, _FILES_WIDTH = 258, 570
_CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint")


@dataclass(frozen=True, slots=True)
class DirLine:
    """One line of a log directory: a `name`, what is in it, and what the log manager has in memory of it.

    `sign`: "+" for a new line, "●" for a changed one, "−" for one that has just gone, "" for the others.
    """

    name: str
    on_disk: str = ""
    in_memory: str = ""
    sign: str = ""

    def __str__(self) -> str:
        if self.sign == "−":
            return f"{self.sign} {self.name}"
        memory = f" (in memory: {self.in_memory})" if self.in_memory else ""
        return f"{self.sign or ' '} {self.name}: {self.on_disk or 'empty'}{memory}"


@dataclass(frozen=True, slots=True)
class LogDirFrame:
    """A moment: the second, the broker's runs so far, the tasks that have run, the lines of the directory.

    `fresh`: how many of the tasks, the last ones, have run since the frame before. `kills`: the seconds at which the
    broker was killed.
    """

    caption: str
    second: int
    runs: tuple[tuple[int, int | None], ...]
    ran: tuple[tuple[str, int], ...]
    fresh: int
    lines: tuple[DirLine, ...]
    kills: tuple[int, ...] = ()

    @property
    def running(self) -> list[str]:
        """The tasks that have run since the frame before, by the names of their lanes."""
        lanes = dict(LANES) | {name: name for name in OF_LOGS}
        return list(dict.fromkeys(lanes[name] for name, _ in self.ran[len(self.ran) - self.fresh :]))

    def __str__(self) -> str:
        tasks = f"; run: {', '.join(self.running)}" if self.running else ""
        return "\n   ".join([f"second {self.second}: {self.caption}{tasks}", *map(str, self.lines)])


class LogDirLanes:
    """Collects a frame for each action and each second in which a task of the manager runs; shown, it is a slider.

    `layer`: a `StorageLayer`; `disk`: which of its log directories is shown.
    """

    def __init__(self, layer: Any, title: str = "The clock and the log directory", disk: int = 0):
        self.layer, self._title, self._disk = layer, title, disk
        self.frames: list[LogDirFrame] = []
        self._before: dict[str, DirLine] | None = None

    def after(self, caption: str, action: Callable[..., Any], *arguments: Any) -> Any:
        """Do `action(*arguments)`, then record the moment; gives what `action` gave."""
        answer = action(*arguments)
        self._snap(caption)
        return answer

    def sleep(self, seconds: int) -> None:
        """Let time pass; each second in which a task runs is recorded, and so is the last."""
        end = self.layer.second + seconds
        self.sleep_until(lambda: self.layer.second >= end)

    def sleep_until(self, happened: Callable[[], bool]) -> int:
        """`sleep` until `happened()` is true; gives the second. Raises TimeoutError after a day."""
        seen = len(self.layer.ran)

        def noted() -> bool:
            nonlocal seen
            if self._shown(self.layer.ran[seen:]):
                self._snap("time passes")
            seen = len(self.layer.ran)
            return happened()

        second = self.layer.sleep_until(noted)
        if not self.frames or self.frames[-1].second != second:
            self._snap("time passes")
        return second

    def play(self) -> Player:
        """The lanes with their slider, at the last frame; one scale for all frames."""
        end = self.frames[-1].second
        rows = max(len(frame.lines) for frame in self.frames)
        return Player(
            self.frames,
            lambda frame: render_lanes(frame, end, rows),
            title=self._title,
            start=len(self.frames) - 1,
        )

    def _snap(self, caption: str) -> None:
        lines = {line.name: line for line in lines_of(self.layer, self._disk)}
        ran = tuple(self._shown(self.layer.ran))
        marked = marked_lines(self._before, lines)
        self._before = lines
        fresh = len(ran) - (len(self.frames[-1].ran) if self.frames else 0)
        runs, kills = tuple(self.layer.runs), tuple(self.layer.kills)
        self.frames.append(LogDirFrame(caption, self.layer.second, runs, ran, fresh, marked, kills))

    @staticmethod
    def _shown(ran: list[tuple[str, int]]) -> list[tuple[str, int]]:
        names = {name for name, _ in LANES} | set(OF_LOGS)
        return [(name, second) for name, second in ran if name in names]


def lines_of(layer: Any, disk: int = 0) -> list[DirLine]:
    """The log directory, entry by entry: plain files first."""
    log_dir = layer.log_dirs[disk]
    logs = {log.dir.name: log for log in layer.manager.all_logs} if layer.manager else {}
    found = []
    for path in sorted(log_dir.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if path.name == "cleaner-offset-checkpoint":  # belongs to the lesson on compaction
            continue
        found.append(_directory_line(path, logs.get(path.name)) if path.is_dir() else _file_line(path, layer, disk))
    return found


def marked_lines(before: dict[str, DirLine] | None, now: dict[str, DirLine]) -> tuple[DirLine, ...]:
    """The lines of `now` with their signs, and those of `before` that have gone; no signs in a first frame."""
    if before is None:
        return tuple(now.values())
    found = []
    for name, line in {**before, **now}.items():
        gone = name not in now
        sign = "−" if gone else "+" if name not in before else "●" if line != before[name] else ""
        found.append(DirLine(name, "" if gone else line.on_disk, "" if gone else line.in_memory, sign))
    return tuple(sorted(found, key=lambda line: (line.name.endswith("/"), line.name)))


def render_lanes(frame: LogDirFrame, end: int | None = None, rows: int | None = None) -> str:
    """The picture of one moment. `end`: the last second of the scale; `rows`: for how many lines there is room."""
    end, rows = max(end or frame.second, 1), rows or len(frame.lines)
    unit = (drawing.WIDTH - _LEFT - _MARGIN - 20) / end
    heading = f"second {frame.second}: {frame.caption}"
    parts = [drawing.text(_MARGIN, 20, heading, kind="h", room=drawing.WIDTH - 2 * _MARGIN)]
    running = f"run: {', '.join(frame.running)}" if frame.running else "no task runs"
    parts.append(drawing.text(_MARGIN, 38, running, kind="s", room=drawing.WIDTH - 2 * _MARGIN))
    lanes = [*LANES, *((name, name) for name in OF_LOGS)]
    bottom = _TOP + _LANE * (len(lanes) + 1)
    parts += _runs(frame, unit)
    for number, (name, words) in enumerate(lanes, 1):
        parts += _lane(frame, name, words, _TOP + number * _LANE, unit, end)
    parts += _scale(frame, bottom, unit, end)
    top = bottom + 52
    parts += _listing(frame, top)
    foot = top + rows * _ROW + 18
    legend = "+ new · ● changed · − gone · the upright line is now"
    parts += [drawing.text(_MARGIN, foot, legend, kind="s"), *_legend(foot + 20)]
    words = ". ".join(f"{look}: {meaning}" for look, meaning in (*(each[2:] for each in _MARKS), _UP, _KILLED))
    return drawing.svg(drawing.WIDTH, foot + 30, "".join(parts), f"{frame}\n{words}.")


def _runs(frame: LogDirFrame, unit: float) -> list[str]:
    parts = [drawing.text(_LEFT - 10, _TOP + 4, "broker", kind="s", anchor="end")]
    for began, went in frame.runs:
        until = frame.second if went is None else went
        parts.append(
            drawing.rect(_LEFT + began * unit, _TOP - 6, max((until - began) * unit, 3), 11, "committed", stroke="good")
        )
    for second in frame.kills:
        parts += _cross(_LEFT + second * unit, _TOP - 0.5)
    return parts


def _cross(x: float, y: float) -> list[str]:
    """The mark of a kill, around (x, y)."""
    return [drawing.line(x - 5, y + rise, x + 5, y - rise, "bad", weight=2.4) for rise in (-5, 5)]


def _lane(frame: LogDirFrame, name: str, words: str, y: float, unit: float, end: int) -> list[str]:
    parts = [
        drawing.text(_LEFT - 10, y + 4, words, kind="s", anchor="end"),
        drawing.line(_LEFT, y, _LEFT + end * unit, y),
    ]
    for second in sorted({second for ran, second in frame.ran if ran == name}):
        parts.append(_mark(_LEFT + second * unit, y, now=second == frame.second, of_a_log=name in OF_LOGS))
    return parts


def _mark(x: float, y: float, *, now: bool, of_a_log: bool) -> str:
    """The square of one run of a task, around (x, y). Size and filling tell the same as the colour."""
    wide = 9 if now else 6
    box = (x - wide / 2, y - wide / 2, wide, wide)
    if of_a_log and not now:
        return drawing.rect(*box, "paper", stroke="lso", weight=1.6)
    return drawing.rect(*box, "hw" if now else "leo", stroke="none")


def _legend(y: float) -> list[str]:
    """What each square of the lanes, and the bar of the broker, stands for."""
    parts, x = [], _MARGIN + 5.0
    for now, of_a_log, _, meaning in _MARKS:
        parts += [_mark(x, y - 4, now=now, of_a_log=of_a_log), drawing.text(x + 10, y, meaning, kind="s")]
        x += 10 + drawing.width(meaning, "s") + 26
    parts.append(drawing.rect(x - 5, y - 9, 22, 11, "committed", stroke="good"))
    parts.append(drawing.text(x + 23, y, _UP[1], kind="s"))
    x += 23 + drawing.width(_UP[1], "s") + 22
    return [*parts, *_cross(x, y - 4), drawing.text(x + 11, y, _KILLED[1], kind="s")]


def _scale(frame: LogDirFrame, y: float, unit: float, end: int) -> list[str]:
    x_now = _LEFT + frame.second * unit
    parts = [drawing.line(x_now, _TOP - 10, x_now, y + 2, "ink", weight=1.6)]
    step = drawing.tick_step(unit, 52) if unit < 52 else 1
    step = next((seconds for seconds in (10, 30, 60, 120, 300, 600, 1800, 3600) if seconds >= step), step)
    for second in range(0, end + 1, step):
        x = _LEFT + second * unit
        parts.append(drawing.line(x, y - 4, x, y + 1, "faint"))
        parts.append(drawing.text(x, y + 14, f"{second} s", kind="s", anchor="middle"))
    return parts


def _listing(frame: LogDirFrame, top: float) -> list[str]:
    parts = [
        drawing.text(_MARGIN + 16, top - 12, "on disk", kind="sb"),
        drawing.text(_MARGIN + _FILES_WIDTH + 12, top - 12, "in memory", kind="sb"),
    ]
    for number, line in enumerate(frame.lines):
        y = top + number * _ROW
        fill = {"": "none", "−": "gone"}.get(line.sign, "mark")
        parts.append(drawing.rect(_MARGIN, y - 4, drawing.WIDTH - 2 * _MARGIN, _ROW, fill, stroke="none"))
        parts.append(drawing.text(_MARGIN + 3, y + 9, line.sign, kind="b"))
        parts.append(drawing.text(_MARGIN + 16, y + 9, line.name, kind="sm"))
        if line.sign == "−":
            wide = drawing.width(line.name, "sm")
            parts.append(drawing.line(_MARGIN + 16, y + 5, _MARGIN + 16 + wide, y + 5, "ink"))
            continue
        parts.append(drawing.text(_CONTENT, y + 9, line.on_disk, kind="sb", room=_FILES_WIDTH - _CONTENT, fill="ink"))
        room = drawing.WIDTH - _FILES_WIDTH - 2 * _MARGIN - 14
        parts.append(drawing.text(_MARGIN + _FILES_WIDTH + 12, y + 9, line.in_memory, kind="s", room=room, fill="ink"))
    return parts


def _file_line(path: Path, layer: Any, disk: int) -> DirLine:
    if path.name in _CHECKPOINTS:
        try:
            entries = layer.checkpoint(path.name, disk)
        except Exception as error:
            return DirLine(path.name, f"cannot be read: {type(error).__name__}")
        return DirLine(path.name, ", ".join(f"{name} {offset}" for name, offset in entries.items()))
    return DirLine(path.name, path.read_text() if path.name == ".kafka_cleanshutdown" else "")


def _directory_line(path: Path, log: Any) -> DirLine:
    """A log's directory: segments that count, and how many files wait for their deletion."""
    files = [file.name for file in path.iterdir()]
    segments = sorted(int(name.removesuffix(".log")) for name in files if name.endswith(".log"))
    waiting = sum(name.endswith(".deleted") for name in files)
    words = f"segments {' '.join(map(str, segments))}" if segments else ""
    words += f", {waiting} files .deleted" if waiting else ""
    memory = ""
    if log is not None:
        memory = f"start {log.log_start_offset}, recovery point {log.recovery_point}, end {log.log_end_offset}"
    return DirLine(_name(path), words, memory)


def _name(path: Path) -> str:
    return re.sub(r"\b[0-9a-f]{32}\b", "ID", path.name) + "/"
