"""Each lesson, in every language: its cells show what its notebook holds."""

import pytest

from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.places import COURSE
from tests.notebooks.lessons_on_one_jvm import LessonsOnOneJvm
from tests.notebooks.outputs import code_cells, shown

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def lessons_on_one_jvm(tmp_path_factory):
    with LessonsOnOneJvm(COURSE, tmp_path_factory.mktemp("lessons")) as lessons:
        yield lessons


@pytest.mark.in_parts(4)
@pytest.mark.parametrize("path", [*notebooks(), *translations()], ids=lambda path: path.relative_to(COURSE).as_posix())
def test_a_lesson_shows_what_is_stored(path, lessons_on_one_jvm):
    for (source, stored), outputs in zip(code_cells(path), lessons_on_one_jvm.outputs(path), strict=True):
        assert shown(outputs) == stored, source
