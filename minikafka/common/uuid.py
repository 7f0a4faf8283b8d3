"""Kafka's text form of a UUID: 16 bytes in URL-safe base64 without padding, 22 characters.

Topic ids and directory ids are such strings everywhere in minikafka. Kafka: `org.apache.kafka.common.Uuid`.
"""

import base64
import uuid

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IllegalArgumentException

ZERO_UUID = "A" * 22
ONE_UUID = "A" * 21 + "Q"
_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def uuid_from_string(text: str) -> str:
    """The canonical form of `text`; raises IllegalArgumentException unless it is base64 of 16 bytes.

    Kafka: `Uuid.fromString`.
    """
    if len(text) > 24:
        raise IllegalArgumentException(
            f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID"
        )
    decoded = _decode(text.encode("latin-1", "replace"))
    if len(decoded) != 16:
        raise IllegalArgumentException(
            f"Input string `{text}` decoded as {len(decoded)} bytes, which is not equal to the expected 16 bytes "
            "of a base64-encoded UUID"
        )
    return uuid_from_bytes(decoded)


def uuid_from_bytes(raw: BytesLike) -> str:
    """The text of a UUID of 16 bytes."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def uuid_to_bytes(text: str) -> bytes:
    """The 16 bytes of a UUID's text."""
    return base64.urlsafe_b64decode(text + "==")


def random_uuid() -> str:
    """A new UUID whose text does not begin with a dash. Kafka: `Uuid.randomUuid`."""
    while (text := uuid_from_bytes(uuid.uuid4().bytes)).startswith("-"):
        pass
    return text


def _decode(text: bytes) -> bytes:
    """What Java decodes, with its messages: padding may be left out, but not half of it. Java: `Base64.Decoder`."""
    if len(text) == 1:
        raise IllegalArgumentException("Input byte[] should at least have 2 bytes for base64 bytes")
    rest = text.lstrip(_DIGITS)
    digits = text[: len(text) - len(rest)]
    partial = len(digits) % 4
    if rest and not rest.startswith(b"="):
        signed = rest[0] - 256 if rest[0] > 127 else rest[0]
        raise IllegalArgumentException(f"Illegal base64 character {signed:x}")
    if rest and (partial == 0 or (partial == 2 and not rest.startswith(b"=="))):
        raise IllegalArgumentException("Input byte array has wrong 4-byte ending unit")
    if partial == 1:
        raise IllegalArgumentException("Last unit does not have enough valid bits")
    padding = -len(digits) % 4
    if len(rest) > padding:
        raise IllegalArgumentException(f"Input byte array has incorrect ending byte at {len(digits) + padding}")
    return base64.urlsafe_b64decode(digits + b"=" * padding)
