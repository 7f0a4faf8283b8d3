"""`JavaHashMap` is walked in the order in which Java's own map is walked, however its keys came in."""

import random

import pytest

from minikafka.common.java.java_hash_map import JavaHashMap


class Same:
    """`java.util.function.Function`: the argument itself."""

    def apply(self, key):
        return key

    class Java:
        implements = ["java.util.function.Function"]


def ids(rand):
    """Ids of which many share a bucket: nine in one make it a tree."""
    count = rand.choice([3, 10, 12, 13, 14, 30, 60, 100])
    kinds = [lambda: rand.randrange(50), lambda: 16 * rand.randrange(20), lambda: 64 * rand.randrange(60) + 3]
    return [rand.choice([*kinds, lambda: rand.randrange(1 << 33)])() for _ in range(count)]


@pytest.mark.parametrize("seed", range(24))
def test_same_order_as_java(kafka, seed):
    rand = random.Random(seed)
    theirs, ours, same = kafka.find_class("java.util.HashMap")(), JavaHashMap(), Same()
    long_class = kafka.find_class("java.lang.Long")
    for key in ids(rand):
        if rand.random() < (seed % 3) / 2:
            theirs.put(long_class.valueOf(str(key)), 1)
            ours[key] = 1
        else:
            theirs.computeIfAbsent(long_class.valueOf(str(key)), same)
            ours.compute_if_absent(key, lambda k: k)
    assert list(ours) == [int(key) for key in theirs.keySet().toString()[1:-1].split(", ")]
