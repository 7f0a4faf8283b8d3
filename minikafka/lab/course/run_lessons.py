"""`make lessons`: run the notebooks of the lessons one after another without a browser, and say in one line each how it
went.

A line has the seconds, the number of quantities on which the witnesses agreed, of differences that a planted bug made
them find and of exercises whose checks were run, and how long the first cell and the slowest other one took. Agreements
and exercises are counted by the values that cells show: `Agreement`s and `Verdict`s.
"""

import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from minikafka.lab.course.lesson_kernel import run_in_a_kernel
from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.places import COURSE
from minikafka.witness.agreement import Agreement

# Runs in the lesson's kernel, before its first cell.
_LISTEN = """
def _minikafka_listen(shell):
    from minikafka.lab.course.run_lessons import Tally
    shell._minikafka_tally = tally = Tally()
    shell.events.register("post_run_cell", lambda result: tally.count(result.result))
_minikafka_listen(get_ipython())
del _minikafka_listen
"""
_ASK = "print(get_ipython()._minikafka_tally.line())"
_FAILED = "FAILED: "
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Tally:
    """What the cells of one lesson have shown so far."""

    agreed: set[str] = field(default_factory=set)
    witnesses: set[str] = field(default_factory=set)
    differences: int = 0
    exercises: set[str] = field(default_factory=set)

    def count(self, value: object) -> None:
        """Count the value that a cell ended with; of a tuple or list, each element."""
        from minikafka.lab.exercises.task import Verdict

        if isinstance(value, tuple | list):
            for each in value:
                self.count(each)
        elif isinstance(value, Agreement):
            self.witnesses.update(value.witnesses)
            self.agreed.update(value.agreed_quantities)
            self.differences += not value
        elif isinstance(value, Verdict):
            self.exercises.add(value.task)

    def line(self) -> str:
        """`3 witnesses agree on 9 quantities, 1 difference found, 4 exercises checked`."""
        parts = [f"{_plural(len(self.exercises), 'exercise')} checked"]
        if self.differences:
            parts.insert(0, f"{_plural(self.differences, 'difference')} found")
        if self.witnesses:
            parts.insert(0, f"{len(self.witnesses)} witnesses agree on {len(self.agreed)} quantities")
        return ", ".join(parts)


def run_lesson(path: Path) -> str:
    """Run the notebook at `path` in a kernel of its own; return the tally's line and how long a reader would have
    waited.

    Raises nbclient's CellExecutionError.
    """
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    listen, ask = nbformat.v4.new_code_cell(_LISTEN), nbformat.v4.new_code_cell(_ASK)
    notebook.cells = [listen, *notebook.cells, ask]
    begun, ended = {}, {}
    run_in_a_kernel(
        notebook,
        path.parent,
        on_cell_execute=lambda cell, cell_index: begun.update({cell_index: time.monotonic()}),
        on_cell_executed=lambda cell, cell_index, **_: ended.update({cell_index: time.monotonic()}),
    )
    tally = "".join(output.get("text", "") for output in ask.outputs).strip()
    cells = enumerate(notebook.cells[1:-1], 1)
    first, *others = [ended[i] - begun[i] for i, cell in cells if cell.cell_type == "code"]
    return f"{tally}; first cell {first:.1f} s, slowest other {max(others, default=0):.1f} s"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def main() -> None:
    """Run the notebooks named on the command line, or those of all lessons in all languages.

    Exits with 1 if one fails.
    """
    chosen = [Path(name) for name in sys.argv[1:]] or [*notebooks(), *translations()]
    names = [path.stem if path.parent.resolve() == COURSE else f"{path.parent.name}/{path.stem}" for path in chosen]
    width = max(map(len, names), default=0)
    begin, failures = time.monotonic(), 0
    for name, path in zip(names, chosen, strict=True):
        seconds, outcome = _timed_run(path)
        failures += outcome.startswith(_FAILED)
        print(f"{name:{width}}  {seconds:5.1f} s  {outcome}", flush=True)
    print(f"{_plural(len(chosen), 'notebook')} in {time.monotonic() - begin:.0f} s, {failures} failed")
    sys.exit(failures > 0 or not chosen)


def _timed_run(path: Path) -> tuple[float, str]:
    begin = time.monotonic()
    try:
        outcome = run_lesson(path)
    except Exception as failure:  # any failure is that lesson's; the others still run
        outcome = f"{_FAILED}{in_one_line(failure)}"
    return time.monotonic() - begin, outcome


def in_one_line(failure: Exception) -> str:
    """What a cell raised: the last line of nbclient's report, without colours."""
    return _COLOUR.sub("", str(failure)).strip().splitlines()[-1]


if __name__ == "__main__":
    main()
