"""The errors of Kafka's protocol, against Kafka's own enumeration."""

import pytest

from minikafka.common import errors
from minikafka.common.error_codes import Errors
from minikafka.jvm.source_jars import SourcesUnavailableError
from tests.absent import absent
from tests.tools import make_error_codes


def java_hierarchy(java_class):
    """The simple names of a Java class and of those above it, up to KafkaException."""
    names = []
    while not names or names[-1] != "KafkaException":
        names.append(java_class.getSimpleName())
        java_class = java_class.getSuperclass()
    return names


def python_hierarchy(exception_class):
    names = [each.__name__ for each in exception_class.__mro__]
    return names[: names.index("KafkaException") + 1]


# It fetches Kafka's sources where they are missing.
@pytest.mark.slow
def test_the_list_is_what_its_generator_makes():
    try:
        kafkas = make_error_codes.source()
    except SourcesUnavailableError as unavailable:
        absent(str(unavailable))
    assert make_error_codes.FILE.read_text() == make_error_codes.module(kafkas), (
        "python -m tests.tools.make_error_codes"
    )


@pytest.mark.slow
def test_every_error_is_kafkas(kafka):
    kafkas = list(kafka.find_class("org.apache.kafka.common.protocol.Errors").values())
    assert [error.name() for error in kafkas] == [error.name for error in Errors]
    for java_error, error in zip(kafkas, Errors, strict=True):
        assert (error.code, error.message) == (java_error.code(), java_error.message())
        java_exception = java_error.exception()
        if java_exception is None:
            assert error.exception() is None
        else:
            assert python_hierarchy(error.exception_class) == java_hierarchy(java_exception.getClass())
            assert str(error.exception()) == java_exception.getMessage()
            assert str(error.exception("why")) == java_error.exception("why").getMessage()


def test_an_exception_becomes_the_error_of_its_class_or_of_the_nearest_above_it():
    assert Errors.for_exception(errors.OffsetOutOfRangeException("")) is Errors.OFFSET_OUT_OF_RANGE
    assert Errors.for_exception(errors.UnknownProducerIdException("")) is Errors.UNKNOWN_PRODUCER_ID

    class OurOwnStorageException(errors.KafkaStorageException):
        pass

    assert Errors.for_exception(OurOwnStorageException("")) is Errors.KAFKA_STORAGE_ERROR
    assert Errors.for_exception(errors.InvalidOffsetException("")) is Errors.UNKNOWN_SERVER_ERROR
    assert Errors.for_exception(ValueError("")) is Errors.UNKNOWN_SERVER_ERROR


def test_codes_and_errors_lead_to_each_other():
    assert all(Errors.for_code(error.code) is error for error in Errors)
    assert Errors.for_code(30_000) is Errors.UNKNOWN_SERVER_ERROR


def test_an_error_can_be_raised_unless_it_is_none():
    Errors.NONE.maybe_throw()
    with pytest.raises(errors.FencedLeaderEpochException):
        Errors.FENCED_LEADER_EPOCH.maybe_throw()
