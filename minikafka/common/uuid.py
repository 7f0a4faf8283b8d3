"""Kafka's text form of a UUID: 16 bytes in URL-safe base64 without padding, 22 characters.

Topic ids and directory ids are kept as such strings everywhere. Kafka: `org.apache.kafka.common.Uuid`.
"""

import base64
import re
import uuid

from minikafka.common.errors import IllegalArgumentException

ZERO_UUID = "A" * 22
ONE_UUID = "A" * 21 + "Q"
_BASE64 = re.compile(r"[A-Za-z0-9_-]*={0,2}")


def uuid_from_string(text: str) -> str:
    """The canonical form of `text`; raises IllegalArgumentException unless it is base64 of 16 bytes.

    Kafka: `Uuid.fromString`.
    """
    if len(text) > 24:
        raise IllegalArgumentException(
            f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID"
        )
    digits = text.rstrip("=")
    padding = -len(digits) % 4
    if not _BASE64.fullmatch(text) or padding == 3 or len(text) - len(digits) not in (0, padding):
        raise IllegalArgumentException(f"Input string `{text}` is not base64")
    decoded = base64.urlsafe_b64decode(digits + "=" * padding)
    if len(decoded) != 16:
        raise IllegalArgumentException(
            f"Input string `{text}` decoded as {len(decoded)} bytes, which is not equal to the expected 16 bytes "
            "of a base64-encoded UUID"
        )
    return _to_string(decoded)


def random_uuid() -> str:
    """A new UUID whose text does not begin with a dash. Kafka: `Uuid.randomUuid`."""
    while (text := _to_string(uuid.uuid4().bytes)).startswith("-"):
        pass
    return text


def _to_string(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
