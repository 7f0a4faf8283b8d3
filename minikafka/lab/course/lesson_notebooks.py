"""The notebooks of the course. A lesson has one to read and, beside it, one to rebuild: with its exercises and rungs.

This is the one listing of them. Other notebooks that lie in the course's folders, such as solutions, are no lessons.
"""

import re
from pathlib import Path

from minikafka.lab.course.places import COURSE
from minikafka.lab.language.chosen import LANGUAGES
from minikafka.lab.lesson_folders import REBUILD

_HALF = re.compile(r"(\d\d)[a-z]-")


def lessons(course: Path = COURSE) -> list[Path]:
    """The lessons in reading order: of each the notebook to read."""
    return [path for path in _in(course) if not path.stem.endswith(REBUILD)]


def rebuild_name(lesson: Path) -> str:
    """The name that the notebook with the lesson's exercises and rungs has."""
    return f"{lesson.stem}{REBUILD}{lesson.suffix}"


def notebooks_of(lesson: Path) -> list[Path]:
    """The lesson's notebooks: the one to read, and the one to rebuild, where there is one."""
    rebuild = lesson.with_name(rebuild_name(lesson))
    return [lesson, rebuild] if rebuild.exists() else [lesson]


def whole_before(lesson: Path) -> Path | None:
    """The notebook to read of the whole lesson that a half, such as 04a or 04b, was cut from, as learners may still
    have it: it had the name of the first half without the letter. None for a lesson that is no half.
    """
    half = _HALF.match(lesson.name)
    firsts = (path for path in lessons(lesson.parent) if half and path.name.startswith(f"{half[1]}a-"))
    return next((first.with_name(first.name.replace("a-", "-", 1)) for first in firsts), None)


def notebooks(course: Path = COURSE) -> list[Path]:
    """The notebooks of all lessons in reading order."""
    return [notebook for lesson in lessons(course) for notebook in notebooks_of(lesson)]


def translations(course: Path = COURSE) -> list[Path]:
    """The notebooks of the lessons in other languages, in a folder for each."""
    return [notebook for folder in LANGUAGES for notebook in notebooks(course / folder)]


def _in(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9][0-9]*-*.ipynb"), key=lambda path: path.stem)
