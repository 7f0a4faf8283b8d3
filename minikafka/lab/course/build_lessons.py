"""Builds the notebooks from their texts: `python -m minikafka.lab.course.build_lessons [name…]`.

A lesson is written as plain Python with `# %%` cells in `notebooks/text/`; that is what is reviewed. Building runs it
in a fresh kernel and stores the outputs, without the state of widgets. A test notices when text and notebook have
drifted apart. Nothing is stored of a run in which a cell raised, a witness failed or was absent, or an exercise was
failed: the notebook stays as it was, and the exit code is 1.

A lesson in another language has its text in a folder, `text/zh`, and the first cell chooses the language.

In a text of solutions a cell says only which function is checked; the function itself comes from
`minikafka.lab.exercises.solutions`.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.run_lessons import in_one_line
from minikafka.lab.exercises.exercise import NOT_YET
from minikafka.lab.language.chosen import in_every_language

TEXTS = COURSE / "text"


def texts() -> list[Path]:
    """The texts of all lessons and solutions, in reading order."""
    return [*sorted(TEXTS.glob("*.py")), *sorted(TEXTS.glob("*/*.py"))]


def notebook_of(text: Path) -> Path:
    """The path where the notebook of this text belongs."""
    return COURSE / text.relative_to(TEXTS).with_suffix(".ipynb")


def read_text(text: Path):
    """The notebook that `text` describes, without outputs; cells have the same ids each time."""
    import jupytext

    notebook = jupytext.read(text, fmt="py:percent")
    if text.parent.name == "solutions":
        _write_out_solutions(notebook)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{text.stem}-{number:03d}"
        cell.metadata = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _write_out_solutions(notebook) -> None:
    """Put the source of each function that a cell checks above the check."""
    words = "\n".join(cell.source for cell in notebook.cells)
    lesson = re.search(r"from minikafka\.lab\.exercises\.(\w+) import", words)[1]
    solutions = vars(importlib.import_module(f"minikafka.lab.exercises.solutions.{lesson}"))
    if ladder := re.search(r"from (minikafka\.lab\.rebuild\.ladders\.\w+) import", words):
        solutions = solutions | vars(importlib.import_module(ladder[1]))
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
    try:
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
    nbformat.write(notebook, target)
    return target


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
    chosen = [text for text in texts() if any(word in text.relative_to(TEXTS).as_posix() for word in words)]
    failed = not chosen
    for text in chosen:
        try:
            print(build(text).relative_to(COURSE.parent), flush=True)
        except NotBuiltError as refused:
            failed = True
            print(f"{text.relative_to(TEXTS)} was not built: {refused}", file=sys.stderr, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
