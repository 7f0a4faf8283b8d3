"""The order of Scala's maps, against Scala's own."""

import random

import pytest

from minikafka.common.java.scala_hash_map import in_order_of_an_any_ref_map
from minikafka.common.topic_partition import TopicPartition


@pytest.mark.slow
def test_the_order_of_an_any_ref_map(kafka):
    any_ref_map = kafka.find_class("scala.collection.mutable.AnyRefMap")
    topic_partition = kafka.find_class("org.apache.kafka.common.TopicPartition")
    drawn = random.Random(14)
    for size in [*range(20), 40, 100, 300]:
        keys = random.Random(size).sample(
            [
                TopicPartition(topic, number)
                for topic in ("t", "topic", "__consumer_offsets", "a-b")
                for number in range(90)
            ],
            size,
        )
        drawn.shuffle(keys)
        scalas = any_ref_map()
        for key in keys:
            scalas.put(topic_partition(key.topic, key.partition), "")
        assert [str(key) for key in in_order_of_an_any_ref_map(keys)] == [
            str(text) for text in scalas.keysIterator().mkString(" ").split()
        ]
