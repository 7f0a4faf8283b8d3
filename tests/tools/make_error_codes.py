"""Makes the list of the protocol's errors anew from Kafka's source: `python -m tests.tools.make_error_codes`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from minikafka.common import error_codes
from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.jvm.source_jars import source_jars

FILE = Path(error_codes.__file__)
_SOURCE = "org/apache/kafka/common/protocol/Errors.java"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_CONSTANT = re.compile(
    rf"^    ([A-Z_]+)\(\s*(-?\d+),\s*(null|{_TEXT}(?:\s*\+\s*{_TEXT})*),\s*(?:(\w+)::new|message -> null)\)",
    re.MULTILINE,
)
_HEAD = '''"""The errors of Kafka's protocol: what stands in a response for an exception.

Made from Kafka's source by tests/tools/make_error_codes.py. Kafka: `org.apache.kafka.common.protocol.Errors`.
"""

from minikafka.common import errors
from minikafka.common.error_code_base import ErrorCode


class Errors(ErrorCode):
    """Kafka's errors by name: code, text and exception of each. Kafka: `Errors`."""

'''


def main() -> None:
    """Write the module."""
    FILE.write_text(module(source()))


def source() -> str:
    """Kafka's enumeration. Raises SourcesUnavailableError."""
    (jar,) = (jar for jar in source_jars(KAFKA_VERSION) if jar.name.startswith("kafka-clients-"))
    with ZipFile(jar) as archive:
        return archive.read(_SOURCE).decode()


def module(java: str) -> str:
    """The module, formatted, with the errors of Kafka's enumeration."""
    lines = list(_members(java))
    assert len(lines) == len(re.findall(r"^    [A-Z_]+\(", java, re.MULTILINE)), "a constant of another form"
    made = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(FILE)],
        input=_HEAD + "".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


def _members(java: str) -> Iterator[str]:
    for name, code, text, exception in _CONSTANT.findall(java):
        if text == "null":
            yield f"    {name} = {code}\n"
        else:
            words = "".join(json.loads(part) for part in re.findall(_TEXT, text))
            yield f"    {name} = (\n        {code},\n{_wrapped(words)},\n        errors.{exception},\n    )\n"


def _wrapped(words: str) -> str:
    """A text in as many literals as lines need."""
    rows = re.findall(r".{1,108}(?: |$)", words)
    assert "".join(rows) == words
    return "\n".join(f"        {json.dumps(row)}" for row in rows)


if __name__ == "__main__":
    main()
