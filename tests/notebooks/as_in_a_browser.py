"""Runs a notebook where as little is at hand as in a browser: `python -m tests.notebooks.as_in_a_browser NOTEBOOK`.

It prints what each code cell puts out, as JSON. Packages with compiled code that Pyodide does not bring cannot be
imported, no thread, process or socket can be had, and files can be neither mapped nor locked. It stands in for the
browser, which takes ten times as long; what only a browser can show is in tests/slow/browser/test_live_site.py.
"""

import json
import os
import shutil
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from nbformat import NO_CONVERT, read

_NOT_THERE = {
    "crc32c", "fcntl", "llvmlite", "lz4", "mmap", "numba", "numpy", "pandas", "psutil", "py4j", "pyarrow", "pyspark",
    "snappy", "zstandard",
}  # fmt: skip
Outputs = list[dict[str, Any]]


class _WithoutSome:
    """A finder of modules that does not find those in `_NOT_THERE`."""

    def __init__(self, finder: Any):
        self._finder = finder

    def find_spec(self, name: str, *where: Any) -> Any:
        return None if name.split(".")[0] in _NOT_THERE else self._finder.find_spec(name, *where)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


def _refused(*_: Any, **__: Any) -> None:
    raise OSError("not in a browser")


def take_away() -> None:
    """From now on this process has no more than a browser; what minikafka has decided before stays."""
    for name in list(sys.modules):
        if name.split(".")[0] in _NOT_THERE:
            del sys.modules[name]
    sys.meta_path[:] = [_WithoutSome(finder) for finder in sys.meta_path]
    del os.preadv, os.fork, os.sendfile
    shutil._USE_CP_SENDFILE = False  # type: ignore[attr-defined]
    threading.Thread.start = socket.socketpair = _refused  # type: ignore[method-assign,assignment]
    sys.platform = "emscripten"


outputs: Outputs = []
"""Of the cell that runs, in the form of a notebook's."""


class _Stream:
    """Standard output or error."""

    def __init__(self, name: str):
        self._name = name

    def write(self, text: str) -> None:
        if text:
            outputs.append({"output_type": "stream", "name": self._name, "text": text})

    def flush(self) -> None:
        pass


class _Published(DisplayPublisher):
    def publish(self, data: dict[str, Any], *_: Any, **__: Any) -> None:
        outputs.append({"output_type": "display_data", "data": data})


class _Results(DisplayHook):
    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        outputs.append({"output_type": "execute_result", "data": format_dict})


class _Shell(InteractiveShell):
    def showtraceback(self, *_: Any, **__: Any) -> None:
        outputs.append({"output_type": "error", "evalue": str(sys.exc_info()[1])})


def main() -> None:
    notebook = Path(sys.argv[1])
    os.chdir(notebook.parent)
    sys.path.insert(0, "")
    shell = _Shell.instance(display_pub_class=_Published, displayhook_class=_Results, history_load_length=0)
    shell.history_manager.enabled = False
    take_away()
    all_outputs: list[Outputs] = []
    console, sys.stdout, sys.stderr = sys.stdout, _Stream("stdout"), _Stream("stderr")
    for cell in read(notebook, NO_CONVERT).cells:
        if cell.cell_type == "code":
            outputs.clear()
            shell.run_cell(cell.source, store_history=True)
            all_outputs.append([*outputs])
    print(json.dumps(all_outputs), file=console)


if __name__ == "__main__":
    main()
