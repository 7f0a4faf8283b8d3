"""Kafka's settings by their names: what a value becomes, and which values are refused."""

import pytest

from minikafka.common.errors import ConfigException
from minikafka.common.kafka_settings import kafka_definition


def test_settings_have_kafkas_types_and_defaults():
    values = kafka_definition("topic").parse({"retention.ms": "5", "preallocate": "true"})
    assert (values["retention.ms"], values["preallocate"], values["segment.bytes"]) == (5, True, 1 << 30)


@pytest.mark.parametrize(("name", "value"), [("retention.ms", "soon"), ("min.cleanable.dirty.ratio", "1.5")])
def test_values_that_kafka_refuses_are_refused(name, value):
    with pytest.raises(ConfigException, match=f"Invalid value {value} for configuration {name}"):
        kafka_definition("topic").parse({name: value})
