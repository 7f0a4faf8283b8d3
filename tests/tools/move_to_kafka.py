"""`make kafka VERSION=4.3.1`: follow another version of Kafka. `python -m tests.tools.move_to_kafka 4.3.1`.

Kafka's version stands in `minikafka/jvm/kafka_jars.py` alone. This module writes the new one there, fetches that Kafka
and its sources, and makes anew all that is made from Kafka: messages, errors, settings, lines and classes of its
source, the directories that a broker wrote, the answers to the tests' questions. At the end stands what differs, and
where texts name the old version. Nothing is committed: `git checkout .` undoes it.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from minikafka.jvm import kafka_jars, source_jars
from minikafka.jvm.kafka_jars import KAFKA_VERSION

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
_ASKS = r"two_logs|two_logs_of_the_module|kafka_says"


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
        sources = source_jars.source_jars(version)
    except source_jars.SourcesUnavailableError as unavailable:
        parser.error(str(unavailable))
    print(_output(sys.executable, "-m", "minikafka", "drift", "--kafka", version))
    write_version(Path(kafka_jars.__file__), version)
    write_digests(Path(source_jars.__file__), sources, version)
    for command in steps():
        print(">", *command, flush=True)
        if subprocess.run(command, cwd=ROOT).returncode:
            sys.exit(f"make kafka: this step failed, those after it were not tried: {' '.join(command)}")
    print(_output("git", "add", "--intent-to-add", "."), _output("git", "diff", "--stat"), sep="")
    print(f"Where {KAFKA_VERSION} still stands, to be read by somebody:")
    print(_output("git", "grep", "-nIF", KAFKA_VERSION, "--", ":!tests/kafka_said", ":!notebooks", ":!CHANGELOG.md"))


def write_version(file: Path, version: str) -> None:
    """Put `version` into the module that has Kafka's version."""
    words, there = re.subn(r'^KAFKA_VERSION = ".*"$', f'KAFKA_VERSION = "{version}"', file.read_text(), flags=re.M)
    assert there == 1, file
    file.write_text(words)


def write_digests(file: Path, jars: Iterable[Path], version: str) -> None:
    """Put what the sources of `version` hold into the module that fetches them."""
    digests = {jar.name.removesuffix(f"-{version}-sources.jar"): sha256(jar.read_bytes()).hexdigest() for jar in jars}
    rows = "".join(f'    "{artifact}": "{digest}",\n' for artifact, digest in sorted(digests.items()))
    words, there = re.subn(r"^_SHA256 = \{.*?^\}", f"_SHA256 = {{\n{rows}}}", file.read_text(), flags=re.M | re.S)
    assert there == 1, file
    file.write_text(words)


def steps() -> Iterator[list[str]]:
    """The commands, in their order; each is a process of its own, which reads the new version."""
    python = [sys.executable, "-m"]
    yield [*python, "minikafka", "fetch"]
    yield from ([*python, module] for module in GENERATED)
    yield [*python, "tests.golden.make_golden"]
    yield [*python, "tests.scripts.effects"]
    asking = _output("git", "grep", "-lwE", _ASKS, "--", "tests/**/test_*.py").split()
    yield [*python, "pytest", "-q", "--write-answers", *asking]


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.rstrip()


if __name__ == "__main__":
    main()
