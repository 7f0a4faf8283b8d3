"""What `pip install .` brings: every module and data file, and the command."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(REPOSITORY / "minikafka", source / "minikafka", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    process = subprocess.run(build, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (wheel,) = tmp_path.glob("minikafka-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = {path.relative_to(source).as_posix() for path in (source / "minikafka").rglob("*") if path.is_file()}
    assert files == {name for name in names if name.startswith("minikafka/")}
    (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
    assert b"minikafka = minikafka.cli:main" in zipfile.ZipFile(wheel).read(entry_points)
