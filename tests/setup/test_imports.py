"""What importing costs, and which way imports point."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minikafka

PACKAGE = Path(minikafka.__file__).parent
HEAVY = {"pyspark", "py4j", "IPython", "ipykernel", "jupyter_core", "ipywidgets", "pandas", "pyarrow", "numba", "numpy"}
ROOMS = ("common", "record", "checkpoint", "log", "cluster", "server")  # each imports only itself and those before it
TOP = {"spark", "witness", "lab"}
CODECS = {"crc32c", "lz4", "zstandard", "cramjam"}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_minikafka_takes_less_than_a_fifth_of_a_second():
    code = "import time; t = time.perf_counter(); import minikafka; print(time.perf_counter() - t)"
    assert min(float(run(code)) for _ in range(3)) < 0.2


@pytest.mark.parametrize("module", ["minikafka", "minikafka.cli", "minikafka.common.errors"])
def test_importing_pulls_in_nothing_heavy(module):
    loaded = set(run(f"import sys, {module}; print(*(name.split('.')[0] for name in sys.modules))").split())
    assert not loaded & HEAVY


def modules_of(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


def imported_by(path: Path) -> set[str]:
    """The full names of the modules that `path` imports, also in functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written whole"
            names.add(node.module)
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_below_it(room):
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    for path in modules_of(room):
        rooms = {
            name.split(".")[1] for name in imported_by(path) if name.startswith("minikafka.")
        }
        assert rooms <= allowed, f"{path.relative_to(PACKAGE)} imports {rooms - allowed}"


@pytest.mark.parametrize("room", ROOMS)
def test_the_core_needs_only_the_standard_library_and_the_codecs_at_import_time(room):
    """All modules of the room are imported, but for the compiled kernel, which is imported on the first large input."""
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in modules_of(room)]
    names = [name for name in names if not name.endswith(".compiled_kernel")]
    code = "import sys; before = set(sys.modules)\n"
    code += "".join(f"import {name.removesuffix('.__init__')}\n" for name in names)
    code += "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    foreign = set(run(code).split()) - sys.stdlib_module_names - CODECS - {"minikafka", "_cffi_backend", "cffi"}
    assert not foreign
