"""A run of a lesson whose outputs also hold what a page without a kernel needs: all frames, questions and answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.exercises.prediction import look_up
from minikafka.witness.spoken import say

RECORD = "application/vnd.minikafka.record+json"
"""The kind of output that `record_of` makes; its `kind` is "player", "question" or "exercise"."""

# Runs in the lesson's kernel, before its first cell.
_LISTEN = """
from minikafka.lab.site.recorded_run import listen
from minikafka.witness.spoken import say
listen(get_ipython())
del listen
"""


class Question:
    """A prediction that nobody has answered yet, with the answer that the run gives."""

    def __init__(self, name: str, question: str, actual: Any, beliefs: Mapping[Any, str]):
        self.name, self.question, self.actual, self.beliefs = name, question, actual, beliefs

    def __repr__(self) -> str:
        return self.question


def listen(shell: Any) -> None:
    """From now on each cell of `shell` (an IPython) that ends with a player, a prediction or an exercise's verdict also
    displays its record, and `predict` looks up the answer instead of waiting for one.
    """
    from IPython.display import publish_display_data

    def after_the_cell(result: Any) -> None:
        record = record_of(result.result)
        if record is not None:
            publish_display_data({RECORD: record, "text/plain": ""})

    look_up(Question)
    shell.events.register("post_run_cell", after_the_cell)


def record_of(value: Any) -> dict[str, Any] | None:
    """What a page needs of a cell's value, as JSON; None for a value that it shows as it is."""
    from minikafka.lab.exercises.task import Verdict
    from minikafka.lab.widgets.player import Player

    if isinstance(value, Player):
        pictures, words = value.pictures, [str(frame) for frame in value.frames]
        return {"kind": "player", "title": value.title, "start": value.slider.value, "frames": pictures, "words": words}
    if isinstance(value, Question):
        beliefs = [[repr(wrong), say(words)] for wrong, words in value.beliefs.items()]
        asked = {"id": value.name, "question": value.question}
        return {"kind": "question", **asked, "answer": repr(value.actual), "beliefs": beliefs}
    if isinstance(value, Verdict):
        return {"kind": "exercise", "name": say(value.task)}
    return None


def recorded_run(notebook_path: Path) -> Any:
    """The notebook at `notebook_path`, run in a fresh kernel, its outputs with their records.

    Raises nbclient's CellExecutionError and DeadKernelError.
    """
    import nbformat

    notebook = nbformat.read(notebook_path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_LISTEN))
    run_in_a_kernel(notebook, notebook_path.parent, store_widget_state=False, coalesce_streams=True)
    del notebook.cells[0]
    return notebook
