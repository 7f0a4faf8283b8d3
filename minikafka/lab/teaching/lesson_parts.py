"""What a lesson's notebooks say, part by part: its rules, its questions with their places, what its tasks are about.

Part 6 is a notebook of its own, the one to rebuild.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minikafka.lab.course.lesson_notebooks import notebooks_of, rebuild_name
from minikafka.lab.exercises.predict_call import predict_calls_in

CARD = "### Card\n"
"""How the cell begins in which a lesson says what to remember."""

_PART = re.compile(r"^## (\d)\. (.*)$", re.MULTILINE)
_SECTION = re.compile(r"^### (.*)$", re.MULTILINE)
_SECTION_OF_REBUILD = re.compile(r"^## (.*)$", re.MULTILINE)
_REBUILD_PART = 6
_RULE = re.compile(r"^(\d+)\. (.*(?:\n(?!\d+\. |\n).+)*)", re.MULTILINE)
_CHECK = re.compile(r"^\w+\.check\((\w+)\)", re.MULTILINE)
_LABEL = re.compile(r"^\*\*[^*]+\*\*\s*")


@dataclass(frozen=True)
class Cell:
    """A cell of a lesson: its text, the part (0 to 7) and the section in which it stands, and, for code, its number.

    `number` is the one in brackets beside the cell, in its notebook from 1; 0 for prose.
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


def title_of(lesson: Path) -> str:
    """The lesson's title, as in `High watermark`."""
    return cells_of(lesson)[0].text.partition("\n")[0].removeprefix("# ")


def cells_of(lesson: Path) -> list[Cell]:
    """The cells of a lesson: those of the notebook to read, then those of the one to rebuild."""
    to_read, *rebuild = notebooks_of(lesson)
    return [*_cells_to_read(to_read), *(cell for notebook in rebuild for cell in _cells_to_rebuild(notebook))]


def _cells_to_rebuild(notebook: Path) -> list[Cell]:
    found: list[Cell] = []
    section, number = "", 0
    for text, is_code in _texts(notebook):
        number += is_code
        if not is_code and (sections := _SECTION_OF_REBUILD.findall(text)):
            section = sections[-1]
        found.append(Cell(text, _REBUILD_PART, section, number if is_code else 0))
    return found


def _texts(notebook: Path) -> Iterator[tuple[str, bool]]:
    """The text of each cell, and whether it is code."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        yield "".join(cell["source"]), cell["cell_type"] == "code"


def _cells_to_read(notebook: Path) -> list[Cell]:
    found: list[Cell] = []
    part, section, number = 0, "", 0
    for text, is_code in _texts(notebook):
        if is_code:
            number += 1
            found.append(Cell(text, part, section, number))
            continue
        if heads := _PART.findall(text):
            part, section = int(heads[-1][0]), ""
        if sections := _SECTION.findall(text):
            section = sections[-1]
        found.append(Cell(text, part, section))
    return found


def rules_of(lesson: Path) -> dict[int, str]:
    """The rules of the lesson's part 3 by their numbers; {} for a lesson without rules."""
    told = (cell.text for cell in cells_of(lesson) if cell.part == 3 and not cell.number)
    rules = {int(number): " ".join(words.split()) for text in told for number, words in _RULE.findall(text)}
    return rules if [*rules] == [*range(1, len(rules) + 1)] else {}


def questions_of(lesson: Path) -> dict[str, tuple[str, Cell]]:
    """The lesson's predictions in their order: by id, the question and its cell."""
    cells = (cell for cell in cells_of(lesson) if cell.number and "predict(" in cell.text)
    return {call.id: (call.question, cell) for cell in cells for call in predict_calls_in(cell.text)}


def words_before_checks(lesson: Path) -> dict[str, str]:
    """By the name of a function that is checked, the last prose that stands above it."""
    found, words = {}, ""
    for cell in cells_of(lesson):
        if not cell.number:
            words = cell.text
        for name in _CHECK.findall(cell.text) if cell.number else ():
            found[name] = words
    return found


def ideas_of(lesson: Path) -> dict[str, str]:
    """By the name of a function, what the lesson's solutions say of the idea, without headings and labels."""
    solutions = lesson.parent / "solutions" / rebuild_name(lesson)
    return {name: _plain(words) for name, words in words_before_checks(solutions).items()}


def takeaway_of(lesson: Path) -> Takeaway | None:
    """The question to take along; None for a lesson without one."""
    for cell in cells_of(lesson):
        if cell.part == 7 and "**A question to take along.**" in cell.text:
            rest = cell.text.partition("**A question to take along.**")[2]
            question, _, folded = rest.partition("<details>")
            answer = folded.partition("</summary>")[2].partition("</details>")[0]
            return Takeaway(" ".join(question.split()), " ".join(answer.split()))
    return None


def card_of(lesson: Path) -> str:
    """The lesson's card, without its heading: five lines, a picture, a table. Raises ValueError for not exactly one."""
    cards = [cell.text for cell in cells_of(lesson) if cell.text.startswith(CARD)]
    if len(cards) != 1:
        raise ValueError(f"{lesson.name} has {len(cards)} cells that begin with {CARD.strip()}")
    return cards[0].removeprefix(CARD).strip()


def _plain(words: str) -> str:
    prose = [line for line in words.splitlines() if not line.startswith("#")]
    return _LABEL.sub("", " ".join(" ".join(prose).split()))
