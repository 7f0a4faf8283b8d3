"""Compares two log directories file by file and byte by byte, and says what the first differing byte means."""

import fnmatch
import html
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from minikafka.witness.spoken import say

NOT_DETERMINED = {
    ".lock": "held by a broker, says nothing about the log",
    "meta.properties": "names the cluster and the directory by ids drawn at random",
    "bootstrap.checkpoint": "metadata of the cluster, with the time of its making",
}
"""Files whose content does not follow from a workload, with the reason. Given the clock and the topic id, a partition's
directory has none.
"""

_BATCH_FIELDS = (
    (0, 8, "base offset"),
    (8, 4, "length"),
    (12, 4, "partition leader epoch"),
    (16, 1, "magic"),
    (17, 4, "CRC"),
    (21, 2, "attributes"),
    (23, 4, "last offset delta"),
    (27, 8, "base timestamp"),
    (35, 8, "max timestamp"),
    (43, 8, "producer id"),
    (51, 2, "producer epoch"),
    (53, 4, "base sequence"),
    (57, 4, "number of records"),
)
_ENTRY_FIELDS = {
    "index": (0, ((0, 4, "relative offset"), (4, 4, "position"))),
    "timeindex": (0, ((0, 8, "timestamp"), (8, 4, "relative offset"))),
    "txnindex": (
        0,
        (
            (0, 2, "version"),
            (2, 8, "producer id"),
            (10, 8, "first offset"),
            (18, 8, "last offset"),
            (26, 8, "last stable offset"),
        ),
    ),
    "snapshot": (
        10,
        (
            (0, 8, "producer id"),
            (8, 2, "producer epoch"),
            (10, 4, "last sequence"),
            (14, 8, "last offset"),
            (22, 4, "offset delta"),
            (26, 8, "timestamp"),
            (34, 4, "coordinator epoch"),
            (38, 8, "first offset of the open transaction"),
        ),
    ),
}
_SNAPSHOT_HEADER = ((0, 2, "version"), (2, 4, "CRC"), (6, 4, "number of producers"))


@dataclass(frozen=True)
class FileDifference:
    """One file that differs. `position` is that of the first differing byte, None where one side has no such file.

    `meaning` says what is at that byte and what each side has there.
    """

    file: str
    position: int | None
    meaning: str

    def __str__(self) -> str:
        if self.position is None:
            return f"{self.file}: {self.meaning}"
        return say("{file} at byte {position}: {meaning}", file=self.file, position=self.position, meaning=self.meaning)


@dataclass(frozen=True)
class DirectoryDiff:
    """What `directory_diff` found. `files` and `bytes` were compared; `excluded` maps a file left out to the reason."""

    names: tuple[str, str]
    files: int
    bytes: int
    differences: tuple[FileDifference, ...] = ()
    excluded: dict[str, str] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """True when no compared byte and no name differs."""
        return not self.differences

    def require(self) -> "DirectoryDiff":
        """Return self when the directories are equal. Raises AssertionError with all differences otherwise."""
        if self.differences:
            raise AssertionError(str(self))
        return self

    def __str__(self) -> str:
        lines = [f"{self.names[0]} and {self.names[1]}: {self.files} files, {self.bytes} bytes compared"]
        lines += [f"  ✗ {difference}" for difference in self.differences] or ["  ✓ every byte is equal"]
        lines += [f"  – {name} left out: {reason}" for name, reason in self.excluded.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def directory_diff(
    first: Path,
    second: Path,
    names: tuple[str, str] = ("minikafka", "Apache Kafka"),
    excluded: Mapping[str, str] = NOT_DETERMINED,
) -> DirectoryDiff:
    """Compare two directories with all that lies below them: names with their suffixes, sizes, contents.

    `excluded` maps patterns of file names (`*` as in a shell) to the reason why they are left out. Modification
    times are not compared.
    """
    return files_diff(FilesOf(first), FilesOf(second), names, excluded)


def files_diff(
    left: Mapping[str, bytes], right: Mapping[str, bytes], names: tuple[str, str], excluded: Mapping[str, str]
) -> DirectoryDiff:
    """As `directory_diff`, of contents by the paths that files have in their directory."""
    left_out, differences, compared, size = {}, [], 0, 0
    for name in sorted(left.keys() | right.keys()):
        if reason := _reason(name, excluded):
            left_out[name] = reason
        elif name not in left or name not in right:
            (has, lacks), content = (names, left[name]) if name in left else (names[::-1], right[name])
            differences.append(FileDifference(name, None, f"{has} has it ({len(content)} bytes), {lacks} has not"))
        else:
            one, other = left[name], right[name]
            compared, size = compared + 1, size + len(one)
            if one != other:
                differences.append(_difference(name, one, other, names))
    return DirectoryDiff(tuple(names), compared, size, tuple(differences), left_out)


class FilesOf(Mapping[str, bytes]):
    """The files below a directory, each read when its content is asked for; `a/b.log` names one."""

    def __init__(self, directory: Path):
        self._paths = {}
        for folder, _, names in os.walk(directory):  # pathlib takes a third of a comparison's time for this
            for name in names:
                path = Path(folder, name)
                if path.is_file():
                    self._paths[path.relative_to(directory).as_posix()] = path

    def __getitem__(self, name: str) -> bytes:
        return self._paths[name].read_bytes()

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, name: object) -> bool:
        return name in self._paths


def _reason(name: str, excluded: Mapping[str, str]) -> str | None:
    matching = (
        why
        for pattern, why in excluded.items()
        if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(Path(name).name, pattern)
    )
    return next(matching, None)


def _difference(name: str, one: bytes, other: bytes, names: tuple[str, str]) -> FileDifference:
    shorter = min(len(one), len(other))
    position = _first_difference(one, other, shorter)
    if position == shorter:
        sizes = " and ".join(f"{side} has {len(data)} bytes" for side, data in zip(names, (one, other)))
        rest = max(one, other, key=len)[shorter:]
        kind = "zeros" if not any(rest) else _place(name, max(one, other, key=len), position)[0]
        return FileDifference(name, position, f"{sizes}; then {kind}")
    place, start, length = _place(name, one, position)
    if place.startswith("CRC"):  # it follows from what comes after it
        behind = start + length
        later = behind + _first_difference(one[behind:], other[behind:], shorter - behind)
        if later < shorter:
            position = later
            place, start, length = _place(name, one, position)
    values = (int.from_bytes(data[start : start + length], "big", signed=True) for data in (one, other))
    return FileDifference(
        name, position, f"{place} ({', '.join(f'{side}: {value}' for side, value in zip(names, values))})"
    )


def _first_difference(one: bytes, other: bytes, end: int) -> int:
    step = 1 << 16
    for start in range(0, end, step):
        if one[start : start + step] != other[start : start + step]:
            last = min(start + step, end)
            return next((position for position in range(start, last) if one[position] != other[position]), end)
    return end


def _place(name: str, data: bytes, position: int) -> tuple[str, int, int]:
    """What lies at `position`: words for it, and start and length of the number that the byte belongs to."""
    suffix = next((part for part in reversed(name.split(".")) if part in (*_ENTRY_FIELDS, "log")), "")
    if suffix == "log":
        return _place_in_log(data, position)
    if suffix == "snapshot" and position < 10:
        return _field_at(_SNAPSHOT_HEADER, 0, position, "of the snapshot")
    if suffix:
        header, entry_fields = _ENTRY_FIELDS[suffix]
        size = entry_fields[-1][0] + entry_fields[-1][1]
        number = (position - header) // size
        return _field_at(entry_fields, header + number * size, position, f"of entry {number}")
    line = data.count(b"\n", 0, position)
    return f"line {line + 1}", position, 1


def _place_in_log(data: bytes, position: int) -> tuple[str, int, int]:
    start = number = 0
    while start + 12 <= len(data):
        base_offset = int.from_bytes(data[start : start + 8], "big", signed=True)
        length = int.from_bytes(data[start + 8 : start + 12], "big", signed=True)
        if length < 14 or position < start + 12 + length:
            break
        start, number = start + 12 + length, number + 1
    else:
        return f"after batch {number}", position, 1
    if position - start < 61:
        return _field_at(
            _BATCH_FIELDS, start, position, f"of batch {number} (base offset {base_offset}, at byte {start})"
        )
    return f"records of batch {number} (base offset {base_offset}, at byte {start})", position, 1


def _field_at(fields, start: int, position: int, of: str) -> tuple[str, int, int]:
    offset, length, name = next(
        (offset, length, name) for offset, length, name in fields if offset <= position - start < offset + length
    )
    return f"{name} {of}", start + offset, length
