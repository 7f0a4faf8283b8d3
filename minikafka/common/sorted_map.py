"""A dictionary that keeps its keys in order and answers which key lies next to another."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Generic, TypeVar

V = TypeVar("V")


class SortedMap(Generic[V]):
    """A map from integers (offsets, epochs) to values, ordered by key.

    It is a dict and a sorted list of its keys: a look-up costs one hash, a neighbour one binary search, and adding at
    the end (which a log nearly always does, because offsets and epochs grow) one append. It is not thread safe; the
    log's lock guards it.

    Kafka uses `java.util.TreeMap` and `ConcurrentSkipListMap` in these places.
    """

    __slots__ = ("_values", "_keys")

    def __init__(self) -> None:
        self._values: dict[int, V] = {}
        self._keys: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: int) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[int]:
        """The keys as they are now, ascending; the map may change while a caller walks them."""
        return iter(self._keys.copy())

    def __setitem__(self, key: int, value: V) -> None:
        if key not in self._values:
            if not self._keys or key > self._keys[-1]:
                self._keys.append(key)
            else:
                insort(self._keys, key)
        self._values[key] = value

    def get(self, key: int) -> V | None:
        """The value of `key`, or None."""
        return self._values.get(key)

    def pop(self, key: int) -> V | None:
        """Remove `key` and return its value; None if it is not there."""
        if key not in self._values:
            return None
        del self._keys[bisect_left(self._keys, key)]
        return self._values.pop(key)

    def clear(self) -> None:
        """Remove everything."""
        self._values.clear()
        self._keys.clear()

    def values(self) -> list[V]:
        """The values in the order of their keys, as a new list."""
        return [self._values[key] for key in self._keys]

    def values_up_to(self, key: int) -> list[V]:
        """The values of the keys ≤ `key`, in their order."""
        return [self._values[k] for k in self._keys[: bisect_right(self._keys, key)]]

    def values_above(self, key: int) -> list[V]:
        """The values of the keys > `key`, in their order."""
        return [self._values[k] for k in self._keys[bisect_right(self._keys, key) :]]

    def first(self) -> V | None:
        """The value of the smallest key, or None."""
        return self._values[self._keys[0]] if self._keys else None

    def last(self) -> V | None:
        """The value of the largest key, or None."""
        return self._values[self._keys[-1]] if self._keys else None

    def lower(self, key: int) -> V | None:
        """The value of the largest key < `key`, or None."""
        return self._at(bisect_left(self._keys, key) - 1)

    def floor(self, key: int) -> V | None:
        """The value of the largest key ≤ `key`, or None."""
        return self._at(bisect_right(self._keys, key) - 1)

    def higher(self, key: int) -> V | None:
        """The value of the smallest key > `key`, or None."""
        return self._at(bisect_right(self._keys, key))

    def _at(self, index: int) -> V | None:
        return self._values[self._keys[index]] if 0 <= index < len(self._keys) else None
