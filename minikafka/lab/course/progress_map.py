"""The course as a map: which predictions, exercises and rungs of each lesson the learner has done."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from minikafka.common.at_hand import IN_A_BROWSER
from minikafka.lab.course.lesson_notebooks import lessons, notebooks_of
from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.predict_call import predict_calls_in
from minikafka.lab.exercises.progress import KINDS, desk_here, key_of, read
from minikafka.lab.exercises.task import NOT_ATTEMPTED
from minikafka.lab.widgets import drawing

NO_DESK = (
    "No progress is kept here, because this is not a working copy.\n"
    "`make lab`, or `minikafka lab`, lays one out in my-lessons/ and opens it. There this cell shows what you did."
)
MAP = "lessons.json"
"""Stands in the place of the notebooks in what a browser loads: what each lesson asks."""
_SIGNS = {"done": "✓", "tried": "✗", "open": "·"}
_FILLS = {"done": "committed", "tried": "pending", "open": "panel"}
_RUNGS = re.compile(r"^from minikafka\.lessons\.\w+\.rungs import ", re.MULTILINE)
"""Stands in a lesson's notebook above its first rung, and below its exercises."""


@dataclass(frozen=True)
class Lesson:
    """What a lesson asks: `tasks` has its predictions, exercises and rungs by kind. Each stands there by the name under
    which progress is kept, with the words that are shown: a prediction's id with its question.

    `file` names the notebook to read, `rebuild` the one with exercises and rungs, "" for none.
    """

    file: str
    title: str
    tasks: Mapping[str, Mapping[str, str]]
    rebuild: str = ""

    @property
    def number(self) -> str:
        """The lesson's number in the course, as in `03` or `04a`."""
        return self.file.partition("-")[0]


class ProgressMap:
    """The lessons, and what is kept of the learner's progress (as `minikafka.lab.exercises.progress.read` gives it)."""

    def __init__(self, lessons: Sequence[Lesson], progress: Mapping[str, Mapping[str, Mapping[str, Any]]]):
        self.lessons, self.progress = tuple(lessons), progress

    def __str__(self) -> str:
        rows = [("", "lesson", *KINDS)]
        for lesson in self.lessons:
            marks = ("".join(_SIGNS[self._state(kind, name)] for name in lesson.tasks[kind]) for kind in KINDS)
            rows.append((lesson.number, lesson.title, *marks))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, "✓ done  ✗ tried, not done yet  · open", self._sum()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{lesson.number}</td><td>{_links(lesson)}</td>"
            + "".join(f"<td>{self._boxes(kind, lesson.tasks[kind])}</td>" for kind in KINDS)
            + "</tr>"
            for lesson in self.lessons
        )
        head = "".join(f"<th>{word}</th>" for word in ("", "lesson", *KINDS))
        legend = f"{_box('done', '')} done {_box('tried', '')} tried, not done yet {_box('open', '')} open"
        return drawing.page(
            f'<div style="overflow-x:auto"><table><tr>{head}</tr>{rows}</table></div>'
            f'<div class="mk-faint">{legend}. Point at a box to read what it stands for.</div>{escape(self._sum())}'
        )

    def _boxes(self, kind: str, tasks: Mapping[str, str]) -> str:
        return "".join(_box(self._state(kind, name), self._told(kind, name, words)) for name, words in tasks.items())

    def _state(self, kind: str, name: str) -> str:
        entry = self.progress[kind].get(key_of(name))
        if entry is None:
            return "open"
        return "done" if entry["done"] else "tried"

    def _told(self, kind: str, name: str, words: str) -> str:
        """What a box stands for, and how it went there."""
        entry = self.progress[kind].get(key_of(name))
        if entry is None:
            return words
        seen = entry["solutions_seen"]
        times = [f"{entry['tries']} {'try' if entry['tries'] == 1 else 'tries'}"]
        times += [f"solution seen {'once' if seen == 1 else f'{seen} times'}"] if seen else []
        times += [f"done at try {entry['tries_until_done']}, {entry['done']}"] if entry["done"] else []
        return f"{words}: {', '.join(times)}"

    def _sum(self) -> str:
        """How much of all the lessons is done, in one line."""
        parts = []
        for kind in KINDS:
            names = [name for lesson in self.lessons for name in lesson.tasks[kind]]
            parts.append(f"{sum(self._state(kind, name) == 'done' for name in names)} of {len(names)} {kind}")
        entries = [entry for entries in self.progress.values() for entry in entries.values()]
        seen = sum(entry["solutions_seen"] for entry in entries)
        parts += [f"{seen} solution{'' if seen == 1 else 's'} seen"] if seen else []
        parts += [f"since {min(entry['first'] for entry in entries)[:10]}"] if entries else []
        return ", ".join(parts)


class NoProgress:
    """Stands where there is no working copy."""

    def __str__(self) -> str:
        return NO_DESK

    __repr__ = __str__


class ProgressInTheBrowser(ProgressMap):
    """The map, and below it a link by which the browser saves all that was done there as one file, `work` (see
    `work_file`).
    """

    def __init__(self, lessons: Sequence[Lesson], progress: Mapping[str, Mapping[str, Mapping[str, Any]]], work: bytes):
        super().__init__(lessons, progress)
        self._work = work

    def _repr_html_(self) -> str:
        from minikafka.lab.course.work_file import NAME

        content = base64.b64encode(self._work).decode()
        link = f'<a download="{NAME}" href="data:application/json;base64,{content}">Download all that you did</a>'
        return super()._repr_html_() + drawing.page(
            f'<div class="mk-box">{link}, as one file: this map, and the notebooks in which you wrote, as they were '
            "last saved (Ctrl+S). This browser keeps them until its data of this site are cleared. With "
            f"<code>minikafka lab --take {NAME}</code> you go on in JupyterLab.</div>"
        )


def my_progress() -> ProgressMap | NoProgress:
    """The map of the learner's progress, in a working copy; it is kept in `.progress.json` there."""
    desk = desk_here()
    if desk is None:
        return NoProgress()
    if IN_A_BROWSER:
        from minikafka.lab.course.work_file import work_of

        return ProgressInTheBrowser(lessons_of(COURSE), read(desk), work_of(desk))
    return ProgressMap(lessons_of(COURSE), read(desk))


def lessons_of(course: Path) -> list[Lesson]:
    """The lessons of the course in reading order. What each asks stands in its calls of `predict` and in its stored
    outputs, where nothing was attempted. Where the notebooks are not at hand, `map_of` has them in MAP.
    """
    if (course / MAP).exists():
        return [Lesson(**told) for told in json.loads((course / MAP).read_bytes())]
    return [_lesson(path) for path in lessons(course)]


def map_of(course: Path) -> bytes:
    """The content of MAP."""
    return json.dumps([asdict(lesson) for lesson in lessons_of(course)]).encode()


def _lesson(path: Path) -> Lesson:
    of_lesson = notebooks_of(path)
    cells = [cell for notebook in of_lesson for cell in json.loads(notebook.read_bytes())["cells"]]
    tasks: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    checked = "exercises"
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            tasks["predictions"] |= {call.id: call.question for call in predict_calls_in(source)}
            checked = "rungs" if _RUNGS.search(source) else checked
        for output in cell.get("outputs", []):
            said = "".join(output.get("data", {}).get("text/plain", ""))
            if unattempted := re.match(rf"(.*): {NOT_ATTEMPTED}\. ", said):
                tasks[checked][unattempted[1]] = unattempted[1]
    title = "".join(cells[0]["source"]).partition("\n")[0].removeprefix("# ")
    return Lesson(path.name, title, tasks, *(rebuild.name for rebuild in of_lesson[1:]))


def _links(lesson: Lesson) -> str:
    read = f'<a href="{escape(lesson.file)}">{escape(lesson.title)}</a>'
    return f'{read} · <a href="{escape(lesson.rebuild)}">rebuild</a>' if lesson.rebuild else read


def _box(state: str, told: str) -> str:
    title = f' title="{escape(told)}"' if told else ""
    style = (
        "display:inline-block;width:1.3em;line-height:1.3em;text-align:center;margin:1px 2px 1px 0;"
        f"border:1px solid var(--mk-line);border-radius:3px;background:var(--mk-{_FILLS[state]})"
    )
    return f'<span style="{style}"{title}>{_SIGNS[state]}</span>'
