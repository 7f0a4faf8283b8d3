"""minikafka as a zip that travels with a job to workers that do not have it, or have another version."""

import marshal
import tempfile
import zipfile
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from typing import TYPE_CHECKING

import minikafka.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(minikafka.spark.__file__).parents[1]
_STAYS = ("lab", "lessons", "witness")  # needs notebooks, or Kafka's jars
_sent: list[tempfile.TemporaryDirectory[str]] = []  # removed when Python ends
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same code makes the same bytes


def send_code(spark: "SparkSession") -> None:
    """Let the session's workers import this process's minikafka, rather than one of their own.

    Call it before `register` and before the first job, because the session notes then what its workers are given.
    Workers fetch the zip when they begin, so it stays until this process ends.
    """
    directory = tempfile.TemporaryDirectory(prefix="minikafka-code-")
    _sent.append(directory)
    file = Path(directory.name) / "minikafka.zip"
    write_code(file)
    spark.addArtifacts(str(file), pyfile=True)


def write_code(file: Path) -> None:
    """Write the zip: every module and table of minikafka that a worker may need.

    Modules are there compiled, too. Python would compile what it imports from a zip anew in each process; where its
    version is another one, it does.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_PACKAGE.rglob("*")):
            inside = path.relative_to(_PACKAGE)
            if path.is_file() and "__pycache__" not in inside.parts and inside.parts[0] not in _STAYS:
                name = str(Path(_PACKAGE.name) / inside)
                _add(archive, name, path.read_bytes())
                if path.suffix == ".py":
                    _add(archive, f"{name}c", _compiled(path))


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), data, zipfile.ZIP_DEFLATED, compresslevel=1)


def _compiled(path: Path) -> bytes:
    """What stands in a `.pyc` that is not compared with its source (PEP 552)."""
    code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
    unchecked = (1).to_bytes(4, "little")
    # From version 3 on the bytes depend on how often an object is referred to in this process at the moment.
    return MAGIC_NUMBER + unchecked + source_hash(path.read_bytes()) + marshal.dumps(code, 2)
