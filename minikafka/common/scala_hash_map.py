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

from collections.abc import Collection, Container, Iterator, Sequence

from minikafka.common.java_hash import java_hash, string_hash_code
from minikafka.common.java_numbers import to_int
from minikafka.common.topic_partition import TopicPartition

_LOAD_FACTOR = 0.75
_INITIAL_CAPACITY = 16
_LEAST_CAPACITY = 4
_LARGEST_SMALL_MAP = 4
_HASH_BITS = 32


def in_order_of_a_map_made_at_once(keys: Collection[TopicPartition]) -> list[TopicPartition]:
    """`keys` in the order of a map that was made with buckets for all of them. Scala: `HashMap.from`."""
    needed = max(int((len(keys) + 1) / _LOAD_FACTOR) - 1, _LEAST_CAPACITY)
    return _in_order(keys, 1 << needed.bit_length())


def in_order_of_a_map_grown(keys: Collection[TopicPartition]) -> list[TopicPartition]:
    """`keys` in the order of a map that began with 16 buckets and doubled them when needed. Scala: `HashMap.addOne`."""
    capacity = _INITIAL_CAPACITY
    while len(keys) >= capacity * _LOAD_FACTOR:
        capacity *= 2
    return _in_order(keys, capacity)


def in_order_of_an_immutable_map(keys: Sequence[str], without: Container[str] = ()) -> list[str]:
    """`keys`, all different, in the order of an immutable map that was made of them and then filtered.

    `without`: the keys that the filter removed. Scala: `Map.from`, `Map.filter`.
    """
    left = [key for key in keys if key not in without]
    return left if len(keys) <= _LARGEST_SMALL_MAP else list(_in_order_of_a_node(left, 0))


def _in_order_of_a_node(keys: Sequence[str], shift: int) -> Iterator[str]:
    by_bits: dict[int, list[str]] = {}
    for key in keys:
        by_bits.setdefault(_improved(string_hash_code(key)) >> shift & 31, []).append(key)
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


def _in_order(keys: Collection[TopicPartition], capacity: int) -> list[TopicPartition]:
    def place(key: TopicPartition) -> tuple[int, int]:
        unsigned = java_hash(key)
        return unsigned & (capacity - 1), to_int(unsigned)

    return sorted(keys, key=place)
