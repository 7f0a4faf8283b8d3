"""The sheet of invariants: the rules of all lessons in groups, each with Kafka's method; to be read, or printed on A4.

The words are those of the lessons' part 3. `invariants.toml` in the folder of a lesson says what stands where.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.lesson_folders import LessonFolder, lesson_folders
from minikafka.lab.stepper.kafka_lines import kafka_link
from minikafka.lab.stepper.stepper import with_code
from minikafka.lab.teaching.lesson_parts import rules_of

_HEAD = (
    "What holds, and what each part of Kafka's storage keeps for the others. Behind each invariant stand the rules that"
    f" lessons check (03.1 is rule 1 of lesson 03) and the method of Kafka {KAFKA_VERSION} in which to look first."
)
_STYLE = """
@page { size: A4; margin: 8mm 10mm; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 190mm; font: 8pt/1.3 system-ui, "Helvetica Neue", Arial, sans-serif; color: #111; }
h1 { font-size: 13pt; margin: 0 0 1mm; }
p { margin: 0 0 2mm; }
main { columns: 2; column-gap: 7mm; }
section { margin: 0 0 1.8mm; }
h2 { font-size: 9.6pt; margin: 0 0 .6mm; border-bottom: .3mm solid #555; break-after: avoid; }
ul { margin: 0; padding: 0 0 0 3mm; }
li { margin: 0 0 .5mm; break-inside: avoid; }
.from { color: #444; }
.from code { white-space: nowrap; }
code { font: 7pt ui-monospace, "DejaVu Sans Mono", monospace; }
@media screen { body { padding: 6mm; font-size: 11pt; max-width: 70em; } code { font-size: 10pt; } }
@media screen and (max-width: 50em) { main { columns: 1; } .from code { white-space: normal; } }
"""


@dataclass(frozen=True)
class Invariant:
    """What holds: its words, the rules ("03.1") that it stands for, and Kafka's method, "" for none."""

    words: str
    rules: tuple[str, ...]
    kafka: str


@dataclass(frozen=True)
class Group:
    """Invariants that belong together; `note` limits them, "" for nothing."""

    name: str
    invariants: tuple[Invariant, ...]
    note: str


def all_rules() -> dict[str, str]:
    """The rules of all lessons: "03.1" → its words."""
    return {
        f"{notebook.stem.partition('-')[0]}.{number}": words
        for notebook in lessons()
        for number, words in rules_of(notebook).items()
    }


def groups() -> list[Group]:
    """The groups of the sheet in the order of the lessons. Raises KeyError for a rule that no lesson has."""
    known, rules, limits = all_rules(), {}, {}
    for lesson in lesson_folders():
        rules.update(_rules_on_the_sheet(lesson))
        limits |= _table_of(lesson).get("limits", {})
    invariants: dict[str, list[Invariant]] = {}
    for rule, table in rules.items():
        if "same_as" not in table:
            same = [other for other, told in rules.items() if told.get("same_as") == rule]
            invariants.setdefault(table["group"], []).append(Invariant(known[rule], (rule, *same), table["kafka"]))
    return [Group(name, tuple(each), limits.get(name, "")) for name, each in invariants.items()]


def _rules_on_the_sheet(lesson: LessonFolder) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each rule of a lesson, as in "03.1", with what its folder says of it."""
    for table in _table_of(lesson).get("rules", []):
        yield f"{lesson.number}.{table['rule']}", table


def _table_of(lesson: LessonFolder) -> dict[str, Any]:
    file = lesson.path / "invariants.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def sheet() -> str:
    """The sheet in Markdown."""
    parts = [
        f"# Invariants\n\n{_HEAD} To print it on both sides of a sheet of A4, open [invariants.html](invariants.html)."
    ]
    for group in groups():
        lines = [f"## {group.name}", *(["", f"({group.note})"] if group.note else [])]
        lines += ["", "| | lesson | Kafka |", "|:---|:---|:---|"]
        for each in group.invariants:
            link = f"[`{each.kafka}`]({kafka_link(each.kafka)})" if each.kafka else "–"
            lines.append(f"| {each.words} | {', '.join(each.rules)} | {link} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def printed_sheet() -> str:
    """The sheet as a page of HTML that fills both sides of a sheet of A4."""
    sections = []
    for group in groups():
        items = [f"<li>{with_code(_plain(each.words))} {_from(each)}</li>" for each in group.invariants]
        note = f'<div class="from">({with_code(group.note)})</div>' if group.note else ""
        listed = "\n".join(items)
        sections.append(f"<section><h2>{escape(group.name)}</h2>{note}<ul>\n{listed}\n</ul></section>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Invariants</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>Invariants of Kafka's storage</h1>\n<p>{escape(_HEAD)}</p>\n"
        "<main>\n" + "\n".join(sections) + "\n</main>\n</body></html>\n"
    )


def _from(each: Invariant) -> str:
    kafka = f" · <code>{escape(each.kafka)}</code>" if each.kafka else ""
    return f'<span class="from">[{", ".join(each.rules)}]{kafka}</span>'


def _plain(words: str) -> str:
    """Without emphasis; code stays."""
    return words.replace("*", "")
