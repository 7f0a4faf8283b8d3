"""Java's properties files: `meta.properties` of a log directory is one, and so is a broker's configuration.

Kafka: `java.util.Properties`, `org.apache.kafka.metadata.properties.PropertiesUtils`.
"""

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.bounded_file import read_text_file
from minikafka.common.errors import IllegalArgumentException

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_ENTRY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties_file(file: Path) -> dict[str, str]:
    """All keys and values of a properties file; of two lines with one key the later counts.

    Raises OSError, IllegalArgumentException for a malformed unicode escape, OutOfMemoryError for an absurd size.
    Kafka: `PropertiesUtils.readPropertiesFile`.
    """
    return dict(_entries(read_text_file(file).decode("latin-1")))


def write_properties_file(properties: Mapping[str, str], file: Path, now_ms: int) -> None:
    """Replace the file: two comment lines (empty, the clock's time), then `key=value` a line, as the mapping has them.

    Raises OSError. Kafka: `PropertiesUtils.writePropertiesFile`.
    """
    date = time.strftime("%a %b %d %H:%M:%S %Z %Y", time.localtime(now_ms / 1000))
    lines = [
        "#",
        f"#{date}",
        *(f"{_escape(key, is_key=True)}={_escape(value, is_key=False)}" for key, value in properties.items()),
    ]
    file_ops.replace_file(file, "".join(line + "\n" for line in lines).encode("utf-8"))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for line in _logical_lines(text):
        _, key, value, _ = _ENTRY.split(line, maxsplit=1)  # the entry is the whole line: nothing before, nothing after
        yield _unescape(key), _unescape(value)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones; a line that ends in an odd number of backslashes goes on in the next."""
    continued = ""
    for natural_line in _LINE_END.split(text):
        line = natural_line.lstrip(_BLANKS)
        if not continued and (not line or line[0] in "#!"):
            continue
        line = continued + line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            continued = line[:-1]
        else:
            continued = ""
            yield line
    if continued:
        yield continued


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        escape: str = match[1]
        if escape == "u":
            raise IllegalArgumentException("Malformed \\uxxxx encoding.")
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPED.get(escape, escape)

    return _ESCAPE.sub(character, text)


def _escape(text: str, *, is_key: bool) -> str:
    escaped = []
    for index, character in enumerate(text):
        if character == " ":
            escaped.append("\\ " if is_key or index == 0 else " ")
        elif character in "=:#!\\":
            escaped.append("\\" + character)
        else:
            escaped.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}.get(character, character))
    return "".join(escaped)
