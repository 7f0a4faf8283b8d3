"""The orders in which Scala's mutable HashMap walks partitions: Kafka writes the lines of its checkpoints in them.

A key's bucket is taken from the low bits of Java's hash, its upper 16 bits folded into the lower; a bucket is sorted by
that hash, as a signed number. So the order depends on how many buckets there are, and that on how the map was made:
all at once, or one key after the other.

Keys of equal hash stand in the order of insertion, which in Kafka follows from the order in which the system lists a
directory; here it is the order of the argument. No reader of a checkpoint depends on any order.

Kafka: `scala.collection.mutable.HashMap`.
"""

from collections.abc import Collection

from minikafka.common.java_hash import java_hash
from minikafka.common.java_numbers import to_int
from minikafka.common.topic_partition import TopicPartition

_LOAD_FACTOR = 0.75
_INITIAL_CAPACITY = 16
_LEAST_CAPACITY = 4


def in_order_of_a_map_made_at_once(keys: Collection[TopicPartition]) -> list[TopicPartition]:
    """`keys` as a map walks them whose buckets were made for so many keys. Scala: `HashMap.from`."""
    needed = max(int((len(keys) + 1) / _LOAD_FACTOR) - 1, _LEAST_CAPACITY)
    return _in_order(keys, 1 << needed.bit_length())


def in_order_of_a_map_grown(keys: Collection[TopicPartition]) -> list[TopicPartition]:
    """`keys` as a map walks them that had 16 buckets at first and doubled them when needed. Scala: `HashMap.addOne`."""
    capacity = _INITIAL_CAPACITY
    while len(keys) >= capacity * _LOAD_FACTOR:
        capacity *= 2
    return _in_order(keys, capacity)


def _in_order(keys: Collection[TopicPartition], capacity: int) -> list[TopicPartition]:
    def place(key: TopicPartition) -> tuple[int, int]:
        unsigned = java_hash(key)
        return unsigned & (capacity - 1), to_int(unsigned)

    return sorted(keys, key=place)
