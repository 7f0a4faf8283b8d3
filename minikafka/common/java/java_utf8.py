"""UTF-8 as Java decodes it: damaged bytes become U+FFFD in the places where `new String(bytes, UTF_8)` puts one.

Python and Java differ in one case only: an encoded surrogate (ED A0 80 … ED BF BF), which UTF-8 does not allow. Java
replaces its three bytes by one character, Python by three; cut short after two bytes, they become one character in Java
and two in Python. Header keys, and the keys and values that are dumped, are decoded here, so that minikafka's text is
Kafka's text.
"""

import codecs

from minikafka.common.bytes_like import BytesLike


def decode_utf8(data: BytesLike) -> str:
    """The text that Java reads from `data` (bytes-like); never raises.

    Kafka: `Utils.utf8`, `StringDecoder.fromBytes`.
    """
    return str(data, "utf-8", "minikafka.java")


def _replace_as_java_does(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    if data[start] == 0xED and 0xA0 <= _byte(data, start + 1) <= 0xBF:
        whole = 0x80 <= _byte(data, start + 2) <= 0xBF
        return "\ufffd", start + (3 if whole else 2)
    return "\ufffd", error.end


def _byte(data: bytes, position: int) -> int:
    return data[position] if position < len(data) else -1


codecs.register_error("minikafka.java", _replace_as_java_does)
