"""Where Kafka's methods stand in Kafka's source, for the links beside our own source.

`kafka_lines.json` is made from Kafka's source jars by `python -m minikafka.lab.stepper.kafka_lines`. A test
checks it against the line numbers in Kafka's class files, and against the source jars where they are at hand.
"""

import functools
import json
import re
import zipfile
from pathlib import Path

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.jvm.source_jars import source_jars

_TABLE = Path(__file__).with_name("kafka_lines.json")
_ROOMS = (  # the packages whose methods the lessons may name
    "org/apache/kafka/storage/internals/",
    "org/apache/kafka/common/network/",
    "org/apache/kafka/common/record/internal/",
    "org/apache/kafka/common/requests/RequestHeader.java",
    "org/apache/kafka/common/utils/ByteUtils.java",
    "org/apache/kafka/controller/",
    "org/apache/kafka/server/Fetch",
    "org/apache/kafka/server/common/",
    "org/apache/kafka/server/purgatory/",
    "org/apache/kafka/server/record/",
    "org/apache/kafka/server/replica/",
    "org/apache/kafka/server/storage/log/",
    "kafka/cluster/",
    "kafka/log/",
    "kafka/network/",
    "kafka/server/",
)
_MODULES = {  # artifact → the directory in which the repository keeps it
    "kafka-clients": "clients",
    "kafka-metadata": "metadata",
    "kafka-server": "server",
    "kafka-server-common": "server-common",
    "kafka-storage": "storage",
    "kafka_2.13": "core",
}
_IN_THE_FILE_OF = {
    "Acceptor": "SocketServer",
    "CachedPartition": "FetchSession",
    "ConnectionQuotas": "SocketServer",
    "Processor": "SocketServer",
}
"""Classes that share a file with the one that it is named after."""
_JAR = re.compile(r"(.+)-\d+\.\d+\.\d+-sources\.jar")
_MODIFIER = r"(?:public|private|protected|static|final|abstract|synchronized|default)"
_JAVA = (
    re.compile(  # a member of a class stands 4 spaces in; one of a class inside it 8 or more, and then with a modifier
        rf"^(?: {{4}}| {{8,12}}(?={_MODIFIER}))(?:@\w+ )?(?:{_MODIFIER} )*(?:<[^(=]+> )?(?!return|new"
        r" |throw|else)(?:[\w.]+(?:<[^(=]*>)?(?:\[\])* )?(\w+)\("
    )
)
_JAVA_WITHIN = re.compile(  # one of a class inside it, without a modifier, whose body begins on the same line
    r"^ {8}(?!return |new |throw |else )[\w.]+(?:<[^(=]*>)?(?:\[\])* (\w+)\([^;(]*\) (?:throws [\w., ]+ )?\{$"
)
_SCALA = re.compile(r"^ {2}(?:(?:override|private|protected|final)(?:\[\w+\])? )*def (\w+)(.*)$")


@functools.lru_cache(maxsize=1)
def _table() -> dict:
    return json.loads(_TABLE.read_text()) if _TABLE.exists() else {}


def kafka_line(name: str) -> tuple[str, int] | None:
    """File (in Kafka's repository) and line of `Class.method` at the tag; None when it isn't known."""
    owner, _, method = name.rpartition(".")
    name_of_class = owner.rpartition(".")[2]
    entry = _table().get(_IN_THE_FILE_OF.get(name_of_class, name_of_class))
    if entry is None or method not in entry["methods"]:
        return None
    return entry["file"], entry["methods"][method][0]


def kafka_link(name: str) -> str:
    """The address of `Class.method` in Kafka's source at the tag, "" when it isn't known."""
    found = kafka_line(name)
    return f"https://github.com/apache/kafka/blob/{KAFKA_VERSION}/{found[0]}#L{found[1]}" if found else ""


def lines_of(source: str, *, scala: bool) -> dict[str, list[int]]:
    """Method name → the lines on which a method of that name is declared."""
    found: dict[str, list[int]] = {}
    for number, words in enumerate(source.split("\n"), 1):
        match = _SCALA.match(words) if scala else _JAVA.match(words) or _JAVA_WITHIN.match(words)
        if match:
            found.setdefault(match.group(1), []).append(number)
    return found


def read_jars(jars: list[Path]) -> dict:
    """The whole table, from source jars by their names in the registry (`kafka-storage-4.3.0-sources.jar`)."""
    table = {}
    for jar in jars:
        module = _MODULES.get(_JAR.fullmatch(jar.name)[1])
        if module is None:
            continue
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                language = Path(name).suffix.removeprefix(".")
                if not name.startswith(_ROOMS) or language not in ("java", "scala"):
                    continue
                methods = lines_of(archive.read(name).decode(), scala=language == "scala")
                table[Path(name).stem] = {"file": f"{module}/src/main/{language}/{name}", "methods": methods}
    return dict(sorted(table.items()))


if __name__ == "__main__":
    found = read_jars(source_jars(KAFKA_VERSION))
    rows = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()]
    _TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{sum(len(entry['methods']) for entry in found.values())} methods of {len(found)} classes")
