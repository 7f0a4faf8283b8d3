"""Two keys of 128 bytes that differ in six bits and have the same MD5 digest: the pair of X. Wang and H. Yu, 2004."""

_FIRST = """
d131dd02c5e6eec4693d9a0698aff95c 2fcab58712467eab4004583eb8fb7f89
55ad340609f4b30283e488832571415a 085125e8f7cdc99fd91dbdf280373c5b
d8823e3156348f5bae6dacd436c919c6 dd53e2b487da03fd02396306d248cda0
e99f33420f577ee8ce54b67080a80d1e c69821bcb6a8839396f9652b6ff72a70
"""
_DIFFERENT = (19, 45, 59, 83, 109, 123)
"""The bytes of which the highest bit differs."""


def _flipped(data: bytes) -> bytes:
    return bytes(byte ^ 0x80 if place in _DIFFERENT else byte for place, byte in enumerate(data))


COLLIDING_KEYS = (bytes.fromhex(_FIRST), _flipped(bytes.fromhex(_FIRST)))
