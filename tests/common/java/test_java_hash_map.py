"""The order of Java's HashMap; the expected orders were printed by `java.util.HashMap<Long, …>` of JDK 17."""

import random

import pytest

from minikafka.common.java.java_hash import java_hash
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.java.tree_bucket import TreeBucket
from minikafka.common.topic_partition import TopicPartition


def filled(keys):
    java_map = JavaHashMap()
    for key in keys:
        java_map[key] = str(key)
    return java_map


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        ([3, 1, 2], [1, 2, 3]),
        ([16, 0, 32, 1], [16, 0, 32, 1]),
        (range(12, -1, -1), range(13)),
        ([-1, 5, 2**32 + 4, 2**63 - 1, -(2**63)], [-1, 2**63 - 1, -(2**63), 5, 2**32 + 4]),
        (range(0, 16 * 9, 16), [0, 32, 64, 96, 128, 16, 48, 80, 112]),
        (range(7, 2**16, 2**11), [14343, 6151, 7, 2055, 4103, *range(8199, 14343, 2048), *range(16391, 2**16, 2048)]),
    ],
)
def test_keys_come_in_the_order_of_java(keys, order):
    assert list(filled(keys)) == list(order)


def test_a_map_stays_as_wide_as_it_ever_was():
    java_map = filled(range(100, 113))
    java_map.clear()
    for key in (16, 0):
        java_map[key] = None
    assert list(java_map) == [0, 16], "in 16 buckets both would share the first, in order of insertion"


def test_a_value_can_be_replaced_without_moving_its_key():
    java_map = filled([16, 0])
    java_map[16] = "new"
    assert java_map.items() == [(16, "new"), (0, "0")]


def test_a_removed_key_comes_back_at_the_end_of_its_bucket():
    java_map = filled([0, 16, 32])
    del java_map[0]
    java_map[0] = None
    assert list(java_map) == [16, 32, 0]


def test_a_tree_stays_a_red_black_tree():
    """No red node under a red one, equally many black ones on each way down, keys sorted by rank."""
    rng = random.Random(1)
    bucket = TreeBucket(range(9))
    keys = list(range(9))
    for _ in range(2000):
        if rng.random() < 0.52 or len(keys) < 3:
            keys.append(key := rng.randrange(10**9))
            bucket.append(key)
        else:
            bucket.remove(keys.pop(rng.randrange(len(keys))))
        assert sorted(bucket) == sorted(keys)
        black_height(bucket._root, bucket._nil)
    assert len(keys) > 50


def black_height(node, nil):
    assert not nil.red
    if node is nil:
        return 1
    left, right = node.child
    for child in (left, right):
        if child is not nil:
            assert child.parent is node
            assert not (node.red and child.red)
    assert left is nil or left.rank < node.rank
    assert right is nil or right.rank > node.rank
    height = black_height(left, nil)
    assert height == black_height(right, nil)
    return height + (not node.red)


def test_the_hash_of_a_partition_is_javas():
    """31 * (31 + partition) + the hash of the topic's name, in 32 bits; then the upper half folded into the lower."""
    assert java_hash(TopicPartition("a", 0)) == 31 * 31 + ord("a")
    assert java_hash(TopicPartition("b", 1)) == java_hash(TopicPartition("b", 0)) + 31
    code = (31 * (31 + 7) + 31 * 0xD83D + 0xDE00) & 0xFFFF_FFFF
    assert java_hash(TopicPartition("😀", 7)) == code ^ (code >> 16)


def test_a_map_has_as_many_buckets_as_it_is_asked_for():
    """Two keys that share a bucket of four stand in their own of sixteen."""
    for capacity, walked in ((0, [5, 1]), (3, [5, 1]), (4, [5, 1]), (5, [1, 5]), (16, [1, 5])):
        hash_map = JavaHashMap(capacity)
        for key in (5, 1):
            hash_map[key] = "value"
        assert list(hash_map) == walked, capacity


def test_a_copy_has_as_many_buckets_as_its_keys_need():
    """`HashMap(Map)`: for 3 keys 8 buckets, for 12 keys 32; a copy of an empty map has 16."""
    for count, capacity in ((0, 16), (1, 2), (2, 4), (3, 8), (5, 8), (6, 16), (11, 16), (12, 32)):
        source = JavaHashMap()
        for key in range(count):
            source[key] = str(key)
        copy = JavaHashMap.copy_of(source)
        assert copy.items() == source.items()
        assert copy._capacity == capacity, count
