"""The order in which `java.util.concurrent.ConcurrentHashMap` is walked."""

from collections.abc import Iterable
from typing import TypeVar

from minikafka.common.java.java_hash import java_hash
from minikafka.common.topic_partition import TopicPartition

_INITIAL_CAPACITY = 16

Key = TypeVar("Key", int, str, TopicPartition)


def in_order_of_concurrent_hash_map(keys: Iterable[Key]) -> list[Key]:
    """`keys` as Java walks a map into which they were put in their order.

    The map has 16 buckets at first, and twice as many as soon as three quarters of their number are in it. It is walked
    bucket by bucket. A new key goes to the end of its bucket; when a bucket is split in two, Java keeps the last keys
    that go the same way in their order, and turns the order of the others around.

    Simpler than Java: buckets of eight keys and more, which become trees, are walked as lists here; and a map that has
    had more keys has more buckets.
    """
    capacity = _INITIAL_CAPACITY
    buckets: dict[int, list[Key]] = {}
    for number, key in enumerate(keys, start=1):
        buckets.setdefault(java_hash(key) & (capacity - 1), []).append(key)
        if number * 4 >= capacity * 3:
            buckets = _split(buckets, capacity)
            capacity *= 2
    return [key for index in sorted(buckets) for key in buckets[index]]


def _split(buckets: dict[int, list[Key]], capacity: int) -> dict[int, list[Key]]:
    """Twice as many buckets. Java: `ConcurrentHashMap.transfer`."""
    split: dict[int, list[Key]] = {}
    for index, keys in buckets.items():
        moves = [bool(java_hash(key) & capacity) for key in keys]
        last_run = len(keys) - 1
        while last_run > 0 and moves[last_run - 1] == moves[-1]:
            last_run -= 1
        halves: dict[bool, list[Key]] = {moves[-1]: keys[last_run:]}
        for key, move in zip(keys[:last_run], moves, strict=False):
            halves.setdefault(move, []).insert(0, key)
        for move, half in halves.items():
            split[index + capacity if move else index] = half
    return split
