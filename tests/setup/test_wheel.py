"""What `pip install .` brings: every module and data file, the course, and the command."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


SOURCES = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "setup.py")
FOLDERS = ("minikafka", "notebooks", "diagrams", "teaching", "docs")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel's path, and the sources from which it was built."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    for name in FOLDERS:
        shutil.copytree(REPOSITORY / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in SOURCES:
        shutil.copy(REPOSITORY / name, source)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(source)]
    process = subprocess.run(build, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return next(place.glob("minikafka-*.whl")), source


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_and_the_course(wheel):
    path, source = wheel
    names = set(zipfile.ZipFile(path).namelist())
    carried = {
        f"lab/course/carried/{name}/{file}"
        for name in ("notebooks", "diagrams", "teaching", "docs")
        for file in files_in(source / name)
        if not file.startswith("text/")
    }
    package = {f"minikafka/{name}" for name in files_in(source / "minikafka") | carried}
    assert package == {name for name in names if name.startswith("minikafka/")}
    (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
    assert b"minikafka = minikafka.cli:main" in zipfile.ZipFile(path).read(entry_points)


@pytest.mark.slow
def test_the_core_alone_takes_at_most_100_mb(wheel, tmp_path):
    zipfile.ZipFile(wheel[0]).extractall(tmp_path)
    lock = (REPOSITORY / "requirements" / "core.txt").read_text(encoding="utf-8")
    for name in re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE):
        installed = distribution(name)
        for file in installed.files:
            if ".." not in file.parts and file.suffix != ".pyc":
                (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(installed.locate_file(file), tmp_path / file)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "2", str(tmp_path)], check=True)  # as pip does
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 100_000_000


@pytest.mark.slow
def test_an_installed_wheel_lays_out_the_course_in_an_empty_folder(wheel, tmp_path):
    path, source = wheel
    zipfile.ZipFile(path).extractall(tmp_path / "installed")
    empty = tmp_path / "empty"
    empty.mkdir()
    command = [sys.executable, "-m", "minikafka", "lab", "--lay-out"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    for said in (" files laid out in my-lessons/", "my-lessons/ is up to date"):
        process = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        assert said in process.stdout
    lessons = {name for name in files_in(source / "notebooks") if name.endswith(".ipynb")}
    assert lessons <= files_in(empty / "my-lessons") and [each.name for each in empty.iterdir()] == ["my-lessons"]
    diagram = "from minikafka.lab import diagram; print(diagram('segments'))"
    process = subprocess.run(
        [sys.executable, "-c", diagram], cwd=empty, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0 and process.stdout.strip(), process.stderr
