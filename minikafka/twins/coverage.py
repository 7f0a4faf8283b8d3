"""Kafka's storage module, class by class: mirrored by what, or left out, and why."""

import fnmatch
import functools
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from minikafka.twins.kafka_source_file import KafkaClass
from minikafka.twins.kafka_sources import STORAGE_MODULE, KafkaTable
from minikafka.twins.our_members import OurMember
from minikafka.twins.resolve import resolve

_REASONS = Path(__file__).with_name("left_out.toml")


@dataclass(frozen=True)
class Coverage:
    """A class of Kafka's (`member` is None) or the public methods of one name in it.

    `mirrored_by` has the full names of ours; `why` is the reason where there are none, "" where nobody has given one.
    """

    owner: KafkaClass
    member: str | None
    line: int
    mirrored_by: tuple[str, ...]
    why: str

    @property
    def name(self) -> str:
        """Class, or class and method, without the package."""
        return self.owner.name if self.member is None else f"{self.owner.name}.{self.member}"

    @property
    def full_name(self) -> str:
        """The same with the package."""
        return f"{self.owner.package}.{self.name}"


@functools.cache
def reasons() -> tuple[tuple[str, str], ...]:
    """(pattern, why) of each name in `left_out.toml`."""
    entries = tomllib.loads(_REASONS.read_text(encoding="utf-8"))["left_out"]
    return tuple((name, entry["why"]) for entry in entries for name in entry["names"])


def storage_coverage(table: KafkaTable, ours: Iterable[OurMember]) -> list[Coverage]:
    """A row for each class of the storage module, followed by one for each name of its public methods."""
    mirrors: dict[tuple[str, str | None], list[str]] = {}
    named = [(mine, twin) for mine in ours for twin in mine.twins]
    for mine, twin in sorted(
        named, key=lambda each: each[1].member is not None
    ):  # who mirrors a whole class comes first
        for owner, member in resolve(twin, table):
            for name in {None, member.name if member else None}:
                mirrors.setdefault((owner.full_name, name), []).append(mine.full_name)
    return [
        row
        for owner in sorted(table.classes, key=lambda each: (each.file, each.line))
        if owner.file.startswith(STORAGE_MODULE)
        for row in _rows(owner, mirrors)
    ]


def pattern_fits(pattern: str, row: Coverage) -> bool:
    """Whether a name of `left_out.toml` is the row's, or that of its class."""
    around = row.owner.full_name, row.owner.name
    return any(fnmatch.fnmatchcase(name, pattern) for name in (row.full_name, row.name, *around))


def _rows(owner: KafkaClass, mirrors: dict[tuple[str, str | None], list[str]]) -> list[Coverage]:
    lines = {each.name: each.line for each in reversed(owner.members) if each.public and each.kind == "method"}
    return [
        _row(owner, None, owner.line, mirrors),
        *(_row(owner, name, line, mirrors) for name, line in sorted(lines.items(), key=lambda item: item[1])),
    ]


def _row(owner: KafkaClass, name: str | None, line: int, mirrors: dict[tuple[str, str | None], list[str]]) -> Coverage:
    by = tuple(dict.fromkeys(mirrors.get((owner.full_name, name), ())))
    row = Coverage(owner, name, line, by, "")
    if by:
        return row
    why = next((why for pattern, why in reasons() if pattern_fits(pattern, row)), "")
    return Coverage(owner, name, line, (), why)
