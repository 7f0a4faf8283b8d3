"""What the predictions of a lesson come to, from a run of the course's own notebook in a kernel of its own."""

import functools
import json
from pathlib import Path

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.course.run_lessons import in_one_line

# Runs in the kernel first: each question is asked, as if it had been answered, and what its run gives is kept. No judge
# and no witness is started before a cell asks it: most predictions need none.
_RECORD = """
def _minikafka_record():
    from minikafka.lab.exercises.prediction import look_up
    from minikafka.lab.grading.answer_key import told
    from minikafka.lab.stage.background import nobody_reads
    nobody_reads()
    key = get_ipython()._minikafka_key = {}
    def keep(name, _question, actual, _beliefs):
        key[name] = told(actual)
    look_up(keep)
_minikafka_record()
"""
_ASK = "import json\nprint(json.dumps(get_ipython()._minikafka_key))"


def told(value: object) -> str:
    """A value as it is compared: types count (`1` is not `True`), but a tuple is as good as a list."""
    return repr(_plain(value))


@functools.cache
def answer_key(notebook: Path) -> dict[str, str]:
    """By a prediction's id, what its run gives, as `told` has it. Cells behind the last question are not run.

    Raises RuntimeError in one line where the notebook fails.
    """
    import nbformat
    from nbclient.exceptions import CellExecutionError

    lesson = nbformat.read(notebook, as_version=4)
    ask = nbformat.v4.new_code_cell(_ASK)
    asking = [number for number, cell in enumerate(lesson.cells) if "predict(" in cell.source]
    up_to_the_last_question = lesson.cells[: max(asking, default=-1) + 1]
    lesson.cells = [nbformat.v4.new_code_cell(_RECORD), *up_to_the_last_question, ask]
    try:
        run_in_a_kernel(lesson, notebook.parent)
    except CellExecutionError as failure:
        raise RuntimeError(f"the course's own {notebook.name} cannot be run: {in_one_line(failure)}") from failure
    return json.loads("".join(output.get("text", "") for output in ask.outputs))


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.__name__ if isinstance(value, type) else value
