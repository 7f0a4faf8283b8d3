"""Each lesson that a run of `make test` does not open in a browser: its cells show what its notebook holds."""

import nbformat
import pytest

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.course.lesson_notebooks import notebooks
from minikafka.lab.course.places import COURSE
from tests.notebooks.outputs import code_cells, shown


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.in_other_parts
@pytest.mark.parametrize("name", [path.name for path in notebooks()])
def test_a_lesson_shows_what_is_stored(name):
    notebook = nbformat.read(COURSE / name, as_version=4)
    run_in_a_kernel(notebook, COURSE)
    outputs = [shown(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    for (source, stored), now in zip(code_cells(COURSE / name), outputs, strict=True):
        assert now == stored, source
