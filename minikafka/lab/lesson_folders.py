"""The lessons of the course: each is a folder of `minikafka/lessons`, and no list names them.

`minikafka/lessons/__init__.py` says what such a folder holds. The folders are read here by their place and their parts
imported by name, so that a lesson comes with its folder and goes with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

LESSONS = Path(__file__).parents[1] / "lessons"
REBUILD = "-rebuild"
"""Ends the name of a lesson's second text and notebook, which has its exercises and rungs."""


@dataclass(frozen=True)
class LessonFolder:
    """The folder of one lesson: its `path`, and the `text` that the notebook to read is built from."""

    path: Path
    text: Path

    @property
    def name(self) -> str:
        """The name of the notebook to read without the suffix, as in `03-high-watermark`."""
        return self.text.stem

    @property
    def number(self) -> str:
        """The number in the order of reading, as in `03` or `04a`."""
        return self.name.partition("-")[0]

    @property
    def rebuild(self) -> Path | None:
        """The text of its exercises and rungs, as in `03-high-watermark-rebuild.py`; None for a lesson without any."""
        text = self.text.with_name(f"{self.name}{REBUILD}.py")
        return text if text.exists() else None

    @property
    def package(self) -> str:
        """The package that the folder is, as in `minikafka.lessons.high_watermark`."""
        return f"minikafka.lessons.{self.path.name}"

    @property
    def texts(self) -> list[Path]:
        """Its texts: to read and to rebuild, both in other languages as well, and that of the solutions."""
        return sorted(self.path.glob(f"{self.name}*.py"))

    def part(self, module: str) -> ModuleType | None:
        """Its module `module`, as in `rungs`, imported; None where the lesson has none."""
        name = f"{self.package}.{module}"
        return import_module(name) if find_spec(name) is not None else None


def lesson_folders() -> list[LessonFolder]:
    """The lessons in the order in which they are read."""
    texts = (path for path in LESSONS.glob("*/[0-9][0-9]*-*.py") if "." not in path.stem)
    to_read = (text for text in texts if not text.stem.endswith(REBUILD))
    return [LessonFolder(text.parent, text) for text in sorted(to_read, key=lambda text: text.name)]


def lesson_named(name: str) -> LessonFolder:
    """The lesson one of whose notebooks has this name (without the suffix). Raises KeyError where there is none."""
    for folder in lesson_folders():
        if folder.name == name.removesuffix(REBUILD):
            return folder
    raise KeyError(f"no folder of {LESSONS.name} has a text {name}.py")


def parts(module: str) -> Iterator[ModuleType]:
    """The module `module`, as in `rungs`, of each lesson that has one, in the order in which the lessons are read."""
    for folder in lesson_folders():
        part = folder.part(module)
        if part is not None:
            yield part
