"""What one version of Kafka has changed, as against another, in what minikafka mirrors.

Of a class that is mirrored as a whole everything is compared; where only members of it are mirrored, these and what
they use of their class. Declarations are compared as text without comments and layout. A class whose file went from
Scala to Java was written anew; its members are then not compared one by one.
"""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

from minikafka.twins.kafka_source_file import KafkaClass, KafkaMember
from minikafka.twins.kafka_sources import KafkaSources
from minikafka.twins.our_members import OurMember
from minikafka.twins.resolve import resolve, stands_elsewhere

CHANGED, MOVED, RENAMED, REMOVED, NEW, REWRITTEN = "changed", "moved", "renamed", "removed", "new", "rewritten"
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_ALIKE = 0.5  # of the members' names: a class of another name with so many is the same one


@dataclass(frozen=True)
class Drift:
    """One difference between the two versions.

    - `what`: "changed", "moved", "renamed", "removed", "new", or "rewritten" in another language;
    - `name`: the class, or class and signature, in the older version (for "new": in the newer one);
    - `file`, `line`: where it stands in the newer version, in the older one if it was removed; `line` from 1;
    - `now`: the new name or file of what was moved, renamed or rewritten, else "";
    - `mirrored_by`: the full names of ours; the class's for what is new in it.
    """

    what: str
    name: str
    file: str
    line: int
    now: str
    mirrored_by: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """All differences, by class, and how much was compared: classes, and members in them."""

    since: str
    version: str
    drifts: tuple[Drift, ...]
    classes: int
    members: int


def compare(old: KafkaSources, new: KafkaSources, ours: Iterable[OurMember]) -> Comparison:
    """What `new` has changed since `old` in the twins of `ours`. Raises ValueError for a file that cannot be parsed."""
    mirrored = {
        key: (owner, of_class, _with_what_they_rest_on(owner, of_class, of_members))
        for key, (owner, of_class, of_members) in _mirrored(old, ours).items()
    }
    drifts: list[Drift] = []
    for owner, of_class, of_members in mirrored.values():
        drifts += _of_class(owner, of_class, of_members, mirrored, old, new)
    drifts.sort(key=lambda each: (each.name.partition("(")[0].rpartition(".")[0] or each.name, each.file, each.line))
    members = sum(len(of_members) for _, _, of_members in mirrored.values())
    return Comparison(old.version, new.version, tuple(drifts), len(mirrored), members)


_Members = dict[KafkaMember, list[str]]
_Mirrored = tuple[KafkaClass, list[str], _Members]


def _mirrored(sources: KafkaSources, ours: Iterable[OurMember]) -> dict[tuple[str, str], _Mirrored]:
    """(class and kind) → the class, who mirrors it as a whole, and who mirrors which of its members."""
    found: dict[tuple[str, str], _Mirrored] = {}
    for mine in ours:
        for twin in mine.twins:
            for owner, member in [] if stands_elsewhere(twin) else resolve(twin, sources):
                _, of_class, of_members = found.setdefault((owner.full_name, owner.kind), (owner, [], {}))
                if member is None:
                    of_class.append(mine.full_name)
                else:
                    of_members.setdefault(member, []).append(mine.full_name)
    return found


def _with_what_they_rest_on(owner: KafkaClass, of_class: list[str], of_members: _Members) -> _Members:
    """With the members that have no twin of their own: all of a class that is mirrored as a whole; of another one those
    that mirrored ones use, directly or through each other.
    """
    if not of_class:
        return of_members | _used_by(of_members, owner)
    return {member: of_class for member in owner.members if member.kind != "function"} | of_members


def _inner(owner: KafkaClass, sources: KafkaSources) -> list[KafkaClass]:
    """The classes within `owner`, however deep."""
    return [each for each in sources.types_of_file(owner.file) if each.name.startswith(f"{owner.name}.")]


def _used_by(of_members: _Members, owner: KafkaClass) -> _Members:
    """Members of `owner` that these name, and those that they name in turn; with who mirrors what uses them."""
    by_name: dict[str, list[KafkaMember]] = {}
    for each in owner.members:
        if each.kind in ("method", "field"):
            by_name.setdefault(each.name, []).append(each)
    used: _Members = {}
    open_ones = list(of_members.items())
    for member, names in open_ones:  # to which the loop adds
        for word in dict.fromkeys(_WORD.findall(member.text)):
            for each in by_name.get(word, ()):
                if each not in of_members and each not in used:
                    used[each] = names
                    open_ones.append((each, names))
    return used


def _of_class(
    owner: KafkaClass,
    of_class: list[str],
    of_members: _Members,
    mirrored: Container[tuple[str, str]],
    old: KafkaSources,
    new: KafkaSources,
) -> list[Drift]:
    """Also in the inner classes of one that is mirrored as a whole, but those `mirrored` on their own."""
    by = tuple(of_class) or tuple(name for names in of_members.values() for name in names)
    now = _successor(owner, old, new)
    if now is None:
        return [Drift(REMOVED, owner.name, owner.file, owner.line, "", by)]
    if Path(now.file).suffix != Path(owner.file).suffix:
        return [Drift(REWRITTEN, owner.name, now.file, now.line, now.file, by)]
    drifts = []
    if now.name != owner.name:
        drifts.append(Drift(RENAMED, owner.name, now.file, now.line, now.full_name, by))
    elif now.file != owner.file:
        drifts.append(Drift(MOVED, owner.name, now.file, now.line, now.file, by))
    drifts += _of_its_members(owner, now, of_class, of_members)
    if of_class:
        here = {(each.name.removeprefix(owner.name), each.kind): each for each in _inner(owner, old)}
        there = {(each.name.removeprefix(now.name), each.kind): each for each in _inner(now, new)}
        for key, each in here.items():
            if (each.full_name, each.kind) in mirrored:
                continue
            if found := there.get(key):
                drifts += _of_its_members(each, found, of_class, _with_what_they_rest_on(each, of_class, {}))
            else:
                drifts.append(Drift(REMOVED, each.name, owner.file, each.line, "", by))
        names = {name for name, _ in here}
        drifts += [
            Drift(NEW, each.name, each.file, each.line, "", by)
            for (name, _), each in there.items()
            if name not in names
        ]
    return drifts


def _of_its_members(owner: KafkaClass, now: KafkaClass, of_class: list[str], of_members: _Members) -> list[Drift]:
    """What happened to members of `owner`, which is `now` in the newer version, and to what stands around them."""
    drifts = []
    taken: set[KafkaMember] = set()
    for member, names in of_members.items():
        drift = _of_member(owner, member, now, tuple(names), taken)
        drifts += [drift] if drift else []
    if of_class and now.kind == owner.kind:
        before = {member.signature for member in owner.members}
        drifts += [
            Drift(NEW, f"{now.name}.{each.signature}", now.file, each.line, "", tuple(of_class))
            for each in now.members
            if each.kind != "function" and each.signature not in before and each not in taken
        ]
    if of_class and now.name == owner.name and now.around != owner.around:
        drifts.append(Drift(CHANGED, owner.name, now.file, now.line, "", tuple(of_class)))
    return drifts


def _of_member(
    owner: KafkaClass, member: KafkaMember, now: KafkaClass, by: tuple[str, ...], taken: set[KafkaMember]
) -> Drift | None:
    """What happened to a member of `owner`, which is `now` in the newer version; adds what it became to `taken`."""
    name = f"{owner.name}.{member.signature}"
    same_name = [each for each in now.members if (each.name, each.kind) == (member.name, member.kind)]
    same = [each for each in same_name if each.parameters == member.parameters]
    if same:
        taken.update(same)
        if any(each.text == member.text for each in same):
            return None
        return Drift(CHANGED, name, now.file, same[0].line, "", by)
    others = {each.signature for each in owner.members if each.name == member.name}
    if changed := [each for each in same_name if each.signature not in others]:
        taken.add(changed[0])
        return Drift(CHANGED, name, now.file, changed[0].line, f"{now.name}.{changed[0].signature}", by)
    before = {each.signature for each in owner.members}
    for each in now.members:
        if each.kind == member.kind and each.signature not in before and _body(each) == _body(member):
            taken.add(each)
            return Drift(RENAMED, name, now.file, each.line, f"{now.name}.{each.signature}", by)
    if member.kind == "field" and now.kind == "record" and any(each.name == member.name for each in now.members):
        return None  # a component declares field and method at once
    return Drift(REMOVED, name, owner.file, member.line, "", by)


def _successor(owner: KafkaClass, old: KafkaSources, new: KafkaSources) -> KafkaClass | None:
    """What the class is in the newer version: the one of its name, in its own package at best; else one that is new,
    in the same package, and has most of its members.
    """
    simple = owner.name.rpartition(".")[2]
    same_name = [each for each in new.types(simple) if each.name == owner.name]
    for fits in (
        lambda each: (each.full_name, each.kind) == (owner.full_name, owner.kind),
        lambda each: each.full_name == owner.full_name,
        lambda each: _alike(owner, each) > 0,
    ):
        if found := [each for each in same_name if fits(each)]:
            return max(found, key=lambda each: _alike(owner, each))
    directory = owner.file.rpartition("/")[0] + "/"
    known = set(old.files(directory))
    candidates = [each for file in new.files(directory) if file not in known for each in new.types_of_file(file)]
    best = max(candidates, key=lambda each: _alike(owner, each), default=None)
    return best if best is not None and _alike(owner, best) > _ALIKE else None


def _alike(one: KafkaClass, other: KafkaClass) -> float:
    """The share of the members' names that both have, from 0 to 1; 1 for two classes without any."""
    names, others = ({each.name for each in of.members if each.kind != "constructor"} for of in (one, other))
    return len(names & others) / len(names | others) if names | others else 1.0


def _body(member: KafkaMember) -> str:
    return member.text.replace(member.name, "", 1)
