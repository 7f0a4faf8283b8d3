"""What the live lessons are made of and this project does not write: Pyodide, and the wheels that it loads.

All of it is pinned by its hash: Pyodide here, the wheels in `browser_wheels.txt`. It is downloaded once, into the
cache.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from minikafka.jvm.cache import cache_dir

PYODIDE = "314.0.6"
"""The one that jupyterlite-pyodide-kernel expects; it is Python 3.14.2."""
_PYODIDE_SHA512 = (
    "04a0d327222a1710b8044c4ba9e452ddfe71bd76488ceb7c0b7cc62cdfc273bb45c52c2f29585591c8504360062ceb51e18ad53881716d5f29"
    "a320ce3a65b0c5"
)
_OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_WHEELS = Path(__file__).with_name("browser_wheels.txt")
_FOR_THE_BROWSER = (
    "--only-binary=:all:", "--python-version=3.14", "--implementation=cp", "--abi=cp314", "--abi=none",
    "--platform=pyemscripten_2026_0_wasm32",
)  # fmt: skip


class PartsError(Exception):
    """Something cannot be had, or is not what was pinned; the message says what, in one line."""


def parts() -> Path:
    """The directory with Pyodide's files and the wheels, downloaded when it is missing. Raises PartsError, OSError."""
    pins = hashlib.sha256(_WHEELS.read_bytes() + _PYODIDE_SHA512.encode()).hexdigest()[:16]
    whole = cache_dir() / f"pyodide-{PYODIDE}-{pins}"
    if not whole.is_dir():
        cache_dir().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_dir()) as place:
            new = Path(place, "parts")
            new.mkdir()
            _fetch_pyodide(Path(place), new)
            _fetch_wheels(new)
            new.rename(whole)
    return whole


def node_s(program: str) -> str:
    """The path of `node` or `npm`. Raises PartsError when there is none."""
    beside = Path(sys.executable).with_name(program)
    found = str(beside) if beside.exists() else shutil.which(program)
    if found is None:
        raise PartsError(
            f"there is no {program}, which brings or runs Pyodide: install Node.js, or pip install 'minikafka[node]'"
        )
    return found


def _fetch_pyodide(place: Path, target: Path) -> None:
    _run("npm", [node_s("npm"), "pack", f"pyodide@{PYODIDE}", "--silent"], place)
    (packed,) = place.glob("*.tgz")
    if hashlib.sha512(packed.read_bytes()).hexdigest() != _PYODIDE_SHA512:
        raise PartsError(f"{packed.name} is not the one that was pinned")
    with tarfile.open(packed) as archive:
        for name in _OF_PYODIDE:
            (target / name).write_bytes(archive.extractfile(f"package/{name}").read())


def _fetch_wheels(target: Path) -> None:
    pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _run("pip", [*pip, *_FOR_THE_BROWSER, "--require-hashes", f"--dest={target}", f"--requirement={_WHEELS}"], target)


def _run(what: str, command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise PartsError(f"{what} could not fetch what the live lessons need: {said[-1]}")
