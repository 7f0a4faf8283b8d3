"""The order of Java's ConcurrentHashMap, beside Java's own."""

import random

from minikafka.common.java.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.topic_partition import TopicPartition


def test_partitions_come_in_javas_order(kafka):
    draw = random.Random(11)
    alike = [TopicPartition("x", 16 * n) for n in range(6)] + [TopicPartition("y", n) for n in range(6)]
    new = kafka.find_class("org.apache.kafka.common.TopicPartition")
    for size in [0, *range(1, 26), 47, 48, 49, 100, 200]:
        keys = [TopicPartition(draw.choice(["a", "orders", "t1", "t2", "x" * 40]), n) for n in range(size)] or alike
        if keys is not alike:
            draw.shuffle(keys)
        java = kafka.find_class("java.util.concurrent.ConcurrentHashMap")()
        for key in keys:
            java.put(new(*key), 1)
        walked = [TopicPartition(key.topic(), key.partition()) for key in java.keySet()]
        assert in_order_of_concurrent_hash_map(keys) == walked, size


def test_the_map_grows_at_the_twelfth_key():
    """Six keys share a bucket; when it is split in two, their order is turned around."""
    keys = [TopicPartition("x", 16 * n) for n in range(6)] + [TopicPartition("y", n) for n in range(6)]
    eleven = [key.partition for key in in_order_of_concurrent_hash_map(keys[:11]) if key.topic == "x"]
    twelve = [key.partition for key in in_order_of_concurrent_hash_map(keys) if key.topic == "x"]
    assert eleven == [0, 16, 32, 48, 64, 80]
    assert twelve == [80, 48, 16, 64, 32, 0]
