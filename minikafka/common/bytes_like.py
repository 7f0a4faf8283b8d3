"""What counts as bytes: whatever can be indexed, cut and unpacked as bytes. A mapped file is given as a memoryview."""

from typing import TypeAlias

BytesLike: TypeAlias = bytes | bytearray | memoryview
