"""Fixtures that every room of the tests may use."""

import os

import pytest

from minikafka.witness.kafka_jvm import KafkaJvm, KafkaUnavailableError


def pytest_addoption(parser):
    parser.addoption(
        "--operations",
        type=int,
        default=None,
        help="how many operations the differential test draws (default: as many as fit in `make test`)",
    )
    parser.addoption("--seed", type=int, default=None, help="the first seed of the differential test")


@pytest.fixture(scope="session")
def kafka():
    """A JVM with Apache Kafka's classes. Without one tests fail in CI; elsewhere they are skipped, with the reason."""
    try:
        jvm = KafkaJvm.start()
    except KafkaUnavailableError as unavailable:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must test against real Kafka: {unavailable}")
        pytest.skip(str(unavailable))
    yield jvm
    jvm.close()
