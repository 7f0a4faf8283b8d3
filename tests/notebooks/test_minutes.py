"""The minutes that lessons tell at their beginnings, to read and to rebuild, and those of the ways through the course.

What a lesson takes to read follows from its length (`test_length`). What it takes to rebuild: 200 words take a minute,
those that say what a function gets and returns too; a cell of code one; a function to complete three more, and each
line of its published solution half a minute.
"""

import inspect
import re

import nbformat
import pytest

from minikafka.lab.course.lesson_notebooks import lessons, rebuild_name
from minikafka.lab.course.places import COURSE
from minikafka.lab.lesson_folders import lesson_named
from tests.notebooks.test_length import LENGTHS, length_of_cells, words_in

MOST_MINUTES_OFF = 5
"""By so much may the minutes that a lesson tells differ from those that it takes."""
RUNGS = "## Rungs"
each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
_ONES = {"five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_TIME = r"(an hour(?: and [a-z-]+ minutes)?|[a-z-]+ minutes)"


def minutes_in(told: str) -> int:
    """The number in `fifty-five minutes`, `an hour` or `an hour and ten minutes`."""
    hours, _, rest = told.rpartition("an hour")
    words = rest.removeprefix(" and ").removesuffix(" minutes")
    return 60 * told.startswith("an hour") + sum(_ONES[word] for word in words.split("-") if word)


def minutes_to_rebuild(lesson) -> tuple[int, int]:
    """What the functions of a lesson take, with all that stands above them, and what the rungs take."""
    cells = nbformat.read(_rebuilt(lesson), as_version=4).cells
    rungs_begin = next((n for n, cell in enumerate(cells) if cell.source.startswith(RUNGS)), len(cells))
    parts = ((cells[:rungs_begin], _solved(lesson, "exercises", "EXERCISES")),
             (cells[rungs_begin:], _solved(lesson, "rungs", "LADDER")))  # fmt: skip
    functions, rungs = (
        _words(cells) / 200
        + sum(cell.cell_type == "code" for cell in cells)
        + sum(3 + _lines(solution) / 2 for solution in solutions)
        for cells, solutions in parts
    )
    return round(functions), round(rungs)


def _rebuilt(lesson):
    return lesson.with_name(rebuild_name(lesson))


def _words(cells) -> int:
    docstrings = (
        text for cell in cells if cell.cell_type == "code" for text in re.findall(r'(?s)"""(.*?)"""', cell.source)
    )
    return sum(words_in(cell.source) for cell in cells if cell.cell_type == "markdown") + sum(map(words_in, docstrings))


def _solved(lesson, part, name):
    return [each.solved_by() for each in getattr(lesson_named(lesson.stem).part(part), name, ())]


def _lines(function) -> int:
    """The lines of a solution below its `def`."""
    return len([line for line in inspect.getsource(function).splitlines()[1:] if line.strip()])


def _told(notebook, pattern):
    head = nbformat.read(notebook, as_version=4).cells[0].source
    found = re.search(pattern.replace("TIME", _TIME), head)
    assert found, f"{notebook.stem} tells its time as in {pattern}"
    return [minutes_in(time) for time in found.groups() if time]


@each_lesson
def test_a_lesson_tells_how_many_minutes_it_takes_to_read(lesson):
    [told] = _told(lesson, r"\*\*Time:\*\* about TIME to read,")
    assert abs(told - LENGTHS[lesson.stem].minutes) <= MOST_MINUTES_OFF


@each_lesson
def test_a_lesson_tells_how_many_minutes_it_takes_to_rebuild(lesson):
    [told] = _told(lesson, r" to read, TIME to rebuild\.")
    assert abs(told - sum(minutes_to_rebuild(lesson))) <= MOST_MINUTES_OFF


@each_lesson
def test_a_lesson_and_its_functions_take_about_an_hour_and_a_half_at_most(lesson):
    """The rungs, which build minikafka's own methods, are a ladder for those who go on."""
    assert LENGTHS[lesson.stem].minutes + minutes_to_rebuild(lesson)[0] <= 100


@each_lesson
def test_a_notebook_to_rebuild_tells_the_same_minutes_and_its_parts(lesson):
    [in_all] = _told(lesson, r" to read, TIME to rebuild\.")
    functions, rungs = minutes_to_rebuild(lesson)
    if not rungs:
        assert _told(_rebuilt(lesson), r"\*\*Time:\*\* TIME\.") == [in_all]
        return
    told = _told(_rebuilt(lesson), r"\*\*Time:\*\* TIME: TIME for the functions, TIME for the rungs?\.")
    assert told == [in_all, told[1], in_all - told[1]]
    assert abs(told[1] - functions) <= MOST_MINUTES_OFF and abs(told[2] - rungs) <= MOST_MINUTES_OFF


def test_two_hours_are_enough_for_the_shortest_way():
    """Its parts, as README and *Start here* name them."""
    minutes = sum(minutes_of_parts(name, read, left_out) for name, (read, left_out) in _TWO_HOURS.items())
    assert 100 <= minutes <= 120


def test_a_day_and_a_week_are_enough_for_the_ways_of_their_names():
    day = 120 + sum(each.minutes for name, each in LENGTHS.items() if name.startswith(_MORE_IN_A_DAY))
    assert day <= 8 * 60 and sum(each.minutes for each in LENGTHS.values()) <= 5 * 8 * 60


_TWO_HOURS = {
    "00-start-here": ("1235", ()),
    "03-high-watermark": ("12347", ("An offset and its place", "Fetching the metadata")),
    "11a-produce-path": ("1234", ()),
}
"""The parts to read of each lesson, and the sections to leave out."""
_MORE_IN_A_DAY = ("01-", "02-", "04a-", "06a-")


def minutes_of_parts(name: str, parts: str, left_out: tuple[str, ...]) -> int:
    """What it takes to read these parts of a lesson without the sections that are left out."""
    chosen, part, section = [], "", ""
    for cell in nbformat.read(COURSE / f"{name}.ipynb", as_version=4).cells:
        for level, title in re.findall(r"^(##+) (.+)$", cell.source, re.MULTILINE):
            part, section = (title[0], "") if level == "##" else (part, title)
        if part in parts and section not in left_out:
            chosen.append(cell)
    return length_of_cells(chosen).minutes


def test_minutes_are_read_as_they_are_written():
    told = ("five minutes", "twenty-five minutes", "an hour", "an hour and thirty-five minutes")
    assert [minutes_in(words) for words in told] == [5, 25, 60, 95]
