"""What counts as bytes: whatever can be indexed, cut and unpacked as bytes. A mapped file is given as a memoryview."""

from typing import TypeAlias

BytesLike: TypeAlias = bytes | bytearray | memoryview


def plain_bytes(data: BytesLike | None) -> bytes | None:
    """The bytes that `data` holds, whatever its items are; None for None. Raises TypeError for what holds none."""
    return data if data is None or type(data) is bytes else memoryview(data).tobytes()
