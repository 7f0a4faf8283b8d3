"""How long the lessons are to read: a table of words, cells and minutes, and what none may exceed (the minutes that a
lesson tells are in `test_minutes`).

Counted is what a reader meets in the notebook to read: prose, also what is folded; predictions, with the words for each
wrong answer; each sentence of a stepper once a walk. Errata are counted apart: they are folded, for readers of older
texts. The card repeats what the lesson has said, so it is not counted, and the line that tells what comes next is no
cell of its own. Nor are code, what it prints, and the words in pictures counted.
"""

import re
from dataclasses import dataclass

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.exercises.predict_call import predict_calls_in
from minikafka.lab.exercises.prediction import known_beliefs
from minikafka.lab.teaching.lesson_parts import CARD

MOST = 1_800, 60
"""Words and cells that a lesson may have; one that is longer becomes two, as 04a and 04b."""
_NO_WORDS = re.compile(r"<[^>]+>|\]\([^)]*\)|^#+ |^\|[:|-]+\|$", re.MULTILINE)
_WORD = re.compile(r"\S*\w\S*")
_STEP = re.compile(r"^\d+\. +([\w.]+ \d+)\. (.*?)(?: \[.*\])?$", re.MULTILINE)


@dataclass(frozen=True)
class Length:
    """The words of a lesson of each kind, and its cells."""

    prose: int
    predictions: int
    steps: int
    errata: int
    cells: int
    of_code: int
    asked: int
    frames: int

    @property
    def words(self) -> int:
        """All that a reader meets, without errata."""
        return self.prose + self.predictions + self.steps

    @property
    def minutes(self) -> int:
        """What it takes to read the lesson, to run its cells, to answer its questions and to walk with its steppers.

        200 words take a minute, a cell of code one, a prediction one more, and a frame of a stepper ten seconds.
        """
        return round(self.words / 200 + self.of_code + self.asked + self.frames / 6)


def words_in(text: str) -> int:
    """The words of a Markdown text: places of links, tags and the rules of tables are none."""
    return len(_WORD.findall(_NO_WORDS.sub(" ", text)))


def length_of(notebook) -> Length:
    """The length of the lesson in `notebook`."""
    return length_of_cells(nbformat.read(notebook, as_version=4).cells)


def length_of_cells(cells) -> Length:
    """The length of some cells of a lesson."""
    cells = [cell for cell in cells if not cell.source.startswith(CARD)]
    code = [cell for cell in cells if cell.cell_type == "code"]
    asked = [call for cell in code for call in predict_calls_in(cell.source)]
    beliefs = [words for call in asked for words in known_beliefs().get(call.id, {}).values()]
    shown = {
        cell.id: "\n".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs) for cell in code
    }
    walks = [_STEP.findall(words) for words in shown.values()]
    return Length(
        prose=sum(words_in(cell.source) for cell in cells if cell.cell_type == "markdown"),
        predictions=sum(map(words_in, [*(call.question for call in asked), *beliefs])),
        steps=sum(words_in(sentence) for walk in walks for sentence in dict(walk).values()),
        errata=sum(words_in(shown[cell.id]) for cell in code if re.search(r"^erratum\(", cell.source, re.MULTILINE)),
        cells=sum(not cell.source.startswith("**Next:**") for cell in cells),
        of_code=len(code),
        asked=len(asked),
        frames=sum(map(len, walks)),
    )


LENGTHS = {lesson.stem: length_of(lesson) for lesson in lessons()}


def test_words_are_counted_as_a_reader_counts_them():
    assert words_in("# A *log*: [its end](a-b.ipynb#c) is `log_end_offset`.") == 6
    assert words_in("| a | b |\n|:---|---|\n| 1 | – |") == 3
    assert words_in("<details><summary>One answer</summary>\n\nTwo.\n\n</details>") == 3
    assert all(length.steps and length.predictions for length in LENGTHS.values())


def test_the_table_of_lengths(capsys):
    rows = [("lesson", "prose", "predictions", "steps", "words", "of", "cells", "of", "errata", "minutes")]
    for name, each in LENGTHS.items():
        words, cells = MOST
        told = (each.prose, each.predictions, each.steps, each.words, words, each.cells, cells, each.errata)
        rows.append((name, *map(str, told), str(each.minutes)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    with capsys.disabled():
        print()
        for name, *numbers in rows:
            print(f"{name:{widths[0]}}", *(f"{each:>{width}}" for each, width in zip(numbers, widths[1:])), sep="  ")


@pytest.mark.parametrize("name", LENGTHS)
def test_no_lesson_is_longer(name):
    words, cells = MOST
    assert LENGTHS[name].words <= words and LENGTHS[name].cells <= cells


def test_a_card_is_not_counted(tmp_path):
    markdown = nbformat.v4.new_markdown_cell
    for card in ([], [markdown(f"{CARD}\n- One line.")]):
        path = tmp_path / f"{len(card)}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[markdown("# A title"), *card, markdown("**Next:** more")]), path)
        assert (length_of(path).prose, length_of(path).cells) == (4, 1)
