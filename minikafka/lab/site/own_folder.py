"""A folder that is wholly made, and may be made again: known by a file, replaced at once, never anybody else's."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HEAD = "This folder was made by minikafka and is replaced when it is made again. What was made:"


class FolderError(Exception):
    """The folder can't be made; the message says why."""


def require_free(folder: Path, mark: str) -> None:
    """Raises FolderError unless `folder` is missing, empty, or all that is in it was made by an earlier run, and it can
    be made. The file `mark` names the files of that run, with their SHA-256.

    What is to fill it may take minutes, so this is asked before.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FolderError(f"{folder} is no folder of its own")
    kind = mark.removeprefix(".minikafka-")
    if folder.exists() and any(folder.iterdir()):
        if (made := _made_before(folder / mark)) is None:
            raise FolderError(f"{folder} is not empty, and no earlier {kind}: name another folder, or empty this one")
        if foreign := next(
            (name for name in _names_in(folder) if name != mark and made.get(name) != _digest(folder / name)), None
        ):
            raise FolderError(
                f"{folder / foreign} was not made, or was changed after the {kind} was made: name another folder, or "
                "empty this one"
            )
    parent = next(each for each in folder.absolute().parents if each.exists())
    try:
        tempfile.TemporaryDirectory(dir=parent).cleanup()
    except OSError as failure:
        raise FolderError(f"{folder} cannot be made: {parent}: {failure.strerror}") from failure


@contextmanager
def replaced(folder: Path, mark: str) -> Iterator[Path]:
    """Gives an empty directory to write to, which takes the place of `folder` at the end, unless an exception ends it.

    Raises FolderError when `folder` holds something that is not ours, OSError as the disk does.
    """
    require_free(folder, mark)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as workshop:
        new, old = Path(workshop, "new"), Path(workshop, "old")
        new.mkdir()
        yield new
        made = [f"{_digest(new / name)}  {name}" for name in _names_in(new)]
        (new / mark).write_text("\n".join([_HEAD, *made, ""]), encoding="utf-8")
        require_free(folder, mark)  # minutes may have passed
        try:
            if folder.exists():
                folder.rename(old)
            new.rename(folder)
        except BaseException:
            if old.exists() and not folder.exists():
                old.rename(folder)
            raise


def _made_before(mark: Path) -> dict[str, str] | None:
    """The digests of the files that the earlier run made, by their names; None where there was none."""
    if mark.is_symlink() or not mark.is_file():
        return None
    head, *lines = mark.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    pairs = (line.partition("  ") for line in lines)
    return {name: digest for digest, _, name in pairs} if head == _HEAD else None


def _names_in(folder: Path) -> list[str]:
    """All that is no directory below `folder`, and empty directories, by paths from there."""
    found = []
    for place, directories, names in os.walk(folder):
        links = [name for name in directories if Path(place, name).is_symlink()]
        if not directories and not names and Path(place) != folder:
            found.append(place)
        found += [os.path.join(place, name) for name in [*names, *links]]
    return sorted(os.path.relpath(path, folder) for path in found)


def _digest(file: Path) -> str:
    """Of a regular file; "" for anything else."""
    if file.is_symlink() or not file.is_file():
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()
