"""Lessons' texts and notebooks, read once for all tests of a process, which change nothing in them."""

from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from minikafka.lab.course.build_lessons import notebook_of
from minikafka.lab.course.build_lessons import read_text as read_text_anew


@cache
def read_text(text: Path) -> Any:
    """The notebook that `text` describes, without outputs."""
    return read_text_anew(text)


@cache
def notebook(text: Path) -> Any:
    """The notebook of the text, as it is stored."""
    return nbformat.read(notebook_of(text), as_version=4)
