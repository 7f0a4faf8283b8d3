"""The learner's desk: a working copy of the notebooks, so that the committed ones stay as the tests know them.

`make lab` creates and opens it, `make fresh NOTEBOOK=name` renews one notebook. Nothing that a learner has changed is
ever overwritten: an unchanged copy follows the course, a changed one stays, and `fresh` keeps it under another name.
A notebook that was opened or run, and not written in, is unchanged: JupyterLab itself then writes its kernel's version
into the file, and the outputs, which are as in the course.

A lesson is laid out without the outputs below its first open prediction, since they answer it. The course's own
notebook keeps them, for readers without a kernel.

Exercises and rungs once stood in the lesson's notebook, and some lessons were cut into halves, as 04 into 04a and 04b.
Where a learner has written in a copy of an earlier edition, that copy stays, and the notebook to rebuild is laid beside
it with the learner's functions in it. An unchanged copy of a lesson that is two now goes.

A working copy may be from somebody else. Nothing outside of it is written: a link, or anything else that has the name
of a file of the course and is none, stays as it is, and nothing is laid there. The working copy itself may be a link of
the learner's own, to a larger disk, say: to a directory that is empty, or in which the lessons were laid out before.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.common.at_hand import LOCK_EX, flock
from minikafka.common.draft_file import move_to_free_name, remove_left_drafts
from minikafka.common.errors import IOException
from minikafka.common.python_source import parse
from minikafka.lab.course.lesson_notebooks import lessons, rebuild_name, whole_before
from minikafka.lab.course.places import COURSE, DESK
from minikafka.lab.exercises.blanks import is_blank, is_stub
from minikafka.lab.exercises.plain_file import json_bytes, put_new_file, read_plain_file, replace_plain_file
from minikafka.lab.exercises.predict_call import PredictCall, predict_calls_in
from minikafka.lab.exercises.progress import LAID_OUT
from minikafka.lab.lesson_folders import REBUILD
from minikafka.tools.tool_command import failures_in_one_line

FIRST_LESSON = "00-start-here.ipynb"
SOLUTIONS = "solutions"
WORKSPACE = ".workspaces/default-37a8.jupyterlab-workspace"
"""Where JupyterLab keeps, in the desk, what was open when it was left; the name is JupyterLab's."""

_JUPYTER = Path(__file__).parent / "jupyter"
_CHECK = re.compile(r"^\w+\.check\((\w+)\)", re.MULTILINE)
_PICTURE = re.compile(rb"\]\(\.\./((?:\.\./)?diagrams/)")
"""A link to a picture, which lies beside the course and in the desk."""
_SKIPPED = {"__pycache__", ".ipynb_checkpoints"}
_OF_THE_VIEW = {"collapsed", "execution", "jupyter", "scrolled", "trusted"}
"""Of a cell's metadata, what JupyterLab writes when a notebook is only looked at and run."""
_MOST_BYTES = 64 << 20
"""No file of the course is larger: a larger one is the learner's."""


def lay_out(course: Path = COURSE, desk: Path = DESK) -> list[Path]:
    """Copy what is new or has changed in `course` to `desk`, but leave what the learner changed; return what was
    copied. Raises IOException where the desk is not a directory that may be written in, and OSError.
    """
    copied = []
    with _laying_out(desk) as laid:
        to_lay = {**_named(_files(course), course), **_named(_pictures(course), course.parent)}
        _remove_left_drafts(desk, to_lay)
        for name, source in to_lay.items():
            target = desk / name
            if not leads_to(target, desk):
                continue
            if os.path.lexists(target):
                data = _to_lay(source)
                before, now, wanted = laid.get(name), laid_in(target), laid_of(data)
                if now is not None and now.file == wanted.file:
                    laid[name] = wanted  # an earlier start may have been killed before it noted this
                    continue
                if is_changed(now, before) or (before and before.file == wanted.file):
                    continue
                if not replace_unchanged(target, data, before):
                    continue
                laid[name] = wanted
            else:
                try:
                    laid[name] = _copy(source, target, _written_before(source, target))
                except FileExistsError:  # an editor has just saved it
                    continue
            copied.append(target)
        for name in _cut_into_halves(course).keys() & laid.keys():
            target = desk / name
            if leads_to(target, desk) and not is_changed(laid_in(target), laid[name]):
                if (away := _take_away(target, laid[name])) is not None:
                    away.unlink()
                    del laid[name]
        workspace = desk / WORKSPACE
        if leads_to(workspace, desk) and not os.path.lexists(workspace):
            with suppress(FileExistsError):  # JupyterLab has just written it
                _copy(_JUPYTER / "workspace.json", workspace)
    return copied


def fresh(name: str, course: Path = COURSE, desk: Path = DESK) -> Path | None:
    """Renew the notebook `name`; return where the changed one is kept, if it was changed.

    `name` is the notebook's path in the course, or a part of the name of a lesson, not of a solution; of the two
    notebooks of a lesson it then means the one to read, unless only the other has it. Raises ValueError when no
    notebook, or more than one, is meant; IOException where the desk is not a directory that may be written in; and
    OSError.
    """
    source = course / meant(name, course)
    key = source.relative_to(course).as_posix()
    target, data, kept = desk / key, _to_lay(source), None
    with _laying_out(desk) as laid:
        if not leads_to(target, desk):
            raise IOException(f"{target.parent} is not a directory of its own: nothing is laid there")
        while not replace_unchanged(target, data, laid.get(key), laid_of(data)):
            # Changed, or saved by an editor just now: it is kept, and then asked again.
            if os.path.lexists(target):
                kept = free_name(target)
                target.rename(kept)
        laid[key] = laid_of(data)
    return kept


@contextmanager
def _laying_out(desk: Path) -> Iterator[dict[str, "Laid"]]:
    """What was laid out, to be changed; it is noted at the end. Meanwhile other processes that lay out there wait.

    Raises IOException where the desk is not a directory that may be written in, and OSError.
    """
    _make_directory(desk)
    directory = os.open(desk, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            flock(directory, LOCK_EX)
        laid = read_laid(desk)
        yield laid
        _write_laid(desk, laid)
    finally:
        os.close(directory)


def meant(name: str, course: Path = COURSE) -> Path:
    """The path, in the course, of the one notebook that `name` means (see `fresh`). Raises ValueError."""
    known = {
        path.relative_to(course).with_suffix("").as_posix(): path for path in _files(course) if path.suffix == ".ipynb"
    }
    notebooks = [path for key, path in known.items() if name.removesuffix(".ipynb") == key]
    notebooks = notebooks or [path for key, path in known.items() if name and name in key and "/" not in key]
    notebooks = [path for path in notebooks if not path.stem.endswith(REBUILD)] or notebooks
    if len(notebooks) != 1:
        raise ValueError(f"{name or 'no name'} means {len(notebooks)} notebooks. There are: {', '.join(known)}")
    return notebooks[0].relative_to(course)


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
    for name, halves in sorted(_cut_into_halves(COURSE).items()):
        if os.path.lexists(desk / name):
            print(f"{name} is in two halves now, {' and '.join(halves)}; yours stays", flush=True)
    trust([path for path in copied if path.suffix == ".ipynb"])


def open_lab(desk: Path = DESK) -> None:
    """Replace this process by JupyterLab, with the desk as its root and the first lesson opened.

    It works in a directory of Python's own: in its working directory JupyterLab looks for programs to start
    (`node_modules`), and that would be the one in which the command is given. Notebooks work in theirs.
    """
    command = lab_command(desk)
    os.chdir(sys.prefix)
    os.execve(sys.executable, command, lab_environment())


def lab_command(desk: Path) -> list[str]:
    """The command that starts JupyterLab on the desk, to be run in `lab_environment()`.

    `-P` keeps JupyterLab from importing out of the directory in which the command is given; a notebook's kernel does
    import from the notebook's directory. The desk has a workspace of its own: a learner's other notebooks are not
    opened in it, and at first the lesson has the whole window, with the list of files folded away.
    """
    command = [sys.executable, "-P", "-m", "jupyterlab", f"--ServerApp.root_dir={os.path.abspath(desk)}"]
    command.append(f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}")
    workspace = desk / WORKSPACE
    if leads_to(workspace, desk) and not workspace.is_symlink():
        command.append(f"--LabApp.workspaces_dir={os.path.abspath(workspace.parent)}")
    if os.geteuid() == 0:  # in a container, say: Jupyter demands to be told that this is intended
        command.append("--allow-root")
    return command


def lab_environment() -> dict[str, str]:
    """This process's environment, and in it where JupyterLab finds the course's defaults for its settings: it asks
    nobody about news of Jupyter, nor to update it, and its list of files leaves out the diagrams, which the lessons
    show, and the times of the last changes, for which names would be cut. A learner's own settings go before these.
    """
    places = [str(_JUPYTER), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(places)}


def _files(course: Path) -> list[Path]:
    found = (path for path in sorted(course.rglob("*")) if path.is_file())
    return [path for path in found if not _SKIPPED.intersection(path.relative_to(course).parts)]


def _pictures(course: Path) -> list[Path]:
    """The drawn diagrams beside the course, to which its texts lead."""
    return sorted((course.parent / "diagrams").rglob("*.svg"))


def _named(files: list[Path], top: Path) -> dict[str, Path]:
    return {path.relative_to(top).as_posix(): path for path in files}


class Laid(NamedTuple):
    """What was laid out: the digest of the file, and that of what a learner writes in it (see `digest_of_cells`)."""

    file: str
    cells: str


def laid_of(data: bytes) -> Laid:
    """What is noted of a file that is laid out with this content."""
    return Laid(hashlib.sha256(data).hexdigest(), digest_of_cells(data))


def laid_in(target: Path) -> Laid | None:
    """What stands in the place of a file of the course; None for what was never laid there: a link, or what cannot be
    read.
    """
    try:
        return laid_of(read_plain_file(target, _MOST_BYTES))
    except OSError:
        return None


def is_changed(now: Laid | None, laid: Laid | None) -> bool:
    """Whether the learner has written in what was laid out."""
    return now is None or laid is None or (now.file != laid.file and now.cells != laid.cells)


def digest_of_cells(data: bytes) -> str:
    """The digest of a notebook's cells, without outputs and what JupyterLab writes by itself; of any other file, its
    digest.
    """
    try:
        written = [_written_in(cell) for cell in json.loads(data)["cells"]]
        return hashlib.sha256(json.dumps(written).encode()).hexdigest()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return hashlib.sha256(data).hexdigest()


def _written_in(cell: dict[str, Any]) -> list[Any]:
    """What a learner writes in a cell: its kind and source; also pictures and marks such as tags, if there are any."""
    marks = {name: value for name, value in cell.get("metadata", {}).items() if name not in _OF_THE_VIEW}
    more = [each for each in (cell.get("attachments"), marks) if each]
    return [cell["cell_type"], "".join(cell["source"]), *more]


def _make_directory(desk: Path) -> None:
    if desk.is_symlink():
        _require_own_link(desk)
    elif desk.exists():
        if not desk.is_dir():
            raise IOException(f"{desk} is not a directory of its own: nothing is laid there")
        # Changed notebooks stay as they are, and would be opened as the learner's own. Root has a learner's directory
        # from outside of a container.
        if os.geteuid() not in (0, desk.stat().st_uid):
            raise IOException(f"{desk} belongs to somebody else (user {desk.stat().st_uid}): nothing is laid there")
    desk.mkdir(parents=True, exist_ok=True)


def _require_own_link(desk: Path) -> None:
    """Raises IOException for a link of somebody else's, or to a directory with other things; OSError."""
    if not desk.is_dir() or desk.lstat().st_uid != os.geteuid():
        raise IOException(f"{desk} is a link, and not one of yours to a directory: nothing is laid there")
    if os.listdir(desk) and not os.path.lexists(desk / LAID_OUT):
        raise IOException(
            f"{desk} is a link to a directory with other files: nothing is laid there; an empty one will do"
        )


def leads_to(target: Path, desk: Path) -> bool:
    """Whether what lies between `desk` and `target` is directories, or still missing: no link leads elsewhere."""
    between = [parent for parent in target.parents if parent.is_relative_to(desk) and parent != desk]
    return not any(parent.is_symlink() or (parent.exists() and not parent.is_dir()) for parent in between)


def _remove_left_drafts(desk: Path, names: Iterable[str]) -> None:
    """Remove what was being written when an earlier start, or a notebook that kept progress, was killed."""
    for directory in sorted({(desk / name).parent for name in names} | {desk}):
        if leads_to(directory / "any", desk) and directory.is_dir():
            remove_left_drafts(directory)


def _copy(source: Path, target: Path, functions: Mapping[str, str] | None = None) -> Laid:
    """Lay `source` out at `target`, with the learner's `functions` in it; return what was laid out without these."""
    target.parent.mkdir(parents=True, exist_ok=True)
    data = _to_lay(source)
    put_new_file(target, _with_functions(data, functions) if functions else data)
    return laid_of(data)


def replace_unchanged(target: Path, data: bytes, *laid: Laid | None) -> bool:
    """Put `data` where nothing stands, or one of `laid` in which the learner has not written.

    An editor may save there at the same moment: then its file stays, and the result is False. Raises OSError.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    away = None
    if os.path.lexists(target) and (away := _take_away(target, *laid)) is None:
        return False
    try:
        put_new_file(target, data)
        is_replaced = True
    except FileExistsError:
        is_replaced = False
    except BaseException:
        if away is not None:
            _put_back(away, target)
        raise
    if away is not None:
        away.unlink()
    return is_replaced


def _take_away(target: Path, *laid: Laid | None) -> Path | None:
    """Move what was laid out to a name beside it, which is returned; None where the learner has written in it.

    It is looked at only then, when an editor that saves finds it no more.
    """
    away = free_name(target)
    target.rename(away)
    now = laid_in(away)
    if not all(is_changed(now, each) for each in laid):
        return away
    _put_back(away, target)
    return None


def _put_back(away: Path, target: Path) -> None:
    with suppress(FileExistsError):  # an editor has saved there: then both stay
        move_to_free_name(away, target)


def _cut_into_halves(course: Path) -> dict[str, list[str]]:
    """The names that notebooks of whole lessons had, and of each the names of the halves that the lesson is now."""
    halves: dict[str, list[str]] = {}
    for lesson in lessons(course):
        if whole := whole_before(lesson):
            for name in (whole.name, rebuild_name(whole), f"{SOLUTIONS}/{rebuild_name(whole)}"):
                halves.setdefault(name, []).append(lesson.name)
    return halves


def _written_before(source: Path, target: Path) -> dict[str, str]:
    """Of a notebook to rebuild, the functions that the learner has written in copies of earlier editions: in the
    notebook to read, and in those of the whole lesson of which it is a half. By name, the source of the cell; {} for
    any other file.
    """
    if not target.stem.endswith(REBUILD) or target.parent.name == SOLUTIONS:
        return {}
    lesson = source.with_name(f"{source.stem.removesuffix(REBUILD)}{source.suffix}")
    whole = whole_before(lesson)
    earlier = [lesson.name, *([whole.name, rebuild_name(whole)] if whole else [])]
    return {name: cell for each in earlier for name, cell in _functions_in(target.with_name(each)).items()}


def _functions_in(notebook: Path) -> dict[str, str]:
    """The functions that a learner has written in a notebook: by name, the source of the cell."""
    try:
        cells = json.loads(read_plain_file(notebook, _MOST_BYTES))["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return {name: source for source in sources for name in _checked_in(source)}


def _checked_in(source: str) -> list[str]:
    """The functions that a cell defines and checks, stubs left out."""
    try:
        body = parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    written = {each.name for each in body if isinstance(each, ast.FunctionDef) and not is_stub(each)}
    return [name for name in _CHECK.findall(source) if name in written]


def _with_functions(data: bytes, functions: Mapping[str, str]) -> bytes:
    """A notebook with the learner's cell in the place of each that checks one of `functions`."""
    notebook = json.loads(data)
    for cell in notebook["cells"]:
        names = _CHECK.findall("".join(cell["source"])) if cell["cell_type"] == "code" else []
        for name in functions.keys() & names:
            cell["source"], cell["outputs"], cell["execution_count"] = functions[name], [], None
    return json_bytes(notebook)


def _to_lay(source: Path) -> bytes:
    """The bytes of a file of the course as they are laid out: of a lesson, without what answers an open prediction.

    Links to pictures lead into the desk, because JupyterLab shows nothing that lies above its root.
    """
    data = source.read_bytes()
    if source.suffix != ".ipynb":
        return data
    data = with_pictures_beside(data)
    if source.parent.name == SOLUTIONS:
        return data
    try:
        notebook = json.loads(data)
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        asks = [any(map(_is_open, predict_calls_in("".join(cell["source"])))) for cell in code]
    except (ValueError, LookupError, TypeError, SyntaxError):
        return data
    for cell in code[asks.index(True) :] if True in asks else []:
        cell["outputs"], cell["execution_count"], cell["metadata"] = [], None, {}
    return json_bytes(notebook)


def with_pictures_beside(notebook: bytes) -> bytes:
    """The bytes of a notebook, whose links to pictures lead into the desk."""
    return _PICTURE.sub(rb"](\1", notebook)


def _is_open(call: PredictCall) -> bool:
    return is_blank(call.answer)


def free_name(path: Path, why: str = "edited") -> Path:
    """A name beside `path` that nothing has, as in `03-high-watermark-edited-1.ipynb`."""
    number = 1
    while os.path.lexists(kept := path.with_name(f"{path.stem}-{why}-{number}{path.suffix}")):
        number += 1
    return kept


def read_laid(desk: Path) -> dict[str, Laid]:
    """What was laid out, by name. A desk of an earlier version knows the digests of the files alone.

    Raises IOException for a link, or anything else that is no plain file; OSError.
    """
    try:
        told = json.loads(read_plain_file(desk / LAID_OUT, _MOST_BYTES))
        laid = {name: Laid(each, "") if isinstance(each, str) else Laid(*each) for name, each in told.items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    are_digests = all(isinstance(digest, str) for each in laid.values() for digest in each)
    return laid if are_digests else {}


def _write_laid(desk: Path, laid: dict[str, Laid]) -> None:
    replace_plain_file(desk / LAID_OUT, json.dumps(laid, indent=1).encode())


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m minikafka.lab.course.working_copy",
        description=f"Your copy of the lessons, in {DESK}. A notebook of which you have changed a cell stays.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("open", help="do what `lay` does, then open JupyterLab there (make lab)")
    actions.add_parser("lay", help="copy the notebooks that are new or that you have not changed")
    again = actions.add_parser("fresh", help="get one notebook as the course has it (make fresh NOTEBOOK=…)")
    again.add_argument("notebook", help="its name or a part of it, as in 06a-read; yours, if changed, is kept beside")
    arguments = parser.parse_args()
    with failures_in_one_line(exit_code=1):
        if arguments.action == "fresh":
            try:
                kept = fresh(arguments.notebook)
            except ValueError as mistake:
                sys.exit(str(mistake))
            trust([DESK / meant(arguments.notebook)])
            print(f"{arguments.notebook} is as it was." + (f" Yours is {kept.name}, beside it." if kept else ""))
            return
        lay_out_and_say()
        if arguments.action == "open":
            open_lab()


if __name__ == "__main__":
    main()
