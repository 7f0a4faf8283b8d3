"""Damage to the files of a log that is not open, as words of a workload: `cut:-1.log:20`, `remove:0.index`.

    cut:FILE:BYTES      so many bytes are missing at the end
    flip:FILE:AT        a bit of the byte at AT is another one; a negative AT counts from the end
    remove:FILE         the file is gone
    copy:FILE:NAME      there is a second file with the same bytes
    rename:FILE:NAME    the file has another name

A FILE or a NAME begins with the number of a segment, counted from 0 or, backwards, from -1, and goes on with a suffix:
`1.log`, `-1.index`, `0.log.swap`. `@7.snapshot` names an offset instead. Any other name is taken as it is. Where a file
is not there, nothing happens, so that a part of a workload is still a workload.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

_ONE_FILE: dict[str, Callable[[Path, int], None]] = {}
_TWO_FILES: dict[str, Callable[[Path, Path], object]] = {
    "copy": shutil.copyfile,
    "rename": lambda file, target: file.rename(target),
}
_NUMBER = re.compile(r"(@?)(-?\d+)(\..+)")


def checked(words: str) -> str:
    """`words` as they are. Raises ValueError when they name no damage."""
    kind, *rest = words.split(":")
    if kind in _ONE_FILE and len(rest) == 2 and re.fullmatch(r"-?\d+", rest[1]):
        return words
    if (kind in _TWO_FILES and len(rest) == 2) or (kind == "remove" and len(rest) == 1):
        return words
    raise ValueError(f"{words!r} is no damage; there are {', '.join((*_ONE_FILE, 'remove', *_TWO_FILES))}")


def damage(directory: Path, words: str) -> None:
    """Do what `words` say to the files of `directory`."""
    kind, name, *rest = checked(words).split(":")
    file = _named(directory, name)
    if file is None or not file.is_file():
        return
    if kind == "remove":
        file.unlink()
    elif kind in _ONE_FILE:
        _ONE_FILE[kind](file, int(rest[0]))
    elif (target := _named(directory, rest[0])) is not None and target != file:
        _TWO_FILES[kind](file, target)


def _cut(file: Path, size: int) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: max(len(data) - size, 0)])


def _flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    if -len(data) <= at < len(data):
        data[at] ^= 1
        file.write_bytes(data)


_ONE_FILE |= {"cut": _cut, "flip": _flip}


def _named(directory: Path, name: str) -> Path | None:
    """The file of that name, None for a segment that does not exist."""
    match = _NUMBER.fullmatch(name)
    if match is None:
        return directory / name
    number = int(match[2])
    if not match[1]:
        bases = sorted(int(file.name[:20]) for file in directory.glob("*.log"))
        if not -len(bases) <= number < len(bases):
            return None
        number = bases[number]
    return directory / f"{number:020}{match[3]}"
