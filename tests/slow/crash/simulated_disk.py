"""A disk that forgets: what a power cut may leave of files and names that were never forced to the device."""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.slow.crash.disk_effects import path_of

_PAGES = (16, 64, 512)
"""Sizes in bytes of a page in a torn file. Those of a device are larger, but so are the files of a real log."""


@dataclass(eq=False)
class _File:
    """A file's bytes now, and those that its last sync secured."""

    now: bytes = b""
    synced: bytes = b""


@dataclass(eq=False)
class _Directory:
    """A directory's names now, those that its last sync secured, and the changes since, in order."""

    now: dict[str, "_File | _Directory"] = field(default_factory=dict)
    synced: dict[str, "_File | _Directory"] = field(default_factory=dict)
    pending: list[tuple] = field(default_factory=list)

    def do(self, *change) -> None:
        self.pending.append(change)
        _change(self.now, *change)

    def sync(self) -> None:
        self.synced = dict(self.now)
        self.pending.clear()


class SimulatedDisk:
    """Follows the effects on a log directory and tells what a power failure at this moment may leave of it.

    Invariants:

    - What was there at the beginning is on the device: all bytes and all names.
    - Of a file the device has at least the bytes of its last `fsync` (of a mapped index: of its last flush), whatever
      its name was then. Of a directory it has at least the names of its last `flush_dir`.
    - A file's sync says nothing of its name, and a directory's sync nothing of its files' bytes. Of a rename the device
      has both halves or none.

    Give `effect` to `minikafka.common.file_ops.observe`. An engine that cannot be observed like that reports its
    effects step by step, in words. Simpler than a disk: bytes read back are always some that were written (or zeros),
    at the place where they were written.
    """

    def __init__(self, log_dir: Path):
        self.log_dir = log_dir
        self._root = _on_device(log_dir)

    def effect(self, operation: str, path: Path) -> None:
        """Note an effect that has just taken place; effects outside the log directory are ignored."""
        path = Path(path)
        source = self._lost_name(path.parent) if operation == "rename" else None
        file = self._note(operation, path, source)
        if file is not None:
            file.now = path.read_bytes()
            if operation == "fsync":
                file.synced = file.now

    def effects(self, effects: list[str], directory: Path) -> None:
        """Take note of all effects of one step, as `tests.slow.crash.disk_effects` writes them, after the last of
        them.

        What a file held in between is not known, so a sync that was followed by another write secures nothing new.
        """
        synced = {}
        for effect in effects:
            operation, name, *to = effect.split(" ")
            source, target = (name, to[0]) if operation == "rename" else (None, name)
            file = self._note(operation, path_of(target, directory), source and path_of(source, directory).name)
            if file is not None:
                synced[file] = operation == "fsync"
        self._look(self._root, self.log_dir)
        for file, nothing_followed in synced.items():
            if nothing_followed:
                file.synced = file.now

    def synced(self) -> dict[str, bytes]:
        """The files, by their path in the log directory, with nothing but what was secured on the device."""
        return _synced(self._root, "")

    def cut(self, rng: random.Random, *, in_order: bool) -> dict[str, bytes]:
        """The files, by their path in the log directory, that a power cut leaves; what it leaves is drawn from `rng`.

        Of each file's unsynced bytes, all, none, a prefix or some pages survive. Of each directory's unsynced changes,
        `in_order` keeps the first ones, as a journalling file system does; otherwise each one is kept or lost by
        chance.
        """
        return _left(self._root, "", rng, in_order)

    def _note(self, operation: str, path: Path, source: str | None) -> _File | None:
        """Change the names as an effect did; returns the file whose bytes it changed or synced, if any."""
        if operation == "flush_dir":
            if directory := self._directory(path):
                directory.sync()
            return None
        directory, name = self._directory(path.parent), path.name
        if directory is None:
            return None
        if operation in ("create", "create_directory"):
            directory.do("add", name, _File() if operation == "create" else _Directory())
        elif operation == "delete":
            directory.do("remove", name, directory.now[name])
        elif operation == "rename":
            directory.do("rename", source, directory.now[source], name)
        else:
            return directory.now.get(name)  # None: a deleted file may still be written to
        return None

    def _look(self, directory: _Directory, path: Path) -> None:
        """Read the bytes that each file has now."""
        for name, node in directory.now.items():
            if isinstance(node, _Directory):
                self._look(node, path / name)
            else:
                node.now = (path / name).read_bytes()

    def _directory(self, path: Path) -> _Directory | None:
        if path == self.log_dir:
            return self._root
        if self.log_dir not in path.parents:
            return None
        parent = self._directory(path.parent)
        return parent and parent.now.get(path.name)

    def _lost_name(self, path: Path) -> str | None:
        """The name that a directory no longer has."""
        directory = self._directory(path)
        return directory and min(directory.now.keys() - {entry.name for entry in os.scandir(path)})


def _on_device(path: Path) -> _Directory:
    """A directory as it is, synced."""
    directory = _Directory()
    for entry in os.scandir(path):
        data = None if entry.is_dir() else Path(entry.path).read_bytes()
        directory.now[entry.name] = _on_device(Path(entry.path)) if data is None else _File(data, data)
    directory.sync()
    return directory


def _synced(directory: _Directory, prefix: str) -> dict[str, bytes]:
    disk_state = {}
    for name, node in directory.synced.items():
        if isinstance(node, _Directory):
            disk_state |= _synced(node, f"{prefix}{name}/")
        else:
            disk_state[prefix + name] = node.synced
    return disk_state


def _change(names: dict, kind: str, name: str, node: _File | _Directory, to: str = "") -> None:
    """Apply a change to the names, if the name that it changes is there."""
    if kind == "add":
        names[name] = node
    elif names.get(name) is node:
        del names[name]
        if kind == "rename":
            names[to] = node


def _left(directory: _Directory, prefix: str, rng: random.Random, in_order: bool) -> dict[str, bytes]:
    disk_state = {}
    for name, node in _names_left(directory, rng, in_order).items():
        if isinstance(node, _Directory):
            disk_state |= _left(node, f"{prefix}{name}/", rng, in_order)
        else:
            disk_state[prefix + name] = _bytes_left(node, rng)
    return disk_state


def _names_left(directory: _Directory, rng: random.Random, in_order: bool) -> dict:
    changes = directory.pending
    if in_order:
        changes = changes[: rng.randint(0, len(changes))]
    else:
        share = rng.choice((0.2, 0.5, 0.8))
        changes = [change for change in changes if rng.random() < share]
    names = dict(directory.synced)
    for change in changes:
        _change(names, *change)
    return names


def _bytes_left(file: _File, rng: random.Random) -> bytes:
    old, new = file.synced, file.now
    if old == new:
        return new
    kind = rng.choice(("all", "none", "prefix", "length", "pages"))
    if kind == "all":
        return new
    if kind == "none":
        return old
    if kind == "prefix":
        same = len(os.path.commonprefix((old, new)))
        return new[: rng.randint(min(same, len(new)), len(new))]
    size = rng.choice((len(old), len(new))) if kind == "pages" else len(new)
    old, new = old.ljust(size, b"\0")[:size], new.ljust(size, b"\0")[:size]
    if kind == "length":
        return old
    page = rng.choice(_PAGES)
    return b"".join(rng.choice((old, new))[at : at + page] for at in range(0, size, page))
