"""minikafka as a zip that travels with a job to workers that do not have it, or have another version."""

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import minikafka.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(minikafka.spark.__file__).parents[1]
_STAYS = ("lab", "witness")  # needs notebooks, or Kafka's jars
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
    """Write the zip: every module and table of minikafka that a worker may need."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_PACKAGE.rglob("*")):
            inside = path.relative_to(_PACKAGE)
            if path.is_file() and "__pycache__" not in inside.parts and inside.parts[0] not in _STAYS:
                entry = zipfile.ZipInfo(str(Path(_PACKAGE.name) / inside), _LONG_AGO)
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
