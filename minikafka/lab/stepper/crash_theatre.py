"""The crash theatre: what a crash leaves of a directory, what loading does about it step by step, and how it ends.

An action is done to a real log. After each effect on disk the action is stopped once, and the directory is shown as it
is at that moment. It is also stopped in the middle of a write to a `.log`, since a power cut may leave any part of a
write. Each of these directories is loaded as after an unclean stop, by the real loader, and its effects are noted with
the phase of `LogLoader.load` that caused them.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.common import file_ops
from minikafka.lab.stage.damage import kill, load, short
from minikafka.lab.stage.workbench import scratch
from minikafka.lab.stepper.steps import method_of
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.lab.widgets.segment_shelf import BatchOnFile
from minikafka.log.log_loader import LogLoader
from minikafka.record.format.memory_records import MemoryRecords

_FORCED = ("fsync", "flush_dir")
_WORDS = 44
_FATE = re.compile(r"(?P<verb>delete|rebuild|rewrite) (?P<base>…\d+)(?P<files>[ .a-z]+)(?P<end>, same bytes)?$")
_ROW, _MOST_ROWS = 17, 27
_BAR_LEFT, _BAR_TOP = 130, 62


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that loading did on disk, in words, and the phase of `LogLoader.load` that it belongs to ("" before and
    after).
    """

    phase: str
    words: str

    def __str__(self) -> str:
        return f"{self.phase or '–'}: {self.words}"


@dataclass(frozen=True, slots=True)
class CrashFrame:
    """One crash: the files (name, bytes) that it leaves and those after the load, and what the load did.

    `log` and `batches` describe the `.log` that was being written, with the byte at which it ends now; `kept`: its
    bytes after the load. `end` is the log end offset after the load, `error` what made the load fail.
    """

    caption: str
    before: tuple[tuple[str, int], ...]
    effects: tuple[Effect, ...]
    after: tuple[tuple[str, int], ...]
    end: int | None
    error: str = ""
    log: str = ""
    batches: tuple[BatchOnFile, ...] = ()
    left: int = 0
    kept: int = 0

    @property
    def cut(self) -> int:
        """How many bytes of the `.log` the load cut off."""
        return self.left - self.kept

    @property
    def outcome(self) -> str:
        """How it ended, in one line."""
        if self.error:
            return f"the load fails: {self.error}"
        cut = f"; {self.cut} bytes of {self.log} are cut off" if self.log and self.cut else ""
        bases = ", ".join(str(int(name[1:-4])) for name, _ in self.after if name.endswith(".log"))
        return f"the log ends at {self.end}{cut}; its segments begin at {bases}"

    def __str__(self) -> str:
        columns = (("leaves", self.before), ("after", self.after))
        before, after = (
            f"  {name}: " + ", ".join(f"{file} {size:,}" for file, size in files) for name, files in columns
        )
        done = "  load: " + ("; ".join(map(str, self.effects)) or "nothing to do")
        return "\n".join([f"{self.caption} → {self.outcome}", before, done, after])


class CrashTheatre:
    """Stops an action on `log` at every effect on disk, and shows what loading makes of each directory that this
    leaves.

    The log is killed when the action is over, so a theatre plays once. Use small index files (`segment.index.bytes`):
    each frame copies the directory.
    """

    def __init__(self, log: Any, title: str = "A crash, and the load after it", *, recovery_point: int = 0):
        self._log, self._title, self._recovery_point = log, title, recovery_point
        self._settings: Mapping[str, Any] = dict(log.config.props)
        self.frames: list[CrashFrame] = []
        self._left: list[dict[str, bytes]] = []

    def stop_in(
        self, action: Callable[[], Any], *, every: int | None = None, only: Iterable[str] | None = None
    ) -> "CrashTheatre":
        """Do `action`; record a frame for each effect on disk, and for every `every` bytes of a write to a `.log`.

        `only`: kinds of effects to stop after ("write", "rename", …); default all that change what a loader sees.
        """
        kinds = set(only) if only is not None else set(file_ops.KINDS) - set(_FORCED)
        states: list[tuple[str, dict[str, bytes], str, bytes]] = []
        home = Path(self._log.dir)
        last = {"files": _contents(home)}

        def note_state(operation: str, path: Path) -> None:
            if home not in Path(path).parents:
                return
            now, before, name = _contents(home), last["files"], Path(path).name
            last["files"] = now
            if now == before or operation not in kinds:
                return
            if every and operation == "write" and name.endswith(".log"):
                states.extend(_torn(name, before, now, every))
            states.append((f"after: {_in_words(operation, name, before, now)}", now, *_written(operation, name, now)))

        with file_ops.observe(note_state):
            action()
        kill(self._log)
        written = {name: whole for _, _, name, whole in states if name}
        for caption, files, name, whole in states:
            self._left.append(files)
            if len(written) == 1:  # the one file that is being cut stays in view
                name, whole = next(iter(written.items()))
            self.frames.append(self._played(len(self._left) - 1, caption, files, name, whole))
        return self

    def directory(self, number: int) -> Path:
        """A new directory with what the crash of frame `number` left."""
        directory = scratch(Path(self._log.dir).name)
        directory.mkdir(parents=True)
        for name, data in self._left[number].items():
            (directory / name).write_bytes(data)
        return directory

    def play(self) -> Player:
        """The stage with its slider, set to the first torn write if there is one; all frames have one size."""
        top = max(map(_top, self.frames), default=0)
        height = top + max(map(_rows_height, self.frames), default=0)
        start = next((number for number, frame in enumerate(self.frames) if frame.cut), 0)
        return Player(self.frames, lambda frame: render_crash(frame, top, height), title=self._title, start=start)

    def _played(self, number: int, caption: str, files: dict[str, bytes], log: str, whole: bytes) -> CrashFrame:
        directory = self.directory(number)
        effects, end, error = watched_load(directory, self._settings, recovery_point=self._recovery_point)
        after = _contents(directory)
        shutil.rmtree(directory)
        before, behind = (
            tuple((short(name), len(data)) for name, data in sorted(state.items())) for state in (files, after)
        )
        kept = len(after.get(log, b""))
        return CrashFrame(
            caption,
            before=before,
            effects=tuple(effects),
            after=behind,
            end=end,
            error=error,
            log=short(log) if log else "",
            batches=_batches(whole),
            left=len(files.get(log, b"")),
            kept=kept,
        )


def watched_load(
    directory: Path, settings: Mapping[str, Any], **checkpoints: Any
) -> tuple[list[Effect], int | None, str]:
    """Load `directory` and note what that does to the disk: the effects, the log end offset, and the error if it
    fails.
    """
    home, noted, state = Path(directory), [], {"files": _contents(Path(directory))}

    def note(operation: str, path: Path) -> None:
        if home not in Path(path).parents or operation in _FORCED:
            return
        now, before = _contents(home), state["files"]
        if now != before:
            noted.append((_phase(), operation, Path(path).name, before, now))
            state["files"] = now

    end, error = None, ""
    with file_ops.observe(note):
        try:
            log = load(home, settings, **checkpoints)
            end = log.log_end_offset
            kill(log)
        except Exception as failure:  # the frame says with what the load failed
            error = f"{type(failure).__name__}"
    return _coalesced(noted), end, error


def render_crash(frame: CrashFrame, top: float | None = None, height: float | None = None) -> str:
    """The stage at one moment: the file being cut, then what the crash leaves, what the load does, and how it ends.

    `top`, `height`: where the three columns begin, and the height of the whole (default: as much as this frame needs).
    """
    top = top or _top(frame)
    height = height or top + _rows_height(frame)
    sign, kind = ("✗", "bad") if frame.error else ("✓", "good")
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    parts.append(drawing.text(10, 41, f"{sign} {frame.outcome}", kind="b", fill=kind, room=drawing.WIDTH - 20))
    parts += _bar(frame)
    was, now = dict(frame.before), dict(frame.after)
    changed = _changed(frame)
    parts += _files(10, top, "the crash leaves", frame.before, changed, lambda name: "" if name in now else "−", 250)
    parts += _effects(282, top, frame.effects)
    parts += _files(
        638,
        top,
        "after the load",
        frame.after,
        changed,
        lambda name: "+" if name not in was else "~" if was[name] != now[name] else "",
        232,
    )
    legend = "− deleted by the load · + new · ~ other size · 1–7: phase of LogLoader.load · –: after it"
    parts.append(drawing.text(10, height - 8, legend, kind="s"))
    words = f"{frame.caption}: {frame.outcome}"
    return drawing.svg(drawing.WIDTH, height, "".join(parts), words)


def _bar(frame: CrashFrame) -> list[str]:
    """The file that was being written: its batches, where it ends now (▲), and hatched what the load cuts off."""
    if not frame.log:
        return []
    whole = max(sum(batch.size for batch in frame.batches), frame.left, 1)
    scale = (drawing.WIDTH - _BAR_LEFT - 20) / whole
    parts = [drawing.text(10, _BAR_TOP + 17, frame.log, kind="bm")]
    for number, batch in enumerate(frame.batches):
        x, wide = _BAR_LEFT + batch.position * scale, batch.size * scale
        fill = "gone" if batch.position >= frame.left else "a" if number % 2 else "f"
        parts.append(
            drawing.rect(x, _BAR_TOP, wide, 24, fill, dash="3 3" if batch.position + batch.size > frame.left else "")
        )
    end = _BAR_LEFT + frame.left * scale
    if frame.cut > 0:
        kept = _BAR_LEFT + frame.kept * scale
        parts.append(drawing.rect(kept, _BAR_TOP, end - kept, 24, "pending", stroke="bad", weight=1.5))
        parts.append(drawing.hatch(kept, _BAR_TOP, end - kept, 24, "bad"))
    for batch in frame.batches:
        middle, wide = _BAR_LEFT + (batch.position + batch.size / 2) * scale, batch.size * scale
        offsets = str(batch.first) if batch.first == batch.last else f"{batch.first}–{batch.last}"
        room = drawing.width(offsets, "s") + 6
        if room <= wide:
            parts.append(drawing.rect(middle - room / 2, _BAR_TOP + 5, room, 14, "paper", stroke="none"))
            parts.append(drawing.text(middle, _BAR_TOP + 16, offsets, kind="s", anchor="middle", fill="ink"))
    parts.append(drawing.line(end, _BAR_TOP - 3, end, _BAR_TOP + 30, "bad", weight=2))
    side = "end" if end > drawing.WIDTH - 160 else "start"
    words = (
        f"the file ends at byte {frame.left}"
        if (frame.log, frame.left) in frame.before
        else "there is no such file yet"
    )
    label = f"▲ {words}" if side == "start" else f"{words} ▲"
    parts.append(
        drawing.text(end - 5 if side == "start" else end + 5, _BAR_TOP + 40, label, kind="s", anchor=side, fill="bad")
    )
    return parts


def _changed(frame: CrashFrame) -> frozenset[str]:
    """The files that the load makes, takes away or gives another size, and the file that was being written."""
    return frozenset(name for name, _ in set(frame.before) ^ set(frame.after)) | {frame.log}


def _files(
    x: float,
    top: float,
    heading: str,
    files: tuple[tuple[str, int], ...],
    changed: frozenset[str],
    sign: Callable[[str], str],
    width: float,
) -> list[str]:
    parts = [drawing.text(x, top, heading, kind="b"), drawing.line(x, top + 6, x + width, top + 6)]
    shown = tuple(file for file in files if file[0] in changed)
    if folded := len(files) - len(shown):
        words = f"{folded} other file{'s' * (folded > 1)} of unchanged size"
        parts.append(drawing.text(x + 13, top + 24 + min(len(shown), _MOST_ROWS) * _ROW, words, kind="s"))
    for row, (name, size) in enumerate(_most(shown)):
        y, mark = top + 24 + row * _ROW, sign(name)
        fill = {"−": "bad", "+": "good", "~": "leo"}.get(mark, "ink")
        parts.append(drawing.text(x, y, mark, kind="bm", fill=fill))
        parts.append(drawing.text(x + 13, y, drawing.shorten(name, 27), kind="sm", fill=fill))
        parts.append(drawing.text(x + width, y, f"{size:,} B", kind="sm", anchor="end", fill=fill))
    return parts + _more(x, top, shown)


def _effects(x: float, top: float, effects: tuple[Effect, ...]) -> list[str]:
    parts = [drawing.text(x, top, "what the load does, by phase", kind="b"), drawing.line(x, top + 6, x + 336, top + 6)]
    for row, effect in enumerate(_most(effects)):
        y = top + 24 + row * _ROW
        parts.append(drawing.rect(x, y - 12, 16, 15, "panel"))
        parts.append(drawing.text(x + 8, y, effect.phase or "–", kind="s", anchor="middle", fill="ink"))
        parts.append(drawing.text(x + 22, y, drawing.shorten(effect.words, _WORDS + 2), kind="sm", fill="ink"))
    if not effects:
        parts.append(drawing.text(x, top + 24, "nothing", kind="s"))
    return parts + _more(x, top, effects)


def _most(rows: tuple) -> tuple:
    return rows if len(rows) <= _MOST_ROWS else rows[: _MOST_ROWS - 1]


def _more(x: float, top: float, rows: tuple) -> list[str]:
    left_out = len(rows) - len(_most(rows))
    return [drawing.text(x, top + 24 + (_MOST_ROWS - 1) * _ROW, f"+{left_out} more", kind="s")] if left_out else []


def _top(frame: CrashFrame) -> float:
    return 118 if frame.log else 70


def _rows_height(frame: CrashFrame) -> float:
    changed = _changed(frame)
    columns = [[file for file in files if file[0] in changed] for files in (frame.before, frame.after)]
    rows = max(min(len(part), _MOST_ROWS) + 1 for part in (*columns, frame.effects))
    return 48 + rows * _ROW


def _contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.is_file()}


def _torn(name: str, before: dict[str, bytes], now: dict[str, bytes], every: int):
    """The states in which only part of a write to a `.log` has reached the disk."""
    old, whole = len(before.get(name, b"")), now[name]
    for size in range(old + every, len(whole), every):
        caption = f"the power fails when {size - old} of {len(whole) - old} bytes are written"
        yield caption, {**now, name: whole[:size]}, name, whole


def _written(operation: str, name: str, now: dict[str, bytes]) -> tuple[str, bytes]:
    return (name, now[name]) if operation == "write" and name.endswith(".log") else ("", b"")


def _in_words(operation: str, name: str, before: dict[str, bytes], now: dict[str, bytes]) -> str:
    """An effect in a few words, with sizes."""
    old, new = len(before.get(name, b"")), len(now.get(name, b""))
    if operation == "rename":
        source = next((file for file in before if file not in now), "")
        return f"rename {short(source)} → {short(name)}"
    if operation in ("truncate", "preallocate"):
        return (
            f"{'cut' if new < old else 'grow'} {short(name)} {old:,} → {new:,} B"
            if new != old
            else f"empty {short(name)}"
        )
    if operation == "write" and new != old:
        return f"write {short(name)} {new - old:+,} B"
    return f"{operation} {short(name)}"


def _coalesced(noted: list[tuple[str, str, str, dict[str, bytes], dict[str, bytes]]]) -> list[Effect]:
    """What each phase did to each file, in the order in which files were first touched: what the file was and what it
    became.
    """
    told, groups = [], {}
    for phase, operation, name, before, now in noted:
        source = next((file for file in before if file not in now), "") if operation == "rename" else ""
        if source and (phase, source) in groups:  # made and renamed within one phase: a checkpoint that is replaced
            del groups[phase, source]
            groups[phase, name] = (before.get(name), now[name], 2)
        elif source:
            told += [_told(key, group) for key, group in groups.items()]
            groups = {}
            told.append(Effect(phase, f"rename {short(source)} → {short(name)}"))
        else:
            first, _, count = groups.get((phase, name), (before.get(name), None, 0))
            groups[phase, name] = (first, now.get(name), count + 1)
    return _side_by_side(told + [_told(key, group) for key, group in groups.items()])


def _side_by_side(effects: list[Effect]) -> list[Effect]:
    """Files of one segment that share a fate share a line: `delete …006 .index .log`."""
    lines: list[Effect] = []
    for effect in effects:
        this, last = _FATE.match(effect.words), _FATE.match(lines[-1].words) if lines else None
        if (
            this
            and last
            and lines[-1].phase == effect.phase
            and this.group("verb", "base", "end") == last.group("verb", "base", "end")
        ):
            words = f"{last['verb']} {last['base']} {last['files'].strip()} {this['files'].strip()}{last['end'] or ''}"
            if len(words) <= _WORDS:
                lines[-1] = Effect(effect.phase, words)
                continue
        lines.append(effect)
    return lines


def _told(key: tuple[str, str], group: tuple[bytes | None, bytes | None, int]) -> Effect:
    """What happened to one file in one phase, in words."""
    (phase, name), (was, now, count) = key, group
    if was is None:
        words = f"make {short(name)}, {len(now or b''):,} B" if now is not None else f"make and delete {short(name)}"
    elif now is None:
        words = f"delete {short(name)}"
    elif name.endswith("index") and count > 1:
        words = f"rebuild {short(name)}, " + _change(was, now)
    elif len(was) != len(now):
        words = f"{'cut' if len(now) < len(was) else 'grow'} {short(name)} {len(was):,} → {len(now):,} B"
    else:
        words = f"rewrite {short(name)}" + (", same bytes" if was == now else "")
    return Effect(phase, words)


def _change(was: bytes, now: bytes) -> str:
    if len(was) != len(now):
        return f"{len(was):,} → {len(now):,} B"
    return "same bytes" if was == now else "other bytes"


def _phase() -> str:
    """The number of the step that `LogLoader.load` is in at this moment."""
    frame = sys._getframe()
    while frame is not None and frame.f_code is not LogLoader.load.__code__:
        frame = frame.f_back
    if frame is None:
        return ""
    step = method_of(frame.f_code).step_at(frame.f_lineno)
    return step.number if step else ""


def _batches(data: bytes) -> tuple[BatchOnFile, ...]:
    found, position = [], 0
    for batch in MemoryRecords.readable_records(data).batches() if data else ():
        found.append(BatchOnFile(batch.base_offset, batch.last_offset, position, batch.size_in_bytes))
        position += batch.size_in_bytes
    return tuple(found)
