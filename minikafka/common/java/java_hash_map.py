"""A map that is walked in the order in which `java.util.HashMap` would be walked, with Longs or Strings as keys.

Kafka writes a producer snapshot in the order of a HashMap (by producer id), and its dump tool lists its findings in the
order of another (by file). So bytes on disk and printed lines follow from how Java's map works:

- A key's *bucket* is taken from the low bits of its hash. The hash of a Long folds the upper 32 bits into the lower
  (a String has a hash of its own), then HashMap folds the upper 16 of those into the lower 16.
- The map is walked bucket by bucket; within a bucket in the order of insertion (`compute_if_absent`: reversed).
- There are 16 buckets at first. They double when more than three quarters as many keys are in the map, and when a
  ninth key meets eight others in its bucket while there are fewer than 64. They never become fewer again, neither by
  removing keys nor by clearing the map. So the order depends on the largest size the map has ever had.
- From 64 buckets on, a ninth key makes its bucket a tree, which is walked in another order: see `TreeBucket`. When the
  buckets double, a tree is split in two, and a part of up to six keys is a list again.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from minikafka.common.java.java_hash import java_hash
from minikafka.common.java.tree_bucket import TreeBucket
from minikafka.common.topic_partition import TopicPartition

K = TypeVar("K", bound=int | str | TopicPartition)
V = TypeVar("V")

_INITIAL_CAPACITY = 16
_FULL_BUCKET = 8
_MIN_CAPACITY_FOR_TREES = 64
_MAX_KEYS_OF_A_SPLIT_LIST = 6


class JavaHashMap(Generic[K, V]):
    """A map from ids (int64) or texts to values, iterated as Java's HashMap iterates. Kafka: `java.util.HashMap`."""

    __slots__ = ("get", "_values", "_capacity", "_buckets")

    def __init__(self, initial_capacity: int = _INITIAL_CAPACITY) -> None:
        """An empty map with room for `initial_capacity`, rounded up to a power of two: so many buckets there are."""
        self._values: dict[K, V] = {}
        self.get = self._values.get
        self._capacity = 1 << max(initial_capacity - 1, 0).bit_length()
        self._buckets: dict[int, list[K] | TreeBucket[K]] = {}

    @staticmethod
    def copy_of(source: "JavaHashMap[K, V]") -> "JavaHashMap[K, V]":
        """A map with the same keys and values, which has as many buckets as these need.

        Kafka: `HashMap(Map)`.
        """
        copy: JavaHashMap[K, V] = JavaHashMap(_room_for(len(source))) if len(source) else JavaHashMap()
        for key, value in source.items():
            copy[key] = value
        return copy

    @staticmethod
    def merged(sources: "Iterable[JavaHashMap[K, V]]") -> "JavaHashMap[K, V]":
        """A new map into which the others are put, one map after the other. Kafka: `HashMap.putAll`."""
        filled = [source for source in sources if len(source)]
        merged: JavaHashMap[K, V] = JavaHashMap.copy_of(filled[0]) if filled else JavaHashMap()
        for source in filled[1:]:
            while len(source) * 4 > merged._capacity * 3:
                merged._double()
            for key, value in source.items():
                merged[key] = value
        return merged

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __setitem__(self, key: K, value: V) -> None:
        is_new = key not in self._values
        self._values[key] = value
        if is_new:
            self._add_to_bucket(key)
            if len(self._values) * 4 > self._capacity * 3:
                self._double()

    def compute_if_absent(self, key: K, make_value: Callable[[K], V]) -> V:
        """The value of `key`; one that is not there yet is made by `make_value(key)`.

        Java's map orders differently here than after a put: the buckets double one key later, before the insertion; the
        new key goes to the front of its bucket; and the eighth key, not the ninth, makes the bucket a tree.
        Kafka: `HashMap.computeIfAbsent`.
        """
        if len(self._values) * 4 > self._capacity * 3:
            self._double()
        if key not in self._values:
            self._values[key] = make_value(key)
            self._add_to_front_of_bucket(key)
        return self._values[key]

    def __delitem__(self, key: K) -> None:
        del self._values[key]
        index = java_hash(key) & (self._capacity - 1)
        bucket = self._buckets[index]
        bucket.remove(key)
        if not len(bucket):
            del self._buckets[index]

    def clear(self) -> None:
        """Remove every key; the number of buckets stays."""
        self._values.clear()
        self._buckets.clear()

    def __iter__(self) -> Iterator[K]:
        """The keys in HashMap's order."""
        for index in sorted(self._buckets):
            yield from self._buckets[index]

    def items(self) -> list[tuple[K, V]]:
        """The keys and values in HashMap's order, as a new list."""
        return [(key, self._values[key]) for key in self]

    def _add_to_bucket(self, key: K) -> None:
        index = java_hash(key) & (self._capacity - 1)
        bucket = self._buckets.setdefault(index, [])
        bucket.append(key)
        if len(bucket) > _FULL_BUCKET and isinstance(bucket, list):
            if self._capacity < _MIN_CAPACITY_FOR_TREES:
                self._double()
            else:
                self._buckets[index] = TreeBucket(bucket)

    def _add_to_front_of_bucket(self, key: K) -> None:
        index = java_hash(key) & (self._capacity - 1)
        bucket = self._buckets.setdefault(index, [])
        if isinstance(bucket, TreeBucket):
            bucket.append(key)
            return
        bucket.insert(0, key)
        if len(bucket) >= _FULL_BUCKET:
            if self._capacity < _MIN_CAPACITY_FOR_TREES:
                self._double()
            else:
                self._buckets[index] = TreeBucket(bucket)

    def _double(self) -> None:
        """Twice as many buckets: each is split in two by one more bit of the hash, and both parts keep their order."""
        old_buckets = self._buckets
        self._buckets = {}
        for index, bucket in old_buckets.items():
            stay = [key for key in bucket if not java_hash(key) & self._capacity]
            move = [key for key in bucket if java_hash(key) & self._capacity]
            for new_index, part in ((index, stay), (index + self._capacity, move)):
                if not part:
                    continue
                if isinstance(bucket, TreeBucket) and len(part) > _MAX_KEYS_OF_A_SPLIT_LIST:
                    self._buckets[new_index] = bucket if len(part) == len(bucket) else TreeBucket(part)
                else:
                    self._buckets[new_index] = part
        self._capacity *= 2


def _room_for(keys: int) -> int:
    """The capacity with which Java makes a map of so many keys at once."""
    return keys * 4 // 3 + 1


def in_javas_order(keys: Iterable[K], *, left_of: int = 0) -> list[K]:
    """Different `keys` in the order of a map into which they were put one after another. Kafka: `java.util.HashSet`.

    `left_of`: how many the set had been made of at once, before all but `keys` were removed.
    """
    in_order: JavaHashMap[K, None] = JavaHashMap(max(_room_for(left_of), _INITIAL_CAPACITY))
    for key in keys:
        in_order[key] = None
    return list(in_order)
