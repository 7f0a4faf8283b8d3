"""Makes the table of the jars' digests anew, from what the registry gives: `python -m tests.tools.make_jar_digests`."""

import json
from collections.abc import Iterable
from pathlib import Path

from minikafka.jvm.jar_digests import TABLE_FILE, digest_of
from minikafka.jvm.kafka_jars import KAFKA_VERSION, resolved_jars
from minikafka.jvm.source_jars import source_jars


def main() -> None:
    """The jars are not checked: the table that they are checked against is only made here."""
    storage, jars = resolved_jars("storage"), resolved_jars("broker")
    write_digests(TABLE_FILE, [*jars, *source_jars(KAFKA_VERSION)], storage)


def write_digests(file: Path, jars: Iterable[Path], storage: Iterable[Path]) -> None:
    """Write the digests of `jars` into `file`, in the order of the jars' names, and which are those of `storage`."""
    digests = {jar.name: digest_of(jar) for jar in sorted(jars, key=lambda jar: jar.name)}
    table = {"digests": digests, "storage": sorted(jar.name for jar in storage)}
    file.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
