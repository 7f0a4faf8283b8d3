"""The effects of a log on its disk, in order, as lines of text; and scenarios whose effects are written down.

An effect is one of (names are relative to the partition's directory, so the log directory's files begin with `../`;
offsets in them have no zeros in front)

    create NAME, create_directory NAME, write NAME, truncate NAME SIZE, rename NAME TO, delete NAME,
    fsync NAME, flush_dir NAME

Writes to a mapped index are no effects: no system call shows them. Consecutive writes to one file count as one effect.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from minikafka.common import file_ops
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX

_MAPPED = (".index", ".timeindex")
_HEADLINE = "scenario "
_CONFIG = "config "
_INDENT = "    "
_OTHER = "other"
_OFFSET = re.compile(r"^(-?)(\d+)(?=\.)")
_ZEROS = re.compile(r"\b0{1,19}(?=\d+\.)")


@dataclass
class Scenario:
    """A few lines done to a log with `config` (`tests.slow.crash.steps.perform`), each with its effects."""

    name: str
    config: dict[str, str] = field(default_factory=dict)
    steps: list[tuple[str, list[str]]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [_HEADLINE + self.name]
        if self.config:
            lines.append(_CONFIG + " ".join(f"{name}={value}" for name, value in self.config.items()))
        for line, effects in self.steps:
            lines += [line, *(_INDENT + effect for effect in effects)]
        return "\n".join(lines) + "\n"


def read_scenarios(text: str) -> list[Scenario]:
    """The scenarios that `"\\n".join(map(str, scenarios))` wrote; lines that begin with `#` are left out."""
    scenarios = []
    for line in text.splitlines():
        if line.startswith(_HEADLINE):
            scenarios.append(Scenario(line.removeprefix(_HEADLINE)))
        elif line.startswith(_CONFIG):
            scenarios[-1].config = dict(word.split("=") for word in line.removeprefix(_CONFIG).split())
        elif line.startswith(_INDENT):
            scenarios[-1].steps[-1][1].append(line.strip())
        elif line and not line.startswith("#"):
            scenarios[-1].steps.append((line, []))
    return scenarios


@contextmanager
def noted_effects(directory: Path, then: file_ops.Observer = lambda operation, path: None) -> Iterator[list[str]]:
    """A list that fills with the effects of minikafka's log in `directory` and beside it while the block runs.

    `then` is called after each, with its operation and its file.
    """
    log_dir, effects, names = directory.parent, [], set(_names(directory.parent))

    def note(operation: str, path: Path) -> None:
        path = Path(path)
        if log_dir != path and log_dir not in path.parents:
            return
        now = set(_names(log_dir))
        if operation == "rename":
            source = min(names - now)  # of a directory's names, the shortest
            words = [operation, relative(source, directory), relative(path, directory)]
        elif operation in ("truncate", "preallocate"):
            words = ["truncate", relative(path, directory), str(path.stat().st_size)]
        else:
            words = [operation, relative(path, directory)]
        names.clear()
        names.update(now)
        add_effect(effects, *words)
        then(operation, path)

    with file_ops.observe(note):
        yield effects


def add_effect(effects: list[str], operation: str, name: str, *more: str) -> None:
    """Add an effect, unless it is a write that continues the one before it."""
    effect = " ".join((operation, name, *more))
    if operation == "write" and (is_mapped(name) or effects[-1:] == [effect]):
        return
    effects.append(effect)


def listed(line: str, effects: list[str]) -> list[str]:
    """The effects of `line`, with runs of deletions of one kind of file sorted by name. Loading meets such files in the
    order in which the system lists a directory, which Kafka does not determine; so does a deletion with what the
    segments leave behind.
    """
    kinds = {"reopen": (".deleted", ".swap", ".cleaned", _OTHER), "delete": (_OTHER,)}.get(line.split()[0], ())
    rows = itertools.groupby(effects, _deleted_kind)
    return [effect for kind, row in rows for effect in (sorted(row) if kind in kinds else row)]


def _deleted_kind(effect: str) -> str:
    """The suffix of a deleted file, if it is one that no file keeps; "" for any other effect."""
    if not effect.startswith("delete ") or effect == "delete ." or effect.endswith(DELETE_DIR_SUFFIX):
        return ""
    return next((suffix for suffix in (".deleted", ".swap", ".cleaned") if effect.endswith(suffix)), _OTHER)


def is_mapped(name: str) -> bool:
    """True for an offset index or a time index, under whatever suffix."""
    return any(kind in name for kind in _MAPPED)


def relative(path: Path | str, directory: Path) -> str:
    """The name of a file as it stands in an effect."""
    return _ZEROS.sub("", os.path.relpath(path, directory))


def path_of(name: str, directory: Path) -> Path:
    """The file that has this name in an effect."""
    path = Path(os.path.normpath(directory / name))
    return path.with_name(_OFFSET.sub(lambda found: found[1] + found[2].zfill(20), path.name))


def _names(log_dir: Path) -> Iterable[str]:
    for parent, _, files in os.walk(log_dir):
        yield parent
        yield from (os.path.join(parent, file) for file in files)
