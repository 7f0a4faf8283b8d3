"""The README and docs/ tell the truth: their examples run, their commands, directories and links exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.cli import COMMANDS
from tests.spark.quick_java import QUICK_JAVA

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (REPOSITORY / "docs/commands.md").read_text(encoding="utf-8")
ARCHITECTURE = (REPOSITORY / "docs/architecture.md").read_text(encoding="utf-8")
A_BATCH = (REPOSITORY / "docs/rooms/a_batch.md").read_text(encoding="utf-8")
PAGES = [REPOSITORY / "README.md", REPOSITORY / "benchmarks/README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def examples_of(page):
    return re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "number", "printed", "logs"),
    [
        (README, 0, "[b'value']", ["orders-0"]),
        (README, 2, "[b'first', b'second']", []),
        (A_BATCH, 0, "True 1", [f"three-brokers/broker-{id}/orders-0" for id in range(3)]),
    ],
    ids=["a log", "a broker", "three brokers"],
)
def test_the_examples_run(tmp_path, page, number, printed, logs):
    example = examples_of(page)[number]
    process = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, printed + "\n", "")
    assert all((tmp_path / log / "00000000000000000000.log").stat().st_size > 0 for log in logs)


@pytest.mark.spark
@pytest.mark.slow
def test_the_example_for_spark_runs():
    example = examples_of(README)[1]
    process = subprocess.run(
        [sys.executable, "-c", example],
        cwd=REPOSITORY,
        env={**os.environ, **QUICK_JAVA, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert "max(offset)" in process.stdout


def test_the_readme_is_read_in_a_few_minutes():
    assert len(README.splitlines()) <= 120


def test_every_make_target_is_there_and_every_public_one_is_told():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    told = set(re.findall(r"`make ([a-z-]+)", COMMANDS_PAGE))
    assert told | set(re.findall(r"`make ([a-z-]+)", README)) <= targets
    helped = set(re.findall(r'@echo "make ([a-z-]+)', makefile))
    assert {name for name in targets if not name.startswith("ready-")} - {"help"} == helped
    assert helped - told <= {"lock"}


def test_every_subcommand_is_told():
    told = set(re.findall(r"`minikafka ([a-z-]+)", COMMANDS_PAGE))
    assert told == set(COMMANDS), f"docs/commands.md and minikafka/cli/__init__.py differ in {told ^ set(COMMANDS)}"
    assert set(re.findall(r"`minikafka ([a-z-]+)", README)) <= set(COMMANDS)


def test_every_room_is_told_and_every_directory_that_is_told_exists():
    directories = re.findall(r"^\| `(\S+/)` \|", ARCHITECTURE, re.MULTILINE)
    assert len(directories) >= 12
    for directory in directories:
        assert (REPOSITORY / directory).is_dir(), directory
    rooms = {path.parent.name for path in (REPOSITORY / "minikafka").glob("*/__init__.py")}
    assert rooms == {name.split("/")[1] for name in directories if name.startswith("minikafka/")}


@pytest.mark.parametrize("room", sorted(path.parent.name for path in (REPOSITORY / "minikafka").glob("*/__init__.py")))
def test_each_room_has_a_page_with_its_parts(room):
    page = (REPOSITORY / "docs/rooms" / f"{room}.md").read_text(encoding="utf-8")
    assert f"[page](rooms/{room}.md)" in ARCHITECTURE
    assert page.startswith(f"# `minikafka/{room}/`\n")
    parts = re.findall(r"^## (Invariants|The way of|Types to read first|Tests that hold it)", page, re.MULTILINE)
    assert list(dict.fromkeys(parts)) == ["Invariants", "The way of", "Types to read first", "Tests that hold it"]


@pytest.mark.slow
def test_the_pages_of_rooms_name_classes_and_methods_that_exist():
    package = REPOSITORY / "minikafka"
    sources = "\n".join(path.read_text(encoding="utf-8") for path in [*package.rglob("*.py"), *package.rglob("*.pyi")])
    there = set(re.findall(r"\b(?:class|def) (\w+)|^(?: {4})*(?:self\.)?(\w+)(?=: | = )", sources, re.MULTILINE))
    names = {name for each in there for name in each}
    names |= set(re.findall(r"\b[A-Z]\w+", (package / "twins/kafka_classes.json").read_text(encoding="utf-8")))
    wrong = []
    for page in (REPOSITORY / "docs/rooms").glob("*.md"):
        for word in re.findall(r"`([A-Z]\w*[a-z]\w*(?:\.\w+)?)`", page.read_text(encoding="utf-8")):
            if not names.issuperset(word.split(".")):
                wrong.append((page.name, word))
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_to_a_file(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
