"""Names of topics, beside Kafka's own rules."""

import pytest

from minikafka.common import topic as topics
from minikafka.common.errors import InvalidTopicException
from minikafka.witness.kafka.kafka_errors import kafka_errors

NAMES = ["", ".", "..", "...", "a", "a.b_c-D9", "a b", "ä", "x" * 249, "x" * 250, "a\n", "__consumer_offsets"]
NAMES += ["__transaction_state", "__share_group_state", "__cluster_metadata"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_judged_as_by_kafka(kafka, name):
    theirs = kafka.find_class("org.apache.kafka.common.internals.Topic")
    assert topics.is_internal(name) == theirs.isInternal(name)
    assert topics.has_collision_chars(name) == theirs.hasCollisionChars(name)
    assert topics.unify_collision_chars(name) == theirs.unifyCollisionChars(name)
    told = []
    for validate in (topics.validate, theirs.validate):
        try:
            with kafka_errors():
                validate(name)
            told.append(None)
        except InvalidTopicException as exception:
            told.append(str(exception))
    assert told[0] == told[1]
