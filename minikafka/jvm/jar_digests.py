"""What the jars of the mirrored version of Kafka hold, so that no other jar is taken for one of them.

The table, `jar_digests.json`, has the SHA-256 digest of each jar that is fetched: Kafka's own, those that they need,
and Kafka's sources; and which of them the part `storage` has. `make kafka` makes it anew.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

TABLE_FILE = Path(__file__).with_name("jar_digests.json")


@cache
def pinned_digests() -> dict[str, str]:
    """A jar's file name → its SHA-256 digest, in hexadecimal digits."""
    digests: dict[str, str] = _table()["digests"]
    return digests


def jars_of(part: str) -> set[str]:
    """The file names of the jars that the part `storage` or `broker` has, without Scala's library."""
    if part == "storage":
        return set(_table()["storage"])
    return {name for name in pinned_digests() if not name.endswith("-sources.jar")}


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE_FILE.read_text(encoding="utf-8"))
    return table


def digest_of(jar: Path) -> str:
    """The SHA-256 digest of a file (some 3 ms a megabyte). Raises OSError."""
    with open(jar, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_as_published(jar: Path) -> bool:
    """Whether the table has a jar of this name, and this one holds what that one does. Raises OSError."""
    return pinned_digests().get(jar.name) == digest_of(jar)
