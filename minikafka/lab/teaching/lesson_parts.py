"""What a lesson's notebook says, part by part: its rules, its questions with their places, what its tasks are about."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.predict_call import predict_calls_in

_PART = re.compile(r"^## (\d)\. (.*)$", re.MULTILINE)
_SECTION = re.compile(r"^### (.*)$", re.MULTILINE)
_RULE = re.compile(r"^(\d+)\. (.*(?:\n(?!\d+\. |\n).+)*)", re.MULTILINE)
_CHECK = re.compile(r"^\w+\.check\((\w+)\)", re.MULTILINE)
_LABEL = re.compile(r"^\*\*[^*]+\*\*\s*")


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook: its text, the part (0 to 7) and the section in which it stands, and, for code, its number.

    `number` is the one in brackets beside the cell, from 1; 0 for prose.
    """

    text: str
    part: int
    section: str
    number: int = 0

    @property
    def where(self) -> str:
        """Where a teacher finds it: the part, the section, and the number beside the cell."""
        section = ", *{}*".format(self.section.replace("*", r"\*")) if self.section else ""
        return f"part {self.part}{section}, cell [{self.number}]"


@dataclass(frozen=True)
class Takeaway:
    """The question that a lesson gives its reader to take along, and its answer."""

    question: str
    answer: str


def lessons() -> list[Path]:
    """The notebooks of the course in their order."""
    return sorted(COURSE.glob("[0-9][0-9]*-*.ipynb"))


def title_of(notebook: Path) -> str:
    """The lesson's title, as in `High watermark`."""
    return cells_of(notebook)[0].text.partition("\n")[0].removeprefix("# ")


def cells_of(notebook: Path) -> list[Cell]:
    """The cells of the lesson in `notebook`."""
    found: list[Cell] = []
    part, section, number = 0, "", 0
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            number += 1
            found.append(Cell(text, part, section, number))
            continue
        if heads := _PART.findall(text):
            part, section = int(heads[-1][0]), ""
        if sections := _SECTION.findall(text):
            section = sections[-1]
        found.append(Cell(text, part, section))
    return found


def rules_of(notebook: Path) -> dict[int, str]:
    """The rules of the lesson's part 3 by their numbers; {} for a lesson without rules."""
    told = (cell.text for cell in cells_of(notebook) if cell.part == 3 and not cell.number)
    rules = {int(number): " ".join(words.split()) for text in told for number, words in _RULE.findall(text)}
    return rules if [*rules] == [*range(1, len(rules) + 1)] else {}


def questions_of(notebook: Path) -> dict[str, tuple[str, Cell]]:
    """The lesson's predictions in their order: by id, the question and its cell."""
    cells = (cell for cell in cells_of(notebook) if cell.number)
    return {call.id: (call.question, cell) for cell in cells for call in predict_calls_in(cell.text)}


def words_before_checks(notebook: Path) -> dict[str, str]:
    """By the name of a function that is checked, the last prose that stands above it."""
    found, words = {}, ""
    for cell in cells_of(notebook):
        if not cell.number:
            words = cell.text
        for name in _CHECK.findall(cell.text) if cell.number else ():
            found[name] = words
    return found


def ideas_of(notebook: Path) -> dict[str, str]:
    """By the name of a function, what the lesson's solutions say of the idea, without headings and labels."""
    solutions = notebook.parent / "solutions" / notebook.name
    return {name: _plain(words) for name, words in words_before_checks(solutions).items()}


def takeaway_of(notebook: Path) -> Takeaway | None:
    """The question to take along; None for a lesson without one."""
    for cell in cells_of(notebook):
        if cell.part == 7 and "**A question to take along.**" in cell.text:
            rest = cell.text.partition("**A question to take along.**")[2]
            question, _, folded = rest.partition("<details>")
            answer = folded.partition("</summary>")[2].partition("</details>")[0]
            return Takeaway(" ".join(question.split()), " ".join(answer.split()))
    return None


def _plain(words: str) -> str:
    prose = [line for line in words.splitlines() if not line.startswith("#")]
    return _LABEL.sub("", " ".join(" ".join(prose).split()))
