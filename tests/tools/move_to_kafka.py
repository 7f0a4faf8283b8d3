"""`make kafka VERSION=4.3.1`: follow another version of Kafka. `python -m tests.tools.move_to_kafka 4.3.1`.

Kafka's version stands in `minikafka/jvm/kafka_jars.py` alone. This module writes the new one there, fetches that Kafka
and its sources, and makes anew all that is made from Kafka: messages, errors, settings, lines and classes of its
source, the directories that a broker wrote, the answers to the tests' questions. At the end stands what differs, and
where texts name the old version. Nothing is committed: `git reset --hard` undoes it.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

from minikafka.jvm import kafka_jars, source_jars
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from tests.golden.places import GOLDEN
from tests.kafka_answers import SAID

ROOT = Path(__file__).parents[2]
GENERATED = (
    "tests.tools.make_message_tables",
    "tests.tools.make_message_types",
    "tests.tools.make_error_codes",
    "tests.tools.make_kafka_settings",
    "minikafka.twins.kafka_sources",
    "minikafka.lab.stepper.kafka_lines",
)
"""Modules that write a file of the package anew, from Kafka's jars or from its sources."""
_COMPARED = (f":!{SAID.relative_to(ROOT)}", f":!{GOLDEN.parent.relative_to(ROOT)}/kafka-*")
"""What is compared by what it says: answers, and the directories of a broker."""
_BUILT = (*_COMPARED, ":!notebooks", ":!teaching", ":!requirements", ":!CHANGELOG.md")
"""What is built from other files, or tells of the past."""
_COLUMNS = 120


def main() -> None:
    """Exits with 2 before anything has changed where that cannot be undone, and with 1 where a step fails."""
    parser = argparse.ArgumentParser(prog="make kafka", description="Follow another version of Apache Kafka.")
    parser.add_argument("version", metavar="VERSION", help="such as 4.3.1; Maven Central must have it")
    version = parser.parse_args().version
    if re.fullmatch(r"\d+\.\d+\.\d+", version) is None:
        parser.error(f"{version!r} is no version; write VERSION=4.3.1")
    if _output("git", "status", "--porcelain"):
        parser.error("there are changes that are not committed: what this one changes could not be told from them")
    try:
        old_sources, sources = source_jars.source_jars(KAFKA_VERSION), source_jars.source_jars(version)
    except source_jars.SourcesUnavailableError as unavailable:
        parser.error(str(unavailable))
    print(_output(sys.executable, "-m", "minikafka", "drift", "--kafka", version), flush=True)
    write_version(Path(kafka_jars.__file__), version)
    golden, golden_sizes = GOLDEN.with_name(f"kafka-{version}"), sizes(GOLDEN)
    GOLDEN.rename(golden)
    python = [sys.executable, "-m"]
    if not (_do([*python, "tests.tools.make_jar_digests"]) and _do([*python, "minikafka", "fetch"])):
        sys.exit("make kafka: nothing can be made without Kafka's jars")
    failed = [command for command in steps() if not _do(command)]
    print(f"\n{KAFKA_VERSION} → {version}")
    _tell_of_sources(old_sources, sources)
    _tell_of_answers()
    _tell_of_directory(golden_sizes, sizes(golden))
    _tell_of_files(version)
    if failed:
        sys.exit("make kafka: these steps failed\n" + "\n".join(" ".join(command) for command in failed))


def write_version(file: Path, version: str) -> None:
    """Put `version` into the module that has Kafka's version."""
    words, there = re.subn(r'^KAFKA_VERSION = ".*"$', f'KAFKA_VERSION = "{version}"', file.read_text(), flags=re.M)
    assert there == 1, file
    file.write_text(words)


def steps() -> Iterator[list[str]]:
    """The commands, in their order; each is a process of its own, which reads the new version."""
    python = [sys.executable, "-m"]
    yield from ([*python, module] for module in GENERATED)
    yield [*python, "tests.golden.make_golden"]
    yield [*python, "tests.scripts.effects"]
    yield [*python, "pytest", "-q", "--write-answers", "tests"]


def _do(command: Sequence[str]) -> bool:
    print(">", *command, flush=True)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def _tell_of_sources(old: Iterable[Path], new: Iterable[Path]) -> None:
    files, changed = changed_sources(old, new)
    print(f"\nKafka's sources: {len(changed)} of {files} files differ.", *changed, sep="\n  ")


def _tell_of_answers() -> None:
    files = _output("git", "diff", "--name-only", "--", str(SAID)).splitlines()
    changed = [f"{file}: {name}" for file in files for name in changed_answers(*_both(file))]
    print(f"\nAnswers to the tests' questions: those of {len(changed)} tests differ.", *changed, sep="\n  ")


def _tell_of_directory(old: Mapping[str, int], new: Mapping[str, int]) -> None:
    """Ids and times are other ones whenever a broker writes the directory, so sizes alone are compared."""
    changed = [
        f"{name}: {old.get(name, 'none')} → {new.get(name, 'none')} bytes"
        for name in sorted(old | new)
        if old.get(name) != new.get(name)
    ]
    print(f"\nThe broker's directory: {len(changed)} files have another size.", *changed, sep="\n  ")


def _tell_of_files(version: str) -> None:
    print("\nOther files that differ in more than the version:")
    _output("git", "add", "--all")
    of_the_version = [f"-I{re.escape(each)}" for each in (KAFKA_VERSION, version)]
    print(_output("git", "diff", "HEAD", "--stat", *of_the_version, "--", *_COMPARED))
    print(f"\nWhere {KAFKA_VERSION} still stands, to be read by somebody:")
    for line in _output("git", "grep", "-nIF", KAFKA_VERSION, "--", *_BUILT).splitlines():
        print(" ", line[:_COLUMNS])


def changed_sources(old: Iterable[Path], new: Iterable[Path]) -> tuple[int, list[str]]:
    """How many files the newer sources have, and the names of those that are new, gone, or other than before."""
    before, now = _contents(old), _contents(new)
    return len(now), sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _contents(jars: Iterable[Path]) -> dict[str, bytes]:
    found = {}
    for jar in jars:
        with ZipFile(jar) as archive:
            found |= {name: archive.read(name) for name in archive.namelist() if name.endswith((".java", ".scala"))}
    return found


def sizes(directory: Path) -> dict[str, int]:
    """The size in bytes of each file below `directory`."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.stat().st_size for path in files}


def _both(file: str) -> tuple[str, str]:
    return _output("git", "show", f"HEAD:{file}"), (ROOT / file).read_text(encoding="utf-8")


def changed_answers(before: str, now: str) -> list[str]:
    """The tests whose answers differ in two files of answers. The order of an answer's keys says nothing."""
    old, new = (json.loads(each)["cases"] for each in (before, now))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.rstrip()


if __name__ == "__main__":
    main()
