"""Makes the tables in minikafka/messages/tables anew from Kafka's jars: `python -m tests.tools.make_message_tables`.

Kafka describes its messages in JSON, with the words for its documentation; the tables hold the facts alone.
"""

import json
import re
from pathlib import Path
from zipfile import ZipFile

from minikafka.jvm.kafka_jvm import kafka_jars
from minikafka.messages import message_tables

# table: the jar, the folder in it, and what the names of its messages match
SOURCES = {
    "apis": ("kafka-clients", "common/message/", ".*(Request|Response)"),
    "control-records": (
        "kafka-clients",
        "common/message/",
        "LeaderChangeMessage|SnapshotHeaderRecord|SnapshotFooterRecord|KRaftVersionRecord|VotersRecord",
    ),
    "consumer-protocol": ("kafka-clients", "common/message/", "ConsumerProtocol(Assignment|Subscription)"),
    "consumer-offsets": ("kafka-group-coordinator", "common/message/", ".*"),
    "transaction-state": ("kafka-transaction-coordinator", "common/message/", ".*"),
    "share-group-state": ("kafka-share-coordinator", "common/message/", ".*"),
    "cluster-metadata": ("kafka-metadata", "common/metadata/", ".*"),
    "remote-log-metadata": ("kafka-storage", "message/", "Remote.*"),
}
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def main() -> None:
    """Write every table."""
    for name in SOURCES:
        Path(message_tables.__file__).with_name("tables").joinpath(f"{name}.txt").write_text(table(name))


def table(name: str) -> str:
    """The table `name` as Kafka's jars have it."""
    jar_name, folder, pattern = SOURCES[name]
    jar = next(jar for jar in map(Path, kafka_jars()) if re.fullmatch(rf".*_{jar_name}-[\d.]+\.jar", jar.name))
    with ZipFile(jar) as archive:
        paths = [
            path
            for path in archive.namelist()
            if path.startswith(folder) and re.fullmatch(pattern, Path(path).stem) and path.endswith(".json")
        ]
        messages = [json.loads(_COMMENT.sub("", archive.read(path).decode())) for path in paths]
    # Of an API that is gone, the number stays with its name.
    messages = [each for each in messages if each["validVersions"] != "none" or each["type"] == "request"]
    messages.sort(key=lambda message: (message.get("apiKey", -1), message["name"]))
    return "\n".join("\n".join(_message(message)) + "\n" for message in messages)


def _message(message: dict) -> list[str]:
    key = f" key {message['apiKey']}" if "apiKey" in message else ""
    versions, flexible = message["validVersions"], message.get("flexibleVersions", "none")
    first = f"{message['name']}{key} versions {versions} flexible {flexible}"
    if "listeners" in message:
        first += f" listeners {','.join(message['listeners'])}"
    if message.get("latestVersionUnstable"):
        first += " unstable latest"
    lines = [first, *_fields(message.get("fields", ()), "  ")]
    for struct in message.get("commonStructs", ()):
        lines.append(f"  struct {struct['name']} {struct['versions']}")
        lines += _fields(struct["fields"], "    ")
    return lines


def _fields(fields: list[dict], indent: str) -> list[str]:
    lines = []
    for field in fields:
        name = field["name"][0].lower() + field["name"][1:]
        versions = field.get("versions", field.get("taggedVersions"))
        words = [name, field["type"], versions]
        if "nullableVersions" in field:
            words += ["nullable", field["nullableVersions"]]
        if "tag" in field:
            assert field["taggedVersions"] == versions, "a field that is tagged in some versions only"
            words += ["tag", str(field["tag"])]
        if field.get("default") not in (None, ""):
            words += ["default", str(field["default"]).lower()]
        if field.get("ignorable"):
            words += ["ignorable", "true"]
        assert "flexibleVersions" not in field, "a field with flexible versions of its own"
        lines.append(indent + " ".join(words))
        lines += _fields(field.get("fields", ()), indent + "  ")
    return lines


if __name__ == "__main__":
    main()
