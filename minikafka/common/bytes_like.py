"""What counts as bytes: everything whose bytes can be looked at, and cut, without an object of Python for each."""

import mmap
from typing import TypeAlias

BytesLike: TypeAlias = bytes | bytearray | memoryview | mmap.mmap
