"""Builds the notebooks from their texts: `python -m minikafka.lab.course.build_lessons [name…]`.

A lesson is written as plain Python with `# %%` cells in its folder of `minikafka/lessons`; that is what is reviewed.
`11a-produce-path.py` becomes `notebooks/11a-produce-path.ipynb`, and `11a-produce-path-rebuild.py`, with the exercises
and rungs, the notebook beside it. `.solutions.py` becomes one of the same name in `notebooks/solutions`, and `.zh.py`
one in `notebooks/zh`, whose first cell chooses that language.

Building runs a text in a fresh kernel and stores the outputs, without the state of widgets; what answers an open
prediction is folded. A test notices when text
and notebook have drifted apart. What Spark and Kafka answered in the text to read
is recorded (`record_answers`). Nothing is stored of a run in which a cell raised, a witness failed or was absent, or
an exercise was failed: the notebook stays as it was, and the exit code is 1.

In a text of solutions a cell says only which function is checked; the function itself comes from the lesson's
`solutions` or `rungs`.
"""

import inspect
import re
import sys
from contextlib import nullcontext
from pathlib import Path

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.record_answers import recorded_for
from minikafka.lab.course.run_lessons import in_one_line
from minikafka.lab.exercises.blanks import is_blank
from minikafka.lab.exercises.predict_call import predict_calls_in
from minikafka.lab.exercises.task import NOT_YET
from minikafka.lab.language.chosen import in_every_language
from minikafka.lab.lesson_folders import lesson_folders, lesson_named

SOLUTIONS = "solutions"


def texts() -> list[Path]:
    """The texts of all lessons in reading order, then those of solutions and of other languages."""
    found = [text for folder in lesson_folders() for text in folder.texts]
    return sorted(found, key=lambda text: (_kind(text), notebook_of(text).stem))


def notebook_of(text: Path) -> Path:
    """The path where the notebook of this text belongs."""
    return COURSE / _kind(text) / f"{text.name.partition('.')[0]}.ipynb"


def _kind(text: Path) -> str:
    """What stands in the name before the suffix: "solutions", the folder of a language, or "" for a lesson's text."""
    return text.stem.partition(".")[2]


def read_text(text: Path):
    """The notebook that `text` describes, without outputs; cells have the same ids each time."""
    import jupytext

    notebook = jupytext.read(text, fmt="py:percent")
    if _kind(text) == SOLUTIONS:
        _write_out_solutions(notebook, text)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{notebook_of(text).stem}-{number:03d}"
        cell.metadata = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _write_out_solutions(notebook, text: Path) -> None:
    """Put the source of each function that a cell checks above the check."""
    folder = lesson_named(notebook_of(text).stem)
    solutions: dict = {}
    for part in (folder.part("solutions"), folder.part("rungs")):
        solutions |= vars(part) if part else {}
    for cell in notebook.cells:
        if check := re.search(r"^\w+\.check\((\w+)\)\Z", cell.source, re.MULTILINE):
            before = cell.source[: check.start()]
            cell.source = f"{before}{inspect.getsource(solutions[check[1]])}\n\n{check[0]}"


class NotBuiltError(Exception):
    """A run whose outputs must not be stored; the message names the cell and says why."""


def build(text: Path) -> Path:
    """Run the lesson and write its notebook; return where. Raises NotBuiltError, and then writes nothing."""
    import nbformat
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    notebook, target = read_text(text), notebook_of(text)
    target.parent.mkdir(exist_ok=True)
    metadata = dict(notebook.metadata)
    begun: list[int] = []
    folder = next((folder for folder in lesson_folders() if folder.text == text), None)
    try:
        with recorded_for(folder) if folder else nullcontext():
            run_in_a_kernel(
                notebook,
                target.parent,
                store_widget_state=False,
                record_timing=False,
                coalesce_streams=True,
                on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
            )
    except (CellControlSignal, DeadKernelError) as failure:
        raise NotBuiltError(_of_cell(notebook.cells[begun[-1]], in_one_line(failure))) from failure
    for cell in notebook.cells:
        if (fault := fault_of(cell)) is not None:
            raise NotBuiltError(_of_cell(cell, fault))
    notebook.metadata = metadata
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        if cell.cell_type == "code":  # what was said while the cell waited has no content left
            cell.outputs = [output for output in cell.outputs if output.get("data") != {}]
    fold_answers(notebook)
    nbformat.write(notebook, target)
    return target


def fold_answers(notebook) -> None:
    """Fold the outputs of each cell that answers an open prediction: of the cell of code that follows it."""
    code, asked = (cell for cell in notebook.cells if cell.cell_type == "code"), False
    for cell in code:
        asks = any(is_blank(call.answer) for call in predict_calls_in(cell.source))
        if asked and not asks:
            cell.metadata["jupyter"] = {"outputs_hidden": True}
        asked = asks


def fault_of(cell) -> str | None:
    """What is wrong with the outputs of a cell that has run: the line that tells, None for nothing."""
    for output in cell.get("outputs", []):
        said = output.get("text") or output.get("data", {}).get("text/plain", "")
        if output.output_type == "error" or output.get("name") == "stderr":
            return said or f"{output.ename}: {output.evalue}"
        if (shown := _FAULTS.search(said)) is not None:
            return shown[0]
        if (compared := _COMPARED.search(said)) is not None and compared[1].count("·") < 2:
            return f"a witness is absent: {compared[0]}"
    return None


def _in_any_language(words: str) -> str:
    """A pattern for `words` in every language; a number may stand in each place in braces."""
    forms = (re.sub(r"\\{\w+\\}", r"\\d+", re.escape(form)) for form in in_every_language(words))
    return f"(?:{'|'.join(forms)})"


_FAULTS = re.compile(
    rf"^{_in_any_language('First difference')}.*|^.*[:：] ?{_in_any_language(NOT_YET)}[.。].*", re.MULTILINE
)
_COMPARED = re.compile(rf"^(.*): {_in_any_language('{operations} operations, {cells} values compared')}$", re.MULTILINE)


def _of_cell(cell, fault: str) -> str:
    return f"cell {cell.id}, {cell.source.splitlines()[-1]}: {fault}"


def main() -> None:
    """Build the lessons whose names contain one of the words on the command line, or all.

    Exits with 1 if one was not built, or if no name contains such a word.
    """
    words = sys.argv[1:] or [""]
    names = {text: notebook_of(text).relative_to(COURSE).as_posix() for text in texts()}
    chosen = [text for text, name in names.items() if any(word in name for word in words)]
    failed = not chosen
    for text in chosen:
        try:
            print(build(text).relative_to(COURSE.parent), flush=True)
        except NotBuiltError as refused:
            failed = True
            print(f"{text.name} was not built: {refused}", file=sys.stderr, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
