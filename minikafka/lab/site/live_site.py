"""The lessons as notebooks that run in the reader's own browser, with no server:
`python -m minikafka.lab.site.live_site [FOLDER]`.

JupyterLite is a JupyterLab of static files, and Pyodide a Python in WebAssembly. Both lie on the site itself, with
minikafka's wheel and those that it needs: no other host is asked for anything. The notebooks are the course's own.

The kernel starts with the page, beside JupyterLite, and imports what the notebook's cells will: see `in_browser/`. All
wheels are one file there, without what no lesson needs; of the modules that a lesson's start imports it has the
compiled code.

A build takes a minute and depends on few things, so it is kept in the cache until one of them changes.
"""

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click

from minikafka.jvm.cache import cache_dir
from minikafka.lab.course.lesson_notebooks import notebooks, translations
from minikafka.lab.course.places import COURSE, DIAGRAMS
from minikafka.lab.course.progress_map import MAP, map_of
from minikafka.lab.course.working_copy import laid_of
from minikafka.lab.exercises.progress import LAID_OUT
from minikafka.lab.lesson_folders import REBUILD, lesson_folders
from minikafka.lab.site.live_parts import PartsError, node_s, parts
from minikafka.lab.site.own_folder import FolderError, replaced, require_free

LIVE = "live"
"""The folder of the site in which the live lessons are."""
MARK = ".minikafka-live"
NOTEBOOKS = "notebooks"
"""Where in JupyterLite's files the course lies."""
_PACKAGE = Path(__file__).parents[2]
WHOLE = (
    "00-start-here", "01-records", "02-segments", "03-high-watermark", "04a-append", "04b-stored-and-safe",
    "05-producers-and-transactions", "06a-read", "06b-offset-to-bytes", "07-loading", "08a-crash-and-recovery",
    "08b-damaged-files", "09a-storage-layer", "09b-start-and-stop", "10a-compaction", "10b-tombstones-and-markers",
    "11a-produce-path", "11b-produce-purgatory", "12a-replication", "12b-leader-epochs",
)  # fmt: skip
"""The lessons that run whole in a browser, with the outputs that are stored."""
_NEEDS_SPARK = "This lesson is read with its stored outputs: its cells need Spark, which cannot run in a browser."
_NEEDS_SOCKETS = (
    "This lesson is read with its stored outputs: its cells need sockets, which a browser does not give them."
)
_READ_ONLY = {
    "13a-log-directory-at-scale": _NEEDS_SPARK,
    "13b-log-audit": _NEEDS_SPARK,
    "14-wire": _NEEDS_SOCKETS,
}
_COMPILE = Path(__file__).with_name("compile_modules.mjs")
_IN_BROWSER = Path(__file__).with_name("in_browser")
_BEFORE_ALL_ELSE = ("require_https.js", "begin_with_the_page.js", "name_sliders.js", "scroll_by_keyboard.js")
"""The scripts of `in_browser/` that the page of a notebook runs first."""
_PACKED = ".packed"
"""What `in_browser/python.mjs` opens; the end of these files' names."""
_PLAIN_TOO = "pyodide.asm.wasm"
"""What a browser fetches plain after its first visit, for the machine code that it then keeps."""
_LEFT_OUT = re.compile(
    r"pygments/lexers/(?!__init__|_mapping|python\.|special\.).*|IPython/terminal/(?!__init__|pt_inputhooks/__init__).*"
    r"|(?!minikafka/).*/tests/.*|.*\.dist-info/(RECORD|licenses/.*)"
)
"""Of the wheels, what no lesson needs: a megabyte of other languages' colours, a terminal, the packages' own tests, and
lists for an installer.
"""
_OF_THE_COURSE = ("*.ipynb", "data/**/*", "my_log.py", "zh/*.ipynb")
_HANDS_ON_FILES = "shouldBroadcast(a)?n=broadcastOne(t,a):shouldDrop(t,a)||(n=maybeFromCache(e))"
_ANSWERS_FOR_THE_DRIVE = "shouldBroadcast(a)&&(n=broadcastOne(t,a))"
"""What JupyterLite's service worker does with a request, and what it shall do."""
_KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
_OF_THE_KERNEL = ("micropip", "piplite", "ipykernel", "comm", "pyodide-kernel", "jedi", "ipython")
"""What JupyterLite's kernel would find and install, were it not told that it is there. Three are not: the first
two have stand-ins, and without jedi, a megabyte, IPython completes from the objects that there are.
"""
_STAND_INS = _IN_BROWSER / "stand_ins.py"
_IMPORTS_OF_THE_KERNEL = [
    f"import {_STAND_INS.stem}",
    "from pyodide_kernel import kernel_instance; kernel_instance.interpreter.Completer.use_jedi = False",
]
_SAYS_WHY = (
    "from minikafka.lab.site.read_only import say_why_before_errors; from pyodide_kernel import kernel_instance; "
    "say_why_before_errors(kernel_instance.interpreter, {!r})"
)
_APPS = [word for app in ("notebooks", "tree", "edit", "consoles", "lab") for word in ("--apps", app)]
"""A lesson needs the first; its logo and its menus lead to the others."""
_EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "@jupyterlite/pyodide-kernel-extension")
_VERSION = metadata.version("minikafka")
_WHEEL_TIME = (2020, 1, 1, 0, 0, 0)


def rebuilt() -> list[str]:
    """The names of the notebooks to rebuild whose checks work in a browser."""
    return [
        f"{folder.name}{REBUILD}" for folder in lesson_folders() if folder.rebuild and folder.name not in _READ_ONLY
    ]


def is_live(name: str) -> bool:
    """Does the notebook of this name (without suffix) run in a browser, from its first cell to its last?

    A translation has the name of the English one, and runs where that one does.
    """
    return name in WHOLE or name in rebuilt()


def why_not_live(name: str) -> str:
    """A line that tells why the notebook of this name cannot run in a browser; "" for all others."""
    return _READ_ONLY.get(name.removesuffix(REBUILD), "")


def address_of(source: str) -> str:
    """The address of a notebook (by its path in the repository), from the site's top."""
    return f"{LIVE}/notebooks/index.html?path={source}"


def live_site() -> Path:
    """The folder with the live lessons, built when what they are made of has changed. Raises PartsError, OSError."""
    made_of = parts()
    sources = dict(_sources())
    digest = hashlib.sha256(made_of.name.encode())
    for name, path in sources.items():
        digest.update(f"{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    whole = cache_dir() / f"live-{digest.hexdigest()[:16]}"
    if not whole.is_dir():
        with tempfile.TemporaryDirectory(dir=cache_dir()) as place:
            built = _build(Path(place), made_of, sources)
            if not whole.is_dir():  # somebody else may have built the same meanwhile
                built.rename(whole)
        for old in cache_dir().glob("live-*"):
            if old != whole:
                shutil.rmtree(old, ignore_errors=True)
    return whole


def _sources() -> Iterator[tuple[str, Path]]:
    """What of this project a build depends on, by where it lies there: below `wheel/` or `files/`."""
    for path in sorted(_PACKAGE.rglob("*")):
        inner = path.relative_to(_PACKAGE).as_posix()
        if path.is_file() and "__pycache__" not in inner and not inner.startswith("lab/course/carried/"):
            yield f"wheel/minikafka/{inner}", path
    yield f"wheel/{_STAND_INS.name}", _STAND_INS
    carried = "wheel/minikafka/lab/course/carried"
    for path in sorted(DIAGRAMS.rglob("*.svg")):
        yield f"{carried}/diagrams/{path.relative_to(DIAGRAMS).as_posix()}", path
        yield f"files/diagrams/{path.relative_to(DIAGRAMS).as_posix()}", path
    for pattern in _OF_THE_COURSE:
        for path in sorted(COURSE.glob(pattern)):
            inner = path.relative_to(COURSE).as_posix()
            if path.is_file():
                yield f"files/{NOTEBOOKS}/{inner}", path
                if not inner.endswith(".ipynb"):
                    yield f"{carried}/notebooks/{inner}", path


def _build(place: Path, made_of: Path, sources: dict[str, Path]) -> Path:
    for name, path in sources.items():
        if name.startswith("files/"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(_as_jupyterlite_shows_it(path))
    _note_what_is_laid_out(place / "files" / NOTEBOOKS)
    built = place / "built"
    command = [sys.executable, "-P", "-m", "jupyterlite_core.app", "build", "--lite-dir", str(place)]
    command += ["--contents", "files", "--output-dir", str(built), *_APPS]
    command += ["--no-sourcemaps", "--no-unused-shared-packages"]
    command += ["--ContentsManager.allow_hidden=True"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    if done.returncode:
        raise PartsError(f"jupyter lite build: {done.stderr.strip().splitlines()[-1]}")
    pyodide = built / "static" / "pyodide"
    shutil.copytree(made_of, pyodide)
    wheel = pyodide / f"minikafka-{_VERSION}-py3-none-any.whl"
    _write_wheel(wheel, sources)
    for name in ("ipykernel", "pyodide_kernel"):
        (of_the_kernel,) = (built / "extensions" / _EXTENSIONS[1]).glob(f"static/pypi/{name}-*.whl")
        shutil.copy(of_the_kernel, pyodide)
    _list_packages(pyodide)
    _compile_modules(pyodide, place / "imports")
    _pack(pyodide)
    _list_packages(pyodide)
    _lay_down_scripts(built)
    _leave_files_to_the_browser(built / "service-worker.js")
    _configure(built / "jupyter-lite.json")
    return built


def _as_jupyterlite_shows_it(path: Path) -> bytes:
    """The file's content, in a form of the same meaning that JupyterLite shows right.

    Of a picture, letters beyond ASCII are numbers: with others it fails (`btoa`). What a notebook has printed is one
    text: between the lines of a list JupyterLite shows commas.
    """
    if path.suffix == ".svg":
        return path.read_text(encoding="utf-8").encode("ascii", "xmlcharrefreplace")
    if path.suffix != ".ipynb":
        return path.read_bytes()
    notebook = json.loads(path.read_bytes())
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":
                output["text"] = "".join(output["text"])
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()


def _note_what_is_laid_out(course: Path) -> None:
    """Make the notebooks a working copy, which keeps progress, and knows in which of them a learner has written."""
    laid = {path.relative_to(course).as_posix(): laid_of(path.read_bytes()) for path in sorted(course.rglob("*.ipynb"))}
    (course / LAID_OUT).write_text(json.dumps(laid), encoding="utf-8")


def _write_wheel(wheel: Path, sources: dict[str, Path]) -> None:
    information = f"minikafka-{_VERSION}.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, content: bytes) -> None:
            entry = zipfile.ZipInfo(name, _WHEEL_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)

        for name, path in sources.items():
            if name.startswith("wheel/"):
                add(name.removeprefix("wheel/"), path.read_bytes())
        add(f"minikafka/lab/course/carried/notebooks/{MAP}", map_of(COURSE))
        add(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: minikafka\nVersion: {_VERSION}\n".encode())
        add(f"{information}/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        add(f"{information}/RECORD", b"")


def _list_packages(pyodide: Path) -> None:
    """Let Pyodide's list name the wheels that lie beside it, and no others."""
    listed = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = {}
    for wheel in sorted(pyodide.glob("*.whl")):
        written, version = wheel.name.split("-")[:2]
        name = written.lower().replace("_", "-")
        known = listed["packages"].get(name, {"imports": [written]})
        packages[name] = {
            **known, "name": name, "version": version, "file_name": wheel.name, "install_dir": "site",
            "package_type": "package", "unvendored_tests": False, "depends": [],
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        }  # fmt: skip
    listed["packages"] = packages
    (pyodide / "pyodide-lock.json").write_text(json.dumps(listed), encoding="utf-8")


def _compile_modules(pyodide: Path, imports: Path) -> None:
    every = {line for lines in _imports().values() for line in lines}
    imports.write_text("\n".join([*_IMPORTS_OF_THE_KERNEL, *sorted(every)]), encoding="utf-8")
    command = [node_s("node"), str(_COMPILE), str(pyodide), str(imports)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PartsError(f"{_COMPILE.name}: {done.stderr.strip()[-300:]}")


def _imports() -> dict[str, list[str]]:
    """Of each notebook that runs in a browser, the statements by which it imports what is minikafka's."""
    return {
        f"{NOTEBOOKS}/{notebook.relative_to(COURSE).as_posix()}": [
            line
            for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
            if cell["cell_type"] == "code"
            for line in "".join(cell["source"]).splitlines()
            if line.startswith(("from minikafka", "import minikafka"))
        ]
        for notebook in [*notebooks(), *translations()]
        if is_live(notebook.stem)
    }


def _begins() -> dict[str, list[str]]:
    """Of each notebook by its path, the statements that run before its first cell: its imports, or, where it cannot
    run, what lets its errors say why.
    """
    reasons = {f"{NOTEBOOKS}/{path.name}": why_not_live(path.stem) for path in notebooks()}
    return _imports() | {path: [_SAYS_WHY.format(words)] for path, words in reasons.items() if words}


def _pack(pyodide: Path) -> None:
    """Make one file of all wheels, and gzip it and Python itself, as `in_browser/python.mjs` expects them."""
    files = {}
    for wheel in sorted(pyodide.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            files.update((entry.filename, archive.read(entry)) for entry in archive.infolist() if not entry.is_dir())
        wheel.unlink()
    # A module and its compiled code have words in common, so they stand side by side.
    names = sorted(
        (name for name in files if not _LEFT_OUT.fullmatch(name)), key=lambda n: n.replace("__pycache__/", "")
    )
    listed = json.dumps([[name, len(files[name])] for name in names]).encode()
    packages = len(listed).to_bytes(4) + listed + b"".join(files[name] for name in names)
    packed = {"packages": packages, "python_stdlib.zip": _stored(pyodide / "python_stdlib.zip")}
    packed |= {name: (pyodide / name).read_bytes() for name in ("pyodide.asm.wasm", "pyodide.asm.mjs")}
    for name, content in packed.items():
        (pyodide / f"{name}{_PACKED}").write_bytes(gzip.compress(content, 9, mtime=0))
        if name != _PLAIN_TOO:
            (pyodide / name).unlink(missing_ok=True)
    imports = {"kernel": _IMPORTS_OF_THE_KERNEL, "notebooks": _begins()}
    (pyodide / "imports.json").write_text(json.dumps(imports), encoding="utf-8")


def _stored(archive: Path) -> bytes:
    """The archive with its files as they are: together they compress better, and are opened at once."""
    whole = io.BytesIO()
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            new.writestr(zipfile.ZipInfo(entry.filename, entry.date_time), old.read(entry))
    return whole.getvalue()


def _lay_down_scripts(built: Path) -> None:
    """Lay the scripts of `in_browser/` beside Pyodide, and let the page of a notebook begin with those of its own."""
    pyodide = built / "static" / "pyodide"
    (worker,) = (built / "extensions" / _EXTENSIONS[1]).glob("static/comlink.worker.*.js")
    for script in _IN_BROWSER.glob("*.*js"):
        words = script.read_text(encoding="utf-8")
        words = words.replace("COMLINK_WORKER", f"../../{worker.relative_to(built).as_posix()}")
        (pyodide / script.name).write_text(words, encoding="utf-8")
    page = built / "notebooks" / "index.html"
    scripts = "".join(f'<script src="../static/pyodide/{name}"></script>' for name in _BEFORE_ALL_ELSE)
    page.write_text(page.read_text(encoding="utf-8").replace("<head>", f"<head>{scripts}", 1), encoding="utf-8")


def _leave_files_to_the_browser(service_worker: Path) -> None:
    """Let JupyterLite's service worker answer for the kernel's drive alone, not hand on each file of the site: of files
    that it hands on, a browser keeps no machine code.
    """
    words = service_worker.read_text(encoding="utf-8")
    if words.count(_HANDS_ON_FILES) != 1:
        raise PartsError(f"{service_worker.name} is not the one that this build knows")
    service_worker.write_text(words.replace(_HANDS_ON_FILES, _ANSWERS_FOR_THE_DRIVE), encoding="utf-8")


def _configure(file: Path) -> None:
    settings = json.loads(file.read_text(encoding="utf-8"))
    data = settings["jupyter-config-data"]
    data["exposeAppInBrowser"] = True
    data["appName"] = "Inside Kafka's log"
    data["federated_extensions"] = [each for each in data["federated_extensions"] if each["name"] in _EXTENSIONS]
    data.setdefault("litePluginSettings", {}).setdefault(_KERNEL, {}).update(
        pyodideUrl="./static/pyodide/python.mjs",
        disablePyPIFallback=True,
        loadPyodideOptions={"packages": _OF_THE_KERNEL},
    )
    file.write_text(json.dumps(settings, indent=2), encoding="utf-8")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
def main(folder: Path | None) -> None:
    """Build the live lessons, and copy them into FOLDER/live, which is missing, empty, or made by an earlier run."""
    try:
        if folder is not None:
            require_free(folder / LIVE, MARK)
        built = live_site()
        if folder is not None:
            with replaced(folder / LIVE, MARK) as new:
                shutil.copytree(built, new, dirs_exist_ok=True)
    except (FolderError, PartsError, OSError) as failure:
        sys.exit(f"minikafka site: {failure}")
    size = sum(path.stat().st_size for path in built.rglob("*") if path.is_file())
    click.echo(f"{folder / LIVE if folder else built}: {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
