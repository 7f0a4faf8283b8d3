"""The order of Java's ConcurrentHashMap, beside Java's own."""

import random

from minikafka.common.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.topic_partition import TopicPartition


def test_partitions_come_in_javas_order(kafka):
    draw = random.Random(11)
    new = kafka.find_class("org.apache.kafka.common.TopicPartition")
    for size in [*range(1, 26), 47, 48, 49, 100, 200]:
        keys = [TopicPartition(draw.choice(["a", "orders", "t1", "t2", "x" * 40]), n) for n in range(size)]
        draw.shuffle(keys)
        java = kafka.find_class("java.util.concurrent.ConcurrentHashMap")()
        for key in keys:
            java.put(new(*key), 1)
        walked = [TopicPartition(key.topic(), key.partition()) for key in java.keySet()]
        assert in_order_of_concurrent_hash_map(keys) == walked, size
