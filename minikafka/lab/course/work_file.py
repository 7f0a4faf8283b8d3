"""All that a learner has done, in one file: out of the browser, into a working copy, and to who grades it.

It has the notebooks in which the learner has written, without outputs, and the progress that is kept beside them. In
the browser `my_progress()` offers it; `minikafka lab --take FILE` brings it into the working copy.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.places import COURSE, DESK
from minikafka.lab.course.working_copy import (
    digest_of_cells,
    free_name,
    is_changed,
    laid_in,
    leads_to,
    read_laid,
    replace_unchanged,
    with_pictures_beside,
)
from minikafka.lab.exercises import progress
from minikafka.lab.exercises.plain_file import json_bytes, put_new_file, read_plain_file

NAME = "minikafka-work.json"
"""What the file is called when it leaves the browser, which may add a number."""
_FILES = "minikafka-work*.json"
_MOST_BYTES = 32 << 20
_MOST_VALUES = 1_000_000
"""Commas and brackets; a file with the code of all notebooks has a tenth of it."""
_MOST_BYTES_OF_PROGRESS = 1 << 20
"""With every task of the course it has a tenth of it, and a working copy's own file may have four times as many."""
_VERSION = 1
_KINDS_OF_CELLS = ("code", "markdown", "raw")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class WorkFileError(Exception):
    """What is no such file, or a damaged one; the message says so in one line."""


@dataclass(frozen=True)
class Work:
    """What a file holds: notebooks by their paths in the course, as `json.loads` gives them, and the progress.

    `unknown` names notebooks that the course does not have.
    """

    notebooks: dict[str, dict[str, Any]]
    progress: progress.Progress
    unknown: tuple[str, ...] = ()


def work_of(desk: Path) -> bytes:
    """The file of all that was done at `desk`. Raises OSError."""
    changed: dict[str, Any] = {}
    for name, laid in sorted(read_laid(desk).items()):
        if name.endswith(".ipynb") and is_changed(laid_in(desk / name), laid) and (desk / name).is_file():
            changed[name] = _without_outputs(read_plain_file(desk / name, _MOST_BYTES))
    found = {name: notebook for name, notebook in changed.items() if notebook is not None}
    told = {"what": "minikafka, a learner's work", "version": _VERSION, "notebooks": found}
    told["progress"] = {"version": 1, **progress.read(desk)}
    return json_bytes(told)


def _without_outputs(data: bytes) -> dict[str, Any] | None:
    """The notebook of a file; None for what is none."""
    try:
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
        return notebook
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def read_work(file: Path, course: Path = COURSE, *, handed_in: Path | None = None) -> Work:
    """What a file holds. Of what was `handed_in`, by its real path, no link may lead out. Raises WorkFileError for what
    is no such file, or is damaged; OSError.
    """
    data = read_plain_file(file, _MOST_BYTES, follow_links=handed_in is None, within=handed_in)
    if data.count(b",") + data.count(b"[") + data.count(b"{") > _MOST_VALUES:
        raise WorkFileError(f"{file.name} has more values than all notebooks of the course together")
    try:
        content = json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise WorkFileError(f"{file.name} is damaged, or not what my_progress() lets you download") from None
    if not isinstance(content, dict) or content.get("what") != "minikafka, a learner's work":
        raise WorkFileError(f"{file.name} is not what my_progress() lets you download")
    if content.get("version") != _VERSION:
        raise WorkFileError(f"{file.name} is from a later version of minikafka")
    try:
        of_tasks = json.dumps(content["progress"]).encode()
        if len(of_tasks) > _MOST_BYTES_OF_PROGRESS:
            raise ValueError("more progress than the course has tasks")
        kept = progress.parsed(of_tasks)
        known = {path.relative_to(course).as_posix(): path for path in [*notebooks(course), *_translations(course)]}
        held = content["notebooks"].items()
        of_lessons = {name: _checked(found, known[name]) for name, found in held if name in known}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise WorkFileError(f"{file.name} is damaged: {type(error).__name__}: {error}"[:200]) from None
    return Work(of_lessons, kept, tuple(name for name, _ in held if name not in known))


def _refused(constant: str) -> None:
    """What Python reads as JSON, and a browser does not: NaN and infinities. Raises ValueError."""
    raise ValueError(f"{constant} is no JSON")


def _translations(course: Path) -> list[Path]:
    return [path for path in translations() if path.is_relative_to(course)]


def _checked(found: dict[str, Any], original: Path) -> dict[str, Any]:
    """A notebook with the cells of `found`, and all else as the course has it. Raises what a wrong one leads to."""
    import nbformat

    notebook = json.loads(original.read_bytes())
    notebook["cells"] = list(_cells(found["cells"]))
    try:
        nbformat.validate(nbformat.from_dict(notebook))
    except nbformat.ValidationError as error:
        raise ValueError(str(error).partition("\n")[0]) from None
    return notebook


def _cells(cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    ids: set[str] = set()
    for number, cell in enumerate(cells):
        if cell["cell_type"] not in _KINDS_OF_CELLS:
            raise ValueError(f"cell {number} is of no known kind")
        name = cell.get("id")
        if not isinstance(name, str) or not _ID.fullmatch(name) or name in ids:
            name = f"taken-{number}"
        ids.add(name)
        taken = {"cell_type": cell["cell_type"], "id": name, "metadata": cell.get("metadata", {})}
        taken["source"] = "".join(cell["source"]).splitlines(keepends=True)
        if cell["cell_type"] == "code":
            taken |= {"outputs": [], "execution_count": None}
        elif cell.get("attachments"):
            taken["attachments"] = cell["attachments"]
        yield taken


@contextmanager
def unpacked(submission: Path, course: Path = COURSE) -> Iterator[tuple[list[Path], list[str]]]:
    """The directories in which the notebooks of a submission are: it may be a file of work, or a directory, in which
    files of work may lie beside notebooks; and for each file of work that cannot be read, why. `submission` is a real
    path. Raises OSError where there is no room.
    """
    directories, unread = [submission] if submission.is_dir() else [], []
    with tempfile.TemporaryDirectory() as place:
        for number, file in enumerate(sorted(submission.glob(_FILES)) if directories else [submission]):
            try:
                work = read_work(file, course, handed_in=submission)
            except (WorkFileError, OSError) as failure:
                unread.append(str(failure))
                continue
            directory = Path(place, str(number)).resolve()
            for name, notebook in work.notebooks.items():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).write_bytes(json_bytes(notebook))
            directories.append(directory)
        yield directories, unread


def _of_whole_characters(notebook: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The notebook with U+FFFD in the place of each half of a surrogate pair, and whether there was one."""
    text = json.dumps(notebook, ensure_ascii=False)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return json.loads(whole), whole.count("\ufffd") > text.count("\ufffd")


def take(file: Path, desk: Path = DESK) -> list[str]:
    """Bring what `file` holds into the working copy, which has been laid out; returns a line on each notebook of it.

    A notebook in which nothing was written there becomes the one from the file. Where both were written in, the desk's
    stays, and that of the file is laid beside it. A browser keeps half a character (half of a surrogate pair), and no
    file in UTF-8 can: U+FFFD takes its place. Raises WorkFileError, before anything is changed; OSError.
    """
    work, laid = read_work(file), read_laid(desk)
    told = [f"{name[:80]!r}: left out, because the course has no such notebook" for name in work.unknown]
    for name, notebook in work.notebooks.items():
        whole, has_halves = _of_whole_characters(notebook)
        mended = "; \ufffd stands for half a character, with which JupyterLab could not save it" if has_halves else ""
        target, data = desk / name, with_pictures_beside(json_bytes(whole))
        if not leads_to(target, desk):
            told.append(f"{name}: left out, because {target.parent} is not a directory of its own")
            continue
        cells = digest_of_cells(data)
        known = [laid_in(path) for path in [target, *target.parent.glob(f"{target.stem}-taken-*.ipynb")]]
        if any(each is not None and each.cells == cells for each in known):
            told.append(f"{name}: here already")
        elif not is_changed(laid_in(target), laid.get(name)) and replace_unchanged(target, data, laid.get(name)):
            told.append(f"{name}: taken{mended}")
        else:
            beside = free_name(target, "taken")
            put_new_file(beside, data)
            told.append(
                f"{name}: yours here was changed, too, and stays; the one taken is {beside.name}, beside it{mended}"
            )
    progress.merge(desk, work.progress)
    done = sum(bool(entry["done"]) for entries in work.progress.values() for entry in entries.values())
    tasks = sum(map(len, work.progress.values()))
    return [*told, f"progress: {done} of {tasks} tasks in {file.name} are done; {progress.FILE} knows them now"]
