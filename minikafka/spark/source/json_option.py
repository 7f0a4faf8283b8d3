"""JSON in the data source's options and in the checkpoints of its streams, of any depth and form."""

import json
from collections.abc import Mapping
from typing import Any

from minikafka.common.errors import IllegalArgumentException, NumberFormatException
from minikafka.common.java.java_numbers import LONG_MAX, LONG_MIN, parse_int
from minikafka.common.topic_partition import TopicPartition

OFFSETS_FORM = '{"topicA": {"0": 23, "1": -1}, "topicB": {"0": -2}}'
_LONGEST = 200  # characters of bad text that a message repeats


def json_object(option: str, text: str, form: str) -> dict[str, Any]:
    """The JSON object in `text`. Raises IllegalArgumentException, which shows the `form` that is expected."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise IllegalArgumentException(f"{option}={_short(text)} is not of the form {form}")
    return found


def numbers_of(option: str, text: str, form: str = OFFSETS_FORM) -> dict[TopicPartition, int]:
    """The numbers in JSON such as `{"topic": {"0": 23}}`. Raises IllegalArgumentException."""
    return partition_numbers(option, json_object(option, text, form), form)


def partition_numbers(option: str, found: object, form: str = OFFSETS_FORM) -> dict[TopicPartition, int]:
    """The numbers in an object that JSON such as `{"topic": {"0": 23}}` has made. Raises IllegalArgumentException."""
    try:
        assert isinstance(found, Mapping)
        return {
            TopicPartition(topic, parse_int(partition)): _long(number)
            for topic, partitions in found.items()
            for partition, number in partitions.items()
        }
    except (AssertionError, AttributeError, TypeError, ValueError, NumberFormatException):
        raise IllegalArgumentException(f"{option}={_short(str(found))} is not of the form {form}") from None


def _long(number: object) -> int:
    if type(number) is not int or not LONG_MIN <= number <= LONG_MAX:
        raise ValueError(number)
    return number


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
