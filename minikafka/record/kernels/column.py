"""One column of a batch's records."""

from array import array
from collections.abc import Iterator
from typing import Protocol, overload


class Column(Protocol):
    """A row of 64-bit integers: a `memoryview` or `array` made by the plain kernel, or a numpy array."""

    @overload
    def __getitem__(self, index: int, /) -> int: ...

    @overload
    def __getitem__(self, index: slice, /) -> "Column": ...

    def __setitem__(self, index: int, number: int, /) -> None: ...

    def __iter__(self) -> Iterator[int]: ...

    def __len__(self) -> int: ...

    def tolist(self) -> list[int]:
        """The integers as Python's own."""


def zero_column(size: int) -> "array[int]":
    """A column of `size` zeros, for a kernel to write to."""
    return array("q", bytes(8 * size))
