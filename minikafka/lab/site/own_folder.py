"""A folder that is wholly made, and may be made again: known by a file, replaced at once, never anybody else's."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderError(Exception):
    """The folder can't be made; the message says why."""


def require_free(folder: Path, mark: str) -> None:
    """Raises FolderError unless `folder` is missing, empty, or has the file `mark` of an earlier run, and can be made.

    What is to fill it may take minutes, so this is asked before.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FolderError(f"{folder} is no folder of its own")
    if folder.exists() and any(folder.iterdir()) and not (folder / mark).exists():
        kind = mark.removeprefix(".minikafka-")
        raise FolderError(f"{folder} is not empty, and no earlier {kind}: name another folder, or empty this one")
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
        (new / mark).write_text("This folder was made by minikafka and is replaced when it is made again.\n")
        yield new
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
