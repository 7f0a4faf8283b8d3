"""The order of keys in Scala's maps, in which Kafka writes the lines of checkpoints and tries log directories.

*Mutable maps.* The low bits of a key's hash choose its bucket. (It is Java's hash, its upper 16 bits folded into the
lower ones.) Within a bucket, keys are sorted by that hash as a signed number. The order therefore depends on the number
of buckets, and that on how the map was made: all at once, or one key after another.

Keys with equal hashes are in the order of insertion, which in Kafka follows from the order in which the system lists a
directory; here it is the order of the argument. No reader of a checkpoint depends on any order.

*Immutable maps* of up to four keys are in the order of insertion. Larger ones are tries: a node splits its keys by five
bits of the hash, the root by the lowest. The keys that are alone with their five bits come first, then the nodes below.

Kafka: `scala.collection.mutable.HashMap`, `scala.collection.immutable.HashMap`.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import TypeVar

from minikafka.common.java.java_hash import java_hash, java_hash_code
from minikafka.common.java.java_numbers import to_int
from minikafka.common.topic_partition import TopicPartition

K = TypeVar("K", bound=int | str | TopicPartition)

_LOAD_FACTOR = 0.75
_INITIAL_CAPACITY = 16
_LEAST_CAPACITY = 4
_LARGEST_SMALL_MAP = 4
_HASH_BITS = 32


def in_order_of_a_map_made_at_once(keys: Collection[K]) -> list[K]:
    """`keys` in the order of a map that was made with buckets for all of them. Scala: `HashMap.from`."""
    return _in_order(keys, _capacity_for(len(keys)))


def in_order_of_a_map_grown(keys: Collection[K]) -> list[K]:
    """`keys` in the order of a map that began with 16 buckets and doubled them when needed. Scala: `HashMap.addOne`."""
    capacity = _INITIAL_CAPACITY
    while len(keys) >= capacity * _LOAD_FACTOR:
        capacity *= 2
    return _in_order(keys, capacity)


def in_order_of_an_immutable_map(keys: Sequence[K], without: Container[K] = ()) -> list[K]:
    """`keys`, all different, in the order of an immutable map that was made of them and then filtered.

    `without`: the keys that the filter removed. Scala: `Map.from`, `Map.filter`.
    """
    left = [key for key in keys if key not in without]
    return left if len(keys) <= _LARGEST_SMALL_MAP else list(_in_order_of_a_node(left, 0))


def in_order_of_an_any_ref_map(keys: Iterable[K]) -> list[K]:
    """`keys`, all different, in the order of an `AnyRefMap` into which they were put one after another.

    It has 16 places at first, and twice as many as soon as half of them are taken; a key whose place is taken jumps on,
    further each time. Scala: `AnyRefMap.put`, `AnyRefMap.repack`.
    """
    mask = _INITIAL_CAPACITY - 1
    places: dict[int, K] = {}
    for number, key in enumerate(keys, start=1):
        _put(places, key, mask)
        if number > mask / 2:
            old = [places[place] for place in sorted(places)]
            mask = 2 * mask + 1
            places = {}
            for moved in old:
                _put(places, moved, mask)
    return [places[place] for place in sorted(places)]


def _put(places: dict[int, K], key: K, mask: int) -> None:
    code = java_hash(key) * 0x85EBCA6B & 0xFFFF_FFFF
    place, jumps = ((code ^ code >> 13) & 0x7FFF_FFFF) & mask, 0
    while place in places:
        jumps += 1
        place = (place + 2 * (jumps + 1) * jumps - 3) & mask
    places[place] = key


def _in_order_of_a_node(keys: Sequence[K], shift: int) -> Iterator[K]:
    by_bits: dict[int, list[K]] = {}
    for key in keys:
        by_bits.setdefault(_improved(java_hash_code(key)) >> shift & 31, []).append(key)
    parts = [by_bits[bits] for bits in sorted(by_bits)]
    yield from (part[0] for part in parts if len(part) == 1)
    for part in parts:
        if len(part) > 1:
            yield from part if shift >= _HASH_BITS else _in_order_of_a_node(part, shift + 5)


def _improved(code: int) -> int:
    """A hash whose bits depend on more of Java's, unsigned. Scala: `Hashing.improve`."""
    code = (code + ~(code << 9)) & 0xFFFF_FFFF
    code ^= code >> 14
    code = (code + (code << 4)) & 0xFFFF_FFFF
    return code ^ code >> 10


def _capacity_for(size: int) -> int:
    """The buckets of a map that is made for `size` keys. Scala: `HashMap.tableSizeFor`."""
    needed = max(int((size + 1) / _LOAD_FACTOR) - 1, _LEAST_CAPACITY)
    return 1 << needed.bit_length()


def _in_order(keys: Collection[K], capacity: int) -> list[K]:
    if len(keys) <= 1:
        return list(keys)

    def place(key: K) -> tuple[int, int]:
        unsigned = java_hash(key)
        return unsigned & (capacity - 1), to_int(unsigned)

    return sorted(keys, key=place)
