"""The learner's desk: a working copy of the notebooks, so that the committed ones stay as the tests know them.

`make lab` creates and opens it, `make fresh NOTEBOOK=name` renews one notebook. Nothing that a learner has changed is
ever overwritten: an unchanged copy follows the course, a changed one stays, and `fresh` keeps it under another name.
A notebook that was opened or run, and not written in, is unchanged: JupyterLab itself then writes its kernel's version
into the file, and the outputs, which are as in the course.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from minikafka.lab.course.places import COURSE, DESK
from minikafka.lab.exercises.progress import LAID_OUT

FIRST_LESSON = "00-start-here.ipynb"

_JUPYTER = Path(__file__).parent / "jupyter"
_SKIPPED = {"__pycache__", ".ipynb_checkpoints", "text"}  # `text`: what the notebooks are built from


def lay_out(course: Path = COURSE, desk: Path = DESK) -> list[Path]:
    """Copy what is new or has changed in `course` to `desk`, but leave what the learner changed; return what was
    copied.
    """
    desk.mkdir(parents=True, exist_ok=True)
    laid = _read_laid(desk)
    copied = []
    for source in _files(course):
        name = source.relative_to(course).as_posix()
        target = desk / name
        if target.exists():
            before = laid.get(name)
            is_up_to_date = _digest(source) in (_digest(target), before and before.file)
            if is_up_to_date or _is_changed(target, before):
                continue
        laid[name] = _copy(source, target)
        copied.append(target)
    _write_laid(desk, laid)
    return copied


def fresh(name: str, course: Path = COURSE, desk: Path = DESK) -> Path | None:
    """Renew the notebook `name`; return where the changed one is kept, if it was changed.

    `name` is the notebook's path in the course, or a part of the name of a lesson, not of a solution. Raises ValueError
    when no notebook, or more than one, is meant.
    """
    known = {
        path.relative_to(course).with_suffix("").as_posix(): path for path in _files(course) if path.suffix == ".ipynb"
    }
    notebooks = [path for key, path in known.items() if name.removesuffix(".ipynb") == key]
    notebooks = notebooks or [path for key, path in known.items() if name and name in key and "/" not in key]
    if len(notebooks) != 1:
        raise ValueError(f"{name or 'no name'} means {len(notebooks)} notebooks. There are: {', '.join(known)}")
    source = notebooks[0]
    key = source.relative_to(course).as_posix()
    target, kept = desk / key, None
    laid = _read_laid(desk)
    if target.exists() and _is_changed(target, laid.get(key)) and _is_changed(target, _laid(source)):
        kept = _free_name(target)
        target.rename(kept)
    laid[key] = _copy(source, target)
    _write_laid(desk, laid)
    return kept


def trust(notebooks: list[Path]) -> None:
    """Sign notebooks as one's own: JupyterLab shows no picture of an unsigned one before its cells are run."""
    from nbformat import NO_CONVERT, read
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for notebook in notebooks:
        notary.sign(read(notebook, NO_CONVERT))


def lay_out_and_say(desk: Path = DESK) -> None:
    """Bring the working copy up to date, in one line, and sign what was copied."""
    copied = lay_out(desk=desk)
    print(f"{len(copied)} files laid out in {desk.name}/" if copied else f"{desk.name}/ is up to date", flush=True)
    trust([path for path in copied if path.suffix == ".ipynb"])


def open_lab(desk: Path = DESK) -> None:
    """Replace this process by JupyterLab, with the desk as its root and the first lesson opened."""
    os.execve(sys.executable, lab_command(desk), lab_environment())


def lab_command(desk: Path) -> list[str]:
    """The command that starts JupyterLab on the desk, to be run in `lab_environment()`."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={desk}"]
    command.append(f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}")
    if os.geteuid() == 0:  # in a container, say: Jupyter demands to be told that this is intended
        command.append("--allow-root")
    return command


def lab_environment() -> dict[str, str]:
    """This process's environment, and in it where JupyterLab finds the course's defaults for its settings: it asks
    nobody about news of Jupyter, nor to update it. Who has chosen otherwise in JupyterLab keeps that.
    """
    places = [str(_JUPYTER), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(places)}


def _files(course: Path) -> list[Path]:
    found = (path for path in sorted(course.rglob("*")) if path.is_file())
    return [path for path in found if not _SKIPPED.intersection(path.relative_to(course).parts)]


class _Laid(NamedTuple):
    """What was laid out: the digest of the file, and that of what a learner writes in it (see `_digest_of_cells`)."""

    file: str
    cells: str


def _laid(path: Path) -> _Laid:
    return _Laid(_digest(path), _digest_of_cells(path))


def _is_changed(target: Path, laid: _Laid | None) -> bool:
    """Whether the learner has written in what was laid out."""
    return laid is None or (_digest(target) != laid.file and _digest_of_cells(target) != laid.cells)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest_of_cells(path: Path) -> str:
    """The digest of a notebook's cells, without outputs and metadata; of any other file, its digest."""
    try:
        cells = json.loads(path.read_bytes())["cells"]
        written = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, LookupError, TypeError, RecursionError):
        return _digest(path)
    return hashlib.sha256(json.dumps(written).encode()).hexdigest()


def _copy(source: Path, target: Path) -> _Laid:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return _laid(target)


def _free_name(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.stem}-edited-{number}{path.suffix}")).exists():
        number += 1
    return kept


def _read_laid(desk: Path) -> dict[str, _Laid]:
    """What was laid out, by name. A desk of an earlier version knows the digests of the files alone."""
    try:
        told = json.loads((desk / LAID_OUT).read_text(encoding="utf-8"))
        return {name: _Laid(each, "") if isinstance(each, str) else _Laid(*each) for name, each in told.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write_laid(desk: Path, laid: dict[str, _Laid]) -> None:
    (desk / LAID_OUT).write_text(json.dumps(laid, indent=1), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m minikafka.lab.course.working_copy",
        description=f"Your copy of the lessons, in {DESK}. What you have changed in it is never overwritten.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("open", help="do what `lay` does, then open JupyterLab there (make lab)")
    actions.add_parser("lay", help="copy the notebooks that are new or that you have not changed")
    again = actions.add_parser("fresh", help="get one notebook as the course has it (make fresh NOTEBOOK=…)")
    again.add_argument("notebook", help="its name or a part of it, as in 06-read; yours, if changed, is kept beside it")
    arguments = parser.parse_args()
    if arguments.action == "fresh":
        try:
            kept = fresh(arguments.notebook)
        except ValueError as mistake:
            sys.exit(str(mistake))
        trust(sorted(DESK.rglob(f"*{arguments.notebook.removesuffix('.ipynb')}*.ipynb")))
        print(f"{arguments.notebook} is as it was." + (f" Yours is {kept.name}, beside it." if kept else ""))
        return
    lay_out_and_say()
    if arguments.action == "open":
        open_lab()


if __name__ == "__main__":
    main()
